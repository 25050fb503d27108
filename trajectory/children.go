package trajectory

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/stats"
)

// addChild counts what a child run spends towards the call that started it.
func (f *Fold) addChild(e Event) {
	first, _, _ := strings.Cut(e.Agent, "/")
	number, id, _ := strings.Cut(first, ".")
	for i := range f.batch {
		c := &f.batch[i]
		if !f.settled[i] && len(c.ID) == len(id) && strconv.Itoa(c.Turn) == number && AgentName(c.Turn, c.ID) == first {
			c.addChild(e.Body, e.Agent == first)
			return
		}
	}
}

// addChild counts one entry of a child run, or of a child's child. It agrees with
// what the child's own fold counts.
func (c *OpenCall) addChild(body Body, child bool) {
	if b, ok := body.(RunStart); ok && child && !b.Continued {
		c.Agents++
	}
	var sum stats.RunStats
	if c.Children != nil {
		sum = *c.Children
	}
	if sum, ok := addSpend(sum, body); ok {
		c.Children = &sum
	}
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
	if b.Spend == (stats.AuxiliarySpend{}) {
		return s
	}
	return stats.AccumulateAuxiliarySpend(s, b.Spend)
}

// AgentName is the name under which a call's child runs record.
func AgentName(turn int, callID string) string {
	return fmt.Sprintf("%d.%s", turn, strings.ReplaceAll(callID, "/", "_"))
}
