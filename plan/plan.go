// Package plan is a run's plan: a short list of steps with a state each, which the
// model keeps by a tool and a host can show.
//
//	p, note, err := plan.Apply(`{"steps":[{"text":"read the code","state":"done"},{"text":"fix it"}]}`)
//	fmt.Println(note, err, p.Outstanding()) // Plan updated: 1 of 2 done. <nil> [{fix it pending}]
//
// # Why the whole list every time
//
// An update replaces the whole list, so it needs no previous plan, and a lost
// update is mended by the next one. At most one step is in progress: [Apply] makes
// it so and says so, rather than refusing what the model meant.
//
// # Where it lives
//
// In a loop, PlanTool of package loop is the tool, and the plan stands in
// the run's state. A host with a loop of its own advertises [Definition] and calls
// Apply with the arguments of each call to [ToolName].
package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/turn"
)

// State is where a step stands.
type State string

const (
	Pending    State = "pending"     // not begun
	InProgress State = "in_progress" // being worked on; at most one step is
	Done       State = "done"        // finished
	Dropped    State = "dropped"     // given up on purpose: neither done nor outstanding
)

// Step is one thing to do.
type Step struct {
	Text  string `json:"text"`
	State State  `json:"state"`
}

// Plan is a list of steps in the order they are to be done. The zero value is the
// empty plan.
type Plan struct {
	Steps []Step `json:"steps"`
}

// Outstanding are the steps neither done nor dropped, in planned order.
func (p Plan) Outstanding() []Step {
	var out []Step
	for _, s := range p.Steps {
		if s.State != Done && s.State != Dropped {
			out = append(out, s)
		}
	}
	return out
}

// Counts says how many steps are done, and how many there are. A dropped step
// counts in neither.
func (p Plan) Counts() (done, all int) {
	for _, s := range p.Steps {
		switch s.State {
		case Dropped:
			continue
		case Done:
			done++
		}
		all++
	}
	return done, all
}

// Clone is a copy that shares nothing with p.
func (p Plan) Clone() Plan { return Plan{slices.Clone(p.Steps)} }

// ToolName is the name under which the plan tool is advertised.
const ToolName = "update_plan"

const description = "Write down or update the plan for this task. Send the whole list of steps every time, " +
	"in the order to be done; it replaces the list before. Keep at most one step in_progress, and mark " +
	"each step done as soon as it is. Use dropped for a step that turned out not to be needed."

const schema = `{"type":"object","properties":{"steps":{"type":"array","description":"all steps, in order",` +
	`"items":{"type":"object","properties":{"text":{"type":"string","description":"what is to be done"},` +
	`"state":{"type":"string","enum":["pending","in_progress","done","dropped"]}},` +
	`"required":["text","state"],"additionalProperties":false}}},"required":["steps"],"additionalProperties":false}`

// Definition is the plan tool as it is advertised to a server.
func Definition() turn.WireToolDefinition {
	d, err := turn.FunctionTool(ToolName, description, json.RawMessage(schema))
	if err != nil {
		panic(err) // the schema is a constant, and a test reads it
	}
	return d
}

// Apply reads the arguments of one call to the plan tool. The note is what the
// model should hear: what was put right, and where the plan stands. The error says
// what is wrong with the arguments and at which step; there is no plan then.
//
// Put right, and said so: a second step in progress becomes pending; a state that
// is missing is pending; a state under a name that models use instead of ours
// ("completed", "in progress") is taken as meant, and a bare text as a pending
// step; steps without text are left out.
func Apply(arguments string) (p Plan, note string, err error) {
	text, err := turn.Arguments(arguments)
	if err != nil {
		return Plan{}, "", err
	}
	var in struct {
		Steps json.RawMessage `json:"steps"`
	}
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return Plan{}, "", fmt.Errorf("the plan: %w", err)
	}
	if in.Steps == nil || string(in.Steps) == "null" {
		return Plan{}, "", errors.New("the plan: \"steps\" is missing")
	}
	var list []json.RawMessage
	if json.Unmarshal(in.Steps, &list) != nil {
		return Plan{}, "", errors.New("the plan: \"steps\" is no list")
	}
	var notes []string
	current := 0
	p.Steps = make([]Step, 0, len(list))
	for i, item := range list {
		step, err := parseStep(item)
		if err != nil {
			return Plan{}, "", fmt.Errorf("the plan: step %d: %w", i+1, err)
		}
		if step.Text == "" {
			notes = append(notes, fmt.Sprintf("Step %d had no text and was left out.", i+1))
			continue
		}
		if step.State == InProgress {
			if current > 0 {
				step.State = Pending
				notes = append(notes, fmt.Sprintf("Only one step can be in progress: step %d stays so, step %d was set to pending.", current, i+1))
			} else {
				current = i + 1
			}
		}
		p.Steps = append(p.Steps, step)
	}
	return p, strings.Join(append(notes, p.summary()), " "), nil
}

func parseStep(item json.RawMessage) (Step, error) {
	var in struct {
		Text  string `json:"text"`
		State string `json:"state"`
	}
	if json.Unmarshal(item, &in.Text) != nil && json.Unmarshal(item, &in) != nil {
		return Step{}, errors.New("want an object with text and state")
	}
	in.Text = strings.TrimSpace(in.Text)
	if in.Text == "" {
		return Step{}, nil
	}
	state, err := parseState(in.State)
	return Step{in.Text, state}, err
}

func parseState(s string) (State, error) {
	switch strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(s))) {
	case "", "pending", "todo", "not_started", "open":
		return Pending, nil
	case "in_progress", "active", "doing", "started":
		return InProgress, nil
	case "done", "completed", "complete", "finished":
		return Done, nil
	case "dropped", "cancelled", "canceled", "skipped":
		return Dropped, nil
	}
	return "", fmt.Errorf("unknown state %.40q; use pending, in_progress, done or dropped", s)
}

func (p Plan) summary() string {
	done, all := p.Counts()
	if all == 0 {
		return "The plan is empty."
	}
	return fmt.Sprintf("Plan updated: %d of %d done.", done, all)
}
