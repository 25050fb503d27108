package progress

import (
	"math"
	"sync"

	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// WatchOptions is how a [Watch] behaves. Zero is the default, negative is never.
type WatchOptions struct {
	// Notice is called with a notice to show; nil for none. It is called by
	// whichever goroutine calls Record, ShouldStop or Inbox, which waits for it, and
	// not before the loop has asked one of the latter two: until then entries are of
	// the past. The watch holds no lock meanwhile, so Notice may call its methods. Two
	// calls at once are possible where child runs share the recorder.
	Notice func(string)
	// NoticeAt is the number of tokens, child runs included, at which the first
	// notice is raised. The next is at ten times as many. 0 is [FirstNotice]. It is
	// also the notice's [NoticeOptions.Threshold].
	NoticeAt int64
	// StuckAt is how many turns a run may spend on a repetition before ShouldStop
	// stops it, 6 by default and at least 2. The model is told half way there.
	StuckAt int
	// Local and Priced are those of [NoticeOptions].
	Local, Priced bool
}

// Watch follows a run by its entries: what it achieved, when that is worth a
// notice, and whether it only repeats itself. It is safe for concurrent use.
//
// It judges one run, that of the first entry it is given. Entries of runs below that
// one are its child runs', so they may share its recorder; entries of any other run
// are ignored. A run that waited and goes on is the same run. Once the run has ended,
// the next that starts beside it is judged instead, from nothing: a sub-agent whose
// options hold a watch may be called again. Calls that run side by side need a watch
// each, so it is made anew in the tool's Run.
//
// All that a watch knows follows from the entries, so one that was given those of the
// past carries on where they end.
type Watch struct {
	notice  func(string)
	options NoticeOptions
	stuckAt int   // 0: never
	firstAt int64 // the number of tokens of the first notice; 0: none

	mu    sync.Mutex
	live  bool // a loop has asked
	begun bool // there was an entry
	agent string
	over  bool // the run has ended
	watched
}

// watched is what is known of the run that is judged.
type watched struct {
	tally     tally
	detector  detector
	ledger    ledger
	before    RunProgress // when the run was last started
	noticeAt  int64       // the next number of tokens to speak of; 0: none
	changes   int         // of the tally, when something last changed,
	changedAt int64       // and the tokens spent by then
	pending   string      // a notice that waits until a loop asks
	told      bool        // the model was told of the repetition that goes on
	handed    bool        // or is being told
}

// NewWatch makes a watch for one session.
func NewWatch(o WatchOptions) *Watch {
	w := &Watch{notice: o.Notice, options: NoticeOptions{Local: o.Local, Priced: o.Priced}}
	switch {
	case o.NoticeAt == 0:
		w.firstAt = FirstNotice
	case o.NoticeAt > 0:
		w.firstAt = o.NoticeAt
	}
	w.noticeAt, w.options.Threshold = w.firstAt, w.firstAt
	switch {
	case o.StuckAt == 0:
		w.stuckAt = defaultStuckAt
	case o.StuckAt > 0:
		w.stuckAt = max(o.StuckAt, 2)
	}
	return w
}

// Record takes the next entry, of the past or of a run that goes on. The error is
// always nil; it is there so that Record fits where recorders do.
func (w *Watch) Record(e trajectory.Event) error {
	w.mu.Lock()
	due := ""
	w.choose(&e)
	if seen, ok := from(w.agent, &e); ok {
		due = w.record(seen)
	}
	w.mu.Unlock()
	w.say(due)
	return nil
}

// choose settles which run is judged. A run beside it that starts after its end takes
// its place. One above it never does: that is not the sub-agent called again.
func (w *Watch) choose(e *trajectory.Event) {
	_, starts := e.Body.(trajectory.RunStart)
	switch {
	case !w.begun:
		w.begun, w.agent = true, e.Agent
	case e.Agent == w.agent:
		if _, ends := e.Body.(trajectory.RunEnd); ends || starts {
			w.over = ends
		}
	case w.over && starts && !related(w.agent, e.Agent):
		w.agent, w.over, w.watched = e.Agent, false, watched{noticeAt: w.firstAt}
	}
}

func (w *Watch) record(e *trajectory.Event) (due string) {
	if e.Agent == "" {
		switch b := e.Body.(type) {
		case trajectory.RunStart:
			w.before = w.tally.progress()
			w.handed = false
			if !w.live {
				w.pending = "" // an earlier run had the occasion for it
			}
			for _, m := range b.Messages {
				w.told = w.told || ownWords(turn.Text(m))
			}
		case trajectory.Message:
			if b.Turn == nil && ownWords(turn.Text(b.Message)) {
				w.told, w.handed = true, false
			}
		}
	}
	w.detector.observe(&w.tally, e)
	w.ledger.add(e)
	if b, ok := e.Body.(trajectory.Message); ok && b.Turn != nil && e.Agent == "" {
		w.told = w.told && w.repeats(w.detector.verdict())
	}
	return w.raise()
}

// raise makes the notice that the latest entry gives reason for.
func (w *Watch) raise() string {
	spent := w.ledger.tokens
	if w.tally.changes != w.changes {
		w.changes, w.changedAt = w.tally.changes, spent
	}
	if w.noticeAt == 0 || spent < w.noticeAt {
		return ""
	}
	for w.noticeAt != 0 && spent >= w.noticeAt {
		if w.noticeAt > math.MaxInt64/10 {
			w.noticeAt = 0
		} else {
			w.noticeAt *= 10
		}
	}
	if w.notice == nil {
		return ""
	}
	text := w.text()
	if !w.live {
		w.pending = text
		return ""
	}
	return text
}

func (w *Watch) text() string {
	o := w.options
	o.Unchanged = max(w.ledger.tokens-w.changedAt, 0)
	return LongRunNotice(w.ledger.spend(), w.tally.progress(), o)
}

func (w *Watch) say(text string) {
	if text != "" && w.notice != nil {
		w.notice(text)
	}
}

// goLive notes that a loop asks, and returns the notice that waited for that.
func (w *Watch) goLive() (due string) {
	due, w.pending, w.live = w.pending, "", true
	return due
}

// ShouldStop returns a *[StuckError] when the run only repeats itself, else nil.
// What the run repeats is known from its entries; the state is not looked at. A
// run that was stopped and is started again is stopped by its next repetition,
// not by those before.
func (w *Watch) ShouldStop(trajectory.State) error {
	w.mu.Lock()
	due := w.goLive()
	stuck := w.detector.now(&w.tally)
	stop := w.stuckAt > 0 && stuck.stuck(w.stuckAt)
	w.mu.Unlock()
	w.say(due)
	if stop {
		return stuck
	}
	return nil
}

// Inbox returns a message for the model, once for each repetition, when the run
// is half way to being stopped for it. It is a user message, and begins "You are
// repeating yourself". After a reply that is about to end the run it has none: it
// would be what keeps the run going.
func (w *Watch) Inbox() []turn.TranscriptMessage {
	w.mu.Lock()
	due := w.goLive()
	var messages []turn.TranscriptMessage
	stuck := w.detector.now(&w.tally)
	if !w.told && !w.handed && !w.tally.turn.mayBeLast() && w.repeats(stuck) {
		w.handed = true
		messages = []turn.TranscriptMessage{turn.User(tell(stuck))}
	}
	w.mu.Unlock()
	w.say(due)
	return messages
}

// repeats reports whether a repetition is one to tell the model of.
func (w *Watch) repeats(e *StuckError) bool {
	return w.stuckAt > 0 && e.repeating(w.stuckAt)
}

// Progress is what the run achieved since it was last started or resumed, and
// since its beginning. Steps in all are those of the plan in both.
func (w *Watch) Progress() (sinceResume, sinceStart RunProgress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sinceStart = w.tally.progress()
	sinceResume = sinceStart.since(w.before)
	sinceResume.Files = w.tally.filesHere
	return sinceResume, sinceStart
}

// Spend is what the run has spent since its beginning.
func (w *Watch) Spend() RunSpend {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ledger.spend()
}

// Notice is what there is to say of the run now, whatever it has spent. Before the
// first notice is due it makes no judgement.
func (w *Watch) Notice() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text()
}
