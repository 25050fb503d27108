package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// session is the file, and what the run begins with.
type session struct {
	name, dir string
	file      *os.File
	writer    *trajectory.Writer
	messages  turn.Transcript
	state     trajectory.State
	closing   map[string]loop.Reply // what -close says to the calls that wait
	because   string                // where the session stands, in words; "" when it is new
}

// kept is what this program wants to find again in the session's first line.
type kept struct {
	Dir string `json:"dir"`
}

// openSession opens the file and reads what it holds. A new file is a session in
// which nothing has happened yet, so there is one way through here.
func openSession(c config) (_ *session, err error) {
	s := &session{name: c.session}
	if _, err := os.Stat(c.session); c.task == "" && (c.session == "" || errors.Is(err, fs.ErrNotExist)) {
		return nil, errors.New("there is no session to carry on with; say what to do: approval -session FILE \"task\"")
	}
	if s.name == "" {
		dir, err := os.MkdirTemp("", "pawl-session-")
		if err != nil {
			return nil, err
		}
		s.name = filepath.Join(dir, "session.jsonl")
	}
	if s.file, err = os.OpenFile(s.name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.file.Close()
		}
	}()
	// Two programs on one session would each ask, and each run what was approved.
	if err := lock(s.file); err != nil {
		return nil, fmt.Errorf("another program is at work on session %s: %w", s.name, err)
	}
	past, err := resume.ReadResumable(filepath.Dir(s.name), filepath.Base(s.name))
	if err != nil {
		return nil, err
	}
	if err := s.begin(c, past); err != nil {
		return nil, err
	}
	if err := s.place(c, past); err != nil {
		return nil, err
	}
	host, err := json.Marshal(kept{s.dir})
	if err != nil {
		return nil, err
	}
	s.writer = trajectory.NewWriter(s.file, trajectory.Header{Title: c.task, Host: host}, past.Tail)
	return s, nil
}

// begin puts a new task behind what was said. It cannot pass a call that waits:
// the user replies to that first, or closes it.
func (s *session) begin(c config, past resume.Resumable) error {
	s.messages, s.state = past.Messages, past.State
	waiting := s.state.Waiting()
	if c.close {
		s.closing = make(map[string]loop.Reply, len(waiting))
		for _, w := range waiting {
			s.closing[w.ID] = loop.Deny("The user went on to something else.")
		}
	}
	switch {
	case c.task == "" && len(s.messages) == 0:
		return fmt.Errorf("nothing was said in %s yet; say what to do", s.name)
	case c.task != "" && len(waiting) > 0 && !c.close:
		return fmt.Errorf("the session waits for a reply (%s). Carry on without a task and reply, or close it with -close", visible(waiting[0].Suspension.Question))
	case len(s.messages) == 0:
		s.messages = turn.Transcript{turn.System(system)}
	default:
		s.because = past.Assessment.Because
	}
	if c.task != "" {
		s.messages = append(s.messages[:len(s.messages):len(s.messages)], turn.User(c.task))
	}
	return nil
}

// place finds the directory of the commands: what the user says, or else the one
// that the session began in.
func (s *session) place(c config, past resume.Resumable) (err error) {
	var k kept
	_ = json.Unmarshal(past.Header.Host, &k) // another host's header says nothing here
	s.dir = cmp.Or(c.dir, k.Dir)
	if s.dir == "" {
		s.dir, err = os.MkdirTemp("", "pawl-approval-")
	} else {
		s.dir, err = filepath.Abs(s.dir)
	}
	if err != nil {
		return err
	}
	if info, err := os.Stat(s.dir); err != nil {
		return fmt.Errorf("the directory of the commands: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("%s is no directory", s.dir)
	}
	return nil
}
