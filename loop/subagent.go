package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// NewSubAgent makes a tool of a run of its own: t names and describes it, system
// is the child's system prompt, o are its model, tools and limits. Without a
// Schema the tool takes {"task": "…"}, which is the child's user message; with
// one, the arguments are, as they stand.
//
// What the child spends counts towards the parent's Result.Children, however it
// ends, and towards the budgets of all runs above it while it spends. Its entries
// carry the call's name; o.Record is usually the parent's, which then has to be
// safe for concurrent use. Nothing is recorded without one of its own.
//
// Where o.Record is the parent's, a child that was at work when the process died goes
// on where it was, as a run of its own would: what it did is not done again, and its
// own open calls are settled by the same rules. A child that the record knows nothing
// of is a call like any other. One that was stopped with the run goes on too where
// the cause was [ErrShutdown], also without a record, since its pause holds it; where
// it was another, its call is answered.
//
// When a call of the child waits, the parent's call waits for the same thing, and
// is replied to in the parent: the reply goes on to the child, which carries on
// where it was. Of several that wait the first is asked first. What a person is to
// be shown is that call: [trajectory.OpenCall.Innermost].
//
// The parent's model hears what the child said last. Where the child did not end as
// done it hears an error first: that the sub-agent failed and how, or that it stopped
// before it was done (at its iteration limit, by a ShouldStop, when a budget was
// spent) and why, and then the latest of the child's calls and what came of them, so
// that it need not have them done again. Such a child is over: a later call begins a
// new one, which knows nothing of it. The hooks of o are for the child alone and those of the parent are
// not asked in it; what stops a child from above is the context's end, or a budget.
//
// All calls share the hooks of o, several at once. For hooks of each call, such as a
// watch of package progress (its example subAgents), make one more sub-agent
// in each, with a copy of o that has them:
//
//	agent := loop.NewSubAgent(tool, system, o)
//	agent.Run = func(ctx context.Context, call loop.Call) (loop.Output, error) {
//		return loop.NewSubAgent(tool, system, hooked(o)).Run(ctx, call)
//	}
func NewSubAgent(t Tool, system string, o Options) Tool {
	task := len(t.Schema) == 0
	if t.err = checkChild(o); t.err != nil {
		return t
	}
	if task {
		t.check = checkTask
		t.Schema = json.RawMessage(`{"type":"object","properties":{"task":{"type":"string","description":"what to do, with everything the agent has to know"}},"required":["task"],"additionalProperties":false}`)
	}
	t.goesOn = true
	t.Run = func(ctx context.Context, call Call) (Output, error) {
		own := o
		messages, err := childMessages(call, task, system)
		if err != nil {
			return Output{}, err
		}
		if call.Resume != nil && call.Resume.Child != nil {
			was := call.Resume.Child
			if isOver(was) {
				return endedOutput(was)
			}
			messages, own.From, own.Replies = was.Messages, was.State, repliesTo(was, call.Resume.Reply)
		}
		res, err := RunToolLoop(ctx, messages, own)
		return childOutput(res, err)
	}
	return t
}

// checkChild finds what no call of the child could do anything about, so that the
// parent's run says so before it begins.
func checkChild(o Options) error {
	r := run{o: o}
	if o.Turn == nil {
		return errors.New("the sub-agent has no model")
	}
	if err := r.advertise(); err != nil {
		return fmt.Errorf("the sub-agent's %s: %w", err.Field, err.Err)
	}
	return o.Budget.validate()
}

func checkTask(arguments string) error {
	var in struct{ Task *string }
	if err := json.Unmarshal([]byte(arguments), &in); err != nil {
		return err
	}
	if in.Task == nil || strings.TrimSpace(*in.Task) == "" {
		return errors.New("property task: it is missing or empty")
	}
	return nil
}

// childMessages is what a child begins with.
func childMessages(call Call, task bool, system string) (turn.Transcript, error) {
	text := call.Arguments
	if task {
		var in struct{ Task string }
		if err := json.Unmarshal([]byte(call.Arguments), &in); err != nil {
			return nil, err
		}
		text = in.Task
	}
	if system == "" {
		return turn.Transcript{turn.User(text)}, nil
	}
	return turn.Transcript{turn.System(system), turn.User(text)}, nil
}

