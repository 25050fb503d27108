package resume_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// limited carries a session on to a limit, at which the model has a last word.
func limited(t *testing.T, session []byte, o loop.Options, child bool) ([]byte, loop.Result) {
	past, err := resume.Read(bytes.NewReader(session), nil)
	require.NoError(t, err)
	out := bytes.NewBuffer(bytes.Clone(session))
	o.Record, o.FinalTurn = trajectory.NewWriter(out, trajectory.Header{}, past.Tail).Append, true
	o.Turn = func(_ context.Context, messages []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		r := turn.ModelTurnResult{Message: turn.Assistant(fmt.Sprintf("A last word after %d messages.", len(messages))), Usage: turn.Usage{InputTokens: int64(len(messages)), OutputTokens: 1}}
		if len(tools) > 0 {
			r.Message = turn.Assistant("", turn.Call{ID: "x", Name: "look"})
		}
		return r, nil
	}
	o.Tools = []loop.Tool{{Name: "look", ReplaySafe: true, Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Text("seen"), nil }}}
	if child {
		o = loop.Options{Turn: leads, Record: o.Record, Tools: []loop.Tool{loop.NewSubAgent(loop.Tool{Name: "agent", ReplaySafe: true}, "", o)}}
	}
	o.From = past.State
	messages := past.Messages
	if len(messages) == 0 {
		messages = turn.Transcript{turn.User("Go.")}
	}
	res, err := loop.RunToolLoop(context.Background(), messages, o)
	require.NoError(t, err)
	return out.Bytes(), res
}

// heard is a transcript, but for how much of a budget was spent: a sub-agent that goes
// on at the end of one says it anew, with its last word.
func heard(t *testing.T, r loop.Result) string {
	return regexp.MustCompile(`spent: \d+ of`).ReplaceAllString(transcript(t, r.Messages), "spent")
}

// Cut at any byte about its last word, a run that reached a limit ends as the one that
// was never cut, and so does one whose sub-agent did: the word is not asked for twice.
func TestCrashAroundALastWord(t *testing.T) {
	for name, o := range map[string]loop.Options{"iterations": {MaxIterations: 2}, "budget": {Budget: loop.Budget{Tokens: 4}}} {
		for _, child := range []bool{false, true} {
			t.Run(fmt.Sprint(name, child), func(t *testing.T) {
				whole, want := limited(t, nil, o, child)
				require.Contains(t, string(whole), "A last word")
				ended := bytes.LastIndex(whole, []byte(`,"reason":"`)) // from there on the next run is a new one
				for _, n := range cuts(string(whole[:ended]), 61) {
					_, got := limited(t, whole[:n], o, child)
					require.Equal(t, heard(t, want), heard(t, got), "cut at %d: %s", n, whole[:n])
					require.Equal(t, timeless(want.Total()), timeless(got.Total()), "cut at %d", n)
					require.Equal(t, want.StopReason, got.StopReason)
				}
			})
		}
	}
}
