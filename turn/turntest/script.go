package turntest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/turn"
)

// ErrExhausted is what the error of a [Script] wraps that was asked once more
// than it has replies.
var ErrExhausted = errors.New("the script has no more replies")

// Reply is one answer of a script: what [Say] or [Fail] made, or any result, with
// an error beside it or not, as it may be for any TurnFn.
type Reply struct {
	Result turn.ModelTurnResult
	Err    error
	// After is how long the model takes. A context that ends meanwhile ends it: what
	// comes then is its error, and beside it the text without the calls, and the usage.
	After time.Duration
}

// Say is a reply of text and calls, with neither usage nor timings. Its Finish is
// "tool_calls" when it calls something and "stop" otherwise.
func Say(text string, calls ...turn.Call) Reply {
	finish := "stop"
	if len(calls) > 0 {
		finish = "tool_calls"
	}
	return Reply{Result: turn.ModelTurnResult{Message: turn.Assistant(text, calls...), Finish: finish}}
}

// Fail is a reply that is an error.
func Fail(err error) Reply { return Reply{Err: err} }

// Spending is the reply with a usage, for a test of totals or of a budget.
func (r Reply) Spending(input, output int64) Reply {
	r.Result.Usage.InputTokens, r.Result.Usage.OutputTokens = input, output
	return r
}

// Costing is the reply with a price.
func (r Reply) Costing(c turn.Cost) Reply {
	r.Result.Usage.Cost = &c
	return r
}

// Taking is the reply after so long, for a test of a deadline. In a bubble of
// testing/synctest it takes no time at all. It is also how long the generation took,
// where the result does not say that itself, so that stats.AccumulateTurn over
// r.Result adds the model time that a run counts.
func (r Reply) Taking(d time.Duration) Reply {
	if g := &r.Result.Timings.Generation; *g == 0 || *g == r.After {
		*g = d
	}
	r.After = d
	return r
}

// Request is what a script was asked.
type Request struct {
	Messages turn.Transcript
	Tools    []turn.WireToolDefinition
}

// Result is the text of a call's result, as the model got it: the latest, where
// several turns used the id. It is "" when there is none.
func (r Request) Result(callID string) string {
	for _, m := range slices.Backward(r.Messages) {
		if m.OfTool != nil && turn.CallID(m) == callID {
			return turn.Text(m)
		}
	}
	return ""
}

// Script is a model that answers from a list. Its method Turn is a [turn.TurnFn].
// It may be used from several goroutines, which then share the list.
type Script struct {
	mu      sync.Mutex
	replies []Reply
	asked   []Request
}

// NewScript is a script of these replies.
func NewScript(replies ...Reply) *Script { return &Script{replies: slices.Clone(replies)} }

// Turn gives the next reply. When there is none, the error wraps [ErrExhausted]
// and says what was asked. A context that is done before uses no reply.
func (s *Script) Turn(ctx context.Context, messages []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	if err := ctx.Err(); err != nil {
		return turn.ModelTurnResult{}, err
	}
	reply, err := s.next(messages, tools)
	if err != nil {
		return turn.ModelTurnResult{}, err
	}
	if reply.After > 0 {
		timer := time.NewTimer(reply.After)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return turn.ModelTurnResult{Message: turn.Assistant(reply.Result.Message.Content), Usage: reply.Result.Usage}, ctx.Err()
		case <-timer.C:
		}
	}
	return reply.Result, reply.Err
}

func (s *Script) next(messages []turn.TranscriptMessage, tools []turn.WireToolDefinition) (Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, Request{slices.Clone(messages), slices.Clone(tools)})
	if n := len(s.asked); n > len(s.replies) {
		last := "nothing"
		if len(messages) > 0 {
			m := messages[len(messages)-1]
			last = fmt.Sprintf("%s message %.80q", turn.Role(m), turn.Text(m))
		}
		return Reply{}, fmt.Errorf("request %d to a script of %d, ending in the %s: %w", n, len(s.replies), last, ErrExhausted)
	}
	return s.replies[len(s.asked)-1], nil
}

// Asked is what the script was asked so far, in order, the requests beyond its
// end included. The slice is the caller's.
func (s *Script) Asked() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Left is how many replies were not given yet.
func (s *Script) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(len(s.replies)-len(s.asked), 0)
}
