package loop

import (
	"slices"

	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// Result is how far a run came. It is complete however the run ended, also beside
// an error. It round-trips as JSON, but for Cause and Added.
type Result struct {
	// State is what the next run continues from, as Options.From. Stats is the
	// run's own, Children its child runs', Total() both.
	trajectory.State
	// StopReason is why the run stopped; "" when a failure ended it.
	StopReason turn.StopReason `json:"stopReason"`
	// Cause says more: the context's cause, the error of ShouldStop. It is nil when
	// the run ended by itself.
	Cause error `json:"-"`
	// Messages is the whole transcript, Added what this run added to the messages
	// it was given. Neither shares memory that the run or a tool still writes to.
	Messages turn.Transcript `json:"messages"`
	Added    turn.Transcript `json:"-"`
	// Last is the model's latest reply in this run, zero when it gave none. A reply
	// that was empty, refused or filtered ends a run too: this is where it shows.
	Last turn.ModelTurnResult `json:"last"`
	// Partial is what a model call that failed or was cancelled left behind; nil
	// when there was no such call.
	Partial *turn.ModelTurnResult `json:"partial,omitempty"`
	// Undelivered are messages that the run took and could not deliver.
	Undelivered turn.Transcript `json:"undelivered,omitempty"`
	// Abandoned are the calls whose tools were still running when they were left.
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

// added are the messages of all that were not given. Results of an open batch
// may stand between given ones.
func added(all, given turn.Transcript) turn.Transcript {
	n := 0
	for n < len(given) && n < len(all) && same(all[n], given[n]) {
		n++
	}
	rest := given[n:]
	if len(rest) == 0 {
		return all[n:]
	}
	var out turn.Transcript
	for _, m := range all[n:] {
		if len(rest) > 0 && same(m, rest[0]) {
			rest = rest[1:]
			continue
		}
		out = append(out, m)
	}
	return out
}

// same compares by identity: messages need not be comparable by value.
func same(a, b turn.TranscriptMessage) bool {
	return a.OfAssistant == b.OfAssistant && a.OfTool == b.OfTool && a.OfUser == b.OfUser &&
		a.OfSystem == b.OfSystem && a.OfDeveloper == b.OfDeveloper && a.OfFunction == b.OfFunction
}
