package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// keeper is how a host keeps a run between two processes: nothing of it lives on
// but the bytes that it holds.
type keeper interface {
	load(t *testing.T) (turn.Transcript, trajectory.State)
	record(t *testing.T) func(trajectory.Event) error
	save(t *testing.T, res loop.Result)
}

// resultStore keeps a Result as JSON, as in a column of a database.
type resultStore struct{ data []byte }

func (s *resultStore) load(t *testing.T) (turn.Transcript, trajectory.State) {
	var res loop.Result
	if s.data != nil {
		require.NoError(t, json.Unmarshal(s.data, &res))
	}
	return res.Messages, res.State
}
func (*resultStore) record(*testing.T) func(trajectory.Event) error { return nil }
func (s *resultStore) save(t *testing.T, res loop.Result)           { s.data = []byte(jsonOf(t, res)) }

// sessionStore keeps a session file.
type sessionStore struct{ dir string }

func (s sessionStore) past(t *testing.T) resume.Resumable {
	past, err := resume.ReadResumable(s.dir, "s.jsonl")
	if err != nil {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	require.Empty(t, past.Problems)
	return past
}

func (s sessionStore) load(t *testing.T) (turn.Transcript, trajectory.State) {
	past := s.past(t)
	return past.Messages, past.State
}

func (s sessionStore) record(t *testing.T) func(trajectory.Event) error {
	f, err := os.OpenFile(filepath.Join(s.dir, "s.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return trajectory.NewWriter(f, trajectory.Header{}, s.past(t).Tail).Append
}
func (sessionStore) save(*testing.T, loop.Result) {}

// day is one process: what the host is told, as JSON, and what comes of it.
type day struct {
	name    string
	later   time.Duration
	replies string
	user    string
	cancel  bool
	ends    string // the reason, or the error
	open    string
	ran     string
}

var week = []day{
	{name: "it asks", user: "Go.", ends: "waiting_for_reply", open: "[rm1 rm2 ask book watch]", ran: "[read ask book watch last]"},
	{name: "nobody replies", ends: "waiting_for_reply", open: "[rm1 rm2 ask book watch]", ran: "[]"},
	{name: "the user says something else", user: "Hello?", open: "[rm1 rm2 ask book watch]", ran: "[]",
		ends: `loop: messages: message 4 comes while call "rm1" (rm) waits; answer the call first, or close it with a denial`},
	{name: "an answer to an approval", replies: `{"rm1":{"kind":"answer","text":"yes"}}`, open: "[rm1 rm2 ask book watch]", ran: "[]",
		ends: "loop: Replies[rm1]: the call waits for an approval, not for an answer"},
	{name: "an approval of a question", replies: `{"ask":{"kind":"approve"},"rm1":{"kind":"approve"}}`, open: "[rm1 rm2 ask book watch]", ran: "[]",
		ends: "loop: Replies[ask]: the call waits for an answer to a question, not for an approval"},
	{name: "cancelled, with an approval", replies: `{"rm1":{"kind":"approve"}}`, cancel: true, ends: "aborted", open: "[rm1 rm2 ask book watch]", ran: "[]"},
	{name: "an approval", replies: `{"rm1":{"kind":"approve"}}`, ends: "waiting_for_reply", open: "[rm2 ask book watch]", ran: "[rm1]"},
	{name: "the same approval", replies: `{"rm1":{"kind":"approve"}}`, open: "[rm2 ask book watch]", ran: "[]", ends: "loop: Replies[rm1]: no call of that id is open"},
	{name: "a denial and an answer", replies: `{"rm2":{"kind":"deny","text":"keep it"},"ask":{"kind":"answer","text":"eight"}}`,
		ends: "waiting_for_reply", open: "[book watch]", ran: "[]"},
	{name: "an answer to what was saved", replies: `{"book":{"kind":"answer","text":"inside"}}`, ends: "resuming_later", open: "[watch]", ran: "[book]"},
	{name: "too early", later: time.Minute, ends: "resuming_later", open: "[watch]", ran: "[]"},
	{name: "the time has come", later: time.Hour, ends: "waiting_for_reply", open: "[more]", ran: "[watch more]"},
	{name: "the user goes on", replies: `{"more":{"kind":"deny","text":"the user went on"}}`, user: "Stop asking.", ends: "done", open: "[]", ran: "[]"},
	{name: "once more", ends: "done", open: "[]", ran: "[]"},
}

// live lets a process live: everything is fresh but what the keeper holds.
func (d day) live(t *testing.T, k keeper, ran *[]string) (loop.Result, error) {
	messages, state := k.load(t)
	if d.user != "" {
		messages = append(messages[:len(messages):len(messages)], turn.User(d.user))
	}
	o := loop.Options{Turn: weekModel, Tools: weekTools(ran), From: state}
	if d.replies != "" {
		require.NoError(t, json.Unmarshal([]byte(d.replies), &o.Replies))
	}
	o.Record = k.record(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if d.cancel {
		cancel()
	}
	res, err := loop.RunToolLoop(ctx, messages, o)
	var invalid *loop.InvalidError
	if !errors.As(err, &invalid) { // which has changed nothing, but holds what was given
		k.save(t, res)
	}
	return res, err
}

func weekModel(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	turns := 0
	for _, m := range messages {
		if m.OfAssistant != nil {
			turns++
		}
	}
	var calls []turn.Call
	add := func(ids ...string) {
		for _, id := range ids {
			calls = append(calls, turn.Call{ID: id, Name: map[string]string{"rm1": "rm", "rm2": "rm", "more": "ask", "last": "read"}[id], Arguments: `{"id":"` + id + `"}`})
			if c := &calls[len(calls)-1]; c.Name == "" {
				c.Name = id
			}
		}
	}
	switch turns {
	case 0:
		add("read", "rm1", "rm2", "ask", "book", "watch", "last")
	case 1:
		add("more")
	}
	return turn.ModelTurnResult{Message: turn.Assistant(fmt.Sprintf("Reply %d.", turns+1), calls...), Usage: turn.Usage{InputTokens: int64(len(messages)), OutputTokens: 1}}, nil
}

// weekTools note what runs; MaxParallel does not matter, for nothing takes time.
func weekTools(ran *[]string) []loop.Tool {
	tool := func(name string, run func(c loop.Call) (string, error)) loop.Tool {
		return loop.Tool{Name: name, Alone: true, Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
			*ran = append(*ran, c.ID)
			text, err := run(c)
			return loop.Text(text), err
		}}
	}
	did := func(c loop.Call) (string, error) { return "did " + c.Arguments, nil }
	rm := tool("rm", did)
	rm.Approval = func(c loop.Call) string { return "Remove " + c.Arguments + "?" }
	return []loop.Tool{
		tool("read", did), rm,
		tool("ask", func(loop.Call) (string, error) { return "", loop.WaitForReply("How many?") }),
		tool("book", func(c loop.Call) (string, error) {
			if c.Resume == nil {
				return "", loop.WaitForReply("Inside?").Saving(map[string]any{"<draft>": 1.5})
			}
			return fmt.Sprintf("booked %s %s", c.Resume.Saved, c.Resume.Reply.Text), nil
		}),
		tool("watch", func(c loop.Call) (string, error) {
			if c.Resume == nil {
				return "", loop.ResumeLater(time.Now().Add(time.Hour), "it builds").Saving(nil)
			}
			return "built, " + string(c.Resume.Saved), nil
		}),
	}
}

// A host that keeps no session file but the Result, as JSON, in a store of its own
// sees the same happen as one with a session file, day by day.
func TestAResultInAStoreOfTheHosts(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		stored, filed := &resultStore{}, sessionStore{dir}
		for _, d := range week {
			time.Sleep(d.later)
			var ran, ranToo []string
			res, err := d.live(t, stored, &ran)
			other, otherErr := d.live(t, filed, &ranToo)
			require.Equal(t, d.ends, ending(res, err), d.name)
			require.Equal(t, d.ends, ending(other, otherErr), d.name)
			require.Equal(t, d.ran, fmt.Sprint(ran), d.name)
			require.Equal(t, ran, ranToo, d.name)
			require.Equal(t, d.open, fmt.Sprint(ids(res.Open)), d.name)
			if err == nil {
				require.Equal(t, ids(res.Open), ids(res.Waiting()), d.name)
			}
			require.Equal(t, jsonOf(t, res), jsonOf(t, other), d.name)
			messages, state := stored.load(t)
			again, stateToo := filed.load(t)
			require.Equal(t, bytesOf(t, messages), bytesOf(t, again), d.name)
			require.Equal(t, jsonOf(t, state), jsonOf(t, stateToo), d.name)
			require.NoError(t, turn.Check(messages), d.name)
		}
	})
}

func ending(res loop.Result, err error) string {
	if err != nil {
		return err.Error()
	}
	return string(res.StopReason)
}

func ids(open []trajectory.OpenCall) []string {
	out := make([]string, len(open))
	for i, c := range open {
		out[i] = c.ID
	}
	return out
}
