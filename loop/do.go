package loop

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
)

var errToolTimeout = errors.New("the tool's time limit")

// Do runs one call with everything that a call needs: the tool's timeout, the
// grace period, recovery from a panic, suspension, the statistics of child runs
// and the duration. It never panics, and returns within the grace period after
// ctx is done, whatever the tool does. A [BatchFn] calls it for each call; it is
// the whole body of an engine's activity.
func (t Tool) Do(ctx context.Context, call Call) Outcome {
	start := time.Now()
	if t.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.Timeout, errToolTimeout)
		defer cancel()
	}
	scope := newCallContext(ctx, call)
	a, left := t.await(scope, call)
	out := t.outcome(ctx, a, left)
	out.Duration = max(time.Since(start), 0)
	spent, agents := scope.close()
	if agents > 0 || len(spent.ToolTimeBreakdown) > 0 || spent.Turns > 0 {
		out.Children = stats.AccumulateRun(out.Children, spent)
	}
	out.Agents = agents
	return out
}

// answer is what a tool gave back.
type answer struct {
	out   Output
	err   error
	stack string
}

// await runs the tool, and leaves it when it is told to stop and does not. A tool
// that nothing can stop runs on the caller's goroutine.
func (t Tool) await(ctx *callContext, call Call) (a answer, left bool) {
	if ctx.Done() == nil {
		return t.invoke(ctx, call), false
	}
	answers := make(chan answer, 1) // a tool that was left sends to nobody and ends
	go func() {
		ended := false
		defer func() {
			if !ended { // the tool called runtime.Goexit
				answers <- answer{err: errors.New("the tool ended its goroutine")}
			}
		}()
		a := t.invoke(ctx, call)
		ended = true
		answers <- a
	}()
	select {
	case a = <-answers:
		return a, false
	case <-ctx.Done():
	}
	grace := defaultGrace
	if run, ok := ctx.Value(runKey{}).(*runContext); ok {
		grace = run.grace
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case a = <-answers:
		return a, false
	case <-timer.C:
		return answer{}, true
	}
}

func (t Tool) invoke(ctx context.Context, call Call) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			a = answer{err: fmt.Errorf("the tool panicked: %s", oneLine(p)), stack: string(debug.Stack())}
		}
	}()
	a.out, a.err = t.Run(ctx, call)
	return a
}

func oneLine(v any) string { return clip(strings.Join(strings.Fields(fmt.Sprint(v)), " "), 300) }

// outcome says what the answer means. Whether the run was stopping decides
// between a failure and a call that was cut off.
func (t Tool) outcome(ctx context.Context, a answer, left bool) Outcome {
	o := Outcome{Output: a.out, Stack: a.stack, Abandoned: left}
	timedOut := context.Cause(ctx) == errToolTimeout
	var pause *Pause
	var fatal *fatalError
	switch {
	case left && timedOut:
		o.Status, o.Error = trajectory.Failed, fmt.Sprintf("timed out after %s and did not stop; it may still be running, and its effects are unknown", t.Timeout)
	case left:
		o.Status = trajectory.CutOff
	case a.err == nil:
		o.Status = trajectory.OK
	case errors.As(a.err, &pause):
		if pause.err != nil {
			o.Status, o.Error = trajectory.Failed, pause.err.Error()
			break
		}
		s := pause.suspension
		o.Suspension = &s
	case errors.As(a.err, &fatal):
		o.Status, o.Error, o.Fatal, o.err = trajectory.Failed, a.err.Error(), true, a.err
	case timedOut:
		o.Status, o.Error = trajectory.Failed, fmt.Sprintf("timed out after %s: %v", t.Timeout, a.err)
	case ctx.Err() != nil && a.stack == "":
		o.Status, o.Error = trajectory.CutOff, a.err.Error()
	default:
		o.Status, o.Error = trajectory.Failed, a.err.Error()
	}
	return o
}
