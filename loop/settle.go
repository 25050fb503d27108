package loop

import (
	"errors"
	"fmt"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// settle deals with every call that is open: those that the model just made and
// those that an earlier run left, by the same rules.
func (r *run) settle() *ending {
	if r.fold.CountOpen() == 0 {
		return nil
	}
	stop := r.stopping()
	r.planned = 0
	var one [1]decision // most batches are of one call, and need nothing from the heap
	decisions := one[:]
	if n := r.fold.CountOpen(); n > 1 {
		decisions = make([]decision, n)
	}
	for i, c := range r.fold.EachOpen {
		decisions[i].order, decisions[i].open = i, *c
	}
	r.decide(decisions)
	for i := range decisions {
		switch d := &decisions[i]; {
		case d.status != "":
			_ = r.end(d, &Outcome{Status: d.status, Stack: d.stack}, d.text)
		case stop != nil:
			d.tool = nil
			r.refuse(d)
		case d.ask != "":
			d.tool = nil
			_ = emit(r, trajectory.Suspend{Call: d.open.Call, Turn: d.open.Turn,
				Suspension: trajectory.Suspension{For: trajectory.ForApproval, Question: d.ask}})
		}
	}
	r.startBatch()
	err := r.dispatch(decisions)
	switch {
	case r.fatal != nil: // finish adds a recorder that failed to any of these
		return failed(r.fatal)
	case stop != nil:
		return stop
	case r.ctx.Err() != nil:
		return r.stopping()
	case err != nil:
		return failed(&ToolError{Err: err})
	case r.recorderErr != nil:
		return failed(r.recorderErr)
	case r.stopCause != nil: // a budget that a call of this batch would have overspent
		return &ending{reason: turn.Aborted, cause: r.stopCause}
	}
	return r.pause()
}

// dispatch runs the calls that may run: those that have a tool.
func (r *run) dispatch(decisions []decision) (err error) {
	if r.o.Batch != nil {
		err = r.through(decisions)
	} else if len(decisions) == 1 {
		r.single(&decisions[0])
	} else {
		r.live(decisions, limit(r.o.MaxParallel, defaultParallel, unlimited))
	}
	for i := range decisions { // in call order, whatever ended first
		d := &decisions[i]
		r.res.Abandoned = append(r.res.Abandoned, d.left...)
		if d.fatal != nil && r.fatal == nil {
			r.fatal = &ToolError{d.open.Name, d.open.ID, d.fatal}
		}
	}
	return err
}

// claim records that a call starts. An error means that it must not.
func (r *run) claim(d *decision) error {
	if !d.open.Started { // else it is counted
		if over := r.mayCall(); over != nil {
			r.stopCause = over
			return over
		}
	}
	return emit(r, trajectory.CallStart{Call: d.open.Call, Turn: d.open.Turn, Kind: d.tool.Kind, Polls: d.tool.Polls, ReplaySafe: d.tool.ReplaySafe, Again: d.open.Started, Identity: d.tool.identity(d.call()),
		Approved: d.reply != nil && d.reply.Kind == trajectory.ReplyApprove, Reply: d.reply})
}

// refuse answers a call that was not claimed. One that waits goes on waiting: the
// reply can be given again. A shutdown leaves every other open too: all that is
// refused would have run. After a failed recorder nobody goes on from here.
func (r *run) refuse(d *decision) {
	switch {
	case d.open.Waiting():
	case r.shutsDown() && r.recorderErr == nil:
	case d.open.Started:
		text := textUnknown
		if t := r.tool(d.open.Name); t != nil && t.ReplaySafe {
			text = textUnknownSafe
		}
		_ = r.end(d, &Outcome{Status: trajectory.Unknown}, text)
	default:
		_ = r.end(d, &Outcome{Status: trajectory.NotStarted}, textNotStarted)
	}
}

// ran takes the outcome of a call that was dispatched.
func (r *run) ran(d *decision, o *Outcome) error {
	if d.left = o.Left; o.Abandoned {
		d.left = append(o.Left[:len(o.Left):len(o.Left)], d.open.Call)
	}
	if o.Status == "" && o.Suspension == nil {
		o.Status = trajectory.CutOff
	}
	if r.shutsDown() && d.runsAgain(o) {
		return nil
	}
	if o.Fatal {
		if d.fatal = o.err; d.fatal == nil {
			d.fatal = errors.New(o.Error)
		}
	}
	if err := checkEvents(o.Events); err != nil && (o.Status == trajectory.OK || o.Suspension != nil) {
		o.Status, o.Error, o.Suspension = trajectory.Failed, err.Error(), nil
	}
	r.effects(d, o)
	if o.Suspension != nil {
		return emit(r, trajectory.Suspend{Call: d.open.Call, Turn: d.open.Turn, Suspension: *o.Suspension, Duration: o.Duration,
			Children: d.children(o), Agents: d.open.Agents + o.Agents})
	}
	return r.end(d, o, resultText(o, d.tool.ReplaySafe))
}

// effects records what a call gave beside its text. Of two plans in one batch the
// one of the later call stands, whichever came first: hooks see the plan, so what
// is asked next would hang on which tool was faster.
func (r *run) effects(d *decision, o *Outcome) {
	if o.Plan != nil && d.order >= r.planned {
		r.planned = d.order
		_ = emit(r, trajectory.PlanChange{Plan: *o.Plan})
	}
	for _, c := range o.Events {
		if c.Check() == nil {
			_ = emit(r, c)
		}
	}
}

// checkEvents finds what a recorder could not take: a tool's mistake fails its call,
// not the run.
func checkEvents(events []trajectory.Custom) error {
	for i, c := range events {
		if err := c.Check(); err != nil {
			return fmt.Errorf("event %d of the tool cannot be recorded: %w", i+1, err)
		}
	}
	return nil
}

// children is what the call's child runs spent since it first started.
func (d *decision) children(o *Outcome) stats.RunStats {
	if d.open.Children == nil {
		return o.Children
	}
	return stats.AccumulateRun(*d.open.Children, o.Children)
}

// end answers a call.
func (r *run) end(d *decision, o *Outcome, text string) error {
	full := validText(text)
	text = shorten(full, limit(r.o.MaxOutput, defaultOutput, unlimited))
	if text == full {
		full = ""
	}
	return emit(r, trajectory.CallEnd{Call: d.open.Call, Turn: d.open.Turn, Status: o.Status,
		Message: turn.ToolResult(d.open.ID, text), Full: full,
		Duration: o.Duration, Paths: o.Paths, Stack: o.Stack,
		Children: d.children(o), Agents: d.open.Agents + o.Agents})
}

// pause ends the run while calls wait. A person's reply wins over a time: it is
// the one for which somebody has to act.
func (r *run) pause() *ending {
	reason := turn.StopReason("")
	for _, c := range r.fold.EachOpen {
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
