package loop

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// Pause is the error by which a tool suspends its call instead of answering it.
type Pause struct {
	suspension trajectory.Suspension
	err        error
}

// WaitForReply suspends the call until a person answers the question. The answer
// is the call's result, unless the tool saves something with its pause.
//
// A tool that does nothing but ask should be [Tool.ReplaySafe]. A process may die
// between the start of the call and the record of its question: the call then runs
// again and asks, where any other would be reported to the model as unknown.
func WaitForReply(question string) *Pause {
	return &Pause{suspension: trajectory.Suspension{For: trajectory.ForReply, Question: question}}
}

// ResumeLater suspends the call until a given time. A run that is started then
// runs the tool again. Why is for people to read. A tool that is told to stop can
// return it for time.Now(): its call is not cut off, and runs again in the next run,
// whenever that starts. A time that has no JSON, such as one in the year 10000, fails
// the call.
func ResumeLater(at time.Time, why string) *Pause {
	p := &Pause{suspension: trajectory.Suspension{For: trajectory.ForTime, Question: why, Until: at}}
	if _, err := at.MarshalJSON(); err != nil {
		p.err = fmt.Errorf("the time to resume at: %w", err)
	}
	return p
}

// Saving keeps v, as JSON, with the pause. The reply then runs the tool again,
// with what was saved and the reply in Call.Resume. Saving(nil) is fine where the
// tool needs the reply alone. A denial never reaches the tool (that of a sub-agent
// aside, which hands it on to the call inside). A v that has no JSON, or one nested
// deeper than a record can hold (498, and less in a sub-agent, whose pause stands in its
// parent's) or beyond 63 MiB, fails the call.
func (p *Pause) Saving(v any) *Pause {
	data, err := json.Marshal(v)
	if err != nil {
		return &Pause{suspension: p.suspension, err: fmt.Errorf("saving with the pause: %w", err)}
	}
	s := p.suspension
	s.Saved = data
	return &Pause{s, p.err}
}

// check finds what no record could hold: a tool's mistake fails its call, not the run.
// That of a call in a sub-agent stands in those of the calls above it, deeper with each.
func (p *Pause) check() error {
	if p.err != nil {
		return p.err
	}
	data, err := json.Marshal(p.suspension)
	if err == nil {
		err = turn.ValidJSON("[" + string(data) + "]") // a record holds it one level down
	}
	const around = 1 << 20 // what else stands in its line
	if most := trajectory.DefaultMaxLine - around; err == nil && len(data) > most {
		err = fmt.Errorf("it has %d bytes, more than %d", len(data), most)
	}
	if err != nil {
		return fmt.Errorf("the pause cannot be recorded: %w", err)
	}
	return nil
}

// Error says what the call waits for.
func (p *Pause) Error() string {
	if p.suspension.For == trajectory.ForTime {
		return fmt.Sprintf("resuming at %s: %s", p.suspension.Until.Format(time.RFC3339), p.suspension.Question)
	}
	return "waiting for a reply: " + p.suspension.Question
}

// Reply is what a person says to a call that waits: see [Answer], [Approve], [Deny].
// A host in which a reply may arrive twice, or after the run went on, sets its Ticket
// to the Ticket of the call that the person was shown. It is then refused unless that
// very pause is still open.
type Reply = trajectory.Reply

// Answer answers a question.
func Answer(text string) Reply { return Reply{Kind: trajectory.ReplyAnswer, Text: text} }

// Approve lets a call run with the arguments that were recorded.
func Approve() Reply { return Reply{Kind: trajectory.ReplyApprove} }

// Deny refuses a call, or closes a question without an answer. The model is told
// why, and the run goes on.
func Deny(why string) Reply { return Reply{Kind: trajectory.ReplyDeny, Text: why} }
