package trajectory

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/turn"
)

// Fold builds a run's messages and state from its entries. The loop, the reader
// and whoever resumes a run all use it, so a live run, a replayed one and a
// resumed one agree by construction. The zero value is a run without entries.
type Fold struct {
	messages turn.Transcript
	base     State          // what the run was given
	own      stats.RunStats // what it has added since, but for the breakdown
	children stats.RunStats
	toolTime map[string]time.Duration // own's breakdown, kept apart: a pure fold copies it for each call

	turn    int // of the reply whose calls are the batch
	first   int // index in messages of the batch's first result
	batch   []OpenCall
	settled []bool // by index in batch
	next    int    // where find looks first: calls mostly start and end in order
}

// NewFold carries on from an earlier run's messages and state. The messages
// beyond s.Recorded are not part of it: they come with the next [RunStart].
func NewFold(messages []turn.TranscriptMessage, s State) *Fold {
	f := &Fold{base: s}
	f.messages = messages[:s.Recorded:s.Recorded] // the first append copies
	f.turn = int(s.Stats.Turns)
	open := turn.OpenCalls(f.messages)
	if len(open) == 0 {
		return f
	}
	f.first = len(f.messages)
	for f.messages[f.first-1].OfTool != nil {
		f.first--
	}
	for _, c := range turn.Calls(f.messages[f.first-1]) {
		f.batch = append(f.batch, OpenCall{Call: c, Turn: f.turn, Imported: true})
	}
	f.settled = make([]bool, len(f.batch))
	for i := range f.batch {
		f.settled[i] = true
		for _, c := range open {
			if c.ID == f.batch[i].ID {
				f.settled[i] = false
			}
		}
		for _, known := range s.Open {
			if known.ID == f.batch[i].ID {
				f.batch[i] = known
			}
		}
	}
	return f
}

// Messages is the transcript so far. It must not be written to; a later Add may
// reorder the results of the batch at its end.
func (f *Fold) Messages() turn.Transcript { return f.messages[:len(f.messages):len(f.messages)] }

// State is a snapshot that shares nothing that a later Add changes.
func (f *Fold) State() State {
	s := f.base
	own, _ := f.Added()
	s.Stats = stats.AccumulateRun(f.base.Stats, own)
	s.Children = stats.AccumulateRun(f.base.Children, f.children)
	s.Recorded = len(f.messages)
	s.Open = f.Open()
	return s
}

// Added is what this fold's entries added to the totals it was given: the run's
// own, and its child runs'.
func (f *Fold) Added() (own, children stats.RunStats) {
	return stats.AccumulateRun(f.own, stats.RunStats{ToolTimeBreakdown: f.toolTime}), f.children
}

