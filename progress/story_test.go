package progress_test

import (
	"fmt"
	"strconv"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// story builds the entries of a run as a loop would record them.
type story struct {
	events []trajectory.Event
	turn   int
	usage  turn.Usage // of each turn
}

// act is one call and what came of it.
type act struct {
	tool, arguments, result string
	kind                    trajectory.Kind
	status                  trajectory.Status // OK when ""
	paths                   []string
	polls                   bool
	identity                string
	agents                  int
	children                stats.RunStats
}

func begin(messages ...turn.TranscriptMessage) *story {
	s := &story{usage: turn.Usage{InputTokens: 1000, OutputTokens: 20}}
	s.run(messages...)
	return s
}

func (s *story) put(b trajectory.Body) { s.events = append(s.events, trajectory.Event{Body: b}) }

// run starts a run, or carries one on.
func (s *story) run(messages ...turn.TranscriptMessage) *story {
	s.put(trajectory.RunStart{Cwd: "/code", Continued: s.turn > 0, Messages: messages})
	return s
}

func (s *story) reply(text string, calls ...turn.Call) {
	s.turn++
	s.put(trajectory.Message{Message: turn.ReplayForm(turn.Assistant(text, calls...)), Turn: &trajectory.Turn{Usage: s.usage, Model: "m-1"}})
}

func (s *story) says(text string) *story { s.reply(text); return s }

// told adds a message that is no reply.
func (s *story) told(text string) *story {
	s.put(trajectory.Message{Message: turn.User(text)})
	return s
}

// does is one turn with these calls: all start, then all end.
func (s *story) does(acts ...act) *story {
	calls := make([]turn.Call, len(acts))
	for i, a := range acts {
		if a.arguments == "" {
			a.arguments = "{}"
		}
		calls[i] = turn.Call{ID: "c" + strconv.Itoa(i), Name: a.tool, Arguments: a.arguments}
	}
	s.reply("", calls...)
	for i, a := range acts {
		if a.ran() {
			s.put(trajectory.CallStart{Call: calls[i], Turn: s.turn, Kind: a.kind, Polls: a.polls, Identity: a.identity})
		}
	}
	for i, a := range acts {
		status := a.status
		if status == "" {
			status = trajectory.OK
		}
		s.put(trajectory.CallEnd{Call: calls[i], Turn: s.turn, Status: status, Message: turn.ToolResult(calls[i].ID, a.result),
			Paths: a.paths, Agents: a.agents, Children: a.children})
	}
	return s
}

func (a act) ran() bool {
	switch a.status {
	case "", trajectory.OK, trajectory.Failed, trajectory.CutOff:
		return true
	}
	return false
}

func (s *story) plans(states ...plan.State) *story {
	var p plan.Plan
	for i, state := range states {
		p.Steps = append(p.Steps, plan.Step{Text: fmt.Sprintf("step %d", i+1), State: state})
	}
	s.put(trajectory.PlanChange{Plan: p})
	return s
}

// child adds an entry of a child run of the latest turn's call.
func (s *story) child(call int, b trajectory.Body) *story {
	s.events = append(s.events, trajectory.Event{Agent: trajectory.AgentName(s.turn, "c"+strconv.Itoa(call)), Body: b})
	return s
}

func (s *story) times(n int, more func(i int)) *story {
	for i := range n {
		more(i)
	}
	return s
}

func readOf(path, result string) act {
	return act{tool: "read", kind: trajectory.KindRead, arguments: fmt.Sprintf(`{"path":%q}`, path), result: result}
}

func editOf(path, what string) act {
	return act{tool: "edit", kind: trajectory.KindEdit, arguments: fmt.Sprintf(`{"path":%q,"new":%q}`, path, what), result: "edited", paths: []string{path}}
}

func command(line, result string) act {
	return act{tool: "bash", kind: trajectory.KindExecute, arguments: fmt.Sprintf(`{"command":%q}`, line), result: result}
}

func (a act) fails() act { a.status = trajectory.Failed; return a }
