package progress_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/progress"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// recorder keeps entries as a session file would.
type recorder struct {
	mu     sync.Mutex
	events []trajectory.Event
}

func (r *recorder) append(e trajectory.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	return nil
}

// both is how a host joins two recorders.
func both(session *recorder, watch *progress.Watch) func(trajectory.Event) error {
	return func(e trajectory.Event) error {
		if err := session.append(e); err != nil {
			return err
		}
		return watch.Record(e)
	}
}

// calling is a model that makes the call that next gives it, until it gives none.
func calling(next func(n int) (turn.Call, bool)) turn.TurnFn {
	n := 0
	return func(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		n++
		r := turn.ModelTurnResult{Message: turn.Assistant("done"), Usage: turn.Usage{InputTokens: 1000, OutputTokens: 10}, Model: "m-1"}
		if c, ok := next(n); ok {
			r.Message = turn.Assistant("", c)
		}
		return r, nil
	}
}

func sameRead(n int) (turn.Call, bool) {
	arguments := []string{`{"path":"a","n":1}`, `{"n":1,"path":"a"}`}[n%2]
	return turn.Call{ID: fmt.Sprint("r", n), Name: "read", Arguments: arguments}, true
}

var readTool = loop.Tool{Name: "read", Kind: trajectory.KindRead, Run: func(context.Context, loop.Call) (loop.Output, error) {
	return loop.Output{Text: "text"}, nil
}}

func TestLoopIsStoppedWhenStuck(t *testing.T) {
	var session recorder
	watch := progress.NewWatch(progress.WatchOptions{})
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("go")}, loop.Options{
		Turn: calling(sameRead), Tools: []loop.Tool{readTool},
		Record: both(&session, watch), ShouldStop: watch.ShouldStop, Inbox: watch.Inbox,
	})
	require.NoError(t, err)
	require.Equal(t, turn.Aborted, res.StopReason)
	var stuck *progress.StuckError
	require.ErrorAs(t, res.Cause, &stuck)
	require.Equal(t, 6, stuck.Turns)
	require.EqualValues(t, 6, res.Stats.Turns)
	require.NoError(t, turn.Check(res.Messages))
	var told []int
	for i, m := range res.Messages {
		if m.OfUser != nil && strings.HasPrefix(turn.Text(m), "You are repeating yourself") {
			told = append(told, i)
		}
	}
	require.Equal(t, []int{7}, told, "after three turns of two messages, once")

	_, all := watch.Progress()
	require.Equal(t, progress.RunProgress{Reads: 6, Repeats: 5}, all)
	require.Equal(t, all, progress.SummariseProgress(session.events, res.Plan, 0))
	require.Equal(t, progress.Spend(res.State, "m-1"), watch.Spend())

	// Carried on by another process, which has read the record: it does not stop at
	// once, and it does on the next repetition.
	second := progress.NewWatch(progress.WatchOptions{})
	for _, e := range session.events {
		require.NoError(t, second.Record(e))
	}
	o := loop.Options{Turn: calling(sameRead), Tools: []loop.Tool{readTool}, From: res.State,
		Record: both(&session, second), ShouldStop: second.ShouldStop, Inbox: second.Inbox}
	again, err := loop.RunToolLoop(context.Background(), res.Messages, o)
	require.NoError(t, err)
	require.ErrorAs(t, again.Cause, &stuck)
	require.Equal(t, 7, stuck.Turns)
	require.EqualValues(t, 7, again.Stats.Turns)
	require.Len(t, again.Added, 2, "told once is enough")
}

func TestLoopThatListens(t *testing.T) {
	var session recorder
	watch := progress.NewWatch(progress.WatchOptions{})
	model := func(ctx context.Context, messages []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		if turn.Role(messages[len(messages)-1]) == "user" && len(messages) > 1 {
			return turn.ModelTurnResult{Message: turn.Assistant("I cannot go on: a never changes.")}, nil
		}
		return calling(sameRead)(ctx, messages, tools)
	}
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("go")}, loop.Options{
		Turn: model, Tools: []loop.Tool{readTool}, Record: both(&session, watch), ShouldStop: watch.ShouldStop, Inbox: watch.Inbox})
	require.NoError(t, err)
	require.Equal(t, turn.Done, res.StopReason)
	require.EqualValues(t, 4, res.Stats.Turns)
}

