package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

func TestAMessageOutlivesTheProcessThatTookIt(t *testing.T) {
	ctx, dir := patient(t), t.TempDir()
	c, _ := serveIn(t, dir, "pay")
	require.NoError(t, c.say(ctx, "a", "A chair"))
	require.NoError(t, c.say(ctx, "a", "A chair")) // the same words, and another message
	require.NoError(t, c.answer(ctx, "a", colour, loop.Answer("blue")))
	require.NoError(t, c.answer(ctx, "a", price, loop.Approve()))
	paying, err := c.until(ctx, "a", isAtWork("pay"))
	require.NoError(t, err)
	require.Equal(t, "running", paying.Status)
	require.NoError(t, c.say(ctx, "a", "Ring twice"))

	c, h := serveIn(t, died(t, dir), "")
	end, err := c.until(ctx, "a", func(s state) bool { return finished(s) || asks(price)(s) })
	require.NoError(t, err)
	if !finished(end) { // the process died before the money was out: it was looked up, and is asked for again
		require.NoError(t, c.answer(ctx, "a", price, loop.Approve()))
		end, err = c.until(ctx, "a", finished)
		require.NoError(t, err)
	}
	require.Contains(t, end.Said, "You told me: A chair; A chair; Ring twice.")
	require.Empty(t, end.Queued)
	require.NoError(t, h.close())
}

// Somebody else may speak in the user's name: a budget's notice, a watch.
func TestWhatElseTheModelIsToldDeliversNothing(t *testing.T) {
	var m mailbox
	for _, b := range []trajectory.Body{
		trajectory.Custom{Name: posted, Data: []byte(`"A chair"`)},
		trajectory.Custom{Name: "x.other.message", Data: []byte(`"A table"`)},
		trajectory.Message{Message: turn.User("Half of the budget is spent.")},
		trajectory.RunStart{Messages: turn.Transcript{turn.System("A chair")}},
	} {
		require.NoError(t, m.observe(trajectory.Event{Body: b}))
	}
	require.Equal(t, []string{"A chair"}, m.pending)
	require.NoError(t, m.observe(trajectory.Event{Body: trajectory.Message{Message: turn.User("A chair")}}))
	require.Empty(t, m.pending)
}

// Between the entry that takes a message and the run that it begins there is a moment
// in which a process can die.
func TestAMessageThatBeganNoRun(t *testing.T) {
	ctx, dir := patient(t), t.TempDir()
	s := &session{host: &host{dir: dir}, id: "a"}
	w, err := s.open(os.O_CREATE)
	require.NoError(t, err)
	require.NoError(t, w.post("A chair"))
	require.NoError(t, w.file.Close())
	c, _ := serveIn(t, dir, "")
	_, err = c.until(ctx, "a", asks(colour))
	require.NoError(t, err)
}

func TestAShutdownAndARestart(t *testing.T) {
	ctx, dir := patient(t), t.TempDir()
	c, h := serveIn(t, dir, "pack")
	for _, id := range []string{"asked", "packing", "stopped"} {
		require.NoError(t, c.say(ctx, id, "A chair"))
		_, err := c.until(ctx, id, asks(colour))
		require.NoError(t, err)
	}
	for _, id := range []string{"packing", "stopped"} {
		require.NoError(t, c.answer(ctx, id, colour, loop.Answer("blue")))
		_, err := c.until(ctx, id, isAtWork("pack"))
		require.NoError(t, err)
	}
	status, err := c.reply(ctx, "packing", "call_2", loop.Approve())
	require.Equal(t, 409, status)
	require.ErrorContains(t, err, errBusy.Error())
	stopped, status, err := c.do(ctx, "DELETE", "stopped/run", nil)
	require.NoError(t, err)
	require.Equal(t, 200, status)
	require.Contains(t, stopped.Because, errStopped.Error())
	require.NoError(t, h.close())
	require.Equal(t, map[string]string{"asked": "waiting_for_reply", "packing": "unfinished", "stopped": "unfinished"}, standings(t, h))
	status, err = c.reply(ctx, "asked", "call_1", loop.Answer("red"))
	require.Equal(t, 503, status, err)
	require.NoError(t, c.say(ctx, "packing", "Wrap it"), "what is taken now is for the next server")

	c, h = serveIn(t, dir, "")
	_, err = c.until(ctx, "packing", asks(price))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"asked": "waiting_for_reply", "packing": "waiting_for_reply", "stopped": "unfinished"}, standings(t, h))
	require.NoError(t, c.say(ctx, "stopped", "Go on"))
	_, err = c.until(ctx, "stopped", asks(price))
	require.NoError(t, err)
	require.NoError(t, h.close())
}

func standings(t *testing.T, h *host) map[string]string {
	t.Helper()
	list, err := h.list()
	require.NoError(t, err)
	found := map[string]string{}
	for _, s := range list {
		found[s.ID] = s.Status
	}
	return found
}

// Who stopped the run meant what was said until then.
func TestAMessageToARunThatIsBeingStopped(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStopped)
	s := session{run: &work{ctx: ctx}}
	require.ErrorIs(t, s.post("Go on"), errBusy)
}

// What is no session is named, and not written to.
func TestAFileThatIsNoSession(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.jsonl"), []byte("shopping list\n"), 0o600))
	c, h := serveIn(t, dir, "")
	list, err := h.list()
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Contains(t, list[0].Error, resume.ErrNoSession.Error())
	require.Error(t, c.say(patient(t), "notes", "A chair"))
	text, err := os.ReadFile(filepath.Join(dir, "notes.jsonl"))
	require.NoError(t, err)
	require.Equal(t, "shopping list\n", string(text))
}

func TestOneServerADirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no lock here")
	}
	dir := t.TempDir()
	_, h := serveIn(t, dir, "")
	_, err := openHost(dir, standIn, shop{})
	require.ErrorContains(t, err, "another server is at work")
	require.NoError(t, h.close())
	_, h = serveIn(t, dir, "")
	require.NoError(t, h.close())
}

// A run that is stopped behind its first entry leaves the call waiting, so that entry
// must not be taken for the reply.
func TestAReplyIsTakenWhenItIsInTheFile(t *testing.T) {
	w := work{writer: trajectory.NewWriter(io.Discard, trajectory.Header{}, trajectory.Tail{}), taken: make(chan error, 2)}
	record := w.recorder(map[string]loop.Reply{"a": loop.Answer("blue")})
	require.NoError(t, record(trajectory.Event{Body: trajectory.RunStart{}}))
	require.NoError(t, record(trajectory.Event{Body: trajectory.CallStart{Call: turn.Call{ID: "b"}}}))
	require.Empty(t, w.taken)
	require.NoError(t, record(trajectory.Event{Body: trajectory.CallEnd{Call: turn.Call{ID: "a"}, Message: turn.ToolResult("a", "blue")}}))
	require.Len(t, w.taken, 1)
}
