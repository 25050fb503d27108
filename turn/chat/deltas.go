package chat

import (
	"context"
	"sync"
	"time"
)

// patience is how long a call waits at its end for a host that is busy with one
// delta.
const patience = time.Second

// outlet hands deltas to the host on a goroutine of its own, so that a host that
// is slow to show them slows down neither the reading nor the clocks.
type outlet struct {
	ctx  context.Context
	gate *sync.Mutex
	tell func(context.Context, Delta)
	wake chan struct{} // holds at most one
	done chan struct{} // closed when the goroutine ended

	mu       sync.Mutex
	queue    []pending
	started  bool
	closed   bool // nothing is added any more
	dropped  bool // nothing is told any more
	told     int
	panicked any
}

// pending is a delta whose text still grows.
type pending struct {
	Delta
	text []byte
}

func newOutlet(ctx context.Context, gate *sync.Mutex, tell func(context.Context, Delta)) *outlet {
	return &outlet{ctx: ctx, gate: gate, tell: tell, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// put never waits. A delta that continues the last one not yet told is joined to it.
func (o *outlet) put(d Delta) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := len(o.queue); n > 0 && o.queue[n-1].continuedBy(d) {
		last := &o.queue[n-1]
		last.text = append(last.text, d.Text...)
		last.ID, last.Name = d.ID, d.Name
	} else {
		o.queue = append(o.queue, pending{d, []byte(d.Text)})
	}
	if !o.started {
		o.started = true
		go o.run()
	}
	o.signal()
}

func (p *pending) continuedBy(d Delta) bool {
	return p.Kind == d.Kind && p.Index == d.Index && p.Attempt == d.Attempt
}

func (o *outlet) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *outlet) run() {
	defer close(o.done)
	defer func() {
		if p := recover(); p != nil {
			o.mu.Lock()
			o.panicked, o.dropped = p, true
			o.mu.Unlock()
		}
	}()
	for range o.wake {
		for {
			d, ok, over := o.take()
			if over {
				return
			}
			if !ok {
				break
			}
			o.pass(d)
		}
	}
}

func (o *outlet) take() (d Delta, ok, over bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told++
	if o.dropped || o.closed && len(o.queue) == 0 {
		return d, false, true
	}
	if len(o.queue) == 0 {
		o.queue = nil
		return d, false, false
	}
	p := o.queue[0]
	o.queue = o.queue[1:]
	p.Delta.Text = string(p.text)
	return p.Delta, true, false
}

func (o *outlet) pass(d Delta) {
	o.gate.Lock()
	defer o.gate.Unlock()
	o.mu.Lock()
	dropped := o.dropped
	o.mu.Unlock()
	if !dropped {
		o.tell(o.ctx, d)
	}
}

// close waits until the host has heard everything, or gives up on it.
func (o *outlet) close(ctx context.Context) {
	o.mu.Lock()
	o.closed = true
	started := o.started
	o.mu.Unlock()
	if !started {
		return
	}
	o.signal()
	o.await(ctx)
	o.mu.Lock()
	o.dropped = true
	p := o.panicked
	o.mu.Unlock()
	if p != nil {
		panic(p) // the host's own, back where the host can see it
	}
}

func (o *outlet) await(ctx context.Context) {
	t := time.NewTicker(patience)
	defer t.Stop()
	o.mu.Lock()
	told := o.told
	o.mu.Unlock()
	for {
		select {
		case <-o.done:
			return
		case <-ctx.Done():
			return
		case <-t.C:
			o.mu.Lock()
			stuck := told == o.told
			told = o.told
			o.mu.Unlock()
			if stuck {
				return
			}
		}
	}
}
