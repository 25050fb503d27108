package resume_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// An errand is what one agent has to do: in each turn some calls, of which those of
// an agent are errands again. It is the agent's user message.
type errand struct {
	Key   string   `json:"key"`
	Turns [][]task `json:"turns,omitempty"`
}

type task struct {
	ID, Tool string
	Args     errand
}

// ids are what servers make of them; the names of agents are made from them.
var ids = []string{"a", "a/b", "a%2Fb", "1.a", "%", "a.b/c%25"}

func anErrand(depth int) *rapid.Generator[errand] {
	return rapid.Custom(func(t *rapid.T) errand {
		n := 0
		var make func(t *rapid.T, depth int) errand
		make = func(t *rapid.T, depth int) errand {
			n++
			e := errand{Key: fmt.Sprint("k", n)}
			tools := []string{"work", "ask", "book", "pay", "bake"}
			if depth > 0 {
				tools = append(tools, "agent", "agent")
			}
			for range rapid.IntRange(1, 2).Draw(t, "turns") {
				var batch []task
				for _, id := range rapid.Permutation(ids).Draw(t, "ids")[:rapid.IntRange(1, 2).Draw(t, "calls")] {
					c := task{ID: id, Tool: rapid.SampledFrom(tools).Draw(t, "tool")}
					if c.Tool == "agent" {
						c.Args = make(t, depth-1)
					} else {
						n++
						c.Args.Key = fmt.Sprint("k", n)
					}
					batch = append(batch, c)
				}
				e.Turns = append(e.Turns, batch)
			}
			return e
		}
		return make(t, depth)
	})
}

// forest is a host whose processes die, are stopped and are replied to.
type forest struct {
	t        require.TestingT
	safe     bool // every tool is safe to repeat
	parallel int
	ownBatch bool

	mu       sync.Mutex
	session  []byte
	room     int // bytes until the process dies; negative is never
	dead     bool
	entries  int // until it is stopped; negative is never
	stop     context.CancelCauseFunc
	now      time.Time
	did      map[string]int
	finished map[string]bool
	budget   loop.Budget
	cause    error               // why a process is stopped
	damage   func([]byte) []byte // what becomes of the session between two processes; nil is nothing
}

func (f *forest) Write(data []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return 0, errDead
	}
	if f.entries == 0 {
		f.stop(f.cause)
	}
	f.entries--
	if f.room < 0 || len(data) <= f.room {
		if f.room >= 0 {
			f.room -= len(data)
		}
		f.session = append(f.session, data...)
		return len(data), nil
	}
	n := f.room
	f.session = append(f.session, data[:n]...)
	f.dead = true
	return n, errDead
}

// runs is the model of every agent: a function of the transcript.
func runs(depth int) turn.TurnFn {
	return func(_ context.Context, messages []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		var e errand
		_ = json.Unmarshal([]byte(turn.Text(messages[0])), &e) // it may be lost, and then there is nothing to do
		turns, said := 0, e.Key
		for _, m := range messages {
			if m.OfAssistant != nil {
				turns++
			} else if m.OfTool != nil {
				said += "," + turn.Text(m)
			}
		}
		r := turn.ModelTurnResult{Message: turn.Assistant("(" + said + ")"), Usage: turn.Usage{InputTokens: int64(10 * len(messages)), OutputTokens: 3}}
		if turns < len(e.Turns) {
			var calls []turn.Call
			for _, c := range e.Turns[turns] {
				data, err := json.Marshal(c.Args)
				if err != nil {
					return r, err
				}
				calls = append(calls, turn.Call{ID: c.ID, Name: fmt.Sprint(c.Tool, depth), Arguments: string(data)})
			}
			r.Message = turn.Assistant("", calls...)
		}
		return r, nil
	}
}

