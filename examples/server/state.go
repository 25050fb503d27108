package main

import (
	"strings"

	"github.com/pawl-dev/pawl/progress"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
)

const running = "running"

// state is what a client is told of a session.
type state struct {
	ID     string `json:"id,omitempty"`
	Title  string `json:"title,omitempty"`
	Status string `json:"status,omitempty"` // running, or the verdict on its record
	// Because explains the verdict, Suggestion says what would make the session go on.
	Because    string          `json:"because,omitempty"`
	Suggestion string          `json:"suggestion,omitempty"`
	Said       string          `json:"said,omitempty"` // by the model, last
	Waiting    []waiting       `json:"waiting,omitempty"`
	AtWork     []string        `json:"atWork,omitempty"` // tools that run
	Queued     []string        `json:"queued,omitempty"` // messages that were accepted and not delivered yet
	Progress   string          `json:"progress,omitempty"`
	Spend      *stats.RunStats `json:"spend,omitempty"`
	Error      string          `json:"error,omitempty"`
}

// waiting is a call that waits for a reply, an approval of its arguments, or a time.
type waiting struct {
	trajectory.OpenCall
	Ticket string `json:"ticket"`
}

// assessed is what the record says, with the session's mu held. While a run is at work
// the record looks like that of a dead process, and only we know better.
func (s *session) assessed(title string, a resume.Unfinished) state {
	now := state{ID: s.id, Title: title, Status: string(a.Verdict), Because: a.Because, Suggestion: a.Suggestion, Said: a.LastSaid}
	if s.run != nil {
		now.Status, now.Because, now.Suggestion = running, "", ""
	}
	return now
}

// state reads the session, which costs what the session is long. A busy host would
// keep this up to date in its recorder instead.
func (s *session) state() (now state, err error) {
	s.mu.Lock() // no run begins or ends between the reading and the look at it
	defer s.mu.Unlock()
	var m mailbox
	watch := progress.NewWatch(progress.WatchOptions{})
	past, err := resume.ReadResumable(s.host.dir, s.id+resume.Extension, m.observe, watch.Record)
	if err != nil {
		return now, err
	}
	now = s.assessed(past.Title, past.Assessment)
	for _, c := range past.State.Open {
		if c.Waiting() {
			now.Waiting = append(now.Waiting, waiting{c, c.Ticket()})
		} else if c.Started && s.run != nil {
			now.AtWork = append(now.AtWork, c.Name)
		}
	}
	_, all := watch.Progress()
	total := past.State.Total()
	now.Queued, now.Progress, now.Spend = m.pending, progress.DescribeProgress(all), &total
	return now, nil
}

// list shows a run that ends while it is made as what it was.
func (h *host) list() (out []state, _ error) {
	for l, err := range resume.List(h.dir) {
		if err != nil && l.File == "" {
			return nil, err
		}
		s := h.session(strings.TrimSuffix(l.File, resume.Extension))
		s.mu.Lock()
		now := s.assessed(l.Title, l.Assessment)
		s.mu.Unlock()
		if err != nil { // it costs no other
			now.Error = err.Error()
		}
		out = append(out, now)
	}
	return out, nil
}
