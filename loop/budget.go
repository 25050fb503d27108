package loop

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/turn"
)

// Budget bounds what a run and its child runs may spend in all, earlier runs of
// the same session included. Zero and negative limits are none. It is checked before
// each model turn and, for tool calls, before each call, in a child run too. A model
// call that has begun is finished, so a run may end above a limit by one turn, and by
// one more of each child run that is at work; the tool calls are never more than
// allowed.
//
// A run that reaches a limit is aborted, with a *[BudgetError] as its Cause.
type Budget struct {
	// Tokens bounds input and output tokens together, as the model's server reports
	// them: one that reports none spends none.
	Tokens int64
	// ToolCalls bounds dispatched calls.
	ToolCalls int64
	// Cost bounds the price. A model call without one ends the run, since what
	// nobody knows cannot be kept within bounds: a compaction's counts too.
	Cost turn.Cost
	// NoticeAt is the share of a limit from which this run's model is told, once for each
	// limit, that it should come to an end; zero tells it nothing. A child run's model is
	// told of the child's own Budget alone. The notice is one more message at the
	// transcript's end, so a cached prefix stays one.
	NoticeAt float64
}

// BudgetError says which limit was reached.
type BudgetError struct {
	Limit string // "tokens", "tool calls" or "cost"
	Value string // what was spent, as a person reads it
	Bound string // what was allowed
	// Unpriced is how many model calls had no price, where that is why a budget of
	// cost cannot be kept.
	Unpriced int64
}

// Error says what was spent of what was allowed, or why nobody knows.
func (e *BudgetError) Error() string {
	if e.Unpriced > 0 {
		return fmt.Sprintf("the budget of %s %s cannot be kept: of the model calls so far, %d had no price", e.Bound, e.Limit, e.Unpriced)
	}
	if e.Limit == "cost" {
		return fmt.Sprintf("the budget is spent: %s of %s", e.Value, e.Bound)
	}
	return fmt.Sprintf("the budget is spent: %s of %s %s", e.Value, e.Bound, e.Limit)
}

func (b Budget) validate() error {
	if math.IsNaN(b.NoticeAt) || b.NoticeAt < 0 || b.NoticeAt > 1 {
		return &InvalidError{"Budget.NoticeAt", errors.New("a share lies between 0 and 1")}
	}
	return nil
}

// used are the limits that are set, and how much of each is spent.
func (b Budget) used(s stats.RunStats) []usedLimit {
	var out []usedLimit
	if b.Tokens > 0 {
		tokens := stats.AccumulateRun(stats.RunStats{InputTokens: s.InputTokens}, stats.RunStats{InputTokens: s.OutputTokens}).InputTokens
		out = append(out, usedLimit{"tokens", tokens, b.Tokens, fmt.Sprint(tokens), fmt.Sprint(b.Tokens)})
	}
	if b.ToolCalls > 0 {
		out = append(out, usedLimit{"tool calls", s.ToolCalls, b.ToolCalls, fmt.Sprint(s.ToolCalls), fmt.Sprint(b.ToolCalls)})
	}
	if b.Cost > 0 {
		used := usedLimit{"cost", int64(s.Cost), int64(b.Cost), s.Cost.String(), b.Cost.String()}
		if s.Unpriced > 0 {
			used.value = math.MaxInt64
			used.said += fmt.Sprintf(" (and %d without a price)", s.Unpriced)
		}
		out = append(out, used)
	}
	return out
}

type usedLimit struct {
	name         string
	value, bound int64
	said, of     string
}

// spent is the first limit that is reached, nil when none is.
func (b Budget) spent(s stats.RunStats) *BudgetError {
	for _, u := range b.used(s) {
		switch {
		case u.value < u.bound:
		case u.name == "cost" && s.Cost < b.Cost:
			return &BudgetError{u.name, s.Cost.String(), u.of, s.Unpriced}
		default:
			return &BudgetError{Limit: u.name, Value: u.said, Bound: u.of}
		}
	}
	return nil
}

const noticeMark = "[Budget]"

// tellBudget delivers the soft notice, once for each limit.
func (r *run) tellBudget() *ending {
	if r.o.Budget.NoticeAt == 0 {
		return nil
	}
	var said []string
	for i, u := range r.o.Budget.used(r.total()) {
		if r.told[i] || float64(u.value) < r.o.Budget.NoticeAt*float64(u.bound) {
			continue
		}
		r.told[i] = true
		bound := fmt.Sprintf("of %s %s", u.of, u.name)
		if !r.toldBefore(bound) {
			said = append(said, u.said+" "+bound)
		}
	}
	if len(said) == 0 {
		return nil
	}
	return r.deliver("Budget", turn.Transcript{turn.User(fmt.Sprintf(
		"%s Used so far: %s. Finish what matters most and bring the work to an end.", noticeMark, strings.Join(said, ", ")))})
}

// toldBefore reports whether an earlier run of the transcript told of that limit.
func (r *run) toldBefore(bound string) bool {
	for _, m := range r.fold.Messages() {
		if m.OfUser == nil {
			continue
		}
		if text := turn.Text(m); strings.HasPrefix(text, noticeMark) && strings.Contains(text, bound) {
			return true
		}
	}
	return false
}
