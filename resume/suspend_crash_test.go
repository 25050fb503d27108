package resume_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// shop is a host with a session file, and the world outside, which remembers what
// was done whatever becomes of the process. Its agent makes calls of every sort
// that can wait.
type shop struct {
	t      *testing.T
	name   string
	did    map[string]int // by call id: how often a tool had its effect
	now    time.Time
	atOnce bool // all that waits is replied to in one go, not one by one
	room   int  // bytes until the process dies; negative is never
	levels int  // of sub-agents above the run that makes the calls
}

var replies = map[string]loop.Reply{
	"pay":   loop.Approve(),
	"guest": loop.Answer("for eight"),
	"table": loop.Answer("inside"),
	"again": loop.Deny("too dear"),
}

func newShop(t *testing.T, dir string) *shop {
	return &shop{t: t, name: filepath.Join(dir, "session.jsonl"), did: map[string]int{}, now: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), room: -1}
}

// errDead is how the process dies: what it wanted to write is not in the file,
// and nothing that it would have done after that happens.
var errDead = errors.New("the process died")

// Write is the session file of a process that dies in the middle of a line.
func (s *shop) Write(data []byte) (int, error) {
	f, err := os.OpenFile(s.name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if s.room < 0 || len(data) <= s.room {
		if s.room >= 0 {
			s.room -= len(data)
		}
		return f.Write(data)
	}
	n, err := f.Write(data[:s.room])
	s.room = 0
	return n, errors.Join(err, errDead)
}

// model is a function of the transcript.
func model(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	call := func(id, name, arguments string) turn.Call {
		return turn.Call{ID: id, Name: name, Arguments: arguments}
	}
	turns := 0
	for _, m := range messages {
		if m.OfAssistant != nil {
			turns++
		}
	}
	reply := turn.Assistant("Served.")
	switch turns {
	case 0:
		reply = turn.Assistant("", call("look", "look", `{}`), call("pay", "pay", `{"n":1}`), call("guest", "ask", `{}`),
			call("table", "book", `{}`), call("oven", "bake", `{}`), call("menu", "look", `{}`))
	case 1:
		reply = turn.Assistant("", call("again", "pay", `{"n":2}`))
	}
	return turn.ModelTurnResult{Message: reply, Usage: turn.Usage{InputTokens: int64(10 * len(messages)), OutputTokens: 3}}, nil
}

func (s *shop) tools() []loop.Tool {
	did := func(c loop.Call, text string) (loop.Output, error) {
		s.did[c.ID]++
		return loop.Text(text), nil
	}
	return []loop.Tool{
		{Name: "look", ReplaySafe: true, Run: func(_ context.Context, c loop.Call) (loop.Output, error) { return did(c, "soup") }},
		{Name: "pay", Approval: func(c loop.Call) string { return "Pay " + c.Arguments + "?" },
			Run: func(_ context.Context, c loop.Call) (loop.Output, error) { return did(c, "paid "+c.Arguments) }},
		{Name: "ask", ReplaySafe: true, Run: func(context.Context, loop.Call) (loop.Output, error) {
			return loop.Output{}, loop.WaitForReply("For how many?")
		}},
		{Name: "book", Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
			if c.Resume == nil {
				return loop.Output{}, loop.WaitForReply("Inside?").Saving(7)
			}
			return did(c, fmt.Sprintf("booked %s %s", c.Resume.Saved, c.Resume.Reply.Text))
		}},
		{Name: "bake", Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
			if c.Resume == nil {
				return loop.Output{}, loop.ResumeLater(s.now.Add(time.Hour), "it bakes").Saving("bread")
			}
			return did(c, "baked "+string(c.Resume.Saved))
		}},
	}
}

func (s *shop) read() resume.Resumable {
	past, err := resume.ReadResumable(filepath.Dir(s.name), filepath.Base(s.name))
	if err != nil {
		require.ErrorIs(s.t, err, os.ErrNotExist)
	}
	require.NoError(s.t, turn.Check(past.Messages))
	return past
}

// start is the host's program, from reading the session to the end of a run.
func (s *shop) start() (loop.Result, error) {
	past := s.read()
	messages := past.Messages
	if len(messages) == 0 {
		messages = turn.Transcript{turn.User("Serve.")}
	}
	o := s.options(past)
	o.Replies = map[string]loop.Reply{}
	for _, w := range past.State.Waiting() {
		r, ok := replies[w.ID]
		if s.levels > 0 {
			r, ok = byQuestion[w.Suspension.Question]
		}
		if ok && (s.atOnce || len(o.Replies) == 0) {
			o.Replies[w.ID] = r
		}
	}
	return loop.RunToolLoop(s.t.Context(), messages, s.delegated(o))
}

func (s *shop) options(past resume.Resumable) loop.Options {
	return loop.Options{
		Turn: model, Tools: s.tools(), From: past.State, MaxParallel: 1,
		Record: trajectory.NewWriter(s, trajectory.Header{}, past.Tail).Append,
		Now:    func() time.Time { return s.now },
	}
}

// serve starts the program until all is done. A process that dies is started
// again; one that waits for a time is started when that has come.
func (s *shop) serve(died func()) loop.Result {
	for range 20 {
		res, err := s.start()
		switch {
		case errors.Is(err, errDead):
			s.room = -1
			died()
			continue
		case res.StopReason == turn.ResumingLater:
			s.now = s.now.Add(2 * time.Hour)
			continue
		}
		require.NoError(s.t, err)
		if res.StopReason == turn.Done {
			return res
		}
		require.Equal(s.t, turn.WaitingForReply, res.StopReason)
	}
	require.Fail(s.t, "it never ends")
	return loop.Result{}
}

