package loop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

func drawText(t *rapid.T, label string) string {
	line := rapid.SampledFrom([]string{"", "ja", "Look\n\nat \"it\".", "äöü ", "[Budget] ", "a line of some length, <&>, "}).Draw(t, label)
	return strings.Repeat(line, rapid.SampledFrom([]int{1, 1, 2, 20, 300}).Draw(t, label+" times"))
}

// drawTranscript draws one without open calls.
func drawTranscript(t *rapid.T) turn.Transcript {
	var out turn.Transcript
	for range rapid.IntRange(0, 2).Draw(t, "systems") {
		out = append(out, turn.System(drawText(t, "system")))
	}
	out = append(out, turn.User(drawText(t, "task")))
	for range rapid.IntRange(0, 8).Draw(t, "blocks") {
		switch rapid.IntRange(0, 4).Draw(t, "block") {
		case 0:
			out = append(out, turn.User(drawText(t, "user")))
		case 1:
			out = append(out, turn.ReplayForm(turn.Assistant(drawText(t, "said"))))
		default:
			var calls []turn.Call
			for i := range rapid.IntRange(1, 4).Draw(t, "calls") {
				calls = append(calls, turn.Call{ID: fmt.Sprint("c", i), Name: "work", Arguments: fmt.Sprintf(`{"text":%q}`, drawText(t, "arguments"))})
			}
			out = append(out, turn.ReplayForm(turn.Assistant(drawText(t, "said"), calls...)))
			for _, c := range calls {
				out = append(out, turn.ToolResult(c.ID, drawText(t, "result")))
			}
		}
	}
	return out
}

// apply puts a compaction into effect and checks what must hold of every one.
func apply(t require.TestingT, before turn.Transcript, c loop.Compaction) turn.Transcript {
	if c.Drop == 0 && len(c.Head) == 0 {
		return before
	}
	require.LessOrEqual(t, c.Drop, len(before))
	after := slices.Concat(c.Head, before[c.Drop:])
	require.NoError(t, turn.Check(after))
	require.Empty(t, turn.OpenCalls(after))
	require.NotEmpty(t, after)
	for i, m := range before {
		if m.OfSystem == nil {
			break
		}
		require.Equal(t, bytesOf(t, before[i:i+1]), bytesOf(t, after[i:i+1]), "the system prompt")
	}
	return after
}

// However a transcript is cut, calls keep their results, the system prompt and the
// first request stay, the caller's messages are unchanged, and doing it again
// changes nothing and asks no model.
func TestSummariseAtEveryCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := drawTranscript(t)
		given := bytesOf(t, messages)
		asked := 0
		summarise := loop.Summarise(loop.SummaryOptions{
			Turn: func(_ context.Context, m []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
				asked++
				return turn.ModelTurnResult{Message: turn.Assistant("All is well.")}, nil
			},
			Window: int64(rapid.SampledFrom([]int{1, 100, 1000, 10000}).Draw(t, "window")), At: 1e-9,
			Keep: rapid.Float64Range(0, 1).Draw(t, "keep"),
		})
		in := loop.Compacting{Overflow: rapid.Bool().Draw(t, "overflow"), Try: rapid.IntRange(0, 2).Draw(t, "try")}
		if rapid.Bool().Draw(t, "plan") {
			in.State.Plan = &plan.Plan{Steps: []plan.Step{{Text: "fix", State: plan.Pending}}}
		}
		transcript := messages
		for n := range 4 {
			in.Messages = transcript[:len(transcript):len(transcript)]
			askedBefore := asked
			c, err := summarise(t.Context(), in)
			require.NoError(t, err)
			after := apply(t, transcript, c)
			require.Equal(t, given, bytesOf(t, messages))
			settled := n > 0 && !in.Overflow || n > 2 // what must make room may have to shorten outputs too
			if settled {
				require.Equal(t, askedBefore, asked, "another summary of the same")
				require.Equal(t, bytesOf(t, transcript), bytesOf(t, after))
			}
			if n == 0 && c.Drop > 0 && asked > 0 {
				checkKept(t, messages, after, in)
			}
			transcript = after
		}
	})
}

