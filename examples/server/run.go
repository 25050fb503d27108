package main

import (
	"cmp"
	"context"
	"errors"
	"log"
	"time"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

const system = `You take orders for a shop. Ask the customer for what you need to know, pack the order, then charge for it.
A payment whose outcome is unknown must be looked up before it is made again. When all is done, sum up what the customer wanted.`

// start begins a run, with the session's mu held. It reports false when the server is
// shutting down.
func (s *session) start(w *work, replies map[string]loop.Reply) bool {
	if !s.host.enter() {
		return false
	}
	messages := w.past.Messages
	if len(messages) == 0 {
		messages = turn.Transcript{turn.System(system)}
	}
	w.ctx, w.cancel = context.WithCancelCause(s.host.ctx)
	s.run = w
	go func() {
		defer s.host.runs.Done()
		res, err := loop.RunToolLoop(w.ctx, messages, loop.Options{
			Turn: s.host.model, Tools: s.host.shop.tools(s.id),
			From: w.past.State, Replies: replies,
			Record: w.recorder(replies),
			Inbox: func() []turn.TranscriptMessage {
				s.mu.Lock()
				defer s.mu.Unlock()
				return w.mailbox.take()
			},
			MaxIterations: 100,
			Grace:         10 * time.Second, // what a tool has to pause in, also on a busy machine
		})
		s.ended(w, res, err)
	}()
	return true
}

// recorder writes to the file, and tells when the reply is in it. That is not yet so
// with the first entry, which only says that the reply fits: a run that is stopped
// right then leaves the call waiting.
func (w *work) recorder(replies map[string]loop.Reply) func(trajectory.Event) error {
	taken := false
	return func(e trajectory.Event) error {
		if err := w.writer.Append(e); err != nil {
			return err
		}
		var call string
		switch b := e.Body.(type) {
		case trajectory.CallStart:
			call = b.ID
		case trajectory.CallEnd:
			call = b.ID
		}
		if _, replied := replies[call]; replied && !taken {
			taken = true
			w.taken <- nil
		}
		return nil
	}
}

// ended lets the session rest, or go on at once with a message that came too late for
// the run's last look into its inbox. After a failure or a stop somebody has to say so.
func (s *session) ended(w *work, res loop.Result, err error) {
	w.cancel(nil)
	s.mu.Lock()
	s.run = nil
	late := len(w.mailbox.pending) > 0
	err = errors.Join(err, w.file.Close())
	s.mu.Unlock()
	w.taken <- cmp.Or(err, errNotTaken)
	close(w.done)
	switch {
	case err != nil && statusOf(err) >= 500:
		log.Printf("session %s: %v", s.id, err)
	case late && res.StopReason == turn.Done, res.StopReason == turn.ResumingLater:
		s.wake()
	}
}
