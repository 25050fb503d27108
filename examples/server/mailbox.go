package main

import (
	"encoding/json"
	"time"

	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// posted is the entry in which a message stands from when it was accepted.
const posted = "x.server.message"

// mailbox holds the messages that were accepted and not delivered yet. It lives in the
// session's file: an entry of our own says that a message was accepted, and the
// loop's that it was delivered. Those come in the order of ours and with their text,
// which is how one is told from what else the model may be told as a user.
//
// An entry of our own for the delivery too would be simpler to read back and wrong: a
// process that dies between the two entries would deliver twice, or never.
type mailbox struct {
	pending []string // oldest first
	stopped bool     // a client stopped the latest run, and nobody has said more since
}

// post writes the message down before anybody is told that it was accepted.
func (w *work) post(text string) error {
	data, err := json.Marshal(text)
	if err != nil {
		return err
	}
	entry := trajectory.Event{At: time.Now(), Body: trajectory.Custom{Name: posted, Data: data}}
	if err := w.writer.Append(entry); err != nil {
		return err
	}
	w.mailbox.pending, w.mailbox.stopped = append(w.mailbox.pending, text), false
	return w.file.Sync() // the writer knows nothing of what our entries are worth
}

// take hands over all of it. The record of a run that could not deliver them does not
// show them as delivered, so the next one, which reads the file, has them again.
func (m *mailbox) take() (out []turn.TranscriptMessage) {
	for _, text := range m.pending {
		out = append(out, turn.User(text))
	}
	m.pending = nil
	return out
}

// observe reads the file back.
func (m *mailbox) observe(e trajectory.Event) error {
	if e.Agent != "" {
		return nil
	}
	switch b := e.Body.(type) {
	case trajectory.Custom:
		var text string
		if b.Name == posted && json.Unmarshal(b.Data, &text) == nil {
			m.pending, m.stopped = append(m.pending, text), false
		}
	case trajectory.RunStart:
		m.stopped = false
		for _, given := range b.Messages {
			m.delivered(given)
		}
	case trajectory.Message:
		m.delivered(b.Message)
	case trajectory.RunEnd:
		m.stopped = b.Cause == errStopped.Error()
	}
	return nil
}

func (m *mailbox) delivered(message turn.TranscriptMessage) {
	if message.OfUser != nil && len(m.pending) > 0 && turn.Text(message) == m.pending[0] {
		m.pending = m.pending[1:]
	}
}
