package loop_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

const (
	longTurns  = 5000
	longWindow = 4000
)

// long is a run of many turns, each with a call whose output has a kilobyte. What
// the window holds is reported, as a server does.
func long(turns int, see func(messages turn.Transcript)) loop.Options {
	size := func(messages turn.Transcript) (n int64) {
		for _, m := range messages {
			n += int64(len(turn.Text(m)))
		}
		return n / 4
	}
	asked := 0
	o := loop.Options{MaxIterations: -1}
	o.Turn = func(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		see(messages)
		asked++
		r := turn.ModelTurnResult{Message: turn.Assistant("done"), Usage: turn.Usage{InputTokens: size(messages), OutputTokens: 10}}
		if asked < turns {
			r.Message = turn.Assistant("", turn.Call{ID: fmt.Sprint("c", asked), Name: "read", Arguments: "{}"})
		}
		return r, nil
	}
	output := strings.Repeat("line of a file\n", 70)
	o.Tools = []loop.Tool{{Name: "read", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Text(output), nil }}}
	o.Compact = loop.Summarise(loop.SummaryOptions{Window: longWindow,
		Turn: func(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
			return turn.ModelTurnResult{Message: turn.Assistant("All files read so far are alike."), Usage: turn.Usage{InputTokens: size(messages), OutputTokens: 20}}, nil
		}})
	asks := 0
	o.Inbox = func() []turn.TranscriptMessage { // a user who has something to say now and then
		if asks++; asks%50 == 0 {
			return []turn.TranscriptMessage{turn.User(fmt.Sprintf("Remark %d: %s", asks, strings.Repeat("mind the details, ", 10)))}
		}
		return nil
	}
	return o
}

// However long a run becomes, what it holds and sends stays within the window, and
// between two compactions the transcript only grows, so a prompt cache hits.
func TestLongRunStaysWithinTheWindow(t *testing.T) {
	var past []string
	breaks := 0
	var sent int64
	o := long(longTurns, func(messages turn.Transcript) {
		now := make([]string, len(messages))
		for i, m := range messages {
			now[i] = fmt.Sprintf("%p%p%p", m.OfUser, m.OfAssistant, m.OfTool)
		}
		same := 0
		for same < min(len(past), len(now)) && past[same] == now[same] {
			same++
		}
		if same < len(past) {
			breaks++
		}
		past, sent = now, max(sent, int64(len(messages)))
	})
	compactions := 0
	o.Record = func(e trajectory.Event) error {
		if b, ok := e.Body.(trajectory.Compact); ok {
			require.Empty(t, b.Failed)
			compactions++
		}
		return nil
	}
	res, err := loop.RunToolLoop(t.Context(), turn.Transcript{turn.System("Be brief."), turn.User("Read all files.")}, o)
	require.NoError(t, err)
	require.Equal(t, turn.Done, res.StopReason)
	require.EqualValues(t, longTurns, res.Stats.Turns)
	require.Less(t, sent, int64(60), "messages at once")
	require.Less(t, len(res.Messages), 60)
	require.Equal(t, compactions, breaks, "places where what was sent before is not sent again")
	require.Less(t, compactions, longTurns/5)
	require.Less(t, res.Stats.InputTokens/res.Stats.Turns, int64(longWindow))
	require.Equal(t, "Read all files.", turn.Text(res.Messages[1]))
	require.NotEmpty(t, jsonOf(t, res.State))
	require.Less(t, len(jsonOf(t, res)), 40_000, "what is stored to go on")
}

// Cost and memory of a turn do not depend on how many went before.
func BenchmarkLongRun(b *testing.B) {
	for _, turns := range []int{500, 5000} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := loop.RunToolLoop(b.Context(), turn.Transcript{turn.System("Be brief."), turn.User("Read all files.")}, long(turns, func(turn.Transcript) {}))
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(turns), "ns/turn")
		})
	}
}
