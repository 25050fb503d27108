package turntest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

func TestTellsTheTime(t *testing.T) {
	model := turntest.NewScript(
		turntest.Say("I'll look.", turn.Call{ID: "a", Name: "clock"}).Spending(40, 9),
		turntest.Say("It is noon."),
	)
	res, err := answer(t.Context(), model.Turn, "What time is it?") // the agent under test
	require.NoError(t, err)
	require.Equal(t, "It is noon.", res.Text())
	require.Equal(t, "12:00", model.Asked()[1].Result("a"), "the tool's result, as the model got it")
	require.Zero(t, model.Left(), "it was asked for every reply")
}

func TestTimesInABubbleAreExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "sleep"}).Taking(time.Second), turntest.Say("Done."))
		sleep := loop.Tool{Name: "sleep", Run: func(context.Context, loop.Call) (loop.Output, error) {
			time.Sleep(time.Minute)
			return loop.Text(""), nil
		}}
		res, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("Sleep.")}, loop.Options{Turn: s.Turn, Tools: []loop.Tool{sleep}})
		require.NoError(t, err)
		require.Equal(t, time.Second, res.Stats.ModelTime)
		require.Equal(t, time.Minute, res.Stats.ToolTime)
	})
}
