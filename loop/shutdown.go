package loop

import (
	"context"
	"errors"

	"github.com/pawl-dev/pawl/trajectory"
)

// ErrShutdown is the cause to cancel a run with when its process ends and another
// will go on, by itself or wrapped:
//
//	ctx, cancel := context.WithCancelCause(ctx)
//	signals := make(chan os.Signal, 1)
//	signal.Notify(signals, syscall.SIGTERM)
//	go func() { <-signals; cancel(loop.ErrShutdown) }()
//
// The run is aborted, as by any other cause, but it leaves open what the next one can
// go on with, where it would otherwise answer it: calls that had not started; calls
// that were cut off, of tools that are [Tool.ReplaySafe]; and sub-agents, which keep
// all that they did: such a call waits for a time that is due at once, with the child
// run in its suspension. Of any other call that was running the model is told that it was
// cut off. The next run needs no message and no reply; package resume reads such a
// session as unfinished.
var ErrShutdown = errors.New("the process is shutting down")

func (r *run) shutsDown() bool { return errors.Is(context.Cause(r.ctx), ErrShutdown) }

// runsAgain says of a call that was dispatched whether it is left open for the next
// run. What its child runs spent would be forgotten with it; a sub-agent has paused
// itself, or was over.
func (d *decision) runsAgain(o *Outcome) bool {
	return o.Status == trajectory.CutOff && d.tool.ReplaySafe && !d.tool.goesOn && !o.Abandoned && o.Agents == 0 && o.Children.IsZero()
}
