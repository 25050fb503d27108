package loop_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/turn"
)

// reply is what some client gives back.
type reply struct {
	Text            string
	Calls           []turn.Call
	Finish          string // "length" when it was cut at the output limit
	Prompt, Written int64
}

var errTooLong = errors.New("prompt is too long")

// wire makes a TurnFn from a client of your own. Retries, routing and streaming
// stay inside the client; the loop sees one completed turn.
func wire(complete func(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (reply, error)) turn.TurnFn {
	return func(ctx context.Context, messages []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		r, err := complete(ctx, messages, tools)
		if errors.Is(err, errTooLong) {
			err = fmt.Errorf("%w: %w", turn.ErrContextOverflow, err)
		}
		return turn.ModelTurnResult{ // beside an error too: what was spent is counted
			Message: turn.Assistant(r.Text, r.Calls...),
			Usage:   turn.Usage{InputTokens: r.Prompt, OutputTokens: r.Written},
			Finish:  r.Finish,
		}, err
	}
}

// A TurnFn over a client of one's own.
func ExampleOptions_turn() {
	greet := func(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (reply, error) {
		return reply{Text: "Good morning.", Finish: "stop", Prompt: 12, Written: 3}, nil
	}
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Hello.")}, loop.Options{Turn: wire(greet)})
	fmt.Println(res.Text(), res.Last.Finish, res.Stats.InputTokens, res.Stats.OutputTokens, err)
	// Output: Good morning. stop 12 3 <nil>
}
