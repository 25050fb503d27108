package main

import (
	"context"
	"errors"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
)

var (
	errStopped  = errors.New("stopped by a client")
	errBusy     = errors.New("a run is at work, or is being stopped; try again when it has ended")
	errIdle     = errors.New("no run is at work")
	errNotTaken = errors.New("the run was stopped before it took the reply; reply again")
)

// session is one conversation. Between two runs it lives in its file alone: each run
// begins by reading that, the first one, the next one and the one after a crash alike,
// and a thousand sessions that wait for somebody cost no memory to speak of.
type session struct {
	host *host
	id   string

	mu  sync.Mutex // held while it is decided whether a run begins, never for the length of one
	run *work      // the one at work; nil between runs
}

// work is one run over a session, and what it holds meanwhile.
type work struct {
	past    resume.Resumable
	mailbox mailbox // guarded by the session's mu
	file    *os.File
	writer  *trajectory.Writer
	ctx     context.Context
	cancel  context.CancelCauseFunc
	taken   chan error    // gets nil when the reply is in the file, and then how the run ended
	done    chan struct{} // closed when it has ended
}

// open reads the session and opens its file. With os.O_CREATE one that does not exist
// is a session in which nothing has happened; without, it is [fs.ErrNotExist].
func (s *session) open(create int) (_ *work, err error) {
	w := &work{taken: make(chan error, 2), done: make(chan struct{})}
	file := s.id + resume.Extension
	if w.past, err = resume.ReadResumable(s.host.dir, file, w.mailbox.observe); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if w.file, err = os.OpenFile(filepath.Join(s.host.dir, file), create|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return nil, err
	}
	w.writer = trajectory.NewWriter(w.file, trajectory.Header{}, w.past.Tail)
	return w, nil
}

// post takes a message. When it returns without an error the message is in the file,
// and reaches the model whatever becomes of this process.
func (s *session) post(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		if context.Cause(s.run.ctx) == errStopped {
			return errBusy // what is said after a stop sets the session going again, and this run no longer can
		}
		return s.run.post(text) // the run finds it in its inbox, or is followed by another
	}
	w, err := s.open(os.O_CREATE)
	if err != nil {
		return err
	}
	err = w.post(text)
	s.goOn(w)
	return err
}

// wake goes on with a session if that needs nobody.
func (s *session) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		return
	}
	w, err := s.open(0)
	if err != nil {
		log.Printf("session %s: %v", s.id, err)
		return
	}
	s.goOn(w)
}

func (s *session) goOn(w *work) {
	wait, ok := w.due()
	if ok && wait <= 0 && s.start(w, nil) {
		return
	}
	w.file.Close()
	if ok && wait > 0 {
		time.AfterFunc(wait, s.wake)
	}
}

// due says whether there is something to do that needs no person, and in how long.
func (w *work) due() (wait time.Duration, ok bool) {
	switch a := w.past.Assessment; {
	case w.mailbox.stopped, a.Verdict == resume.WaitingForReply:
	case a.Verdict == resume.ResumingLater:
		first, _ := w.past.State.FirstWaiting()
		return time.Until(first.Suspension.Until), true
	case len(w.mailbox.pending) > 0:
		return 0, true
	case a.LooksUnfinished:
		return 0, !w.past.NeedsMessage()
	}
	return 0, false
}

// reply hands a person's reply to the call that waits for it. Whether it fits is the
// loop's to say: an *[loop.InvalidError] comes before the first entry, so nothing has
// changed then. Without an error the reply is in the file.
func (s *session) reply(call string, reply loop.Reply) error {
	w, err := s.begin(map[string]loop.Reply{call: reply})
	if err != nil {
		return err
	}
	return <-w.taken
}

func (s *session) begin(replies map[string]loop.Reply) (*work, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		return nil, errBusy
	}
	w, err := s.open(0)
	if err != nil {
		return nil, err
	}
	if !s.start(w, replies) {
		w.file.Close()
		return nil, loop.ErrShutdown
	}
	return w, nil
}

// stop ends the run at work, and returns when it has ended. That it was stopped is then
// in the file, so a restart does not take it up again.
func (s *session) stop() error {
	s.mu.Lock()
	w := s.run
	s.mu.Unlock()
	if w == nil {
		return errIdle
	}
	w.cancel(errStopped)
	<-w.done
	return nil
}
