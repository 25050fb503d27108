package loop_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// openCall is a run that stands at one call of a tool that is safe to repeat.
func openCall(arguments string) turn.Transcript {
	return turn.Transcript{turn.User("Go."), turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a", Name: "rm", Arguments: arguments}))}
}

func safeTool(ran *[]string) []loop.Tool {
	return []loop.Tool{{Name: "rm", ReplaySafe: true, Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
		*ran = append(*ran, c.Arguments)
		return loop.Text("gone"), nil
	}}}
}

// What a state knows of a call is of that call alone: a call of the same id with
// other arguments, of another session or edited since, does not run with these.
func TestStateOfAnotherCall(t *testing.T) {
	var ran []string
	from := trajectory.State{Recorded: 2, Stats: stats.RunStats{Turns: 1}, Open: []trajectory.OpenCall{
		{Call: turn.Call{ID: "a", Name: "rm", Arguments: `{"path":"/tmp/x"}`}, Turn: 1, Started: true}}}
	o := loop.Options{From: from, Tools: safeTool(&ran), Turn: turntest.NewScript(turntest.Say("done")).Turn}
	res, err := loop.RunToolLoop(t.Context(), openCall(`{"path":"/tmp/y"}`), o)
	require.NoError(t, err)
	require.Empty(t, ran)
	require.Contains(t, turn.Text(res.Messages[2]), "the outcome of this call is unknown")

	o.Turn = turntest.NewScript(turntest.Say("done")).Turn
	_, err = loop.RunToolLoop(t.Context(), openCall(`{"path":"/tmp/x"}`), o)
	require.NoError(t, err)
	require.Equal(t, []string{`{"path":"/tmp/x"}`}, ran)
}

// A host that begins its totals anew, to give a run a new budget, keeps its open
// calls: their results find them, and no other turn takes their number.
func TestTotalsBegunAnew(t *testing.T) {
	const arguments = `{"path":"/tmp/x"}`
	from := trajectory.State{Recorded: 2, Open: []trajectory.OpenCall{
		{Call: turn.Call{ID: "a", Name: "rm", Arguments: arguments}, Turn: 4, Started: true}}}
	var ran []string
	var turns []int
	o := loop.Options{From: from, Tools: safeTool(&ran), Record: func(e trajectory.Event) error {
		if b, ok := e.Body.(trajectory.CallEnd); ok {
			turns = append(turns, b.Turn)
		}
		return nil
	}}
	again := turntest.Say("", turn.Call{ID: "a", Name: "rm", Arguments: arguments})
	o.Turn = turntest.NewScript(again, turntest.Say("done")).Turn
	res, err := loop.RunToolLoop(t.Context(), openCall(arguments), o)
	require.NoError(t, err)
	require.Equal(t, []int{4, 5}, turns)
	require.EqualValues(t, 2, res.Stats.Turns)

	o.Turn = turntest.NewScript(turntest.Say("done")).Turn
	res, err = loop.RunToolLoop(t.Context(), append(openCall(arguments), turn.ToolResult("a", "by hand")), o)
	require.NoError(t, err)
	require.Equal(t, "by hand", turn.Text(res.Messages[2]))

	o.Record = func(trajectory.Event) error { return errors.New("disk full") }
	res, err = loop.RunToolLoop(t.Context(), openCall(arguments), o)
	require.Equal(t, loop.FailureRecorder, loop.ClassifyRunFailure(err))
	require.Len(t, turn.OpenCalls(res.Messages), 1, "no turn was made, so nothing is answered")
}

// A batch that returns too many outcomes or too few has lost track of whose they
// are: none is taken for a call's, and the run ends and says so.
func TestBatchThatCannotCount(t *testing.T) {
	ok := loop.Outcome{Output: loop.Text("fine"), Status: trajectory.OK}
	for want, outs := range map[string][]loop.Outcome{
		"tools: the number of outcomes is 0, that of calls 2": nil,
		"tools: the number of outcomes is 1, that of calls 2": {ok},
		"tools: the number of outcomes is 3, that of calls 2": {ok, ok, ok},
	} {
		var ran []string
		res, err := loop.RunToolLoop(t.Context(), turn.Transcript{turn.User("Go.")}, loop.Options{
			Turn:  turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "rm"}, turn.Call{ID: "b", Name: "rm"})).Turn,
			Tools: safeTool(&ran),
			Batch: func(context.Context, []loop.Call) ([]loop.Outcome, error) { return outs, nil },
		})
		require.EqualError(t, err, want)
		require.Equal(t, loop.FailureTool, loop.ClassifyRunFailure(err))
		require.Empty(t, turn.OpenCalls(res.Messages))
		for _, m := range res.Messages[2:] {
			require.Contains(t, turn.Text(m), "The run was stopped while this call was running.")
		}
	}
}
