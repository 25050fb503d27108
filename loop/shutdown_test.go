package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/turn"
)

// office is a lead with an agent that has an agent, down to depth; all of them have a
// tool that may be repeated. Its models answer by the number of their replies.
type office struct {
	mu  sync.Mutex
	did map[string]int // how often each call finished
}

func (o *office) options(depth, turns int) loop.Options {
	look := loop.Tool{Name: "look", ReplaySafe: true, Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
		select {
		case <-time.After(time.Duration(len(c.Arguments)) * time.Millisecond):
			o.mu.Lock()
			defer o.mu.Unlock()
			o.did[c.Arguments]++
			return loop.Text("saw " + c.Arguments), nil
		case <-ctx.Done():
			return loop.Output{}, ctx.Err()
		}
	}}
	out := loop.Options{Tools: []loop.Tool{look}, MaxIterations: turns + 1} // and not one more
	if depth > 0 {
		out.Tools = append(out.Tools, loop.NewSubAgent(loop.Tool{Name: "agent"}, "", o.options(depth-1, turns)))
	}
	out.Turn = func(ctx context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		select {
		case <-time.After(7 * time.Millisecond):
		case <-ctx.Done():
			return turn.ModelTurnResult{}, ctx.Err()
		}
		n := 0
		for _, m := range messages {
			if m.OfAssistant != nil {
				n++
			}
		}
		r := turn.ModelTurnResult{Message: turn.Assistant(fmt.Sprintf("%d: done", depth)), Usage: turn.Usage{InputTokens: int64(len(messages)), OutputTokens: 1}}
		if n < turns {
			calls := []turn.Call{{ID: "a", Name: "look", Arguments: fmt.Sprintf(`{"depth":%d,"turn":%d}`, depth, n)}}
			if depth > 0 {
				calls = append(calls, turn.Call{ID: "b", Name: "agent", Arguments: fmt.Sprintf(`{"task":"%d"}`, n)})
			}
			r.Message = turn.Assistant("", calls...)
		}
		return r, nil
	}
	return out
}

// A run that is shut down at any instant, as often as one likes, and gone on with
// through JSON ends as the one that nobody stopped: with its transcript and its
// totals, and no call that finished having run twice.
func TestShutdownAtAnyInstant(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		depth, turns := rapid.IntRange(0, 2).Draw(t, "depth"), rapid.IntRange(1, 2).Draw(t, "turns")
		stops := rapid.SliceOfN(rapid.IntRange(0, 200), 1, 4).Draw(t, "stops, in milliseconds")
		parallel := rapid.IntRange(0, 1).Draw(t, "parallel")
		run := func(stops []int) (res loop.Result, did map[string]int) {
			synctest.Test(outer, func(*testing.T) {
				o := &office{did: map[string]int{}}
				messages := turn.Transcript{turn.User("Go.")}
				for i := 0; ; i++ {
					ctx, cancel := context.WithCancelCause(context.Background())
					if i < len(stops) {
						time.AfterFunc(time.Duration(stops[i])*time.Millisecond, func() { cancel(fmt.Errorf("a deploy: %w", loop.ErrShutdown)) })
					}
					options := o.options(depth, turns)
					options.From, options.MaxParallel = res.State, parallel
					var err error
					res, err = loop.RunToolLoop(ctx, messages, options)
					cancel(nil)
					require.NoError(t, err)
					require.NoError(t, turn.Check(res.Messages))
					stored, err := json.Marshal(res)
					require.NoError(t, err)
					res = loop.Result{}
					require.NoError(t, json.Unmarshal(stored, &res))
					messages = res.Messages
					if res.StopReason == turn.Done {
						break
					}
					require.Equal(t, turn.Aborted, res.StopReason)
				}
				did = o.did
			})
			return res, did
		}
		want, once := run(nil)
		got, did := run(stops)
		wantMessages, err := want.Messages.MarshalJSON()
		require.NoError(t, err)
		gotMessages, err := got.Messages.MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, string(wantMessages), string(gotMessages))
		require.Equal(t, want.Iterations, got.Iterations)
		require.Equal(t, counts(want.Stats), counts(got.Stats))
		require.Equal(t, counts(want.Total()), counts(got.Total()))
		require.Equal(t, once, did)
	})
}
