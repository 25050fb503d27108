package loop_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// A panic in a hook is the host's and reaches it as it is. The tools that are at
// work then are told to stop: none is left behind.
func TestHookThatPanics(t *testing.T) {
	onEntry := func(n int) func(*loop.Options) {
		return func(o *loop.Options) {
			entries := 0
			o.Record = func(trajectory.Event) error {
				if entries++; entries == n {
					panic("the hook")
				}
				return nil
			}
		}
	}
	for name, change := range map[string]func(*loop.Options){
		"Record, at the start":      onEntry(1),
		"Record, at a reply":        onEntry(2),
		"Record, at a call's start": onEntry(4),
		"Record, at a call's end":   onEntry(5),
		"Record, at the end":        onEntry(8),
		"ShouldStop":                func(o *loop.Options) { o.ShouldStop = func(trajectory.State) error { panic("the hook") } },
		"Inbox":                     func(o *loop.Options) { o.Inbox = func() []turn.TranscriptMessage { panic("the hook") } },
		"OnTurnWouldEnd": func(o *loop.Options) {
			o.OnTurnWouldEnd = func(trajectory.State, turn.ModelTurnResult) []turn.TranscriptMessage { panic("the hook") }
		},
		"Compact": func(o *loop.Options) {
			o.Compact = func(context.Context, loop.Compacting) (loop.Compaction, error) { panic("the hook") }
		},
		"Batch": func(o *loop.Options) {
			o.Batch = func(context.Context, []loop.Call) ([]loop.Outcome, error) { panic("the hook") }
		},
		"Turn": func(o *loop.Options) {
			o.Turn = func(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
				panic("the hook")
			}
		},
		"Now": func(o *loop.Options) {
			asked := 0
			o.Now = func() time.Time {
				if asked++; asked > 5 {
					panic("the hook")
				}
				return time.Now()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				running := 0
				o := loop.Options{
					Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "slow"}, turn.Call{ID: "b", Name: "quick"}), turntest.Say("done")).Turn,
					Tools: []loop.Tool{
						{Name: "slow", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
							running++
							defer func() { running-- }()
							return loop.Output{}, sleep(ctx, time.Hour)
						}},
						{Name: "quick", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, nil }},
					},
					Record: func(trajectory.Event) error { return nil },
				}
				change(&o)
				began := time.Now()
				require.PanicsWithValue(t, "the hook", func() { _, _ = loop.RunToolLoop(t.Context(), turn.Transcript{turn.User("Go.")}, o) })
				synctest.Wait()
				require.Zero(t, running)
				if name == "Record, at a call's end" {
					require.Zero(t, time.Since(began), "nobody waited for the slow one")
				}
			})
		})
	}
}