func checkKept(t require.TestingT, before, after turn.Transcript, in loop.Compacting) {
	if !in.Overflow || in.Try < 2 {
		last := len(before) - 1
		for before[last].OfTool != nil {
			last--
		}
		tail := before[last:]
		require.Equal(t, bytesOf(t, tail), bytesOf(t, after[len(after)-len(tail):]), "the latest batch")
	}
	task := slices.IndexFunc(before, func(m turn.TranscriptMessage) bool { return m.OfUser != nil })
	if text := turn.Text(before[task]); len(text) < 500 && !strings.HasPrefix(text, "[") {
		require.Contains(t, bytesOf(t, after), bytesOf(t, before[task:task+1])[0], "the first request")
	}
	if in.State.Plan != nil {
		require.True(t, slices.ContainsFunc(after, func(m turn.TranscriptMessage) bool { return strings.Contains(turn.Text(m), "- [pending] fix") }))
	}
}

// Pruning touches nothing but old outputs: a call's arguments are never cut into
// another call's.
func TestPruneAtEveryCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := drawTranscript(t)
		given := bytesOf(t, messages)
		o := loop.PruneOptions{Window: int64(rapid.SampledFrom([]int{1, 1000}).Draw(t, "window")), At: 1e-9,
			KeepTurns: rapid.IntRange(-1, 4).Draw(t, "turns"), MaxBytes: rapid.IntRange(-1, 300).Draw(t, "bytes")}
		in := loop.Compacting{Messages: messages, Overflow: rapid.Bool().Draw(t, "overflow"), Try: rapid.IntRange(0, 2).Draw(t, "try")}
		c, err := loop.Prune(o)(t.Context(), in)
		require.NoError(t, err)
		after := apply(t, messages, c)
		require.Equal(t, given, bytesOf(t, messages))
		require.Len(t, after, len(messages))
		keep := o.KeepTurns
		if keep == 0 {
			keep = 3
		}
		turns := 0
		for i, m := range slices.Backward(messages) {
			if m.OfTool == nil || turns < max(keep, 0)>>in.Try && !strings.Contains(turn.Text(after[i]), "[shortened") {
				require.Equal(t, given[i], bytesOf(t, after[i:i+1])[0])
			} else if len(turn.Text(after[i])) < len(turn.Text(m)) {
				require.GreaterOrEqual(t, turns, max(keep, 0)>>in.Try, "an output of a turn that was to be kept")
				require.Equal(t, m.OfTool.ToolCallID, after[i].OfTool.ToolCallID)
			}
			if m.OfAssistant != nil {
				turns++
			}
		}
		in.Messages = after
		again, err := loop.Prune(o)(t.Context(), in)
		require.NoError(t, err)
		require.Zero(t, again.Drop)
	})
}

// A compaction that would break the transcript, or frees nothing, is not applied;
// what it spent counts, and the record says why.
func TestUnusableCompactions(t *testing.T) {
	history := turn.Transcript{turn.User("Go."),
		turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a", Name: "work", Arguments: "{}"})), turn.ToolResult("a", "worked"),
		turn.User("And now?")}
	for name, c := range map[string]loop.Compaction{
		"drops more than there is":   {Drop: 5},
		"drops less than nothing":    {Drop: -1},
		"drops all":                  {Drop: 4},
		"parts a call from a result": {Head: turn.Transcript{turn.User("x")}, Drop: 2},
		"leaves a call open":         {Head: history[1:2], Drop: 4},
		"frees nothing":              {Head: history[:3], Drop: 3},
		"grows":                      {Head: turn.Transcript{turn.User(strings.Repeat("x", 1000))}, Drop: 3},
		"no role":                    {Head: turn.Transcript{{}}, Drop: 3},
	} {
		t.Run(name, func(t *testing.T) {
			c.Spend.InputTokens = 9
			var entries []trajectory.Event
			res, err := loop.RunToolLoop(t.Context(), history, loop.Options{
				Turn:    turntest.NewScript(turntest.Say("Done.")).Turn,
				Record:  func(e trajectory.Event) error { entries = append(entries, e); return nil },
				Compact: func(context.Context, loop.Compacting) (loop.Compaction, error) { return c, nil },
			})
			require.NoError(t, err)
			require.Equal(t, turn.Done, res.StopReason)
			require.Len(t, res.Messages, 5)
			require.Len(t, res.Added, 1)
			require.EqualValues(t, 9, res.Stats.InputTokens)
			require.EqualValues(t, 1, res.Stats.Turns)
			require.Equal(t, jsonOf(t, replay(t, entries).State()), jsonOf(t, res.State))
			failed, ok := entries[1].Body.(trajectory.Compact)
			require.True(t, ok)
			require.NotEmpty(t, failed.Failed)
		})
	}
}

