package trajectory

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/turn"
)

// Child is how far a child run came, by the entries that the record has of it: what
// it would be continued from.
type Child struct {
	Messages turn.Transcript `json:"messages"`
	State    State           `json:"state"`
	// End is how it ended, nil when it did not.
	End *RunEnd `json:"end,omitempty"`
}

// childFold builds a [Child].
type childFold struct {
	Fold
	before stats.RunStats // what the call's child runs had spent when this fold began
	end    *RunEnd
}

// addChild takes an entry of a child run, or of a child's child: it counts towards
// the call that started the child, and shows how far the child came.
func (f *Fold) addChild(e Event) {
	first, below, _ := strings.Cut(e.Agent, "/")
	number, id, _ := strings.Cut(first, ".")
	if strings.Contains(id, "%") {
		id = unescape.Replace(strings.Clone(id)) // the entry itself stays off the heap, here as for all others
	}
	for i := range f.batch {
		if c := &f.batch[i]; !f.settled[i] && c.ID == id && strconv.Itoa(c.Turn) == number {
			f.follow(i, Event{e.At, below, e.Body})
			return
		}
	}
}

// follow adds an entry to the fold of the call's child run. Entries that do not fit
// together, of two runs at once or in a damaged record, show only what they spent:
// nothing can be continued from them.
func (f *Fold) follow(i int, e Event) {
	c, child := &f.batch[i], f.runs[i]
	start, starts := e.Body.(RunStart)
	starts = starts && e.Agent == ""
	switch {
	case starts && !start.Continued:
		child = &childFold{before: f.spentBelow(i)}
		c.Agents++
	case child == nil && c.Child != nil:
		child = &childFold{before: f.spentBelow(i), end: c.Child.End}
		child.Resume(c.Child.Messages, c.Child.State)
	}
	if child == nil || !child.expects(e) {
		if sum, ok := addSpend(f.spentBelow(i), e.Body); ok || child != nil {
			f.onlySpent(i, sum)
		}
		return
	}
	if f.runs == nil {
		f.runs = make(map[int]*childFold)
	}
	f.runs[i] = child
	if child.Add(e) != nil {
		f.onlySpent(i, f.spentBelow(i))
		return
	}
	if end, ends := e.Body.(RunEnd); ends && e.Agent == "" {
		child.end = &end
	} else if starts {
		child.end = nil
	}
}

// onlySpent lets go of a call's child run, but for what it spent.
func (f *Fold) onlySpent(i int, sum stats.RunStats) {
	f.batch[i].Children, f.batch[i].Child = &sum, nil
	delete(f.runs, i)
}

// expects tells the next entry of this very run from one of another, or behind one
// that was lost, where the fold by itself would take it or not count it.
func (f *childFold) expects(e Event) (ok bool) {
	if e.Agent != "" {
		return true
	}
	switch b := e.Body.(type) {
	case Message:
		ok = b.Turn == nil || b.Turn.Number == 0 || b.Turn.Number == f.turn+1
	case CallStart:
		i := f.find(b.Turn, b.ID)
		ok = i >= 0 && (b.Again || !f.batch[i].Started)
	case Suspend:
		ok = f.find(b.Turn, b.ID) >= 0
	case CallEnd:
		ok = f.find(b.Turn, b.ID) >= 0
	default:
		return true
	}
	return ok && f.end == nil
}

// open is an open call with how far its child run came.
func (f *Fold) open(i int) OpenCall {
	c := f.batch[i]
	if child := f.runs[i]; child != nil {
		c.Children, c.Child = nil, nil
		if spent := f.spentBelow(i); !spent.IsZero() {
			c.Children = &spent
		}
		if len(child.messages) > 0 {
			c.Child = &Child{child.Messages(), child.State(), child.end}
		}
	}
	return c
}

// spentBelow is what a call's child runs have spent.
func (f *Fold) spentBelow(i int) (s stats.RunStats) {
	if child := f.runs[i]; child != nil {
		return stats.AccumulateRun(child.before, child.Spent())
	}
	if children := f.batch[i].Children; children != nil {
		s = *children
	}
	return s
}

// addSpend adds what one entry says was spent, if it says so.
func addSpend(s stats.RunStats, body Body) (sum stats.RunStats, ok bool) {
	switch b := body.(type) {
	case Message:
		if b.Turn != nil && b.Turn.Auxiliary {
			return stats.AccumulateAuxiliarySpend(s, stats.AuxiliarySpend{Usage: b.Turn.Usage, ModelTime: b.Turn.Timings.Generation}), true
		}
		if b.Turn != nil {
			return addTurn(s, b.Turn), true
		}
	case CallStart:
		if !b.Again { // else it was counted
			return stats.AccumulateToolCall(s, b.Name, 0), true
		}
	case Suspend:
		return addTime(s, b.Name, b.Duration), true
	case CallEnd:
		return addTime(s, b.Name, b.Duration), true
	case Spend:
		return stats.AccumulateAuxiliarySpend(s, b.AuxiliarySpend), true
	case Compact:
		return addCompaction(s, b), true
	}
	return s, false
}

func addTime(s stats.RunStats, name string, d time.Duration) stats.RunStats {
	if d <= 0 {
		return s
	}
	return stats.AccumulateRun(s, stats.RunStats{ToolTime: d, ToolTimeBreakdown: map[string]time.Duration{name: d}})
}

// addCompaction counts no model call for a compaction that made none.
func addCompaction(s stats.RunStats, b Compact) stats.RunStats {
	if b.Spend.IsZero() {
		return s
	}
	return stats.AccumulateAuxiliarySpend(s, b.Spend)
}

// AgentName is the name under which a call's child runs record.
func AgentName(turn int, callID string) string {
	return fmt.Sprintf("%d.%s", turn, escape.Replace(callID))
}

// A slash parts the levels of a name, so an id must not have one; and no two ids may
// have one name.
var escape, unescape = strings.NewReplacer("%", "%25", "/", "%2F"), strings.NewReplacer("%25", "%", "%2F", "/")
