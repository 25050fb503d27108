package loop

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// validate checks everything before the first effect, and splits the messages:
// those that the run begins with, and those that have to wait until the calls
// open before them are settled.
func (r *run) validate(messages turn.Transcript) error {
	o := &r.o
	if o.Turn == nil {
		return &InvalidError{"Turn", errors.New("there is no model")}
	}
	if err := r.advertise(); err != nil {
		return err
	}
	if err := o.Budget.validate(); err != nil {
		return err
	}
	if above, ok := r.ctx.Value(runKey{}).(*runContext); ok && above.depth <= 0 {
		return &InvalidError{"MaxDepth", errors.New("a run above this one allows no more runs below it")}
	}
	if err := checkState(&o.From, len(messages)); err != nil {
		return err
	}
	if len(messages) == 0 {
		return &InvalidError{"messages", errors.New("the transcript is empty")}
	}
	for i, m := range messages {
		if turn.Role(m) == "" {
			return &InvalidError{"messages", &turn.PairingError{Index: i, Fault: turn.NoRole}}
		}
	}
	r.fold.Resume(messages, o.From)
	begin, err := r.split(messages)
	if err != nil {
		return err
	}
	if len(o.Replies) > 0 {
		if err := r.checkReplies(turn.OpenCalls(messages[:begin])); err != nil {
			return err
		}
	}
	r.begin, r.pending = messages[o.From.Recorded:begin], messages[begin:]
	return nil
}

// advertise makes the definitions, once: every turn sends the same bytes.
func (r *run) advertise() *InvalidError {
	r.tools = make([]turn.WireToolDefinition, len(r.o.Tools))
	for i := range r.o.Tools {
		t := &r.o.Tools[i]
		d, err := t.definition()
		if first := slices.IndexFunc(r.o.Tools, func(other Tool) bool { return other.Name == t.Name }); err == nil && first < i {
			err = fmt.Errorf("the same name as Tools[%d]", first)
		}
		if err != nil {
			return &InvalidError{toolField(i, t.Name), err}
		}
		r.tools[i] = d
	}
	return nil
}

func toolField(i int, name string) string {
	if name == "" {
		return fmt.Sprintf("Tools[%d]", i)
	}
	return fmt.Sprintf("Tools[%d] (%s)", i, clip(name, 80))
}

func checkState(s *trajectory.State, messages int) *InvalidError {
	switch {
	case s.Recorded < 0:
		return &InvalidError{"From.Recorded", fmt.Errorf("%d is negative", s.Recorded)}
	case s.Recorded > messages:
		return &InvalidError{"From.Recorded", fmt.Errorf("%d messages are recorded, but only %d were given", s.Recorded, messages)}
	case s.Iterations < 0:
		return &InvalidError{"From.Iterations", fmt.Errorf("%d is negative", s.Iterations)}
	}
	if err := checkStats("From.Stats", s.Stats); err != nil {
		return err
	}
	return checkStats("From.Children", s.Children)
}

func checkStats(field string, s stats.RunStats) *InvalidError {
	for _, n := range []int64{s.Turns, s.ToolCalls, s.InputTokens, s.OutputTokens, s.CachedInputTokens, int64(s.Cost), s.Unpriced, int64(s.ModelTime), int64(s.ToolTime)} {
		if n < 0 {
			return &InvalidError{field, errors.New("a total is negative")}
		}
	}
	return nil
}

// split checks the pairing. Messages after an open call are accepted only where
// the record tells them from what came before, and no call waits that the host
// does not close: then the calls are settled first.
func (r *run) split(messages turn.Transcript) (begin int, _ *InvalidError) {
	fault := turn.Check(messages)
	if fault == nil {
		return len(messages), nil
	}
	begin = r.o.From.Recorded
	for begin < len(messages) && messages[begin].OfTool != nil {
		begin++
	}
	open := turn.OpenCalls(messages[:begin])
	if begin == 0 || len(open) == 0 || turn.Check(messages[:begin]) != nil || turn.Check(messages[begin:]) != nil {
		return 0, &InvalidError{"messages", fault}
	}
	for _, known := range r.fold.Open() {
		stillOpen := slices.Contains(open, known.Call)
		if stillOpen && known.Waiting() && !r.due(&known) && r.o.Replies[known.ID].Kind != trajectory.ReplyDeny {
			return 0, &InvalidError{"messages", fmt.Errorf("message %d comes while call %q (%s) waits; answer the call first, or close it with a denial", begin, known.ID, known.Name)}
		}
	}
	for i, m := range messages[begin:] {
		if err := deliverable(m); err != nil {
			return 0, &InvalidError{"messages", fmt.Errorf("message %d comes after an open call: %w", begin+i, err)}
		}
	}
	return begin, nil
}

// checkReplies makes sure that each reply meets a call that waits for its kind.
// A call that has a result among the messages is not open, whatever From says.
func (r *run) checkReplies(still []turn.Call) *InvalidError {
	open := slices.DeleteFunc(r.fold.Open(), func(c trajectory.OpenCall) bool { return !slices.Contains(still, c.Call) })
	ids := make([]string, 0, len(r.o.Replies))
	for id := range r.o.Replies {
		ids = append(ids, id)
	}
	slices.Sort(ids) // the same mistake gives the same error
	for _, id := range ids {
		field := fmt.Sprintf("Replies[%s]", clip(id, 80))
		i := slices.IndexFunc(open, func(c trajectory.OpenCall) bool { return c.ID == id })
		switch {
		case i < 0 && slices.ContainsFunc(still, func(c turn.Call) bool { return c.ID == id }):
			return &InvalidError{field, errors.New("the state in From says nothing of the call: continue from the state of the run that it ended")}
		case i < 0:
			return &InvalidError{field, errors.New("no call of that id is open")}
		case open[i].Suspension == nil:
			return &InvalidError{field, fmt.Errorf("call %q (%s) does not wait for a reply", id, open[i].Name)}
		case open[i].Reply != nil:
			return &InvalidError{field, fmt.Errorf("call %q (%s) was replied to already", id, open[i].Name)}
		}
		if ticket := r.o.Replies[id].Ticket; ticket != "" && ticket != open[i].Ticket() {
			return &InvalidError{field, fmt.Errorf("the reply is to pause %.80q, and call %q (%s) is in pause %.80q", ticket, clip(id, 80), open[i].Name, open[i].Ticket())}
		}
		if err := fits(open[i].Suspension.For, r.o.Replies[id].Kind); err != nil {
			return &InvalidError{field, err}
		}
	}
	return nil
}

func fits(wait trajectory.Wait, kind trajectory.ReplyKind) error {
	switch {
	case kind == trajectory.ReplyDeny,
		kind == trajectory.ReplyAnswer && wait == trajectory.ForReply,
		kind == trajectory.ReplyApprove && wait == trajectory.ForApproval:
		return nil
	case kind == trajectory.ReplyAnswer && wait == trajectory.ForApproval:
		return errors.New("the call waits for an approval, not for an answer")
	case kind == trajectory.ReplyApprove && wait == trajectory.ForReply:
		return errors.New("the call waits for an answer to a question, not for an approval")
	case wait == trajectory.ForTime:
		return errors.New("the call waits for a time; it can only be denied")
	}
	return fmt.Errorf("unknown kind of reply %.40q", kind)
}
