package trajectory

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/turn"
)

// Fold builds a run's messages and state from its entries. The loop, the reader
// and whoever resumes a run all use it, so a live run, a replayed one and a
// resumed one agree by construction. The zero value is a run without entries. It is
// not safe for concurrent use.
type Fold struct {
	messages turn.Transcript
	base     State          // what the run was given
	own      stats.RunStats // what it has added since, but for what its tools did
	tools    []toolSpend
	children stats.RunStats

	turn    int // of the reply whose calls are the batch
	first   int // index in messages of the batch's first result
	batch   []OpenCall
	settled []bool             // by index in batch
	next    int                // where find looks first: calls mostly start and end in order
	index   map[string]int     // place by id, of a batch in which looking would cost
	runs    map[int]*childFold // the child runs of the batch, by index
	shared  int                // how many of messages somebody else may hold

	placed    int                      // 1 + the last index in batch that has a place among messages
	late      []turn.TranscriptMessage // results that have none yet, by index in batch
	lateCount int
}

// Resume begins anew, from an earlier run's messages and state. The messages
// beyond s.Recorded are not part of it: they come with the next [RunStart].
func (f *Fold) Resume(messages []turn.TranscriptMessage, s State) {
	*f = Fold{base: s}
	recorded := min(max(s.Recorded, 0), len(messages))
	f.messages = messages[:recorded:recorded] // the first append copies
	f.turn = int(s.Stats.Turns)
	open := turn.OpenCalls(f.messages)
	if len(open) == 0 {
		return
	}
	f.first = len(f.messages)
	for f.messages[f.first-1].OfTool != nil {
		f.first--
	}
	for _, known := range s.Open { // of which the totals may know nothing, if they were begun anew
		f.turn = max(f.turn, known.Turn)
	}
	for _, c := range turn.Calls(f.messages[f.first-1]) {
		f.batch = append(f.batch, OpenCall{Call: c, Turn: f.turn, Imported: true})
	}
	f.indexBatch()
	f.settled = make([]bool, len(f.batch))
	for i := range f.batch {
		f.settled[i] = true
		for _, c := range open {
			if c.ID == f.batch[i].ID {
				f.settled[i] = false
			}
		}
		if f.settled[i] {
			f.placed = i + 1
		}
		for _, known := range s.Open {
			if known.Call == f.batch[i].Call { // of any other call with that id it says nothing
				f.batch[i] = known
			}
		}
	}
}

// Messages is the transcript so far. It must not be written to, and no later Add
// changes it.
func (f *Fold) Messages() turn.Transcript {
	f.place()
	f.shared = len(f.messages)
	return f.messages[:f.shared:f.shared]
}

// State is a snapshot that shares nothing that a later Add changes.
func (f *Fold) State() State {
	s := f.base
	s.Stats = stats.AccumulateRun(f.base.Stats, stats.AccumulateRun(f.own, spentOn(f.tools)))
	s.Children = stats.AccumulateRun(f.base.Children, f.children)
	s.Recorded = len(f.messages) + f.lateCount
	s.Open = f.Open()
	return s
}

// Spent is what the run and its child runs have spent since the state that this
// fold began with, child runs that wait included.
func (f *Fold) Spent() stats.RunStats { return less(f.State().Total(), f.base.Total()) }

// less is what was added to b to get a. Totals only grow.
func less(a, b stats.RunStats) stats.RunStats {
	d := stats.RunStats{
		Turns: a.Turns - b.Turns, ToolCalls: a.ToolCalls - b.ToolCalls,
		InputTokens: a.InputTokens - b.InputTokens, OutputTokens: a.OutputTokens - b.OutputTokens, CachedInputTokens: a.CachedInputTokens - b.CachedInputTokens,
		Cost: a.Cost - b.Cost, Unpriced: a.Unpriced - b.Unpriced,
		ModelTime: a.ModelTime - b.ModelTime, ToolTime: a.ToolTime - b.ToolTime,
	}
	for name, t := range a.ToolTimeBreakdown {
		before, known := b.ToolTimeBreakdown[name]
		if known && t == before {
			continue
		}
		if d.ToolTimeBreakdown == nil {
			d.ToolTimeBreakdown = make(map[string]time.Duration)
		}
		d.ToolTimeBreakdown[name] = t - before
	}
	return stats.AccumulateRun(stats.EmptyRunStats(), d) // which counts what is negative as nothing
}

