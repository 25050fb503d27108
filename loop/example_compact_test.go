package loop_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// The transcript has outgrown the window of 1,000 tokens, so a model, here one of
// its own, sums up the earlier part of it. What the user said stays as it is.
func ExampleSummarise() {
	long := loop.Tool{Name: "read", Run: func(context.Context, loop.Call) (loop.Output, error) {
		return loop.Text(strings.Repeat("All work and no play. ", 100)), nil
	}}
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.System("Be brief."), turn.User("Review it.")}, loop.Options{
		Tools: []loop.Tool{long},
		Turn: turntest.NewScript(
			turntest.Say("", turn.Call{ID: "a", Name: "read"}).Spending(300, 10),
			turntest.Say("It repeats itself. Once more.", turn.Call{ID: "b", Name: "read"}).Spending(850, 10),
			turntest.Say("It is dull.")).Turn,
		Compact: loop.Summarise(loop.SummaryOptions{
			Turn:   turntest.NewScript(turntest.Say("The text was read once; it repeats itself.").Spending(900, 15)).Turn,
			Window: 1000,
		}),
	})
	for _, m := range res.Messages {
		fmt.Printf("%s: %.60q\n", turn.Role(m), turn.Text(m))
	}
	fmt.Println(res.Stats.Turns, "turns,", res.Stats.InputTokens, "tokens in, the summary's included", err)
	// Output:
	// system: "Be brief."
	// user: "Review it."
	// user: "[Summary of the conversation so far]\n\nThe text was read once"
	// assistant: "It repeats itself. Once more."
	// tool: "All work and no play. All work and no play. All work and no "
	// assistant: "It is dull."
	// 3 turns, 2050 tokens in, the summary's included <nil>
}

// Old outputs are shortened first. The transcript is summarised where that frees too
// little, and where the model has refused it.
func ExampleSummarise_prune() {
	prune := loop.Prune(loop.PruneOptions{Window: 1000, KeepTurns: 1, MaxBytes: 20})
	summarise := loop.Summarise(loop.SummaryOptions{Window: 1000, Keep: 0.05,
		Turn: turntest.NewScript(turntest.Say("Both texts are dull.").Spending(700, 15)).Turn})
	read := loop.Tool{Name: "read", Run: func(context.Context, loop.Call) (loop.Output, error) {
		return loop.Text(strings.Repeat("All work and no play. ", 100)), nil
	}}
	note := loop.Tool{Name: "note", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Text("noted"), nil }}
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Review them.")}, loop.Options{
		Tools: []loop.Tool{read, note},
		Turn: turntest.NewScript(
			turntest.Say("", turn.Call{ID: "a", Name: "read"}).Spending(20, 10),
			turntest.Say("", turn.Call{ID: "b", Name: "note"}).Spending(600, 10),
			turntest.Say(strings.Repeat("It repeats itself. ", 100), turn.Call{ID: "c", Name: "note"}).Spending(100, 800),
			turntest.Say("They are dull.").Spending(90, 10)).Turn,
		Compact: func(ctx context.Context, in loop.Compacting) (loop.Compaction, error) {
			if c, err := prune(ctx, in); err != nil || c.Drop > 0 && !in.Overflow {
				return c, err
			}
			return summarise(ctx, in)
		},
		Record: func(e trajectory.Event) error {
			if c, ok := e.Body.(trajectory.Compact); ok {
				fmt.Println(c.Drop, "messages give way to", len(c.Head), "for", c.Spend.InputTokens, "tokens")
			}
			return nil
		},
	})
	fmt.Println(res.Text(), err)
	// Output:
	// 3 messages give way to 3 for 0 tokens
	// 5 messages give way to 2 for 700 tokens
	// They are dull. <nil>
}

// Old tool outputs are shortened, which takes no model. A host can ask what would
// come of it.
func ExamplePrune() {
	messages := turn.Transcript{
		turn.User("Review it."),
		turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a", Name: "read"})),
		turn.ToolResult("a", strings.Repeat("All work and no play. ", 300)),
		turn.ReplayForm(turn.Assistant("It repeats itself.")),
		turn.User("Are you sure?"),
	}
	prune := loop.Prune(loop.PruneOptions{Window: 2000, KeepTurns: 1, MaxBytes: 21})
	c, err := prune(context.Background(), loop.Compacting{Messages: messages})
	fmt.Println(c.Drop, "messages give way to", len(c.Head), err)
	fmt.Println(turn.Text(c.Head[2]))
	// Output:
	// 3 messages give way to 3 <nil>
	// All work and no play.
	// [shortened from 6600 bytes to save space; call the tool again if the rest is needed]
}

// A compaction of one's own: here the oldest exchange goes, and only when the
// model has refused the transcript.
func ExampleCompactFn() {
	forget := func(_ context.Context, in loop.Compacting) (loop.Compaction, error) {
		if !in.Overflow {
			return loop.Compaction{}, nil
		}
		return loop.Compaction{Drop: 2}, nil
	}
	res, err := loop.RunToolLoop(context.Background(),
		[]turn.TranscriptMessage{turn.User("What is 2+2?"), turn.ReplayForm(turn.Assistant("4.")), turn.User("And 3+3?")},
		loop.Options{Turn: turntest.NewScript(turntest.Fail(turn.ErrContextOverflow), turntest.Say("6.")).Turn, Compact: forget})
	for _, m := range res.Messages {
		fmt.Println(turn.Text(m))
	}
	fmt.Println(err)
	// Output:
	// And 3+3?
	// 6.
	// <nil>
}
