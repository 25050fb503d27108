package loop_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// The time limit of a tool that is a sub-agent stops the child's run. For a call in
// there that is a run that was stopped, not a time limit of its own, whether it has
// one or not, and whether it stops when it is told to or is left.
func TestTimeLimitOfACallAbove(t *testing.T) {
	for name, inner := range map[string]loop.Tool{
		"without a limit":         {Name: "slow"},
		"with a longer one":       {Name: "slow", Timeout: time.Minute},
		"that ignores it":         {Name: "slow", Description: "ignores"},
		"with both, and it stays": {Name: "slow", Description: "ignores", Timeout: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				status := map[string]trajectory.Status{}
				text := map[string]string{}
				record := func(e trajectory.Event) error {
					if b, ok := e.Body.(trajectory.CallEnd); ok {
						status[b.Name], text[b.Name] = b.Status, turn.Text(b.Message)
					}
					return nil
				}
				inner.Run = func(ctx context.Context, _ loop.Call) (loop.Output, error) {
					if inner.Description != "" {
						ctx = context.WithoutCancel(ctx)
					}
					return loop.Output{}, sleep(ctx, time.Hour)
				}
				agent := loop.NewSubAgent(loop.Tool{Name: "agent", Timeout: time.Second}, "", loop.Options{
					Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "x", Name: "slow"})).Turn, Tools: []loop.Tool{inner}, Record: record})
				res, err := loop.RunToolLoop(t.Context(), turn.Transcript{turn.User("Go.")}, loop.Options{
					Turn:  turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "agent", Arguments: `{"task":"Wait."}`}), turntest.Say("done")).Turn,
					Tools: []loop.Tool{agent}, Record: record})
				require.NoError(t, err)
				require.Equal(t, turn.Done, res.StopReason)
				require.Equal(t, trajectory.CutOff, status["slow"])
				require.Contains(t, text["slow"], "The run was stopped while this call was running.")
				require.Equal(t, trajectory.Failed, status["agent"])
				require.Contains(t, text["agent"], "Error: timed out after 1s")
				if inner.Description == "" {
					require.Empty(t, res.Abandoned)
				} else {
					require.Equal(t, []turn.Call{{ID: "x", Name: "slow", Arguments: "{}"}}, res.Abandoned)
				}
				time.Sleep(2 * time.Hour) // what was left ends
			})
		})
	}
}

// A tool that is left is named in the result of the run that the host started, however
// deep it was called and whatever stopped the run.
func TestAbandonedBelow(t *testing.T) {
	for name, cause := range map[string]error{"by a user": errors.New("stop"), "by a shutdown": loop.ErrShutdown} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancelCause(t.Context())
				deaf := loop.Tool{Name: "deaf", Run: func(context.Context, loop.Call) (loop.Output, error) {
					stop(cause)
					time.Sleep(time.Hour)
					return loop.Text(""), nil
				}}
				o := loop.Options{Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "x", Name: "deaf"})).Turn, Tools: []loop.Tool{deaf}}
				for range 2 {
					o = loop.Options{Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "agent", Arguments: `{"task":"Go."}`})).Turn,
						Tools: []loop.Tool{loop.NewSubAgent(loop.Tool{Name: "agent"}, "", o)}}
				}
				res, err := loop.RunToolLoop(ctx, turn.Transcript{turn.User("Go.")}, o)
				require.NoError(t, err)
				require.Equal(t, turn.Aborted, res.StopReason)
				require.Equal(t, []turn.Call{{ID: "x", Name: "deaf", Arguments: "{}"}}, res.Abandoned)
				time.Sleep(2 * time.Hour)
			})
		})
	}
}
