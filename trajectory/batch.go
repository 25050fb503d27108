package trajectory

import (
	"fmt"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/turn"
)

// bigBatch is where an index is worth making.
const bigBatch = 32

// indexBatch finds a call that no result could be paired with: it has no id, or that
// of another one.
func (f *Fold) indexBatch() (id string, bad bool) {
	if len(f.batch) > bigBatch {
		f.index = make(map[string]int, len(f.batch))
	}
	for i := range f.batch {
		id = f.batch[i].ID
		if f.index == nil {
			bad = slices.ContainsFunc(f.batch[:i], func(c OpenCall) bool { return c.ID == id })
		} else {
			_, bad = f.index[id]
			f.index[id] = i
		}
		if bad || id == "" {
			return id, true
		}
	}
	return "", false
}

// find is the index of an open call, -1 when there is none of that name.
func (f *Fold) find(turn int, id string) int {
	for n := range f.batch {
		if n > 1 && f.index != nil {
			break
		}
		if i := (f.next + n) % len(f.batch); f.is(i, turn, id) {
			f.next = i
			return i
		}
	}
	if i, ok := f.index[id]; ok && f.is(i, turn, id) {
		return i
	}
	return -1
}

func (f *Fold) is(i, turn int, id string) bool {
	c := &f.batch[i]
	return !f.settled[i] && c.ID == id && c.Turn == turn
}

// answer settles a call without an entry of its own end: what is known of its
// child runs is all there is.
func (f *Fold) answer(i int, m turn.TranscriptMessage) {
	f.children = stats.AccumulateRun(f.children, f.spentBelow(i))
	f.settle(i, m)
}

// settle takes a result. One that comes in call order has its place at once. The
// others get theirs together, when somebody looks: to make room for each would cost
// the square of a batch that ends in any order.
func (f *Fold) settle(i int, m turn.TranscriptMessage) {
	f.settled[i] = true
	delete(f.runs, i)
	if f.lateCount == 0 && i >= f.placed {
		f.push(m)
		f.placed = i + 1
		return
	}
	if f.late == nil {
		f.late = make([]turn.TranscriptMessage, len(f.batch))
	}
	f.late[i] = m
	f.lateCount++
}

// push doubles the room when it is full. A long transcript would get a quarter more
// from append, and be copied for four times as many messages.
func (f *Fold) push(m turn.TranscriptMessage) {
	if n := len(f.messages); n == cap(f.messages) && n >= 256 {
		f.messages = slices.Grow(f.messages, n)
	}
	f.messages = append(f.messages, m)
}

// place gives the late results their places in call order, from the last one down.
func (f *Fold) place() {
	if f.lateCount == 0 {
		return
	}
	if f.shared > f.first {
		f.messages, f.shared = slices.Clone(f.messages), 0
	}
	from := len(f.messages) - 1
	f.messages = slices.Grow(f.messages, f.lateCount)[:len(f.messages)+f.lateCount]
	to := len(f.messages) - 1
	for i := len(f.batch) - 1; f.lateCount > 0; i-- {
		if !f.settled[i] {
			continue
		}
		f.placed = max(f.placed, i+1)
		if late := &f.late[i]; late.OfTool != nil {
			f.messages[to], *late = *late, turn.TranscriptMessage{}
			f.lateCount--
		} else {
			f.messages[to] = f.messages[from]
			from--
		}
		to--
	}
}

func (f *Fold) start(b *CallStart) error {
	i := f.find(b.Turn, b.ID)
	if i < 0 {
		return fmt.Errorf("call %q started, which is no open call", b.ID)
	}
	c := &f.batch[i]
	if !c.Started {
		f.tool(c.Name).calls++
	}
	if c.Waiting() {
		c.Child = c.Suspension.Child
	}
	c.Started, c.Imported, c.Reply = true, false, b.Reply
	return nil
}

func (f *Fold) suspend(b *Suspend) error {
	i := f.find(b.Turn, b.ID)
	if i < 0 {
		return fmt.Errorf("call %q suspended, which is no open call", b.ID)
	}
	c := &f.batch[i]
	s, children := b.Suspension, b.Children
	c.Pauses++
	c.Suspension, c.Reply, c.Imported, c.Children, c.Agents = &s, nil, false, nil, b.Agents
	if !children.IsZero() {
		c.Children = &children
	}
	c.Child = nil // it is in the suspension
	delete(f.runs, i)
	if c.Started { // not one that waits for approval
		f.tool(c.Name).add(b.Duration)
	}
	return nil
}

func (f *Fold) end(b *CallEnd) error {
	i := f.find(b.Turn, b.ID)
	if i < 0 {
		return fmt.Errorf("call %q ended, which is no open call", b.ID)
	}
	if f.batch[i].Started {
		f.tool(f.batch[i].Name).add(b.Duration)
	}
	if !b.Children.IsZero() {
		f.children = stats.AccumulateRun(f.children, b.Children)
	}
	if b.Status == OK {
		f.base.PlainReplies = 0
	}
	if b.Message.OfTool == nil || b.Message.OfTool.ToolCallID != b.ID {
		f.settle(i, turn.ToolResult(b.ID, LostResult))
		return fmt.Errorf("call %q ended with a message that is not its result", b.ID)
	}
	f.settle(i, b.Message)
	return nil
}

// toolSpend is what the calls of one tool took. It is AccumulateToolCall in two steps,
// since a call counts when it starts and its time when it is known, and without the map
// that a pure fold copies for each.
type toolSpend struct {
	name  string
	calls int64
	time  time.Duration
}

func (f *Fold) tool(name string) *toolSpend {
	for i := range f.tools {
		if f.tools[i].name == name {
			return &f.tools[i]
		}
	}
	f.tools = append(f.tools, toolSpend{name: name})
	return &f.tools[len(f.tools)-1]
}

func (t *toolSpend) add(d time.Duration) {
	t.time = stats.AccumulateRun(stats.RunStats{ToolTime: t.time}, stats.RunStats{ToolTime: d}).ToolTime
}

func spentOn(tools []toolSpend) (s stats.RunStats) {
	if len(tools) > 0 {
		s.ToolTimeBreakdown = make(map[string]time.Duration, len(tools))
	}
	for _, t := range tools {
		s.ToolTimeBreakdown[t.name] = t.time
		s = stats.AccumulateRun(s, stats.RunStats{ToolCalls: t.calls, ToolTime: t.time})
	}
	return s
}
