package loop

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// Call is one tool call as a tool gets it. It is plain data. Arguments is always
// one JSON object, the same text that approvals and validation saw.
type Call struct {
	turn.Call
	// Turn is the number of the reply that made the call: with the id it names the
	// call, since some servers use the same ids in every turn.
	Turn int `json:"turn"`
	// Resume is set when a call runs again that its tool suspended: when the time came
	// that it waited for, and on an answer where it had saved something. Where it had
	// not, the answer is the result and nothing runs. A call that was approved runs for
	// the first time, and has none.
	Resume *Resumption `json:"resume,omitempty"`
}

// Resumption is what a call runs again with, that was suspended or lost its process.
type Resumption struct {
	// Saved is what the tool saved with its pause; nil when it saved nothing.
	Saved json.RawMessage `json:"saved,omitempty"`
	// Reply is what a person said; nil when the time came.
	Reply *Reply `json:"reply,omitempty"`
	// Child is the child run that a tool of [NewSubAgent] goes on with: one that
	// waited, or that was at work when the process died.
	Child *trajectory.Child `json:"child,omitempty"`
}

// Output is what a tool gives back. The zero value is an empty text.
type Output struct {
	// Text is the result that the model reads.
	Text string `json:"text"`
	// Paths are the files that the call touched; package progress counts them.
	Paths []string `json:"paths,omitempty"`
	// Plan replaces the run's plan; nil leaves it.
	Plan *plan.Plan `json:"plan,omitempty"`
	// Children is what child runs spent that this process did not see: a run that
	// was started with the tool's context is added by itself.
	Children stats.RunStats `json:"children,omitzero"`
	// Events are recorded before the call's end; the Name of each has the form
	// "x.<vendor>.<name>". One that cannot be recorded ([trajectory.Custom.Check]) is
	// left out, and the call has failed.
	Events []trajectory.Custom `json:"events,omitempty"`
}

// Text is an output of text alone.
func Text(s string) Output { return Output{Text: s} }

// Outcome is all that is known of a call that ran. It is plain data with an exact
// JSON, so it may cross a durable engine.
type Outcome struct {
	Output
	// Status is how the call ended: OK, Failed or CutOff. "" says that it did not
	// finish, or that it is suspended.
	Status trajectory.Status `json:"status,omitempty"`
	// Error is what the tool's error said.
	Error string `json:"error,omitempty"`
	// Duration is how long the tool ran.
	Duration time.Duration `json:"durationNs"`
	// Suspension is set when the tool suspended the call.
	Suspension *trajectory.Suspension `json:"suspension,omitempty"`
	// Agents is how many child runs began.
	Agents int `json:"agents,omitempty"`
	// Abandoned says that the tool was still running when it was left. Left are calls of
	// child runs of which that is so.
	Abandoned bool        `json:"abandoned,omitempty"`
	Left      []turn.Call `json:"left,omitempty"`
	// Fatal says that Error ends the run.
	Fatal bool `json:"fatal,omitempty"`
	// Stack is where the tool panicked, for the host.
	Stack string `json:"stack,omitempty"`

	err error // a fatal error itself, for errors.Is; lost in JSON
}

// CallFrom is the call that a context belongs to, within Tool.Run.
func CallFrom(ctx context.Context) (Call, bool) {
	if c, ok := ctx.Value(callKey{}).(*callContext); ok {
		return c.call, true
	}
	return Call{}, false
}
