package turntest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// What the folds make of a script's replies is what the run that they play spent.
func TestRepliesFoldToTheTotalsOfTheirRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replies := []turntest.Reply{
			turntest.Say("", turn.Call{ID: "a", Name: "sleep"}).Spending(100, 10).Costing(turn.Cent).Taking(3 * time.Second),
			turntest.Say("", turn.Call{ID: "a", Name: "sleep"}).Taking(time.Hour).Taking(time.Second).Spending(200, 20),
			turntest.Say("Done.").Costing(0),
		}
		sleep := loop.Tool{Name: "sleep", Run: func(context.Context, loop.Call) (loop.Output, error) {
			time.Sleep(time.Minute)
			return loop.Text(""), nil
		}}
		res, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("Sleep.")},
			loop.Options{Turn: turntest.NewScript(replies...).Turn, Tools: []loop.Tool{sleep}})
		require.NoError(t, err)

		want := stats.EmptyRunStats()
		for _, r := range replies {
			want = stats.AccumulateTurn(want, r.Result)
			for _, c := range r.Result.Message.ToolCalls {
				want = stats.AccumulateToolCall(want, c.Function.Name, time.Minute)
			}
		}
		require.Equal(t, want, res.Stats)
		require.Equal(t, 4*time.Second, want.ModelTime)
	})
}

// A generation that the result names is kept, whatever the reply takes.
func TestTakingKeepsAGeneration(t *testing.T) {
	r := turntest.Reply{Result: turn.ModelTurnResult{Timings: turn.Timings{Generation: time.Second}}}.Taking(time.Minute)
	require.Equal(t, time.Second, r.Result.Timings.Generation)
	require.Equal(t, time.Minute, r.After)
}

func TestResultIsTheLatestOfItsID(t *testing.T) {
	r := turntest.Request{Messages: turn.Transcript{
		turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a", Name: "f"})), turn.ToolResult("a", "first"),
		turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a", Name: "f"})), turn.ToolResult("a", "second"), turn.User("a")}}
	require.Equal(t, "second", r.Result("a"))
	require.Empty(t, r.Result("b"))
	require.Empty(t, r.Result(""), "what is no result answers no call")
}
