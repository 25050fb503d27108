package trajectory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/turn"
)

// childRun is what a child run of two turns and one call records, the n-th of its call.
func childRun(n int) []Event {
	call := turn.Call{ID: "x", Name: "f", Arguments: `{}`}
	usage := turn.Usage{InputTokens: 100, OutputTokens: 1}
	entries := []Body{
		RunStart{Messages: turn.Transcript{turn.User(string(rune('a' + n)))}},
		Message{turn.ReplayForm(turn.Assistant("", call)), &Turn{Usage: usage, Number: 1}},
		CallStart{Call: call, Turn: 1},
		CallEnd{Call: call, Turn: 1, Status: OK, Message: turn.ToolResult("x", "seen"), Duration: time.Second},
		Message{turn.ReplayForm(turn.Assistant("done")), &Turn{Usage: usage, Number: 2}},
		RunEnd{Reason: turn.Done},
	}
	var out []Event
	for _, b := range entries {
		out = append(out, Event{Agent: "1.a", Body: b})
	}
	return out
}

// Whatever two child runs of one call record, in whatever order their entries come and
// whichever are lost, what they spent is counted once. Where one came after the other,
// what the call is said to go on from is one of them, as far as it came, or nothing.
func TestChildRunsOfOneCall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f Fold
		call := turn.Call{ID: "a", Name: "agent", Arguments: `{}`}
		for _, b := range []Body{RunStart{Messages: turn.Transcript{turn.User("Go.")}},
			Message{turn.ReplayForm(turn.Assistant("", call)), &Turn{Number: 1}}, CallStart{Call: call, Turn: 1}} {
			require.NoError(t, f.Add(Event{Body: b}))
		}
		atOnce := rapid.Bool().Draw(t, "at once")
		var want stats.RunStats
		runs := [][]Event{childRun(0), childRun(1)}
		var single [2][]Event // each by itself, as far as it was recorded
		for len(runs[0])+len(runs[1]) > 0 {
			n := 0
			if atOnce {
				n = rapid.IntRange(0, 1).Draw(t, "run")
			}
			if len(runs[n]) == 0 {
				n = 1 - n
			}
			e := runs[n][0]
			runs[n] = runs[n][1:]
			if rapid.IntRange(0, 9).Draw(t, "lost") == 0 {
				continue
			}
			if sum, ok := addSpend(want, e.Body); ok {
				want = sum
			}
			single[n] = append(single[n], e)
			require.NoError(t, f.Add(e))
			open := f.Open()[0]
			if open.Children != nil || !want.IsZero() {
				require.Equal(t, timeless(want), timeless(*open.Children))
			}
			if open.Child == nil || atOnce {
				continue
			}
			var same bool
			for _, entries := range single {
				var alone Fold
				for i := range entries {
					_ = alone.Add(Event{Body: entries[i].Body})
				}
				same = same || len(alone.messages) == len(open.Child.Messages) && turn.Text(alone.messages[0]) == turn.Text(open.Child.Messages[0])
			}
			require.True(t, same, "it goes on from a mixture")
		}
	})
}

func timeless(s stats.RunStats) stats.RunStats {
	s.ToolTime, s.ToolTimeBreakdown = 0, nil // of a call whose start was lost nobody knows
	return s
}
