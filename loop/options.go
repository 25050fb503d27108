package loop

import (
	"time"

	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// Options say how a run goes. Only Turn is required. For every limit in it zero
// is the default that its comment names, and a negative value is no limit.
//
// The hooks (Record, ShouldStop, OnTurnWouldEnd, Inbox, Compact) are called from
// the goroutine that called [RunToolLoop], never two at a time within a run. A
// panic in one propagates.
type Options struct {
	// Turn is the model.
	Turn turn.TurnFn
	// Tools are advertised in this order, in every turn.
	Tools []Tool

	// MaxIterations bounds the model turns; the default is 500. With the limit n
	// the model is asked exactly n times at most, and the last batch still runs. The
	// count goes on after a pause, a process that died and [ErrShutdown], and starts
	// again after a run that ended.
	MaxIterations int
	// MaxParallel bounds how many calls of one turn run at a time; the default is
	// 32. It belongs to this run alone, so a child run waits for nobody's slot.
	MaxParallel int
	// Grace is how long a tool that was told to stop may take before the run goes
	// on without it; the default is 2 seconds.
	Grace time.Duration
	// MaxOutput bounds, in bytes, what the model reads of one tool's output; the
	// default is 262,144. The text is cut between runes and says so; the whole of it
	// is in the call's end, as Full.
	MaxOutput int
	// MaxDepth bounds how deep child runs may nest below this one; the default is 4.
	// A child run may go no deeper than what is left to its parent.
	MaxDepth int
	// Budget bounds what is spent.
	Budget Budget
	// FinalTurn lets this run's model have a last word at the iteration limit or when a
	// budget is spent: one more call, without tools. The user message that asks what was
	// done and what was not is the loop's. It counts as auxiliary spend, and the reason
	// to stop stays. A run that goes on from there adds a user message that says so, so
	// the host needs none; where the limit still holds it ends with the word that it has.
	FinalTurn bool

	// From is the state that an earlier run left: res.State, past.State. The zero
	// value begins a new run.
	From trajectory.State
	// Replies answer suspended calls, by call id. A call that has no reply waits on,
	// and the run then pauses again without asking the model. A reply to a call that
	// is not waiting, or of the wrong kind (an answer where an approval is asked), is
	// an [*InvalidError]; then none of the replies is used.
	Replies map[string]Reply

	// Record is handed one entry for everything that happens, before its effect.
	// The first, a [trajectory.RunStart], says that options, messages and replies were
	// accepted: for an [*InvalidError] about any of those Record is never called. When
	// it fails, the run stops before the effect, with a [*RecorderError], and Record is
	// not called again.
	Record func(trajectory.Event) error
	// Title and Cwd go into the run's first entry; both may be empty. A session is
	// named by its latest [trajectory.Title] entry, else by the Title of its latest run
	// that has one, else by that of its [trajectory.Header].
	Title, Cwd string

	// ShouldStop is asked before each model turn and before each batch of this run;
	// neither a batch at work nor a child run asks it. What stops those is the context's
	// cancellation. The error it returns stops the run and becomes Result.Cause; nil
	// goes on.
	ShouldStop func(trajectory.State) error
	// OnTurnWouldEnd is asked when a reply without calls would end the run, and
	// another turn is possible. The messages it returns push the run on.
	OnTurnWouldEnd func(trajectory.State, turn.ModelTurnResult) []turn.TranscriptMessage
	// Inbox hands over messages that arrived while the run was at work, such as a
	// user's correction. It is asked before each model turn, and before a reply
	// ends the run where another turn is possible, also the reply in which the given
	// transcript ends; what it returned and the run could not deliver comes back as
	// Result.Undelivered.
	Inbox func() []turn.TranscriptMessage

	// Compact makes room in the transcript; see [Summarise] and [Prune].
	Compact CompactFn

	// Batch runs the calls of one turn in place of the loop's own goroutines.
	Batch BatchFn
	// Now is the clock of entries, of model time and of pauses until a time; the
	// default is time.Now. A tool's duration is measured by [Tool.Do] with the real
	// clock: a test that wants it exact runs in testing/synctest.
	Now func() time.Time
}

const (
	defaultIterations = 500
	defaultParallel   = 32
	defaultGrace      = 2 * time.Second
	defaultOutput     = 256 << 10
	defaultDepth      = 4
	unlimited         = int(^uint(0) >> 1)
)

// limit applies the one rule for limits.
func limit[T int | time.Duration](v, byDefault, none T) T {
	switch {
	case v == 0:
		return byDefault
	case v < 0:
		return none
	}
	return v
}
