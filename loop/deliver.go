package loop

import (
	"errors"

	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// deliver adds a hook's messages to the transcript. What cannot be delivered is
// handed back.
func (r *run) deliver(from string, messages []turn.TranscriptMessage) *ending {
	for i, m := range messages {
		err := deliverable(m)
		if err != nil {
			err = &InvalidError{from, err}
		} else {
			err = emit(r, trajectory.Message{Message: m})
		}
		if err != nil {
			r.res.Undelivered = append(r.res.Undelivered, messages[i:]...)
			return failed(err)
		}
	}
	return nil
}

func deliverable(m turn.TranscriptMessage) error {
	switch {
	case turn.Role(m) == "":
		return errors.New("a message has no role")
	case m.OfTool != nil:
		return errors.New("a tool message answers no call here")
	case len(turn.Calls(m)) > 0:
		return errors.New("a message makes tool calls")
	}
	return nil
}

func (r *run) inbox() []turn.TranscriptMessage {
	if r.o.Inbox == nil {
		return nil
	}
	return r.o.Inbox()
}

func (r *run) takePending() turn.Transcript {
	messages := r.pending
	r.pending = nil
	return messages
}