// Open are the calls without a result, in call order. The slice is the caller's.
func (f *Fold) Open() []OpenCall {
	if f.CountOpen() == 0 {
		return nil
	}
	open := make([]OpenCall, f.CountOpen())
	n := 0
	for i, done := range f.settled {
		if !done {
			open[n] = f.open(i)
			n++
		}
	}
	return open
}

// CountOpen is len(Open()).
func (f *Fold) CountOpen() int {
	n := 0
	for _, done := range f.settled {
		if !done {
			n++
		}
	}
	return n
}

// EachOpen yields what Open returns without its copies, and without what entries of
// child runs have told since this fold began: each call may be read until the next
// Add, and not written to.
func (f *Fold) EachOpen(yield func(int, *OpenCall) bool) {
	n := 0
	for i, done := range f.settled {
		if done {
			continue
		}
		if !yield(n, &f.batch[i]) {
			return
		}
		n++
	}
}

// Iterations is State().Iterations without the rest.
func (f *Fold) Iterations() int { return f.base.Iterations }

// Turn is the number of the latest reply, 0 before the first.
func (f *Fold) Turn() int { return f.turn }

// LostResult is what a fold answers for a call whose result is missing in the
// middle of a record.
const LostResult = "The result of this call was lost with a damaged part of the session record. Its effects are unknown: check before repeating it."

// Add takes the next entry. An error says that the entry does not fit what came
// before; the fold has then taken what it could without making the transcript
// invalid, so a reader reports the error and goes on.
//
// Entries of child runs count only towards the call that started them, and only
// until that call's own end says what they spent.
func (f *Fold) Add(e Event) error {
	if e.Agent != "" {
		f.addChild(e)
		return nil
	}
	switch b := e.Body.(type) {
	case RunStart:
		return f.startRun(b)
	case RunEnd:
		f.base.Ended = b.Reason != turn.WaitingForReply && b.Reason != turn.ResumingLater && !b.Shutdown
		f.base.PlainReplies = 0
	case Message:
		if b.Turn == nil {
			return f.addMessage(b.Message, true)
		}
		return f.addReply(b)
	case CallStart:
		return f.start(&b)
	case Suspend:
		return f.suspend(&b)
	case CallEnd:
		return f.end(&b)
	case PlanChange:
		p := b.Plan.Clone()
		f.base.Plan = &p
	case Spend:
		f.own = stats.AccumulateAuxiliarySpend(f.own, b.AuxiliarySpend)
	case Compact:
		return f.compact(b)
	}
	return nil
}

func (f *Fold) startRun(b RunStart) error {
	if f.base.Ended {
		f.base.Iterations, f.base.Ended = 0, false
	}
	var errs []error
	for _, m := range b.Messages {
		errs = append(errs, f.addMessage(m, true))
	}
	return errors.Join(errs...)
}

// addReply takes a message of the model.
func (f *Fold) addReply(b Message) error {
	if b.Turn.Auxiliary {
		f.own = stats.AccumulateAuxiliarySpend(f.own, stats.AuxiliarySpend{Usage: b.Turn.Usage, ModelTime: b.Turn.Timings.Generation})
		err := f.addMessage(b.Message, true)
		f.base.LastWord = err == nil
		return err
	}
	f.addTurn(b.Turn)
	if turn.CountCalls(b.Message) == 0 {
		f.base.PlainReplies++
	}
	err := f.addMessage(b.Message, false)
	for i := range f.batch {
		f.batch[i].Cut = turn.IsCut(b.Turn.Finish)
	}
	return err
}

