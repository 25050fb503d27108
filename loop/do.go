package loop

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/pawl-dev/pawl/trajectory"
)

// Do runs one call with everything that a call needs: the tool's timeout, the
// grace period, recovery from a panic, suspension, the statistics of child runs
// and the duration. It never panics, and returns within the grace period after
// ctx is done, whatever the tool does. A [BatchFn] calls it for each call; it is
// the whole body of an engine's activity.
func (t Tool) Do(ctx context.Context, call Call) (o Outcome) {
	t.do(&callContext{Context: ctx, call: call}, &o)
	return o
}

// do is Do without its copies: a run spends most of its stack here.
func (t *Tool) do(scope *callContext, o *Outcome) {
	began := time.Now()
	if t.Timeout > 0 {
		var cancel context.CancelFunc
		scope.limit = errors.New("the tool's time limit")
		scope.Context, cancel = context.WithTimeoutCause(scope.Context, t.Timeout, scope.limit)
		defer cancel()
	}
	if scope.Done() == nil {
		t.invoke(scope, o) // nothing can stop the tool, so nobody has to watch it
	} else {
		t.watch(scope, o)
	}
	scope.finish(o, began)
}

// watch runs the tool on a goroutine of its own, and leaves it when it is told to
// stop and does not.
func (t *Tool) watch(ctx *callContext, o *Outcome) {
	ends := make(chan *workEnd, 1) // a tool that was left sends to nobody and ends
	go t.report(ctx, new(workEnd), ends)
	select {
	case came := <-ends:
		*o = came.o
		return
	case <-ctx.Done():
	}
	timer := time.NewTimer(graceOf(ctx))
	defer timer.Stop()
	select {
	case came := <-ends:
		*o = came.o
	case <-timer.C:
		t.left(ctx, o)
	}
}

// report is the body of a call's own goroutine: it calls the tool and hands on what
// came of it, also when the tool ends the goroutine with runtime.Goexit.
func (t *Tool) report(ctx *callContext, e *workEnd, to chan<- *workEnd) {
	room()
	e.o.Status, e.o.Error = trajectory.Failed, "the tool ended its goroutine"
	defer func() { to <- e }()
	t.invoke(ctx, &e.o)
}

// left is the outcome of a tool that did not stop when it was told to.
func (t *Tool) left(ctx *callContext, o *Outcome) {
	*o = Outcome{Status: trajectory.CutOff, Abandoned: true}
	if ctx.timedOut() {
		o.Status = trajectory.Failed
		o.Error = fmt.Sprintf("timed out after %s and did not stop; it may still be running, and its effects are unknown", t.Timeout)
	}
}

func graceOf(ctx context.Context) time.Duration {
	if run, ok := ctx.Value(runKey{}).(*runContext); ok {
		return run.grace
	}
	return defaultGrace
}

// invoke calls the tool, and recovers it. Its frame is kept small: with many calls
// at once, what costs is the growing of their stacks.
func (t *Tool) invoke(ctx *callContext, o *Outcome) {
	defer func() {
		if p := recover(); p != nil {
			panicked(o, p)
		}
	}()
	var err error
	o.Output, err = t.Run(ctx, ctx.call)
	o.Status, o.Error = trajectory.OK, ""
	if err != nil {
		t.failed(ctx, err, o)
	}
}

func panicked(o *Outcome, p any) {
	*o = Outcome{Status: trajectory.Failed, Error: "the tool panicked: " + oneLine(p), Stack: string(debug.Stack())}
}

// failed says what a tool's error means. Whether the run was stopping decides
// between a failure and a call that was cut off.
func (t *Tool) failed(ctx *callContext, err error, o *Outcome) {
	var pause *Pause
	var fatal *fatalError
	o.Status, o.Error = trajectory.Failed, err.Error()
	switch {
	case errors.As(err, &pause):
		if err := pause.check(); err != nil {
			o.Error = err.Error()
			return
		}
		s := pause.suspension
		o.Status, o.Error, o.Suspension = "", "", &s
	case errors.As(err, &fatal):
		o.Fatal, o.err = true, err
	case ctx.timedOut():
		o.Error = fmt.Sprintf("timed out after %s", t.Timeout)
		if said := beyond(ctx, err); said != "" {
			o.Error += ": " + said
		}
	case ctx.Err() != nil:
		o.Status, o.Error = trajectory.CutOff, beyond(ctx, err)
	}
}

// beyond is what a tool that was told to stop said beyond that it was told to stop.
func beyond(ctx context.Context, err error) string {
	text := err.Error()
	if text == ctx.Err().Error() || text == context.Cause(ctx).Error() {
		return ""
	}
	return text
}

// finish completes an outcome with how long the call took and what its child runs did.
// From here on nothing that the tool does can reach anything.
func (c *callContext) finish(o *Outcome, began time.Time) {
	o.Duration = max(time.Since(began), 0)
	c.close(o)
}
