package loop

import (
	"context"
	"errors"
	"slices"
	"time"
)

var errBatchStopped = errors.New("the run stopped while this call was at work")

// live is the default batch: a goroutine for each call, and one select loop on
// the caller's, so that starts and ends are recorded as they happen. It claims in
// call order and stops claiming once the context is done, the recorder failed or
// a call was fatal; what runs then is told to stop, and left after the grace
// period. errgroup would not do: its Go blocks the caller, and it knows neither a
// tool that has to run alone nor one that does not stop.
func (r *run) live(decisions []decision, parallel int) {
	ctx, cancel := context.WithCancelCause(r.batch)
	defer cancel(nil)
	w := work{ends: make(chan *workEnd, len(decisions)), calls: make([]atWork, len(decisions)), stop: ctx.Done()}
	next, alone := 0, false
	for {
		for next < len(decisions) && w.active < parallel && !alone {
			d := &decisions[next]
			if d.tool == nil {
				next++
				continue
			}
			if w.active > 0 && d.tool.Alone {
				break
			}
			if ctx.Err() != nil || r.claim(d) != nil {
				if r.recorderErr != nil { // a spent budget lets go on what runs
					cancel(errBatchStopped)
				}
				r.refuseFrom(decisions[next:])
				next = len(decisions)
				break
			}
			w.begin(ctx, next, d)
			next, alone = next+1, d.tool.Alone
		}
		if w.active == 0 {
			return
		}
		e := w.wait(r.batch.grace)
		alone = false
		if r.ran(&decisions[e.i], &e.o) != nil || e.o.Fatal {
			cancel(errBatchStopped)
		}
	}
}

// work is the calls of a batch that are running.
type work struct {
	ends   chan *workEnd // has room for every call: one that was left sends to nobody
	calls  []atWork      // by place in the batch
	active int
	stop   <-chan struct{}  // the batch is told to stop; nil once it was
	late   <-chan time.Time // the grace period is over
}

type workEnd struct {
	i int
	o Outcome
}

// atWork is one call. Its scope is nil when it does not run any more, or is
// watched by Tool.do since it has a time limit of its own.
type atWork struct {
	tool  *Tool
	scope *callContext
	began time.Time
	left  bool
}

func (w *work) begin(ctx context.Context, i int, d *decision) {
	w.active++
	tool, ends := d.tool, w.ends
	if tool.Timeout > 0 {
		scope, e := &callContext{Context: ctx, call: d.call()}, &workEnd{i: i}
		go func() {
			tool.do(scope, &e.o)
			ends <- e
		}()
		return
	}
	one := &struct { // all that the call needs, at once
		scope callContext
		end   workEnd
	}{callContext{Context: ctx, call: d.call()}, workEnd{i: i}}
	w.calls[i] = atWork{tool: tool, scope: &one.scope, began: time.Now()}
	go tool.report(&one.scope, &one.end, ends)
}

// wait returns the next end: of a call that ended, or of one that is left because
// it did not.
func (w *work) wait(grace time.Duration) *workEnd {
	for {
		if len(w.ends) > 0 { // only this goroutine takes any
			if e := <-w.ends; !w.calls[e.i].left {
				return w.ended(e)
			}
			continue
		}
		select {
		case e := <-w.ends:
			if !w.calls[e.i].left {
				return w.ended(e)
			}
		case <-w.stop:
			w.stop, w.late = nil, time.After(grace)
		case <-w.late:
			w.late = over
			if len(w.ends) > 0 {
				continue // what did end in time is not left
			}
			i := slices.IndexFunc(w.calls, func(c atWork) bool { return c.scope != nil })
			if i < 0 {
				w.late = nil // the rest is watched by Tool.do
				continue
			}
			c := &w.calls[i]
			c.left = true
			e := &workEnd{i: i}
			c.tool.left(c.scope, &e.o)
			return w.ended(e)
		}
	}
}

func (w *work) ended(e *workEnd) *workEnd {
	w.active--
	if c := &w.calls[e.i]; c.scope != nil {
		c.scope.finish(&e.o, c.began)
		c.scope = nil
	}
	return e
}

// over is always ready: once the grace period is over, it is over for every call.
var over = func() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()
