package chat

import (
	"context"
	"fmt"
	"time"
)

// watch ends a request that says nothing for too long. A limit on the whole
// request cannot do that: it would have to be as long as the longest reply.
type watch struct {
	timer  *time.Timer
	cancel context.CancelCauseFunc
	idle   bool
}

// newWatch starts the clock for the first token.
func newWatch(limit time.Duration, cancel context.CancelCauseFunc) *watch {
	w := &watch{cancel: cancel}
	if limit > 0 {
		w.timer = time.AfterFunc(limit, func() {
			cancel(fmt.Errorf("%w: nothing came within %v", ErrTimeout, limit))
		})
	}
	return w
}

// again starts the clock for the next event, at first instead of that for the
// first token.
func (w *watch) again(limit time.Duration) {
	if w.idle {
		if w.timer != nil {
			w.timer.Reset(limit)
		}
		return
	}
	w.stop()
	w.idle, w.timer = true, nil
	if limit > 0 {
		cancel := w.cancel
		w.timer = time.AfterFunc(limit, func() {
			cancel(fmt.Errorf("%w: nothing came for %v", ErrTimeout, limit))
		})
	}
}

func (w *watch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}
