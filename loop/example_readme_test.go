package loop_test

import (
	"context"
	"fmt"
	"log"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/turn"
)

func Example() {
	// A model is any function that answers a transcript with one turn. This one
	// calls the tool first, and reads its result out.
	model := func(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		last := messages[len(messages)-1]
		if turn.Role(last) == "tool" {
			return turn.ModelTurnResult{Message: turn.Assistant("It has " + turn.Text(last) + " letters.")}, nil
		}
		return turn.ModelTurnResult{Message: turn.Assistant("", turn.Call{ID: "1", Name: "count", Arguments: `{"text":"pawl"}`})}, nil
	}

	type input struct {
		Text string `json:"text"`
	}
	count := loop.NewTool(loop.Tool{Name: "count", Description: "Count the letters of a text."},
		func(_ context.Context, in input) (int, error) { return utf8.RuneCountInString(in.Text), nil })

	res, err := loop.RunToolLoop(context.Background(),
		[]turn.TranscriptMessage{turn.User("How long is the word pawl?")},
		loop.Options{Turn: model, Tools: []loop.Tool{count}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Text())
	fmt.Println(res.StopReason, "after", res.Stats.Turns, "turns and", res.Stats.ToolCalls, "call")
	// Output:
	// It has 4 letters.
	// done after 2 turns and 1 call
}