// A model that says the same again is pushed on by the host's nudges alone.
func TestLoopEndsThoughTheTextIsTheSame(t *testing.T) {
	watch := progress.NewWatch(progress.WatchOptions{})
	nudges := 0
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("go")}, loop.Options{
		Turn:   calling(func(int) (turn.Call, bool) { return turn.Call{}, false }),
		Record: watch.Record, ShouldStop: watch.ShouldStop, Inbox: watch.Inbox,
		OnTurnWouldEnd: func(trajectory.State, turn.ModelTurnResult) []turn.TranscriptMessage {
			if nudges++; nudges <= 2 {
				return []turn.TranscriptMessage{turn.User("The plan is not finished.")}
			}
			return nil
		}})
	require.NoError(t, err)
	require.Equal(t, turn.Done, res.StopReason)
	require.EqualValues(t, 3, res.Stats.Turns)

	// And stopped, when the nudges never end.
	watch = progress.NewWatch(progress.WatchOptions{})
	res, err = loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("go")}, loop.Options{
		Turn:   calling(func(int) (turn.Call, bool) { return turn.Call{}, false }),
		Record: watch.Record, ShouldStop: watch.ShouldStop, Inbox: watch.Inbox,
		OnTurnWouldEnd: func(trajectory.State, turn.ModelTurnResult) []turn.TranscriptMessage {
			return []turn.TranscriptMessage{turn.User("The plan is not finished.")}
		}})
	require.NoError(t, err)
	var stuck *progress.StuckError
	require.ErrorAs(t, res.Cause, &stuck)
	require.Equal(t, progress.SameText, stuck.What)
	require.EqualValues(t, 6, res.Stats.Turns)
}

// Child runs that share the recorder count as delegated work, once.
func TestLoopWithChildRuns(t *testing.T) {
	var session recorder
	watch := progress.NewWatch(progress.WatchOptions{})
	edit := loop.Tool{Name: "edit", Kind: trajectory.KindEdit, Run: func(context.Context, loop.Call) (loop.Output, error) {
		return loop.Output{Text: "edited", Paths: []string{"a"}}, nil
	}}
	delegate := loop.Tool{Name: "delegate", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		res, err := loop.RunToolLoop(ctx, []turn.TranscriptMessage{turn.User("edit a")}, loop.Options{
			Turn:  calling(func(n int) (turn.Call, bool) { return turn.Call{ID: "e", Name: "edit", Arguments: "{}"}, n < 3 }),
			Tools: []loop.Tool{edit}, Record: both(&session, watch)})
		return loop.Output{Text: res.Text()}, err
	}}
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("go")}, loop.Options{
		Turn: calling(func(n int) (turn.Call, bool) {
			return turn.Call{ID: "d", Name: "delegate", Arguments: fmt.Sprintf(`{"task":%d}`, n)}, n < 3
		}),
		Tools: []loop.Tool{delegate}, Record: both(&session, watch), ShouldStop: watch.ShouldStop, Inbox: watch.Inbox})
	require.NoError(t, err)
	require.Equal(t, turn.Done, res.StopReason)
	_, all := watch.Progress()
	require.Equal(t, progress.RunProgress{Agents: 2}, all)
	require.Equal(t, all, progress.SummariseProgress(session.events, nil, 0))
	spend := watch.Spend()
	require.Equal(t, progress.Spend(res.State, "m-1"), spend)
	require.EqualValues(t, 2*3*1010, spend.DelegatedTokens)
	require.Equal(t, "2 sub-agents started", progress.DescribeProgress(all))
}