// repliesTo are the replies for a child that goes on: there is one if the pause that
// it is for still stands. It was used up where the child had gone on before the
// process died.
func repliesTo(child *trajectory.Child, reply *Reply) map[string]Reply {
	for _, c := range child.State.Waiting() {
		if reply != nil && c.Ticket() == reply.Ticket {
			return map[string]Reply{c.ID: *reply}
		}
	}
	return nil
}

// isOver says whether a child had come to an end of its own before the process died.
// One that was stopped goes on, as a run that was stopped does, and so does one whose
// last reply a damaged record has lost.
func isOver(was *trajectory.Child) bool {
	switch {
	case was.End == nil:
		return false
	case was.End.Reason == turn.Done:
		n := len(was.Messages)
		return n > 0 && was.Messages[n-1].OfAssistant != nil
	}
	return was.End.Reason == "" || was.End.Reason == turn.IterationLimit
}

// endedOutput is the output of a child of which the record has all but its call's end.
func endedOutput(was *trajectory.Child) (Output, error) {
	var err error
	if was.End.Reason == "" {
		err = errors.New(was.End.Cause)
		if was.End.Failure == string(FailureTool) && strings.HasPrefix(was.End.Cause, "tool ") { // as a ToolError says it of one tool
			err = Fatal(err)
		}
	}
	return childOutput(Result{State: was.State, StopReason: was.End.Reason, Messages: was.Messages, Added: was.Messages}, err)
}

// childOutput is what the parent's model hears of a child.
func childOutput(res Result, err error) (Output, error) {
	text := res.Text()
	if err != nil {
		return Text(strings.TrimSpace(text + deeds(res.Messages))), fmt.Errorf("the sub-agent failed: %w", err)
	}
	switch res.StopReason {
	case turn.Done:
		if text == "" {
			text = "(the sub-agent ended without a word)"
		}
		return Text(text), nil
	case turn.WaitingForReply, turn.ResumingLater:
		first, _ := res.FirstWaiting()
		return Output{}, childPause(*first.Suspension, res)
	}
	if errors.Is(res.Cause, ErrShutdown) { // due at once
		return Output{}, childPause(trajectory.Suspension{For: trajectory.ForTime, Question: ErrShutdown.Error()}, res)
	}
	text = strings.TrimSpace(text + deeds(res.Messages))
	if res.Cause != nil {
		return Text(text), fmt.Errorf("the sub-agent stopped before it was done (%s): %w", res.StopReason, res.Cause)
	}
	return Text(text), fmt.Errorf("the sub-agent stopped before it was done (%s)", res.StopReason)
}

// toldDeeds is how many of a child's calls its parent's model hears of.
const toldDeeds = 20

// deeds lists what a child did that did not come to an end of its own, so that its
// parent's model does not have it done again: the latest calls and what came of them.
func deeds(messages turn.Transcript) string {
	var lines []string
	times := map[string]int{}
	var calls []turn.Call
	for _, m := range messages {
		if m.OfAssistant != nil {
			calls = turn.Calls(m)
		}
		for _, c := range calls {
			if m.OfTool != nil && c.ID == turn.CallID(m) {
				line := fmt.Sprintf("\n- %s %s: %s", c.Name, clip(c.Arguments, 120), oneLine(turn.Text(m)))
				if times[line]++; times[line] == 1 {
					lines = append(lines, line)
				}
			}
		}
	}
	if len(lines) == 0 {
		return ""
	}
	for i, line := range lines {
		if n := times[line]; n > 1 {
			lines[i] += fmt.Sprintf(" (%d times)", n)
		}
	}
	return "\n\nIts calls, and what came of each:" + strings.Join(lines[max(len(lines)-toldDeeds, 0):], "")
}

// childPause suspends the parent's call with the child in it.
func childPause(s trajectory.Suspension, res Result) *Pause {
	s.Saved, s.Child = nil, &trajectory.Child{Messages: res.Messages, State: res.State}
	return &Pause{suspension: s}
}
