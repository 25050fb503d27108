package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// Tool is something that the model can call. Name and Run are required. [NewTool]
// makes one from a typed function; by hand it is
//
//	loop.Tool{
//		Name:        "greet",
//		Description: "Greet somebody by name.",
//		Schema:      json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
//		Run: func(ctx context.Context, call loop.Call) (loop.Output, error) {
//			var in struct{ Name string }
//			if err := json.Unmarshal([]byte(call.Arguments), &in); err != nil {
//				return loop.Output{}, err // the model is told
//			}
//			return loop.Text("Hello, " + in.Name), nil
//		},
//	}
type Tool struct {
	// Name is what the model calls it: 1 to 64 letters, digits, _ and -.
	Name string
	// Description tells the model what the tool does and when to use it.
	Description string
	// Schema is the JSON schema of the arguments, an object schema; it goes on the
	// wire as it stands. Nil is a tool without arguments. Only a typed tool checks
	// arguments against its schema; this one gets any JSON object.
	Schema json.RawMessage
	// Run does the work. The context ends when the run does or Timeout expires;
	// a Run that ignores it is left behind after a grace period. Several calls may
	// run at once. An error is told to the model beside the output's text; one
	// made by [Fatal] ends the run, one made by [WaitForReply] or [ResumeLater]
	// suspends the call. A panic is a failed call, and so is an end of the goroutine
	// (runtime.Goexit, by which a test fails at once), unless nothing can stop the run:
	// a single call then runs on the run's own goroutine, and ends that.
	Run func(ctx context.Context, call Call) (Output, error)

	// Kind is what sort of thing the tool does: read, edit, execute and so on. The
	// loop only records it; package progress counts a run's deeds by it.
	Kind trajectory.Kind
	// Approval asks for a person's approval of these arguments by returning a
	// question; "" needs none. It must be pure. Nil never asks. A call that was
	// approved is not asked about again, also when it suspends itself later.
	Approval func(Call) (question string)
	// ReplaySafe says that running a call twice does no harm, so one that was cut
	// off by a dying process, or by [ErrShutdown], is run again instead of reported to
	// the model. A tool that only asks a person is safe to run again.
	ReplaySafe bool
	// Alone keeps the tool from running beside any other call of its turn.
	Alone bool
	// Polls is for a tool that asks whether something has changed, such as the state
	// of a build: the same call with the same result, again and again, is then no
	// sign that the run is stuck.
	Polls bool
	// Identity says what makes two calls the same, where package progress looks for
	// repetition; nil is the arguments. Calls of a tool that Polls are compared only where
	// it has an Identity. It must be pure; one that panics says nothing.
	Identity func(Call) string
	// Timeout bounds one call; zero and negative are no limit. A call that exceeds
	// it has failed and the run goes on.
	Timeout time.Duration

	check  func(arguments string) error // of a typed tool
	err    error                        // why the tool cannot be used
	goesOn bool                         // it takes a Resumption's Child
}

// Definition is the tool as it is advertised to a server. A tool that
// [RunToolLoop] would refuse has the zero definition.
func (t Tool) Definition() turn.WireToolDefinition {
	d, _ := t.definition()
	return d
}

var errNoRun = errors.New("there is no Run")

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (t Tool) definition() (turn.WireToolDefinition, error) {
	switch {
	case t.err != nil:
		return turn.WireToolDefinition{}, t.err
	case !toolName.MatchString(t.Name):
		return turn.WireToolDefinition{}, fmt.Errorf("the name %.80q is not 1 to 64 letters, digits, _ and -", t.Name)
	case t.Run == nil:
		return turn.WireToolDefinition{}, errNoRun
	}
	return turn.FunctionTool(t.Name, t.Description, t.Schema)
}

func (t *Tool) identity(c Call) (id string) {
	if t.Identity == nil {
		return ""
	}
	defer func() { _ = recover() }()
	return t.Identity(c)
}

// PlanTool lets the model keep the run's plan: package plan has its name, "update_plan",
// its definition, and how its arguments are read.
func PlanTool() Tool {
	d := plan.Definition()
	return Tool{
		Name: plan.ToolName, Description: turn.ToolDescription(d), Schema: turn.ToolSchema(d),
		Kind: trajectory.KindThink, ReplaySafe: true,
		Run: func(_ context.Context, c Call) (Output, error) {
			p, note, err := plan.Apply(c.Arguments)
			if err != nil {
				return Output{}, err
			}
			return Output{Text: note, Plan: &p}, nil
		},
	}
}