// A compaction that the recorder does not take has not happened: the result agrees
// with the record, but for what was spent.
func TestCompactionThatIsNotRecorded(t *testing.T) {
	history := turn.Transcript{turn.User("Go."), turn.User(strings.Repeat("x", 1000))}
	res, err := loop.RunToolLoop(t.Context(), history, loop.Options{
		Turn: turntest.NewScript(turntest.Say("Done.")).Turn,
		Record: func(e trajectory.Event) error {
			if e.Body.Type() == "compact" {
				return errors.New("disk full")
			}
			return nil
		},
		Compact: func(context.Context, loop.Compacting) (loop.Compaction, error) {
			c := loop.Compaction{Head: turn.Transcript{turn.User("x")}, Drop: 2}
			c.Spend.InputTokens = 9
			return c, nil
		},
	})
	require.Equal(t, loop.FailureRecorder, loop.ClassifyRunFailure(err))
	require.Equal(t, bytesOf(t, history), bytesOf(t, res.Messages))
	require.Equal(t, 2, res.Recorded)
	require.EqualValues(t, 9, res.Stats.InputTokens)
}

// What a run was given and kept is not among what it added, though the messages
// before it were compacted away.
func TestAddedAfterACompaction(t *testing.T) {
	history := turn.Transcript{turn.System("Be brief."), turn.User(strings.Repeat("x", 1000)), turn.User("And now?")}
	compacted := false
	res, err := loop.RunToolLoop(t.Context(), history, loop.Options{
		Turn: turntest.NewScript(turntest.Say("Done.")).Turn,
		Compact: func(_ context.Context, in loop.Compacting) (loop.Compaction, error) {
			if compacted {
				return loop.Compaction{}, nil
			}
			compacted = true
			return loop.Compaction{Head: turn.Transcript{in.Messages[0], turn.User("short")}, Drop: 2}, nil
		},
	})
	require.NoError(t, err)
	require.Equal(t, bytesOf(t, turn.Transcript{turn.User("short"), turn.ReplayForm(turn.Assistant("Done."))}), bytesOf(t, res.Added))
}

// A compactor that can never work is an invalid option, and the run says so before
// it asks the model.
func TestCompactorWithoutWhatItNeeds(t *testing.T) {
	for want, compact := range map[string]loop.CompactFn{
		"loop: Compact: Prune: Window is required":               loop.Prune(loop.PruneOptions{}),
		"loop: Compact: Summarise: Turn and Window are required": loop.Summarise(loop.SummaryOptions{Window: 100}),
	} {
		var types []string
		model := turntest.NewScript(turntest.Say("Hello."))
		res, err := loop.RunToolLoop(t.Context(), turn.Transcript{turn.User("Go.")}, loop.Options{Turn: model.Turn, Compact: compact,
			Record: func(e trajectory.Event) error { types = append(types, e.Body.Type()); return nil }})
		require.EqualError(t, err, want)
		require.Equal(t, loop.FailureInvalid, loop.ClassifyRunFailure(err))
		require.Equal(t, []string{"run.start", "compact", "run.end"}, types)
		require.Equal(t, 1, model.Left())
		require.Len(t, res.Messages, 1)
	}
}