func (f *Fold) addTurn(t *Turn) {
	f.own = addTurn(f.own, t)
	f.base.Iterations++
	f.base.LastUsage = t.Usage
	f.turn++
	if t.Number > 0 {
		f.turn = t.Number
	}
}

// addTurn is stats.AccumulateTurn without the reply, which a Turn does not have.
func addTurn(s stats.RunStats, t *Turn) stats.RunStats {
	s = stats.AccumulateAuxiliarySpend(s, stats.AuxiliarySpend{Usage: t.Usage, ModelTime: t.Timings.Generation})
	return stats.AccumulateRun(s, stats.RunStats{Turns: 1})
}

// addMessage appends a message and begins a batch where it holds calls.
func (f *Fold) addMessage(m turn.TranscriptMessage, imported bool) error {
	if turn.Role(m) == "" {
		return errors.New("a message without a role")
	}
	if m.OfTool != nil {
		i := f.find(f.turn, m.OfTool.ToolCallID)
		if i < 0 {
			return fmt.Errorf("a result for %q, which is no open call", m.OfTool.ToolCallID)
		}
		f.answer(i, m)
		return nil
	}
	var err error
	if f.CountOpen() > 0 {
		lost := f.Open()
		for _, c := range lost {
			f.answer(f.find(c.Turn, c.ID), turn.ToolResult(c.ID, LostResult))
		}
		err = fmt.Errorf("a message while call %q has no result", lost[0].ID)
	}
	f.base.LastWord = false
	f.place()
	f.push(m)
	f.beginBatch()
	if n := turn.CountCalls(m); n > 1 { // room for the batch and its results at once
		f.batch, f.settled = slices.Grow(f.batch, n), slices.Grow(f.settled, n)
		f.messages = slices.Grow(f.messages, n)
	}
	for i := range turn.CountCalls(m) {
		f.batch = append(f.batch, OpenCall{Call: turn.CallAt(m, i), Turn: f.turn, Imported: imported})
		f.settled = append(f.settled, false)
	}
	if id, bad := f.indexBatch(); bad {
		f.messages = f.messages[:len(f.messages)-1]
		f.beginBatch()
		if id == "" {
			return errors.Join(err, errors.New("a message with a call that has no id"))
		}
		return errors.Join(err, fmt.Errorf("a message that calls %q twice", id))
	}
	return err
}

// beginBatch forgets the calls before: results stand behind the last message from now on.
func (f *Fold) beginBatch() {
	f.batch, f.settled, f.first, f.next, f.index, f.runs = f.batch[:0], f.settled[:0], len(f.messages), 0, nil, nil
	f.placed, f.late = 0, nil
}

func (f *Fold) compact(b Compact) error {
	f.own = addCompaction(f.own, b)
	if b.Failed != "" {
		return nil
	}
	if f.CountOpen() > 0 {
		return errors.New("a compaction while calls are open")
	}
	f.place()
	messages, err := f.compacted(b.Head, b.Drop)
	if b.Of > 0 && b.Of != len(f.messages) { // some were lost: before those that were kept, or else among them
		drop := min(max(b.Drop+len(f.messages)-b.Of, 0), len(f.messages))
		if kept, keptErr := f.compacted(b.Head, drop); keptErr == nil {
			messages, err = kept, nil
		}
	}
	if err != nil {
		return err
	}
	f.messages, f.shared, f.base.LastUsage = messages, 0, turn.Usage{}
	f.beginBatch()
	return nil
}

// compacted is the transcript with head in place of the first messages.
func (f *Fold) compacted(head turn.Transcript, drop int) (turn.Transcript, error) {
	if drop < 0 || drop > len(f.messages) {
		return nil, fmt.Errorf("a compaction of %d messages, of %d", drop, len(f.messages))
	}
	messages := slices.Concat(head, f.messages[drop:])
	if err := turn.Check(messages); err != nil {
		return nil, fmt.Errorf("a compaction that breaks the transcript: %w", err)
	}
	if len(turn.OpenCalls(messages)) > 0 {
		return nil, errors.New("a compaction that ends with open calls")
	}
	return messages, nil
}
