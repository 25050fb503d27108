package loop

import (
	"context"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// Two values travel down by context: a run tells the calls it makes its name and
// its grace period, and a call tells the runs that its tool starts where to hand
// in what they spent. Both are contexts of their own rather than values in one,
// which saves an allocation for each call.

type runKey struct{}
type callKey struct{}

// runContext is the context of a run's batches.
type runContext struct {
	context.Context
	agent  string // "" for a run that no call started
	depth  int    // how many levels of runs there may be below it
	grace  time.Duration
	meters []*meter // the budgets that its calls spend from
}

func (c *runContext) Value(key any) any {
	if _, ok := key.(runKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// callContext is the context of one call.
type callContext struct {
	context.Context
	call  Call
	limit error // the cause by which the call's own time limit ends it, nil without one: that of a call above means that the run was stopped

	mu       sync.Mutex
	closed   bool
	children []childRun
	agents   int // those that are no continuation of an earlier one
}

// childRun is what a call knows of a run that its tool started.
type childRun struct {
	spent     stats.RunStats // so far
	abandoned []turn.Call
}

func (c *callContext) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// began gives a child run its place.
func (c *callContext) began(continued bool) (child int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !continued {
		c.agents++
	}
	c.children = append(c.children, childRun{})
	return len(c.children) - 1
}

// report takes what a child run has spent so far. What it spends after the call
// was left no longer counts: the call's outcome is already recorded.
func (c *callContext) report(child int, s stats.RunStats) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.children[child].spent = s
	}
}

// leaves takes the calls that a child run left behind.
func (c *callContext) leaves(child int, calls []turn.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.children[child].abandoned = calls
}

func (c *callContext) timedOut() bool { return c.limit != nil && context.Cause(c) == c.limit }

// close adds the child runs to the call's outcome.
func (c *callContext) close(o *Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed, o.Agents = true, c.agents
	for _, child := range c.children {
		o.Children = stats.AccumulateRun(o.Children, child.spent)
		o.Left = append(o.Left, child.abandoned...)
	}
	if len(c.children) == 0 && !o.Children.IsZero() {
		o.Children = stats.AccumulateRun(stats.RunStats{}, o.Children) // a tool may say anything
	}
}

// name is the agent of the runs that the call starts. It is worked out when one
// starts: most calls start none.
func (c *callContext) name() string {
	name := trajectory.AgentName(c.call.Turn, c.call.ID)
	if run, ok := c.Context.Value(runKey{}).(*runContext); ok && run.agent != "" {
		return run.agent + "/" + name
	}
	return name
}