func (f *forest) options(depth int, record func(trajectory.Event) error) loop.Options {
	o := loop.Options{Turn: runs(depth), Record: record, Now: func() time.Time { return f.now }, MaxParallel: f.parallel, MaxDepth: 9}
	keyOf := func(c loop.Call) string {
		var e errand
		require.NoError(f.t, json.Unmarshal([]byte(c.Arguments), &e))
		return e.Key
	}
	did := func(ctx context.Context, c loop.Call, text string) (loop.Output, error) {
		if ctx.Err() != nil {
			return loop.Output{}, ctx.Err()
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		key := keyOf(c)
		require.False(f.t, f.finished[key] && f.damage == nil, "%s had finished", key)
		f.did[key]++
		return loop.Text(key + " " + text), nil
	}
	tool := func(name string, run func(context.Context, loop.Call) (loop.Output, error)) *loop.Tool {
		o.Tools = append(o.Tools, loop.Tool{Name: fmt.Sprint(name, depth), ReplaySafe: f.safe, Run: run})
		return &o.Tools[len(o.Tools)-1]
	}
	tool("work", func(ctx context.Context, c loop.Call) (loop.Output, error) { return did(ctx, c, "worked") })
	tool("ask", func(_ context.Context, c loop.Call) (loop.Output, error) {
		return loop.Output{}, loop.WaitForReply("ask " + keyOf(c))
	})
	tool("book", func(ctx context.Context, c loop.Call) (loop.Output, error) {
		if c.Resume == nil {
			return loop.Output{}, loop.WaitForReply("book " + keyOf(c)).Saving(7)
		}
		return did(ctx, c, string(c.Resume.Saved)+c.Resume.Reply.Text)
	})
	tool("bake", func(ctx context.Context, c loop.Call) (loop.Output, error) {
		if c.Resume == nil {
			return loop.Output{}, loop.ResumeLater(f.now.Add(time.Hour), "bakes").Saving("bread")
		}
		return did(ctx, c, string(c.Resume.Saved))
	})
	tool("pay", func(ctx context.Context, c loop.Call) (loop.Output, error) { return did(ctx, c, "paid") }).
		Approval = func(c loop.Call) string { return "pay " + keyOf(c) }
	if f.ownBatch {
		o.Batch = func(ctx context.Context, calls []loop.Call) (outs []loop.Outcome, err error) {
			for _, c := range calls {
				for i := range o.Tools {
					if o.Tools[i].Name == c.Name {
						outs = append(outs, o.Tools[i].Do(ctx, c))
					}
				}
			}
			return outs, nil
		}
	}
	if depth < 3 {
		o.Tools = append(o.Tools, loop.NewSubAgent(loop.Tool{Name: fmt.Sprint("agent", depth), ReplaySafe: f.safe, Schema: json.RawMessage(`{"type":"object"}`)},
			"", f.options(depth+1, record)))
	}
	return o
}

// replyTo is what a person says to a question, whoever asks it.
func replyTo(question string) loop.Reply {
	word, key, _ := strings.Cut(question, " ")
	switch {
	case word == "pay" && len(key)%2 == 0:
		return loop.Approve()
	case word == "pay":
		return loop.Deny("too dear " + key)
	case strings.HasSuffix(key, "3"):
		return loop.Deny("nobody knows " + key)
	}
	return loop.Answer("answer " + key)
}

// start is one process.
func (f *forest) start(e errand, most int) (loop.Result, error) {
	if f.damage != nil {
		f.session = f.damage(f.session)
	}
	past := f.read()
	o := f.options(0, trajectory.NewWriter(f, trajectory.Header{}, past.Tail).Append)
	stored, err := json.Marshal(past.State)
	require.NoError(f.t, err)
	require.NoError(f.t, json.Unmarshal(stored, &o.From))
	messages := past.Messages
	if len(messages) == 0 {
		data, err := json.Marshal(e)
		require.NoError(f.t, err)
		messages = turn.Transcript{turn.User(string(data))}
	}
	o.Replies, o.Budget = map[string]loop.Reply{}, f.budget
	for _, w := range past.State.Waiting() {
		if len(o.Replies) < most && w.Suspension.For != trajectory.ForTime {
			r := replyTo(w.Suspension.Question)
			r.Ticket = w.Ticket()
			o.Replies[w.ID] = r
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	f.stop, f.dead = cancel, false
	res, err := loop.RunToolLoop(ctx, messages, o)
	require.NoError(f.t, turn.Check(res.Messages))
	if err == nil { // what the run returned is what the file tells
		told := f.read()
		require.Equal(f.t, jsonOf(f.t, timelessState(res.State)), jsonOf(f.t, timelessState(told.State)))
		require.Equal(f.t, transcript(f.t, res.Messages), transcript(f.t, told.Messages))
	}
	return res, err
}

func jsonOf(t require.TestingT, v any) string {
	data, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(data)
}

// timelessState is a state without the times of its runs, those of child runs included.
func timelessState(s trajectory.State) trajectory.State {
	s.Stats, s.Children = timeless(s.Stats), timeless(s.Children)
	open := s.Open
	s.Open = nil
	child := func(c *trajectory.Child) *trajectory.Child {
		if c == nil {
			return nil
		}
		return &trajectory.Child{Messages: c.Messages, State: timelessState(c.State), End: c.End}
	}
	for _, c := range open {
		if c.Children != nil {
			t := timeless(*c.Children)
			c.Children = &t
		}
		c.Child = child(c.Child)
		if c.Suspension != nil {
			w := *c.Suspension
			w.Child = child(w.Child)
			c.Suspension = &w
		}
		s.Open = append(s.Open, c)
	}
	return s
}

// read also notes which calls have finished, by what they were given.
func (f *forest) read() resume.PastSession {
	past, err := resume.Read(bytes.NewReader(f.session), nil)
	require.NoError(f.t, err)
	for e, err := range trajectory.NewReader(bytes.NewReader(f.session)).Entries() {
		if err != nil {
			continue
		}
		if b, ok := e.Body.(trajectory.CallEnd); ok && f.damage == nil && b.Status == trajectory.OK {
			var given errand
			require.NoError(f.t, json.Unmarshal([]byte(b.Arguments), &given), "%s %s", e.Agent, b.ID)
			f.finished[given.Key] = true
		}
	}
	return past
}

// agents are the transcripts of all agents, as the session tells of them.
func (f *forest) agents() map[string]string {
	folds := map[string]*trajectory.Fold{}
	for e, err := range trajectory.NewReader(bytes.NewReader(f.session)).Entries() {
		if err != nil {
			continue
		}
		if start, ok := e.Body.(trajectory.RunStart); folds[e.Agent] == nil || ok && !start.Continued {
			folds[e.Agent] = new(trajectory.Fold)
		}
		require.NoError(f.t, folds[e.Agent].Add(trajectory.Event{Body: e.Body}))
	}
	out := map[string]string{}
	for agent, fold := range folds {
		out[agent] = transcript(f.t, fold.Messages())
	}
	return out
}

// serve starts processes until the errand is done.
func (f *forest) serve(e errand, plan func() (room, entries, replies int)) loop.Result {
	for range 500 {
		var most int
		f.room, f.entries, most = plan()
		res, err := f.start(e, most)
		switch {
		case f.dead:
			continue
		case err == nil && res.StopReason == turn.ResumingLater:
			f.now = f.now.Add(2 * time.Hour)
			continue
		case err == nil && errors.As(res.Cause, new(*loop.BudgetError)):
			return res
		case err == nil && res.StopReason == turn.Aborted:
			require.ErrorIs(f.t, res.Cause, f.cause)
			continue
		}
		require.NoError(f.t, err)
		if res.StopReason == turn.Done {
			return res
		}
		require.Equal(f.t, turn.WaitingForReply, res.StopReason)
	}
	require.Fail(f.t, "it never ends")
	return loop.Result{}
}

func newForest(t require.TestingT, safe bool) *forest {
	return &forest{t: t, safe: safe, cause: loop.ErrShutdown, now: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), did: map[string]int{}, finished: map[string]bool{}}
}

var errStopped = errors.New("a person stopped it")