// delivered makes sure that what no longer waits takes no second reply: it is
// refused by name, nothing is recorded and nothing runs.
func (s *shop) delivered() {
	before, did := s.file(), jsonText(s.t, s.did)
	past := s.read()
	for id, r := range replies {
		waits := false
		for _, w := range past.State.Waiting() {
			waits = waits || w.ID == id
		}
		if waits || len(past.Messages) == 0 {
			continue
		}
		o := s.options(past)
		o.Replies = map[string]loop.Reply{id: r}
		res, err := loop.RunToolLoop(s.t.Context(), past.Messages, o)
		var invalid *loop.InvalidError
		require.ErrorAs(s.t, err, &invalid)
		require.Equal(s.t, "Replies["+id+"]", invalid.Field)
		require.Equal(s.t, lines(s.t, past.Messages), lines(s.t, res.Messages))
	}
	require.Equal(s.t, before, s.file())
	require.Equal(s.t, did, jsonText(s.t, s.did))
}

func (s *shop) file() string {
	data, err := os.ReadFile(s.name)
	if err != nil {
		require.ErrorIs(s.t, err, os.ErrNotExist)
	}
	return string(data)
}

func lines(t *testing.T, messages turn.Transcript) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		data, err := turn.MessageJSON(m)
		require.NoError(t, err)
		out[i] = string(data)
	}
	return out
}

func jsonText(t *testing.T, v any) string {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

var moments = []string{
	"before the pause was recorded",
	"after the pause was recorded",
	"while the reply was being applied",
	"while the approved tool ran",
	"after the tools ran and before the next model call",
}

// moment is where in the life of a suspended call a session was cut.
func (s *shop) moment() string {
	runs := 0
	past, err := resume.ReadPast(filepath.Dir(s.name), filepath.Base(s.name), func(e trajectory.Event) error {
		if _, ok := e.Body.(trajectory.RunStart); ok {
			runs++
		}
		return nil
	})
	if err != nil {
		require.ErrorIs(s.t, err, os.ErrNotExist)
	}
	for _, c := range past.State.Open {
		if c.ID == "pay" {
			switch {
			case c.Waiting() && runs > 1:
				return "while the reply was being applied"
			case c.Waiting():
				return "after the pause was recorded"
			case c.Started:
				return "while the approved tool ran"
			}
			return "before the pause was recorded"
		}
	}
	if past.State.Stats.Turns == 1 && len(past.State.Open) == 0 {
		return "after the tools ran and before the next model call"
	}
	return ""
}

// cuts are the bytes about each end of a line, and some of those in between, which
// all leave the same: a torn line.
func cuts(file string, between int) (out []int) {
	for n := range len(file) {
		about := file[max(n-1, 0):min(n+2, len(file))]
		if n%between == 0 || strings.Contains(about, "\n") {
			out = append(out, n)
		}
	}
	return out
}

// TestCrashLawWithSuspensions lets the process die while it writes its session.
// Whatever that cuts, the next process carries on with the same code; no tool that
// is not safe to repeat has its effect twice; and the transcript is that of a run
// that never died, but for the calls of which nobody can know the outcome.
func TestCrashLawWithSuspensions(t *testing.T) {
	for name, atOnce := range map[string]bool{"replies one by one": false, "replies at once": true} {
		t.Run(name, func(t *testing.T) {
			straight := newShop(t, t.TempDir())
			straight.atOnce = atOnce
			want := straight.serve(func() { require.Fail(t, "nobody dies here") })
			require.Equal(t, map[string]int{"look": 1, "menu": 1, "pay": 1, "table": 1, "oven": 1}, straight.did)
			seen := map[string]int{}
			dir := t.TempDir()
			for _, n := range cuts(straight.file(), 61) {
				s := newShop(t, dir)
				require.NoError(t, os.RemoveAll(s.name))
				s.atOnce, s.room = atOnce, n
				got := s.serve(func() {
					seen[s.moment()]++
					s.delivered()
				})
				s.compare(n, want, got)
			}
			for _, m := range moments {
				require.NotZero(t, seen[m], m)
			}
		})
	}
}

func (s *shop) compare(n int, want, got loop.Result) {
	s.compareRuns(n, want, got)
	require.Equal(s.t, lines(s.t, got.Messages), lines(s.t, s.read().Messages), "the file holds what the run returned")
}

// compareRuns compares what only the calls with an unknown outcome may have changed.
func (s *shop) compareRuns(n int, want, got loop.Result) {
	t := s.t
	was, is := lines(t, want.Messages), lines(t, got.Messages)
	require.Len(t, is, len(was), "cut at %d", n)
	for i := range was {
		m := got.Messages[i]
		if was[i] == is[i] {
			if m.OfTool != nil && s.did[m.OfTool.ToolCallID] > 1 {
				require.Contains(t, []string{"look", "menu"}, m.OfTool.ToolCallID, "cut at %d: ran twice", n)
			}
			continue
		}
		require.NotNil(t, m.OfTool, "cut at %d", n)
		require.Contains(t, []string{"pay", "table", "oven"}, m.OfTool.ToolCallID, "cut at %d", n)
		require.True(t, strings.HasPrefix(turn.Text(m), "The run was interrupted"), "cut at %d: %s", n, is[i])
		require.LessOrEqual(t, s.did[m.OfTool.ToolCallID], 1, "cut at %d", n)
	}
	require.Zero(t, s.did["again"], "cut at %d: it was denied", n)
	require.Equal(t, [4]int64{want.Stats.Turns, want.Stats.ToolCalls, want.Stats.InputTokens, want.Stats.OutputTokens},
		[4]int64{got.Stats.Turns, got.Stats.ToolCalls, got.Stats.InputTokens, got.Stats.OutputTokens}, "cut at %d", n)
}
