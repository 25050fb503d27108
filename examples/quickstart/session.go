package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
)

// sessionFile is the record of the latest run in a directory. The tools do not show
// or touch it.
const sessionFile = ".quickstart.jsonl"

// readPast reads what an earlier run left.
func (h *host) readPast() (err error) {
	h.past, err = resume.ReadResumable(h.ws.dir, sessionFile, h.watch.Record)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no session to go on with in %s", h.ws.dir)
	}
	h.p.turns = int(h.past.State.Stats.Turns)
	return err
}

// say is the task, or what makes a session go on whose last word is the model's: by
// itself it has nothing to answer. Whoever asks to go on means that.
func (h *host) say() string {
	if h.task != "" || !h.past.Assessment.LooksUnfinished || !h.past.NeedsMessage() {
		return h.task
	}
	return h.past.Assessment.Suggestion
}

// openRecord carries on a record, or begins one in place of the one before.
func (h *host) openRecord() error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if !h.goOn {
		flags |= os.O_TRUNC
	}
	f, err := h.ws.root.OpenFile(sessionFile, flags, 0o600)
	if err != nil {
		return err
	}
	h.closers = append(h.closers, f.Close)
	h.session = trajectory.NewWriter(f, trajectory.Header{Title: h.task}, h.past.Tail)
	return nil
}
