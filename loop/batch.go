package loop

import (
	"context"
	"errors"
)

var errBatchStopped = errors.New("the run stopped while this call was at work")

// live is the default batch: goroutines for the calls, and one loop on the
// caller's goroutine, so that starts and ends are recorded as they happen. It
// claims in call order and stops claiming once the context is done, the recorder
// failed or a call was fatal; what runs then is told to stop. errgroup would not
// do: its Go blocks the caller, and it knows no tool that has to run alone.
func (r *run) live(decisions []decision, parallel int) {
	ctx, cancel := context.WithCancelCause(r.batch)
	defer cancel(nil)
	type end struct {
		i int
		o Outcome
	}
	ends := make(chan end, len(decisions))
	next, active, alone := 0, 0, false
	for {
		for next < len(decisions) && active < parallel && !alone {
			i := next
			d := &decisions[i]
			if d.tool == nil {
				next++
				continue
			}
			if active > 0 && d.tool.Alone {
				break
			}
			if ctx.Err() != nil || r.claim(d) != nil {
				if r.recorderErr != nil { // a spent budget lets go on what runs
					cancel(errBatchStopped)
				}
				r.refuseFrom(decisions[i:])
				next = len(decisions)
				break
			}
			next, active, alone = next+1, active+1, d.tool.Alone
			tool, call := d.tool, d.call
			go func() {
				e := end{i: i}
				tool.do(ctx, &call, &e.o)
				ends <- e
			}()
		}
		if active == 0 {
			return
		}
		e := <-ends
		active, alone = active-1, false
		if r.ran(&decisions[e.i], &e.o) != nil || e.o.Fatal {
			cancel(errBatchStopped)
		}
	}
}

// single needs no goroutine of its own.
func (r *run) single(d *decision) {
	if d.tool == nil {
		return
	}
	if r.ctx.Err() != nil || r.claim(d) != nil {
		r.refuse(d)
		return
	}
	var o Outcome
	d.tool.do(r.batch, &d.call, &o)
	_ = r.ran(d, &o)
}

func (r *run) refuseFrom(decisions []decision) {
	for i := range decisions {
		if d := &decisions[i]; d.tool != nil {
			r.refuse(d)
		}
	}
}

// through hands the calls to a host's own batch: all starts are recorded before
// it, all ends after it, in call order.
func (r *run) through(decisions []decision) error {
	var calls []Call
	n := 0 // decisions before this one were claimed or do not run
	for ; n < len(decisions); n++ {
		d := &decisions[n]
		if d.tool == nil {
			continue
		}
		if r.ctx.Err() != nil || r.claim(d) != nil {
			break
		}
		calls = append(calls, d.call)
	}
	var outs []Outcome
	var err error
	if len(calls) > 0 {
		outs, err = r.o.Batch(r.batch, calls[:len(calls):len(calls)])
	}
	for i := range decisions[:n] {
		d := &decisions[i]
		if d.tool == nil {
			continue
		}
		var o Outcome // no outcome: it did not finish
		if len(outs) > 0 {
			o, outs = outs[0], outs[1:]
		}
		_ = r.ran(d, &o)
	}
	r.refuseFrom(decisions[n:])
	return err
}
