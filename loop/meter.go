package loop

import (
	"sync"

	"github.com/pawl-dev/pawl/stats"
)

// meter is a budget while a batch runs. The child runs of the batch, and those
// below them, report to it as they spend, so that several at once cannot each
// spend what is left.
type meter struct {
	budget Budget
	start  stats.RunStats // when the batch began

	mu   sync.Mutex
	runs []stats.RunStats // what each has spent in this batch; the first is the run itself
}

// place is where one run reports to a meter.
type place struct {
	*meter
	index int
}

// join gives a run its place.
func (m *meter) join() place {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs = append(m.runs, stats.RunStats{})
	return place{m, len(m.runs) - 1}
}

// report takes what the run has spent so far.
func (p place) report(spent stats.RunStats) {
	spent.ToolTimeBreakdown = nil // no limit is on it
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs[p.index] = spent
}

// spent says whether the budget is used up.
func (p place) spent() *BudgetError {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.budget.spent(p.total())
}

// claim takes one tool call off the budget, if there is one left.
func (p place) claim() *BudgetError {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := (Budget{ToolCalls: p.budget.ToolCalls}).spent(p.total()); err != nil {
		return err
	}
	p.runs[p.index].ToolCalls++
	return nil
}

func (m *meter) total() stats.RunStats {
	total := m.start
	for _, s := range m.runs {
		total = stats.AccumulateRun(total, s)
	}
	return total
}

// startBatch gives the child runs of a batch a meter where there is a budget.
func (r *run) startBatch() {
	r.batch, r.own = r.scope, place{}
	if r.o.Budget == (Budget{}) {
		return
	}
	m := &meter{budget: r.o.Budget, start: r.total()}
	r.own = m.join()
	scope := *r.scope
	scope.meters = append(scope.meters[:len(scope.meters):len(scope.meters)], m)
	r.batch = &scope
}

// mayCall is the budgets' word on one more tool call.
func (r *run) mayCall() *BudgetError {
	if r.own.meter != nil {
		if err := r.own.claim(); err != nil {
			return err
		}
	}
	for _, p := range r.above {
		if err := p.claim(); err != nil {
			return err
		}
	}
	return nil
}

// overBudget checks this run's budget, and those of the runs above it.
func (r *run) overBudget() *BudgetError {
	if r.o.Budget != (Budget{}) {
		if err := r.o.Budget.spent(r.total()); err != nil {
			return err
		}
	}
	for _, p := range r.above {
		if err := p.spent(); err != nil {
			return err
		}
	}
	return nil
}

// report tells the runs above what this one has spent, as it spends it: a child
// that never comes to its end has spent it all the same.
func (r *run) report() {
	if r.parent == nil && len(r.above) == 0 {
		return
	}
	spent := r.fold.Spent()
	if r.parent != nil {
		r.parent.report(r.child, spent)
	}
	for _, p := range r.above {
		p.report(spent)
	}
}

func (r *run) total() stats.RunStats { return r.fold.State().Total() }
