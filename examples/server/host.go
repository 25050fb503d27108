package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/turn"
)

// host holds the sessions of one directory.
type host struct {
	dir   string
	model turn.TurnFn
	shop  shop
	lock  *os.File

	ctx    context.Context // that of every run
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	sessions map[string]*session
	runs     sync.WaitGroup
}

func openHost(dir string, model turn.TurnFn, s shop) (*host, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	// Pawl does not keep two processes from writing to one session. One lock for the
	// directory is let go by a process that is killed, which a file that is merely
	// there would not be.
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("another server is at work in %s: %w", dir, err)
	}
	s.ledger = filepath.Join(dir, ledgerFile)
	h := &host{dir: dir, model: model, shop: s, lock: f, sessions: make(map[string]*session)}
	h.ctx, h.cancel = context.WithCancelCause(context.Background())
	return h, nil
}

// session is the one session of that id, which may not have begun.
func (h *host) session(id string) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[id]
	if s == nil {
		s = &session{host: h, id: id}
		h.sessions[id] = s
	}
	return s
}

// goOn goes on with every session that needs nobody for it.
func (h *host) goOn() {
	for l, err := range resume.List(h.dir) {
		if err != nil { // it costs no other session
			log.Print(err)
			continue
		}
		h.session(strings.TrimSuffix(l.File, resume.Extension)).wake()
	}
}

// enter counts a run in. None begins once the server stops.
func (h *host) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return false
	}
	h.runs.Add(1)
	return true
}

// stop tells every run to end.
func (h *host) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cancel(loop.ErrShutdown)
}

// close returns when every run has ended and every file is closed.
func (h *host) close() error {
	h.stop()
	h.runs.Wait()
	return h.lock.Close()
}