// Open are the calls without a result, in call order. The slice is the caller's.
func (f *Fold) Open() []OpenCall {
	n := 0
	for _, done := range f.settled {
		if !done {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	open := make([]OpenCall, 0, n)
	for i, done := range f.settled {
		if !done {
			open = append(open, f.batch[i])
		}
	}
	return open
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
		if f.base.Ended {
			f.base.Iterations, f.base.Ended = 0, false
		}
		var errs []error
		for _, m := range b.Messages {
			errs = append(errs, f.addMessage(m, true))
		}
		return errors.Join(errs...)
	case RunEnd:
		f.base.Ended = b.Reason != turn.WaitingForReply && b.Reason != turn.ResumingLater
	case Message:
		if b.Turn == nil {
			return f.addMessage(b.Message, true)
		}
		f.addTurn(b.Turn)
		err := f.addMessage(b.Message, false)
		for i := range f.batch {
			f.batch[i].Cut = b.Turn.Finish == FinishLength
		}
		return err
	case CallStart:
		return f.start(b)
	case Suspend:
		return f.suspend(b)
	case CallEnd:
		return f.end(b)
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

func (f *Fold) addTurn(t *Turn) {
	f.own = stats.AccumulateTurn(f.own, turn.ModelTurnResult{Usage: t.Usage, Timings: t.Timings})
	f.base.Iterations++
	f.base.LastUsage = t.Usage
	f.turn++
}

// addMessage appends a message and begins a batch where it holds calls.
func (f *Fold) addMessage(m turn.TranscriptMessage, imported bool) error {
	if m.OfTool != nil {
		i := f.find(f.turn, m.OfTool.ToolCallID)
		if i < 0 {
			return fmt.Errorf("a result for %q, which is no open call", m.OfTool.ToolCallID)
		}
		f.settle(i, m)
		return nil
	}
	if mayBeFaulty(m) {
		if err := turn.Check(turn.Transcript{m}); err != nil {
			return err
		}
	}
	var err error
	if lost := f.Open(); len(lost) > 0 {
		for _, c := range lost {
			f.settle(f.find(c.Turn, c.ID), turn.ToolResult(c.ID, LostResult))
		}
		err = fmt.Errorf("a message while call %q has no result", lost[0].ID)
	}
	f.messages = append(f.messages, m)
	f.batch, f.settled, f.first, f.next = f.batch[:0], f.settled[:0], len(f.messages), 0
	for _, c := range turn.Calls(m) {
		f.batch = append(f.batch, OpenCall{Call: c, Turn: f.turn, Imported: imported})
		f.settled = append(f.settled, false)
	}
	return err
}

// mayBeFaulty spares most messages the check, whose cost a loop would feel.
func mayBeFaulty(m turn.TranscriptMessage) bool {
	if m.OfAssistant == nil {
		return turn.Role(m) == ""
	}
	calls := m.OfAssistant.ToolCalls
	if len(calls) == 1 {
		id := calls[0].GetID()
		return id == nil || *id == ""
	}
	return len(calls) > 1
}

// find is the index of an open call, -1 when there is none of that name.
func (f *Fold) find(turn int, id string) int {
	for n := range f.batch {
		i := (f.next + n) % len(f.batch)
		if c := &f.batch[i]; !f.settled[i] && c.ID == id && c.Turn == turn {
			f.next = i
			return i
		}
	}
	return -1
}

// settle puts a result at its place in call order.
func (f *Fold) settle(i int, m turn.TranscriptMessage) {
	at := f.first
	for _, done := range f.settled[:i] {
		if done {
			at++
		}
	}
	f.messages = append(f.messages, m)
	if last := len(f.messages) - 1; at < last {
		copy(f.messages[at+1:], f.messages[at:last])
		f.messages[at] = m
	}
	f.settled[i] = true
}

func (f *Fold) start(b CallStart) error {
	i := f.find(b.Turn, b.ID)
	if i < 0 {
		return fmt.Errorf("call %q started, which is no open call", b.ID)
	}
	c := &f.batch[i]
	if !c.Started {
		f.own = stats.AccumulateRun(f.own, stats.RunStats{ToolCalls: 1})
		f.addToolTime(c.Name, 0)
	}
	c.Started, c.Imported, c.Reply = true, false, b.Reply
	return nil
}

func (f *Fold) suspend(b Suspend) error {
	i := f.find(b.Turn, b.ID)
	if i < 0 {
		return fmt.Errorf("call %q suspended, which is no open call", b.ID)
	}
	c := &f.batch[i]
	s := b.Suspension
	c.Suspension, c.Reply, c.Imported, c.Children, c.Agents = &s, nil, false, b.Children, b.Agents
	f.addToolTime(c.Name, b.Duration)
	return nil
}

func (f *Fold) end(b CallEnd) error {
	i := f.find(b.Turn, b.ID)
	if i < 0 {
		return fmt.Errorf("call %q ended, which is no open call", b.ID)
	}
	if f.batch[i].Started {
		f.addToolTime(f.batch[i].Name, b.Duration)
	}
	f.children = stats.AccumulateRun(f.children, b.Children)
	f.batch[i].Children = stats.RunStats{}
	if b.Message.OfTool == nil || b.Message.OfTool.ToolCallID != b.ID {
		f.settle(i, turn.ToolResult(f.batch[i].ID, LostResult))
		return fmt.Errorf("the end of call %q holds no result for it", b.ID)
	}
	f.settle(i, b.Message)
	return nil
}

// addToolTime and the count in start are AccumulateToolCall in two steps: a call
// counts when it starts, its time when it is known.
func (f *Fold) addToolTime(name string, d time.Duration) {
	f.own = stats.AccumulateRun(f.own, stats.RunStats{ToolTime: d})
	if f.toolTime == nil {
		f.toolTime = make(map[string]time.Duration)
	}
	f.toolTime[name] = stats.AccumulateRun(stats.RunStats{ToolTime: f.toolTime[name]}, stats.RunStats{ToolTime: d}).ToolTime
}

// addChild counts what a child run spends towards the call that started it.
func (f *Fold) addChild(e Event) {
	first, _, _ := strings.Cut(e.Agent, "/")
	for i := range f.batch {
		c := &f.batch[i]
		if f.settled[i] || AgentName(c.Turn, c.ID) != first {
			continue
		}
		switch b := e.Body.(type) {
		case RunStart:
			if e.Agent == first && !b.Continued {
				c.Agents++
			}
		case Message:
			if b.Turn != nil {
				c.Children = stats.AccumulateTurn(c.Children, turn.ModelTurnResult{Usage: b.Turn.Usage, Timings: b.Turn.Timings})
			}
		case CallStart:
			if b.Reply == nil || b.Approved { // else it started before it was suspended
				c.Children = stats.AccumulateToolCall(c.Children, b.Name, 0)
			}
		case Spend:
			c.Children = stats.AccumulateAuxiliarySpend(c.Children, b.AuxiliarySpend)
		case Compact:
			c.Children = stats.AccumulateAuxiliarySpend(c.Children, b.Spend)
		case CallEnd:
			c.addToolTime(b.Name, b.Duration)
		case Suspend:
			c.addToolTime(b.Name, b.Duration)
		}
	}
}

// addToolTime adds the time of a child's call, which counted when it started.
func (c *OpenCall) addToolTime(name string, d time.Duration) {
	if d > 0 {
		c.Children = stats.AccumulateRun(c.Children, stats.RunStats{ToolTime: d, ToolTimeBreakdown: map[string]time.Duration{name: d}})
	}
}

// AgentName is the name under which a call's child runs record.
func AgentName(turn int, callID string) string {
	return fmt.Sprintf("%d.%s", turn, strings.ReplaceAll(callID, "/", "_"))
}

func (f *Fold) compact(b Compact) error {
	if b.Spend != (stats.AuxiliarySpend{}) {
		f.own = stats.AccumulateAuxiliarySpend(f.own, b.Spend)
	}
	if b.Drop < 0 || b.Drop > len(f.messages) {
		return fmt.Errorf("a compaction of %d messages, of %d", b.Drop, len(f.messages))
	}
	if len(f.Open()) > 0 {
		return errors.New("a compaction while calls are open")
	}
	messages := append(append(make(turn.Transcript, 0, len(b.Head)+len(f.messages)-b.Drop), b.Head...), f.messages[b.Drop:]...)
	if err := turn.Check(messages); err != nil {
		return fmt.Errorf("a compaction: %w", err)
	}
	if len(turn.OpenCalls(messages)) > 0 {
		return errors.New("a compaction whose head ends in an open call")
	}
	f.messages = messages
	f.batch, f.settled, f.first = nil, nil, len(f.messages)
	return nil
}
