package trajectory

import (
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/turn"
)

// State is what a run has to know beyond its messages. It travels from one run to
// the next as a value and round-trips as JSON. The zero value is a run that has
// not begun. What its slices, maps and pointers hold is shared with the run and with
// other snapshots, and must not be written to.
type State struct {
	// Stats are the run's own totals, Children those of its child runs, save those of
	// calls that are open, such as a sub-agent that waits: they stand with the call, and
	// come in with its end. [State.Total] has all of it.
	Stats    stats.RunStats `json:"stats"`
	Children stats.RunStats `json:"children"`
	// Iterations counts model turns against the limit. They go on over a pause, a kill
	// or a shutdown, and start again after a run that Ended.
	Iterations int  `json:"iterations"`
	Ended      bool `json:"ended"`
	// LastWord: the transcript ends in what the model said at a limit, without
	// tools; the work may go on.
	LastWord bool `json:"lastWord,omitempty"`
	// PlainReplies counts the replies in a row, of the run at hand, that called no
	// tool. A call that worked begins the count anew, and so does the run's end.
	PlainReplies int `json:"plainReplies,omitempty"`
	// Recorded is how many messages of the transcript the record holds.
	Recorded int `json:"recorded"`
	// LastUsage is what the latest turn reported; zero after a compaction, which
	// made it wrong.
	LastUsage turn.Usage `json:"lastUsage"`
	// Plan is nil until a plan was made.
	Plan *plan.Plan `json:"plan"`
	// Open are the calls without a result at the transcript's end, in call order.
	Open []OpenCall `json:"open,omitempty"`
}

// Total is what the run and all its child runs spent, those of the calls that are
// still open included.
func (s State) Total() stats.RunStats {
	total := stats.AccumulateRun(s.Stats, s.Children)
	for _, c := range s.Open {
		if c.Children != nil {
			total = stats.AccumulateRun(total, *c.Children)
		}
	}
	return total
}

// Waiting are the open calls that wait for a person or a time.
func (s State) Waiting() []OpenCall {
	var out []OpenCall
	for _, c := range s.Open {
		if c.Waiting() {
			out = append(out, c)
		}
	}
	return out
}

// Asking are those of them that wait for a person: an answer, or an approval.
func (s State) Asking() []OpenCall {
	return slices.DeleteFunc(s.Waiting(), func(c OpenCall) bool { return c.Suspension.For == ForTime })
}

// FirstWaiting is the waiting call to deal with first: one that waits for a person
// before any that waits for a time, in call order, and of several times the earliest.
// It reports false when none waits.
func (s State) FirstWaiting() (first OpenCall, ok bool) {
	for _, c := range s.Open {
		switch {
		case !c.Waiting():
		case c.Suspension.For != ForTime:
			return c, true
		case !ok || c.Suspension.Until.Before(first.Suspension.Until):
			first, ok = c, true
		}
	}
	return first, ok
}

// OpenCall is a call without a result, and what is known of it.
type OpenCall struct {
	turn.Call
	Turn int `json:"turn"`
	// Started: the tool ran, or was about to.
	Started bool `json:"started,omitempty"`
	// Imported: it came with messages that no record accounts for, so nothing is
	// known of it.
	Imported bool `json:"imported,omitempty"`
	// Cut: the reply that made it was cut at the output limit, so it must not run.
	Cut bool `json:"cut,omitempty"`
	// Suspension is why it waits or waited: nil for a call that was never suspended,
	// never nil for the calls of [State.Waiting]. Reply is what it was resumed with.
	Suspension *Suspension `json:"suspension,omitempty"`
	Reply      *Reply      `json:"reply,omitempty"`
	// Pauses is how often it was suspended.
	Pauses int `json:"pauses,omitempty"`
	// Children is what its child runs have spent so far, nil for nothing; Agents is
	// how many began.
	Children *stats.RunStats `json:"children,omitempty"`
	Agents   int             `json:"agents,omitempty"`
	// Child is the child run that was at work when the process died, nil where the
	// record does not tell of it. A call that waits has it in its suspension.
	Child *Child `json:"child,omitempty"`
}

// Innermost is the call that a person is asked about, whose name and arguments to show:
// of a sub-agent that waits it is the one inside it. The reply is to c all the same.
func (c OpenCall) Innermost() OpenCall {
	for c.Suspension != nil && c.Suspension.Child != nil {
		inner, ok := c.Suspension.Child.State.FirstWaiting()
		if !ok {
			break
		}
		c = inner
	}
	return c
}

// Waiting reports whether the call is suspended and nothing has resumed it.
func (c OpenCall) Waiting() bool { return c.Suspension != nil && c.Reply == nil }

// Ticket names the pause that the call is in, for a [Reply] that is delivered more
// than once or late: some servers use an id again in a later turn, and a tool may ask
// twice, so a call's id alone could meet another question by then.
func (c OpenCall) Ticket() string { return fmt.Sprintf("%d.%d.%s", c.Turn, c.Pauses, c.ID) }
