package turntest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/turn"
	"github.com/stretchr/testify/require"
)

func TestScriptKeepsTheContract(t *testing.T) {
	replies := make([]Reply, 10)
	for i := range replies {
		replies[i] = Say("Blue.", turn.Call{ID: "a", Name: "clock", Arguments: "{}"})
	}
	Run(t, func(*testing.T) turn.TurnFn { return NewScript(replies...).Turn })
}

// Each check finds the function that breaks its rule.
func TestChecksFindWhatTheyLookFor(t *testing.T) {
	negative, minus := int64(-1), turn.Cost(-1)
	second := time.Second
	answer := func(change func(*turn.ModelTurnResult)) turn.TurnFn {
		return func(ctx context.Context, _ []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
			r := turn.ModelTurnResult{Message: turn.Assistant("Blue.")}
			if change != nil {
				change(&r)
			}
			return r, ctx.Err()
		}
	}
	good := answer(nil)
	fail := func(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		return turn.ModelTurnResult{}, errors.New("no")
	}
	var running atomic.Int32
	bad := map[string][]turn.TurnFn{
		"a question":     {fail, answer(func(r *turn.ModelTurnResult) { r.Message = turn.Assistant("") })},
		"a conversation": {fail},
		"calls": {fail,
			answer(func(r *turn.ModelTurnResult) { r.Message = turn.Assistant("", turn.Call{ID: "a"}) })},
		"numbers": {fail,
			answer(func(r *turn.ModelTurnResult) { r.Usage.InputTokens = -1 }),
			answer(func(r *turn.ModelTurnResult) { r.Usage.OutputTokens = -1 }),
			answer(func(r *turn.ModelTurnResult) { r.Usage.CachedInputTokens = &negative }),
			answer(func(r *turn.ModelTurnResult) { n := int64(5); r.Usage.CachedInputTokens = &n }),
			answer(func(r *turn.ModelTurnResult) { r.Usage.Cost = &minus }),
			answer(func(r *turn.ModelTurnResult) { r.Timings.Generation = -1 }),
			answer(func(r *turn.ModelTurnResult) { r.Timings.Generation = time.Hour }),
			answer(func(r *turn.ModelTurnResult) { r.Timings.TTFT = &second }),
			answer(func(r *turn.ModelTurnResult) {
				time.Sleep(2 * time.Millisecond)
				d := time.Millisecond
				r.Timings = turn.Timings{TTFT: &d, Generation: 1}
			})},
		"JSON":                   {fail},
		"a context that is done": {fail, ignore(good)},
		"a deadline that passed": {fail, ignore(good)},
		"a context that ends meanwhile": {func(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
			time.Sleep(10 * time.Second)
			return turn.ModelTurnResult{}, nil
		}},
		"the caller's slices": {fail,
			func(ctx context.Context, m []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
				_ = append(m, turn.User("mine"))
				return good(ctx, m, tools)
			},
			func(ctx context.Context, m []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
				m[0] = turn.User("mine")
				return good(ctx, m, tools)
			},
			func(ctx context.Context, m []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
				tools[0].OfFunction.Function.Name = "mine"
				_ = append(tools, turn.WireToolDefinition{})
				return good(ctx, m, tools)
			}},
		"several at once": {func(ctx context.Context, m []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
			defer running.Add(-1)
			if running.Add(1) > 1 {
				return turn.ModelTurnResult{}, errors.New("busy")
			}
			time.Sleep(50 * time.Millisecond)
			return good(ctx, m, tools)
		}},
	}
	for _, c := range checks {
		require.NotEmpty(t, bad[c.name], c.name)
		for i, model := range bad[c.name] {
			synctest.Test(t, func(t *testing.T) {
				require.Error(t, c.check(model), "%s: %d", c.name, i)
				time.Sleep(time.Minute) // until a function that was given up on is back
			})
		}
		require.NoError(t, c.check(good), c.name)
	}
}

func ignore(model turn.TurnFn) turn.TurnFn {
	return func(_ context.Context, m []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		return model(context.Background(), m, tools)
	}
}

func TestScript(t *testing.T) {
	no := errors.New("no")
	s := NewScript(Say("hi", turn.Call{ID: "a", Name: "f"}), Fail(no))
	res, err := s.Turn(t.Context(), question(), tools())
	require.NoError(t, err)
	require.Equal(t, "tool_calls", res.Finish)
	require.Equal(t, 1, s.Left())
	_, err = s.Turn(t.Context(), conversation(), nil)
	require.ErrorIs(t, err, no)
	_, err = s.Turn(t.Context(), question(), nil)
	require.ErrorIs(t, err, ErrExhausted)
	require.EqualError(t, err, `request 3 to a script of 2, ending in the user message "Which colour has the sky?": the script has no more replies`)
	require.Zero(t, s.Left())
	asked := s.Asked()
	require.Len(t, asked, 3)
	require.Len(t, asked[0].Tools, 1)
	require.Len(t, asked[1].Messages, len(conversation()))

	synctest.Test(t, func(t *testing.T) {
		s := NewScript(Say("hm", turn.Call{ID: "a", Name: "f"}).Spending(5, 2).Taking(time.Minute), Say("hi"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		res, err := s.Turn(ctx, nil, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, turn.ModelTurnResult{Message: turn.Assistant("hm"), Usage: turn.Usage{InputTokens: 5, OutputTokens: 2}}, res, "what was heard until then, but no call")
		_, err = s.Turn(ctx, nil, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 1, s.Left(), "a context that is done before uses no reply")
	})
}
