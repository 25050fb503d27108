package loop

import (
	"slices"

	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// Result is how far a run came. It is complete however the run ended, also beside
// an error. It round-trips as JSON, but for Cause and Added.
//
// It embeds a [trajectory.State], so it also has Stats (what the run itself spent),
// Children (what its child runs spent, once their call has ended), Total() of all of
// it, Plan, Iterations, the calls that are Open and those of them that are Waiting(),
// for a person or a time.
type Result struct {
	// State is what the next run continues from, as Options.From.
	trajectory.State
	// StopReason is why the run stopped; "" when a failure ended it.
	StopReason turn.StopReason `json:"stopReason"`
	// Cause says more of a stop: the context's cause, at a deadline too, where an error
	// stands beside it; the error of ShouldStop, a spent budget. It is nil when the run
	// ended by itself or by any other failure, which is RunToolLoop's error.
	Cause error `json:"-"`
	// Messages is the whole transcript, Added what this run added to the messages
	// it was given, a compaction's messages included. Neither shares memory that the
	// run or a tool still writes to.
	Messages turn.Transcript `json:"messages"`
	Added    turn.Transcript `json:"-"`
	// Last is the model's latest reply in this run, zero when it gave none. Where
	// the process died right after a reply and this run goes on from it, it is that
	// reply, without timings and finish. A reply that was empty, refused or filtered
	// ends a run too: this is where it shows; [turn.IsEmpty] of its [turn.ReplayForm]
	// tells an empty one.
	Last turn.ModelTurnResult `json:"last"`
	// Partial is what a model call that failed or was cancelled left behind; nil
	// when there was no such call.
	Partial *turn.ModelTurnResult `json:"partial,omitempty"`
	// Undelivered are messages that the run took and could not deliver.
	Undelivered turn.Transcript `json:"undelivered,omitempty"`
	// Abandoned are the calls whose tools were still running when they were left, those
	// of child runs included.
	Abandoned []turn.Call `json:"abandoned,omitempty"`
}

// Text is what the model said last: the latest text that is not empty among what
// this run added, or, when it added none, since the last user message. Whether
// the very last reply had any text is Last's to say.
func (r Result) Text() string {
	if text := lastText(r.Added); text != "" {
		return text
	}
	from := len(r.Messages)
	for from > 0 && r.Messages[from-1].OfUser == nil {
		from--
	}
	return lastText(r.Messages[from:])
}

func lastText(messages []turn.TranscriptMessage) string {
	for _, m := range slices.Backward(messages) {
		if m.OfAssistant != nil {
			if text := turn.Text(m); text != "" {
				return text
			}
		}
	}
	return ""
}

// added are the messages of all that were not given. Results of an open batch may
// stand between given ones, and a compaction may have taken given ones out.
func added(all, given turn.Transcript) turn.Transcript {
	n := 0
	for n < len(given) && n < len(all) && identity(all[n]) == identity(given[n]) {
		n++
	}
	if n == len(given) {
		return all[n:]
	}
	rest := map[any]int{}
	for _, m := range given[n:] {
		rest[identity(m)]++
	}
	var out turn.Transcript
	for _, m := range all[n:] {
		if key := identity(m); rest[key] > 0 {
			rest[key]--
			continue
		}
		out = append(out, m)
	}
	return out
}

// identity is what a message points to: messages need not be comparable by value.
func identity(m turn.TranscriptMessage) any {
	switch {
	case m.OfAssistant != nil:
		return m.OfAssistant
	case m.OfTool != nil:
		return m.OfTool
	case m.OfUser != nil:
		return m.OfUser
	case m.OfSystem != nil:
		return m.OfSystem
	case m.OfDeveloper != nil:
		return m.OfDeveloper
	}
	return m.OfFunction
}
