package loop

import (
	"errors"
	"strings"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// settle deals with every call that is open: those that the model just made and
// those that an earlier run left, by the same rules.
func (r *run) settle() *ending {
	open := r.fold.Open()
	if len(open) == 0 {
		return nil
	}
	stop := r.stopping()
	decisions := r.decide(open)
	running := make([]*decision, 0, len(decisions))
	for i := range decisions {
		d := &decisions[i]
		switch {
		case d.waits:
		case d.status != "":
			r.end(d, Outcome{Status: d.status, Stack: d.stack}, d.text)
		case d.ask != "" && stop != nil:
			r.refuse(d)
		case d.ask != "":
			_ = emit(r, trajectory.Suspend{Call: d.open.Call, Turn: d.open.Turn,
				Suspension: trajectory.Suspension{For: trajectory.ForApproval, Question: d.ask}})
		default:
			running = append(running, d)
		}
	}
	err := r.run(running, stop != nil)
	switch {
	case r.recorderErr != nil:
		return failed(r.recorderErr)
	case r.fatal != nil:
		return failed(r.fatal)
	case stop != nil:
		return stop
	case r.ctx.Err() != nil:
		return r.stopping()
	case err != nil:
		return failed(&ToolError{Err: err})
	}
	return r.pause()
}

// run dispatches the calls that may run. When the run is stopping none is claimed.
func (r *run) run(running []*decision, stop bool) error {
	if len(running) == 0 {
		return nil
	}
	if stop {
		for _, d := range running {
			r.refuse(d)
		}
		return nil
	}
	b := batch{
		calls:   make([]Call, len(running)),
		tools:   make([]Tool, len(running)),
		started: func(i int) error { return r.claim(running[i]) },
		ended:   func(i int, o Outcome) error { return r.ran(running[i], o) },
	}
	for i, d := range running {
		b.calls[i], b.tools[i] = d.call, r.o.Tools[d.tool]
	}
	var err error
	if r.o.Batch != nil {
		err = b.through(r.scope, r.o.Batch)
	} else {
		b.live(r.scope, limit(r.o.MaxParallel, defaultParallel, unlimited))
	}
	for _, d := range running { // in call order, whatever ended first
		if d.abandoned {
			r.res.Abandoned = append(r.res.Abandoned, d.open.Call)
		}
		if d.fatal != nil && r.fatal == nil {
			r.fatal = &ToolError{d.open.Name, d.open.ID, d.fatal}
		}
	}
	return err
}

func (r *run) claim(d *decision) error {
	t := &r.o.Tools[d.tool]
	return emit(r, trajectory.CallStart{Call: d.open.Call, Turn: d.open.Turn, Kind: t.Kind, Polls: t.Polls,
		Approved: d.reply != nil && d.reply.Kind == trajectory.ReplyApprove, Reply: d.reply})
}

// refuse answers a call that was not claimed. One that waits goes on waiting: the
// reply can be given again.
func (r *run) refuse(d *decision) {
	switch {
	case d.open.Waiting():
	case d.open.Started:
		r.end(d, Outcome{Status: trajectory.Unknown}, textUnknown)
	default:
		r.end(d, Outcome{Status: trajectory.NotStarted}, textNotStarted)
	}
}

// ran takes the outcome of a call that was dispatched.
func (r *run) ran(d *decision, o Outcome) error {
	d.abandoned = o.Abandoned
	if o.Fatal {
		if d.fatal = o.err; d.fatal == nil {
			d.fatal = errors.New(o.Error)
		}
	}
	switch {
	case o.notStarted:
		r.refuse(d)
	case o.Suspension != nil:
		_ = emit(r, trajectory.Suspend{Call: d.open.Call, Turn: d.open.Turn, Suspension: *o.Suspension, Duration: o.Duration,
			Children: stats.AccumulateRun(d.open.Children, o.Children), Agents: d.open.Agents + o.Agents})
	default:
		if o.Status == "" {
			o.Status = trajectory.CutOff
		}
		if o.Plan != nil {
			_ = emit(r, trajectory.PlanChange{Plan: *o.Plan})
		}
		for _, c := range o.Events {
			_ = emit(r, c)
		}
		r.end(d, o, resultText(o))
	}
	return r.recorderErr
}

// end answers a call.
func (r *run) end(d *decision, o Outcome, text string) {
	_ = emit(r, trajectory.CallEnd{Call: d.open.Call, Turn: d.open.Turn, Status: o.Status,
		Message:  turn.ToolResult(d.open.ID, strings.ToValidUTF8(text, "\uFFFD")),
		Duration: o.Duration, Paths: o.Paths, Stack: o.Stack,
		Children: stats.AccumulateRun(d.open.Children, o.Children), Agents: d.open.Agents + o.Agents})
}

// pause ends the run while calls wait. A person's reply wins over a time: it is
// the one for which somebody has to act.
func (r *run) pause() *ending {
	reason := turn.StopReason("")
	for _, c := range r.fold.Open() {
		if c.Suspension != nil && c.Suspension.For == trajectory.ForTime {
			if reason == "" {
				reason = turn.ResumingLater
			}
			continue
		}
		reason = turn.WaitingForReply
	}
	if reason == "" {
		return nil
	}
	return &ending{reason: reason}
}

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
	return r.recorderErr
}

func happened(body trajectory.Body) bool {
	switch b := body.(type) {
	case trajectory.CallStart:
		return false
	case trajectory.Message:
		return b.Turn != nil
	}
	return true
}

// closeBroken answers the calls that this run's model made and a failing recorder
// left open: the transcript in the result can be sent as it stands.
func (r *run) closeBroken() {
	if r.recorderErr == nil || r.fold.Turn() == int(r.o.From.Stats.Turns) {
		return
	}
	for _, c := range r.fold.Open() {
		r.refuse(&decision{open: c})
	}
}

// finish records the end and hands everything over.
func (r *run) finish(end *ending) (Result, error) {
	last := trajectory.RunEnd{Reason: end.reason, Failure: string(ClassifyRunFailure(end.err))}
	if end.err != nil {
		last.Cause = end.err.Error()
	} else if end.cause != nil {
		last.Failure, last.Cause = string(ClassifyRunFailure(end.cause)), end.cause.Error()
	}
	if err := emit(r, last); err != nil && end.err == nil {
		end = failed(err)
	}
	r.closeBroken()
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
	if r.parent != nil {
		own, children := r.fold.Added()
		r.parent.add(stats.AccumulateRun(own, children))
	}
	return *res, end.err
}
