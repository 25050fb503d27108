package loop

import (
	"context"
	"fmt"
)

// BatchFn runs the calls of one turn, given in call order, and returns their
// outcomes in the same order, one for each. Beside an error it returns what finished;
// an outcome without a status did not. An error, or another number of outcomes without
// one, ends the run. The body of each call is [Tool.Do].
//
// All calls are recorded as started before it is called, and their ends after it
// returned: a host that wants both live leaves Batch nil.
type BatchFn func(ctx context.Context, calls []Call) ([]Outcome, error)

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
	d.tool.do(&callContext{Context: r.batch, call: d.call()}, &o)
	_ = r.ran(d, &o)
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
		calls = append(calls, d.call())
	}
	var outs []Outcome
	var err error
	if len(calls) > 0 {
		outs, err = r.o.Batch(r.batch, calls[:len(calls):len(calls)])
		if err == nil && len(outs) != len(calls) { // whose they are is anybody's guess
			outs, err = nil, fmt.Errorf("the number of outcomes is %d, that of calls %d", len(outs), len(calls))
		}
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

func (r *run) refuseFrom(decisions []decision) {
	for i := range decisions {
		if d := &decisions[i]; d.tool != nil {
			r.refuse(d)
		}
	}
}
