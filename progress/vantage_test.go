package progress_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/progress"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// under gives a run's entries the names that they have where it is a child run.
func under(agent string, events []trajectory.Event) []trajectory.Event {
	out := slices.Clone(events)
	for i := range out {
		if out[i].Agent != "" {
			out[i].Agent = "/" + out[i].Agent
		}
		out[i].Agent = agent + out[i].Agent
	}
	return out
}

// A run is judged the same whether it is a child run or not, and whatever runs above
// and beside it record.
func TestAChildRunIsJudgedAsAnyRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawRun(t)
		agent := rapid.SampledFrom([]string{"3.x", "3.x/2.y"}).Draw(t, "agent")
		child := under(agent, s.events)
		require.Equal(t, progress.SummariseProgress(s.events, nil, 0), progress.SummariseProgress(child, nil, 0))
		require.Equal(t, detected(s.events, 2), detected(child, 2))

		others := drawRun(t).events
		run, childs := progress.NewWatch(progress.WatchOptions{StuckAt: 2}), progress.NewWatch(progress.WatchOptions{StuckAt: 2})
		for i := range child {
			require.NoError(t, run.Record(s.events[i]))
			require.NoError(t, childs.Record(child[i]))
			for range rapid.IntRange(0, 2).Draw(t, "others") {
				if len(others) > 0 {
					other := rapid.SampledFrom([]string{"", "3", "3.", "3.xy", "4.x", "3.x2/2.y", "1.a/3.x"}).Draw(t, "other")
					e := others[0]
					e.Agent, others = other, others[1:]
					require.NoError(t, childs.Record(e))
				}
			}
		}
		now, all := run.Progress()
		childNow, childAll := childs.Progress()
		require.Equal(t, now, childNow)
		require.Equal(t, all, childAll)
		require.Equal(t, run.Spend(), childs.Spend())
		require.Equal(t, run.Notice(), childs.Notice())
		require.Equal(t, run.ShouldStop(trajectory.State{}), childs.ShouldStop(trajectory.State{}))
		require.Equal(t, run.Inbox(), childs.Inbox())
	})
}

// A log is judged as that of its outermost run, though damage has cost its beginning.
func TestALogThatBeginsInAChildRun(t *testing.T) {
	s := begin(turn.User("go")).does(editOf("a", "1"))
	for _, events := range [][]trajectory.Event{
		slices.Concat(under("1.a", begin().does(readOf("b", "x")).events), s.events),
		slices.Concat(under("4.a/1.b", begin().does(readOf("b", "x")).events), under("4.a", s.events), under("5.c", s.events)),
	} {
		require.Equal(t, 1, progress.SummariseProgress(events, nil, 0).Edits)
		require.Zero(t, progress.SummariseProgress(events, nil, 0).Reads)
	}
}

// agentTool is a sub-agent that only reads the same file, and a lead that calls it
// with these tasks, one a turn.
func agentTool(watch *progress.Watch) loop.Tool {
	return loop.NewSubAgent(loop.Tool{Name: "agent"}, "", loop.Options{Turn: calling(sameRead), Tools: []loop.Tool{readTool},
		MaxIterations: 20, Record: watch.Record, ShouldStop: watch.ShouldStop, Inbox: watch.Inbox})
}

func lead(t *testing.T, agent loop.Tool, times int) loop.Result {
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("go")}, loop.Options{
		Turn: calling(func(n int) (turn.Call, bool) {
			return turn.Call{ID: fmt.Sprint("d", n), Name: agent.Name, Arguments: fmt.Sprintf(`{"task":"%d"}`, n)}, n <= times
		}),
		Tools: []loop.Tool{agent}})
	require.NoError(t, err)
	require.Equal(t, turn.Done, res.StopReason)
	return res
}

func TestWatchOfASubAgent(t *testing.T) {
	watch := progress.NewWatch(progress.WatchOptions{})
	res := lead(t, agentTool(watch), 1)
	require.EqualValues(t, 6, res.Children.Turns)
	require.Contains(t, turn.Text(res.Messages[2]), "stuck: the same call with the same result, 6 times")
	_, all := watch.Progress()
	require.Equal(t, progress.RunProgress{Reads: 6, Repeats: 5}, all)

	// Called again, it is not stopped for what it did the last time.
	watch = progress.NewWatch(progress.WatchOptions{})
	res = lead(t, agentTool(watch), 3)
	require.EqualValues(t, 18, res.Children.Turns)
	_, all = watch.Progress()
	require.Equal(t, progress.RunProgress{Reads: 6, Repeats: 5}, all, "of the latest run")
	require.EqualValues(t, 6, watch.Spend().Requests)
}

// A run that waited and goes on is the same run.
func TestWatchOfASubAgentThatWaited(t *testing.T) {
	w := progress.NewWatch(progress.WatchOptions{})
	s := begin(turn.User("go")).does(readOf("a", "1"))
	s.put(trajectory.RunEnd{Reason: turn.WaitingForReply})
	s.run().does(editOf("a", "2"))
	for _, e := range under("1.a", s.events) {
		require.NoError(t, w.Record(e))
	}
	now, all := w.Progress()
	require.Equal(t, progress.RunProgress{Reads: 1, Edits: 1, Files: 1}, all)
	require.Equal(t, progress.RunProgress{Edits: 1, Files: 1}, now)
}

// What a run that is doing well gives to a ShouldStop is no error at all.
func TestDetectStuckFitsShouldStop(t *testing.T) {
	var session recorder
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("go")}, loop.Options{
		Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "read"}), turntest.Say("done")).Turn, Tools: []loop.Tool{readTool},
		Record:     session.append,
		ShouldStop: func(trajectory.State) error { return progress.DetectStuck(session.events, 0) },
	})
	require.NoError(t, err)
	require.NoError(t, res.Cause)
	require.Equal(t, turn.Done, res.StopReason)
}
