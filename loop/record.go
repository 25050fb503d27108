package loop

import (
	"errors"
	"fmt"

	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// emit records an entry and then folds it. When recording fails, what has already
// happened (a reply, the end of a call) is folded all the same, so that the
// result tells of it; what was only about to happen is not.
func emit[B trajectory.Body](r *run, body B) error {
	if r.recorderErr == nil && r.o.Record != nil {
		entry := body // a copy, so that body stays off the heap when nobody records
		err := r.o.Record(trajectory.Event{At: r.now(), Agent: r.scope.agent, Body: entry})
		if err != nil {
			r.recorderErr, r.recorded = &RecorderError{entry.Type(), err}, len(r.fold.Messages())
		}
	}
	if r.recorderErr != nil && !happened(body) {
		return r.recorderErr
	}
	// The loop makes no entry that does not fit.
	_ = r.fold.Add(trajectory.Event{Body: body})
	r.report()
	return r.recorderErr
}

func happened(body trajectory.Body) bool {
	switch b := body.(type) {
	case trajectory.CallStart, trajectory.Compact:
		return false
	case trajectory.Message:
		return b.Turn != nil
	}
	return true
}

// finish records the end and hands everything over.
func (r *run) finish(end *ending) error {
	last := trajectory.RunEnd{Reason: end.reason, Failure: string(ClassifyRunFailure(end.err))}
	if end.err != nil {
		last.Cause = end.err.Error()
	} else if end.cause != nil {
		last.Failure, last.Cause = string(ClassifyRunFailure(end.cause)), end.cause.Error()
	}
	last.Shutdown = end.reason == turn.Aborted && errors.Is(end.cause, ErrShutdown)
	_ = emit(r, last)
	switch {
	case r.recorderErr == nil || errors.Is(end.err, r.recorderErr):
	case end.err == nil:
		end = failed(r.recorderErr)
	default: // neither hides the other
		end = failed(fmt.Errorf("%w; %w", end.err, r.recorderErr))
	}
	r.closeBroken()
	if r.parent != nil && len(r.res.Abandoned) > 0 {
		r.parent.leaves(r.child, r.res.Abandoned)
	}
	res := &r.res
	res.State, res.Messages = r.fold.State(), r.fold.Messages()
	if r.recorderErr != nil {
		res.Recorded = r.recorded
	}
	res.Added = added(res.Messages, r.given)
	res.Undelivered = append(res.Undelivered, r.pending...)
	res.Cause = end.cause
	if end.err == nil || end.reason == turn.Deadline {
		res.StopReason = end.reason
	}
	return end.err
}

// closeBroken answers the calls that this run's model made and a failing recorder
// left open: the transcript in the result can be sent as it stands.
func (r *run) closeBroken() {
	if r.recorderErr == nil || r.fold.State().Stats.Turns == r.o.From.Stats.Turns {
		return
	}
	for _, c := range r.fold.Open() {
		r.refuse(&decision{open: c})
	}
}
