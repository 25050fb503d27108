package loop

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// decision is what becomes of one open call: it is answered at once, it is
// suspended, it keeps waiting, or it runs.
type decision struct {
	order     int // in the batch
	open      trajectory.OpenCall
	status    trajectory.Status // answered at once, when not ""
	text      string
	stack     string
	ask       string // suspended for approval, when not ""
	waits     bool
	tool      *Tool // what runs, when not nil, with the arguments that were checked
	arguments string
	resume    *Resumption
	reply     *Reply // what resumed it

	left  []turn.Call // what came of it: tools that were still running
	fatal error
}

// decide looks at a batch whole, in call order, before any of it runs. A fresh
// call, one that a dead process left and one that was replied to all come
// through here: what is known of a call decides, never how it got here.
func (r *run) decide(decisions []decision) {
	for i := range decisions {
		d := &decisions[i]
		switch c := &d.open; {
		case c.Imported:
			d.answer(trajectory.Unknown, textUnknown)
		case c.Waiting():
			r.decideWaiting(d)
		case c.Started:
			r.decideStarted(d)
		case c.Cut:
			d.answer(trajectory.Refused, textCutReply)
		case turn.Repeated(r.fold.Messages(), c.ID):
			d.answer(trajectory.Refused, textRepeated)
		case r.prepare(d):
			r.decideApproval(d)
		}
	}
}

func (d *decision) answer(status trajectory.Status, text string) { d.status, d.text = status, text }

// decideWaiting applies a reply, or lets the call wait on.
func (r *run) decideWaiting(d *decision) {
	s := d.open.Suspension
	reply, replied := r.o.Replies[d.open.ID]
	switch {
	case !replied && !r.due(&d.open):
		d.waits = true
		return
	case !replied:
		reply = Reply{Kind: trajectory.ReplyDue}
	case reply.Kind == trajectory.ReplyDeny && s.Child == nil:
		d.answer(trajectory.Denied, textDenied(d.open.Started, reply.Text))
		return
	case reply.Kind == trajectory.ReplyAnswer && s.Saved == nil && s.Child == nil:
		d.answer(trajectory.OK, reply.Text)
		return
	}
	if r.prepare(d) {
		d.resumeWith(reply)
	}
}

// due says of a call that waits for a time whether that has come.
func (r *run) due(c *trajectory.OpenCall) bool {
	s := c.Suspension
	return s.For == trajectory.ForTime && !r.now().Before(s.Until)
}

// decideStarted settles a call that was running when its process died. A sub-agent
// goes on where it was, as the run that it is would by itself.
func (r *run) decideStarted(d *decision) {
	t := r.tool(d.open.Name)
	goesOn := t != nil && t.goesOn && d.open.Child != nil
	if t == nil || !t.ReplaySafe && !goesOn {
		d.answer(trajectory.Unknown, textUnknown)
		return
	}
	if !r.prepare(d) {
		return
	}
	if d.open.Reply != nil {
		d.resumeWith(*d.open.Reply)
	}
	if goesOn {
		if d.resume == nil {
			d.resume = new(Resumption)
		}
		d.resume.Child = d.open.Child
	}
}

// resumeWith runs a call again with what it saved. An approval starts it for the
// first time, unless the tool itself suspended.
func (d *decision) resumeWith(reply Reply) {
	given := reply
	d.reply = &given
	s := d.open.Suspension
	if s == nil || s.For == trajectory.ForApproval && s.Child == nil {
		return
	}
	d.resume = &Resumption{Saved: s.Saved, Child: s.Child}
	if reply.Kind == trajectory.ReplyDue {
		return
	}
	if s.Child != nil { // the pause that is meant is the child's
		if asked, ok := s.Child.State.FirstWaiting(); ok {
			reply.Ticket = asked.Ticket()
		}
	}
	d.resume.Reply = &reply
}

// prepare finds the tool and checks the arguments; it answers the call and
// reports false where it cannot run.
func (r *run) prepare(d *decision) bool {
	t := r.tool(d.open.Name)
	if t == nil {
		d.answer(trajectory.UnknownTool, textUnknownTool(d.open.Started, d.open.Name, r.o.Tools))
		return false
	}
	arguments, err := turn.Arguments(d.open.Arguments)
	if err == nil && t.check != nil {
		err = t.check(arguments)
	}
	if err != nil {
		sent := d.open.Arguments
		if written, ok := turn.InvalidArguments(sent); ok {
			sent = written
		}
		d.answer(trajectory.BadArguments, textBadArguments(d.open.Started, err, sent))
		return false
	}
	d.tool, d.arguments = t, arguments
	return true
}

// call is what the tool gets.
func (d *decision) call() Call {
	return Call{Call: turn.Call{ID: d.open.ID, Name: d.open.Name, Arguments: d.arguments}, Turn: d.open.Turn, Resume: d.resume}
}

// decideApproval asks the tool's rule. A rule that panics has answered nothing,
// so the call does not run.
func (r *run) decideApproval(d *decision) {
	rule := d.tool.Approval
	if rule == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			err := errors.New("the rule that says whether a person must approve it panicked: " + oneLine(p))
			d.answer(trajectory.Failed, fmt.Sprintf("This call did not run: %v", err))
			d.stack = string(debug.Stack())
			d.tool = nil
		}
	}()
	d.ask = rule(d.call())
}

// tool is looked up by going through the list: it is short, and a map for each of
// ten thousand runs is not.
func (r *run) tool(name string) *Tool {
	for i := range r.o.Tools {
		if r.o.Tools[i].Name == name {
			return &r.o.Tools[i]
		}
	}
	return nil
}
