package loop

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/turn"
)

// Budget bounds what a run and its child runs may spend in all, earlier runs of
// the same session included. Zero and negative limits are none. It is checked
// before each model turn and, for tool calls, before each call: a turn that has
// begun is finished, so a run may end above a limit by one turn.
//
// A run that reaches a limit is aborted, with a *[BudgetError] as its Cause.
type Budget struct {
	// Tokens bounds input and output tokens together.
	Tokens int64
	// ToolCalls bounds dispatched calls.
	ToolCalls int64
	// Cost bounds the price. A model call without one ends the run, since what
	// nobody knows cannot be kept within bounds.
	Cost turn.Cost
	// NoticeAt is the share of a limit from which the model is told, once, that it
	// should come to an end; zero tells it nothing. The notice is one more message
	// at the transcript's end, so a cached prefix stays one.
	NoticeAt float64
}

// BudgetError says which limit was reached.
type BudgetError struct {
	Limit string // "tokens", "tool calls" or "cost"
	Value string // what was spent, as a person reads it
	Bound string // what was allowed
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("the budget is spent: %s of %s, %s allowed", e.Value, e.Limit, e.Bound)
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
			used.said += fmt.Sprintf(" and %d calls without a price", s.Unpriced)
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
		if u.value >= u.bound {
			return &BudgetError{u.name, u.said, u.of}
		}
	}
	return nil
}

const noticeMark = "[Budget]"

// notice is what the model is told when a share of a limit is used; "" before.
func (b Budget) notice(s stats.RunStats) string {
	if b.NoticeAt == 0 {
		return ""
	}
	var said []string
	for _, u := range b.used(s) {
		if float64(u.value) >= b.NoticeAt*float64(u.bound) {
			said = append(said, fmt.Sprintf("%s of %s %s", u.said, u.of, u.name))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return fmt.Sprintf("%s Used so far: %s. Finish what matters most and bring the work to an end.", noticeMark, strings.Join(said, ", "))
}

// meter is a budget while a batch runs: child runs report to it as they spend, so
// that several at once cannot each spend what is left.
type meter struct {
	budget Budget
	start  stats.RunStats // when the batch began

	mu   sync.Mutex
	runs []stats.RunStats // what each child run has spent in this batch
}

// join gives a child run its place.
func (m *meter) join() (place int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs = append(m.runs, stats.RunStats{})
	return len(m.runs) - 1
}

// report takes a child run's spend so far and says whether the budget is spent.
func (m *meter) report(place int, spent stats.RunStats) *BudgetError {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs[place] = spent
	total := m.start
	for _, s := range m.runs {
		total = stats.AccumulateRun(total, s)
	}
	return m.budget.spent(total)
}

// overBudget checks this run's budget, and those of the runs above it.
func (r *run) overBudget() *BudgetError {
	if r.o.Budget != (Budget{}) {
		state := r.fold.State()
		if err := r.o.Budget.spent(state.Total()); err != nil {
			return err
		}
	}
	if len(r.meters) == 0 {
		return nil
	}
	own, children := r.fold.Added()
	spent := stats.AccumulateRun(own, children)
	var over *BudgetError
	for _, m := range r.meters {
		if err := m.report(m.place, spent); over == nil {
			over = err
		}
	}
	return over
}

// place is where a run reports to the meter of a run above it.
type place struct {
	*meter
	place int
}

// metered is the context of a batch whose child runs share this run's budget.
func (r *run) metered() *runContext {
	if r.o.Budget == (Budget{}) {
		return r.scope
	}
	scope := *r.scope
	scope.meters = append(scope.meters[:len(scope.meters):len(scope.meters)], &meter{budget: r.o.Budget, start: r.total()})
	return &scope
}

// mayCall is the budget's word on one more tool call.
func (r *run) mayCall() *BudgetError {
	if r.o.Budget.ToolCalls <= 0 {
		return nil
	}
	return Budget{ToolCalls: r.o.Budget.ToolCalls}.spent(r.total())
}

func (r *run) total() stats.RunStats { return r.fold.State().Total() }

// tellBudget delivers the soft notice, once in a transcript.
func (r *run) tellBudget() *ending {
	if r.noticed || r.o.Budget.NoticeAt == 0 {
		return nil
	}
	text := r.o.Budget.notice(r.total())
	if text == "" {
		return nil
	}
	r.noticed = true
	for _, m := range r.fold.Messages() {
		if m.OfUser != nil && strings.HasPrefix(turn.Text(m), noticeMark) {
			return nil // an earlier run told it
		}
	}
	return r.deliver("Budget", turn.Transcript{turn.User(text)})
}
