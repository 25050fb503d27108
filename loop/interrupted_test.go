package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// A process that dies between a plain reply and what OnTurnWouldEnd adds to it
// leaves a transcript that looks finished. The next run asks the hook all the
// same, and ends as the run that was never cut.
func TestReplyWhoseRunDiedIsOfferedAgain(t *testing.T) {
	options := func() loop.Options {
		return loop.Options{
			Turn: func(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
				return turn.ModelTurnResult{Message: turn.Assistant("reply to " + turn.Text(messages[len(messages)-1])), Usage: turn.Usage{InputTokens: 7}}, nil
			},
			OnTurnWouldEnd: func(s trajectory.State, last turn.ModelTurnResult) []turn.TranscriptMessage {
				if last.Message.Content == "reply to begin" && last.Usage.InputTokens == 7 {
					return []turn.TranscriptMessage{turn.User("nudge")}
				}
				return nil
			},
		}
	}
	begin := []turn.TranscriptMessage{turn.User("begin")}
	whole, err := loop.RunToolLoop(t.Context(), begin, options())
	require.NoError(t, err)

	var f trajectory.Fold
	cut := options()
	cut.Record = func(e trajectory.Event) error {
		if m, ok := e.Body.(trajectory.Message); ok && m.Turn == nil {
			return errors.New("killed")
		}
		if _, ok := e.Body.(trajectory.RunEnd); ok {
			return errors.New("killed")
		}
		return f.Add(e)
	}
	_, err = loop.RunToolLoop(t.Context(), begin, cut)
	require.Error(t, err)
	require.Len(t, f.Messages(), 2)

	again := options()
	again.From = f.State()
	again.Record = f.Add
	res, err := loop.RunToolLoop(t.Context(), f.Messages(), again)
	require.NoError(t, err)
	want, err := json.Marshal(whole.Messages)
	require.NoError(t, err)
	got, err := json.Marshal(res.Messages)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
	require.Equal(t, int64(2), res.Stats.Turns)
	require.Equal(t, turn.Done, res.StopReason)

	again.From = res.State
	twice, err := loop.RunToolLoop(t.Context(), res.Messages, again)
	require.NoError(t, err)
	require.Equal(t, int64(2), twice.Stats.Turns, "a run that ended is not offered again")
}
