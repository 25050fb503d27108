package loop

import (
	"context"
	"errors"
)

var errSiblingFatal = errors.New("another call of this turn ended the run")

// batch runs the claimed calls of one turn and reports each as it starts and ends.
type batch struct {
	calls []Call
	tools []Tool // by index in calls
	// started is asked before a call runs and claims it; an error refuses this call
	// and all after it. ended is told each outcome as it comes; an error stops
	// whatever still runs.
	started func(i int) error
	ended   func(i int, o Outcome) error
}

// live is the default batch: goroutines for the calls, and one loop on the
// caller's goroutine, so that starts and ends are recorded as they happen. It
// claims in call order and stops claiming once the context is done or a call was
// fatal; what runs then is told to stop. errgroup would not do: its Go blocks
// the caller, and it knows no tool that has to run alone.
func (b batch) live(parent context.Context, parallel int) {
	if len(b.calls) == 1 {
		b.single(parent)
		return
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	type end struct {
		i int
		Outcome
	}
	ends := make(chan end, len(b.calls))
	next, running, alone := 0, 0, false
	for {
		for next < len(b.calls) && running < parallel && !alone && (running == 0 || !b.tools[next].Alone) {
			i := next
			next++
			if ctx.Err() != nil || b.started(i) != nil {
				b.refuse(i, &next)
				cancel(errSiblingFatal)
				break
			}
			running, alone = running+1, b.tools[i].Alone
			go func() { ends <- end{i, b.tools[i].Do(ctx, b.calls[i])} }()
		}
		if running == 0 {
			return
		}
		e := <-ends
		running, alone = running-1, false
		if b.ended(e.i, e.Outcome) != nil || e.Fatal {
			cancel(errSiblingFatal)
		}
	}
}

// single needs no goroutine of its own.
func (b batch) single(ctx context.Context) {
	if ctx.Err() != nil || b.started(0) != nil {
		_ = b.ended(0, Outcome{notStarted: true})
		return
	}
	_ = b.ended(0, b.tools[0].Do(ctx, b.calls[0]))
}

// refuse reports this call and all behind it as never started.
func (b batch) refuse(i int, next *int) {
	for ; i < len(b.calls); i++ {
		_ = b.ended(i, Outcome{notStarted: true})
	}
	*next = len(b.calls)
}

// through hands the calls to a host's own batch: all starts are recorded before
// it, all ends after it, in call order.
func (b batch) through(ctx context.Context, run BatchFn) error {
	n := len(b.calls)
	for i := range b.calls {
		if ctx.Err() != nil || b.started(i) != nil {
			n = i
			break
		}
	}
	var outs []Outcome
	var err error
	if n > 0 {
		outs, err = run(ctx, b.calls[:n:n])
	}
	for i := range b.calls {
		switch {
		case i >= n:
			_ = b.ended(i, Outcome{notStarted: true})
		case i < len(outs):
			_ = b.ended(i, outs[i])
		default:
			_ = b.ended(i, Outcome{})
		}
	}
	return err
}
