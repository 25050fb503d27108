package resume_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// host is a host program over one session: the first run and every later one are
// the same code. The model answers by how many replies there are already, so it
// gives the same answers whatever was cut.
type host struct {
	t       require.TestingT
	request []turn.TranscriptMessage
	replies []string // JSON, one a turn
	tools   []loop.Tool
	ran     map[string]int // runs of each call, in this process
	record  func(trajectory.Event) error
	now     func() time.Time
}

func (h *host) model(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	n := 0
	for _, m := range messages {
		if m.OfAssistant != nil {
			n++
		}
	}
	var r turn.ModelTurnResult
	require.NoError(h.t, r.Message.UnmarshalJSON([]byte(h.replies[n])))
	cost, cached := turn.Cost(n+1), int64(n)
	r.Usage = turn.Usage{InputTokens: int64(100 * n), OutputTokens: 7, Cost: &cost, CachedInputTokens: &cached}
	r.Model, r.Finish = "m", "stop"
	return r, nil
}

// run carries a session on to its end, as a process that was just started.
func (h *host) run(session []byte) ([]byte, loop.Result) {
	past, err := resume.Read(bytes.NewReader(session), nil)
	require.NoError(h.t, err)
	out := bytes.NewBuffer(bytes.Clone(session))
	writer := trajectory.NewWriter(out, trajectory.Header{Title: "a session"}, past.Tail)
	messages := past.Messages
	if len(messages) == 0 {
		messages = h.request
	}
	clock := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h.ran, h.record = make(map[string]int), writer.Append
	h.now = func() time.Time { clock = clock.Add(time.Millisecond); return clock }
	res, err := loop.RunToolLoop(context.Background(), messages, loop.Options{Turn: h.model, Tools: h.tools, From: past.State, MaxParallel: 1,
		Record: h.record, Now: h.now})
	require.NoError(h.t, err)
	return out.Bytes(), res
}

func (h *host) note(ctx context.Context) loop.Call {
	c, ok := loop.CallFrom(ctx)
	require.True(h.t, ok)
	h.ran[fmt.Sprintf("%d.%s", c.Turn, c.ID)]++
	return c
}

func (h *host) tool(name string, kind trajectory.Kind, safe bool, run func(c loop.Call) loop.Output) loop.Tool {
	return loop.Tool{Name: name, Kind: kind, ReplaySafe: safe, Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		return run(h.note(ctx)), nil
	}}
}

// timeless is what the totals say apart from durations.
func timeless(s stats.RunStats) stats.RunStats {
	s.ModelTime, s.ToolTime, s.ToolTimeBreakdown = 0, 0, nil
	return s
}

func transcript(t require.TestingT, m turn.Transcript) string {
	data, err := m.MarshalJSON()
	require.NoError(t, err)
	return string(data)
}

// law is what must hold for a session that was cut: what was read, and where the
// run that carries it on ends.
type law struct {
	whole  []byte
	events []trajectory.Entry
	ends   []int       // of each entry, its line feed excluded
	folded []foldedLaw // what as many entries as its index make
	want   loop.Result
	exact  bool // all tools are safe to repeat
}

type foldedLaw struct {
	state      trajectory.State
	transcript string
}

func recorded(t require.TestingT, h *host) *law {
	l := &law{exact: true}
	l.whole, l.want = h.run(nil)
	for _, tool := range h.tools {
		l.exact = l.exact && tool.ReplaySafe
	}
	l.index(t)
	return l
}

// index finds the entries of the session. Lines that were torn and carried on may
// stand between them.
func (l *law) index(t require.TestingT) {
	l.events, l.ends, l.folded = nil, nil, nil
	var fold trajectory.Fold
	keep := func() {
		l.folded = append(l.folded, foldedLaw{fold.State(), transcript(t, fold.Messages())})
	}
	keep()
	for e, err := range trajectory.NewReader(bytes.NewReader(l.whole)).Entries() {
		var problem *trajectory.Problem
		if errors.As(err, &problem) && problem.Fault == trajectory.Torn {
			continue
		}
		require.NoError(t, err)
		l.events = append(l.events, e)
		l.ends = append(l.ends, int(e.Offset)+bytes.IndexByte(l.whole[e.Offset:], '\n'))
		require.NoError(t, fold.Add(e.Event))
		keep()
	}
}

// reads checks what a session that was cut at n reads as, and returns it.
func (l *law) reads(t require.TestingT, n int) resume.PastSession {
	kept := 0
	for kept < len(l.ends) && l.ends[kept] <= n {
		kept++
	}
	var seen []trajectory.Event
	past, err := resume.Read(bytes.NewReader(l.whole[:n]), []func(trajectory.Event) error{func(e trajectory.Event) error { seen = append(seen, e); return nil }})
	require.NoError(t, err)
	require.Len(t, seen, kept, "nothing before the last whole line is lost")
	torn := n > 0 && l.whole[n-1] != '\n'
	require.Equal(t, torn, past.Tail.Torn)
	for _, p := range past.Problems {
		require.Equal(t, trajectory.Torn, p.Fault, "%v", p)
	}
	require.Equal(t, l.folded[kept].state, past.State)
	require.Equal(t, l.folded[kept].transcript, transcript(t, past.Messages))
	closed := turn.Close(past.Messages, func(turn.Call) string { return "closed" })
	require.NoError(t, turn.Check(closed))
	require.Empty(t, turn.OpenCalls(closed))
	return past
}

// carriesOn checks the run that carries on a session cut at n.
func (l *law) carriesOn(t require.TestingT, h *host, n int) []byte {
	started, ended := make(map[string]bool), make(map[string]bool)
	for i, e := range l.events {
		if l.ends[i] > n || e.Agent != "" {
			continue
		}
		switch b := e.Body.(type) {
		case trajectory.CallStart:
			started[fmt.Sprintf("%d.%s", b.Turn, b.ID)] = true
		case trajectory.CallEnd:
			ended[fmt.Sprintf("%d.%s", b.Turn, b.ID)] = true
		}
	}
	session, res := h.run(l.whole[:n])
	for call, times := range h.ran {
		require.Equal(t, 1, times, call)
		require.False(t, ended[call], "%s had finished and ran again", call)
		require.False(t, started[call] && !l.exact, "%s had started, is not safe to repeat and ran again", call)
	}
	require.Equal(t, turn.Done, res.StopReason)
	require.Equal(t, timeless(l.want.Stats), timeless(res.Stats))
	require.Len(t, res.Messages, len(l.want.Messages))
	require.NoError(t, turn.Check(res.Messages))
	if l.exact {
		require.Equal(t, transcript(t, l.want.Messages), transcript(t, res.Messages))
		require.Equal(t, l.want.Plan, res.Plan)
		// A child run that is run again has spent again.
		require.GreaterOrEqual(t, res.Children.Turns, l.want.Children.Turns)
	}

	past, err := resume.Read(bytes.NewReader(session), nil)
	require.NoError(t, err)
	require.Equal(t, transcript(t, res.Messages), transcript(t, past.Messages), "the record tells what the result tells")
	require.Equal(t, timeless(res.Total()), timeless(past.State.Total()))
	if l.exact {
		require.Equal(t, resume.Finished, resume.Assess(past).Verdict)
	}
	l.restsWhenDone(t, h, session, res)
	return session
}

// restsWhenDone resumes a finished session: nothing runs, nothing is said twice.
func (l *law) restsWhenDone(t require.TestingT, h *host, session []byte, was loop.Result) {
	again, res := h.run(session)
	require.Empty(t, h.ran)
	require.Equal(t, turn.Done, res.StopReason)
	require.Empty(t, res.Added)
	require.Equal(t, was.Total(), res.Total())
	for _, line := range bytes.Split(bytes.TrimSpace(again[len(session):]), []byte("\n")) {
		require.Regexp(t, `^\{"t":"run\.(start|end)"`, string(line))
		require.NotContains(t, string(line), `"messages"`)
	}
}

func reply(text string, calls ...string) string {
	data, _ := json.Marshal(text)
	s := `{"role":"assistant","content":` + string(data)
	if len(calls) > 0 {
		s += `,"tool_calls":[` + strings.Join(calls, ",") + `]`
	}
	return s + `}`
}

func call(id, name, arguments string) string {
	data, _ := json.Marshal(arguments)
	return `{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":` + string(data) + `},"extra_content":{"signature":"<` + id + `>"}}`
}

// busy is a session with a parallel batch, plan changes, a sub-agent, ids that come
// again in every turn, text that is not ASCII, and fields that no type knows.
func busy(t require.TestingT, safe bool, result string) *host {
	h := &host{t: t, request: []turn.TranscriptMessage{turn.System("Sei kurz. <漢字>"), turn.User("Füge 😀 \u2028 hinzu.")}}
	h.replies = []string{
		`{"role":"assistant","content":null,"reasoning_content":"hm \u003c é","tool_calls":[` + call("a", "plan", `{"n":1}`) + `,` + call("b", "read", `{"path":"ä.go"}`) + `]}`,
		reply("Ich sehe.", call("a", "read", `{"path":"x"}`), call("b", "edit", `{"path":"y"}`), call("c", "nothing", `{}`), call("d", "edit", `not json`)),
		reply("", call("a", "agent", `{}`), call("b", "read", `{}`)),
		reply("", call("a", "plan", `{"n":2}`)),
		reply("Fertig. 😀"),
	}
	text := func(c loop.Call) loop.Output {
		body := result
		if c.Turn > 1 || c.Name == "look" {
			body = "Inhalt: "
		}
		return loop.Output{Text: body + c.Arguments, Paths: []string{"ä.go"}, Events: []trajectory.Custom{{Name: "x.test.note", Data: json.RawMessage(`{"<":1}`)}}}
	}
	h.tools = []loop.Tool{
		h.tool("read", trajectory.KindRead, safe, text), h.tool("edit", trajectory.KindEdit, safe, text),
		h.tool("plan", trajectory.KindThink, safe, func(c loop.Call) loop.Output {
			p := plan.Plan{Steps: []plan.Step{{Text: "eins", State: plan.Done}, {Text: "zwei", State: plan.InProgress}}}
			if strings.Contains(c.Arguments, "2") {
				p.Steps[1].State = plan.Done
			}
			return loop.Output{Text: "ok", Plan: &p}
		}),
		{Name: "agent", ReplaySafe: safe, Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
			h.note(ctx)
			child := &host{t: t, replies: []string{reply("", call("a", "look", `{}`)), reply("Kind fertig.")}, ran: map[string]int{}}
			child.tools = []loop.Tool{child.tool("look", trajectory.KindRead, true, text)}
			res, err := loop.RunToolLoop(ctx, []turn.TranscriptMessage{turn.User("Los.")}, loop.Options{Turn: child.model, Tools: child.tools, Record: h.record, Now: h.now})
			return loop.Text(res.Text()), err
		}},
	}
	return h
}

// Every cut is read. The run that carries on knows of the cut only what reading it
// gave, and reads checks that this is the same for all cuts within a line; so it is
// run for the cuts at and around the end of each line, and for some in between. Where
// tools are not safe to repeat the lines are the same but for a flag.
func TestCutAtEveryByte(t *testing.T) {
	for name, safe := range map[string]bool{"tools are safe to repeat": true, "tools are not safe to repeat": false} {
		t.Run(name, func(t *testing.T) {
			h := busy(t, safe, "Inhalt: ")
			l := recorded(t, h)
			end := -1 // of the line before
			for n := 0; n <= len(l.whole); n++ {
				if n > 0 && l.whole[n-1] == '\n' {
					end = n - 1
				}
				atEnd := n == len(l.whole) || l.whole[n] == '\n'
				carriesOn := atEnd || n-end <= 2 || n%29 == 0
				if safe || carriesOn {
					l.reads(t, n)
				}
				if carriesOn {
					l.carriesOn(t, h, n)
				}
			}
		})
	}
}

// A megabyte cannot be cut at every byte in the time of a test: the bytes near the
// end of its line, and some in between.
func TestCutInsideALongResult(t *testing.T) {
	h := busy(t, true, strings.Repeat("é \\ \" < \n", 1<<20/10))
	l := recorded(t, h)
	require.Greater(t, len(l.whole), 1<<20)
	for n := 0; n <= len(l.whole); n += 250_007 {
		l.reads(t, n)
		l.carriesOn(t, h, n)
	}
	for i, end := range l.ends {
		if end-int(l.events[i].Offset) < 1<<20 {
			continue
		}
		for _, n := range []int{end - 1, end, end + 1, end + 2} {
			l.reads(t, min(n, len(l.whole)))
		}
	}
}

func TestCutAnywhereAnyRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		safe := rapid.Bool().Draw(t, "safe")
		h := busy(t, safe, "x")
		h.replies = nil
		for range rapid.IntRange(0, 4).Draw(t, "turns") {
			var calls []string
			for i := range rapid.IntRange(1, 4).Draw(t, "calls") {
				name := rapid.SampledFrom([]string{"read", "edit", "plan", "agent", "nothing"}).Draw(t, "tool")
				calls = append(calls, call(string(rune('a'+i)), name, rapid.SampledFrom([]string{`{}`, `{"n":2}`, `oops`}).Draw(t, "arguments")))
			}
			h.replies = append(h.replies, reply(rapid.String().Draw(t, "text"), calls...))
		}
		// A plan that is finished, since the verdict is checked.
		h.replies = append(h.replies, reply("", call("z", "plan", `{"n":2}`)), reply("done"))
		l := recorded(t, h)
		for range 3 {
			n := rapid.IntRange(0, len(l.whole)).Draw(t, "cut")
			l.reads(t, n)
			session := l.carriesOn(t, h, n)
			if !l.exact {
				break
			}
			// The next kill meets the run that carried on.
			l.whole = session
			l.index(t)
		}
	})
}

// Entries that a host writes, or that other tests do not reach: a compaction, pauses
// and replies, spend, titles.
func TestCutAtEveryByteOfAnyEntry(t *testing.T) {
	c := func(id string) turn.Call { return turn.Call{ID: id, Name: "f", Arguments: "{}"} }
	user := func(s string) turn.Transcript { return turn.Transcript{turn.User(s)} }
	usage := turn.Usage{InputTokens: 5}
	said := func(text string, calls ...turn.Call) trajectory.Message {
		return trajectory.Message{Message: turn.ReplayForm(turn.Assistant(text, calls...)), Turn: &trajectory.Turn{Usage: usage}}
	}
	var out bytes.Buffer
	w := trajectory.NewWriter(&out, trajectory.Header{Title: "漢字"}, trajectory.Tail{})
	for _, e := range []trajectory.Event{
		{Body: trajectory.RunStart{Title: "é", Messages: user("a")}},
		{Body: said("", c("a"), c("b"), c("c"))},
		{Body: trajectory.CallStart{Call: c("b"), Turn: 1}},
		{Agent: "1.b", Body: trajectory.RunStart{Messages: user("child")}},
		{Agent: "1.b", Body: said("child says", c("z"))},
		{Agent: "1.b/1.z", Body: said("grandchild says")},
		{Body: trajectory.CallEnd{Call: c("b"), Turn: 1, Message: turn.ToolResult("b", "😀"), Children: stats.RunStats{Turns: 2}, Agents: 1}},
		{Body: trajectory.Suspend{Call: c("c"), Turn: 1, Suspension: trajectory.Suspension{For: trajectory.ForApproval, Question: "ok?"}}},
		{Body: trajectory.CallStart{Call: c("a"), Turn: 1}},
		{Body: trajectory.Suspend{Call: c("a"), Turn: 1, Suspension: trajectory.Suspension{For: trajectory.ForReply, Question: "well?", Saved: json.RawMessage(`{"<":1}`)}}},
		{Body: trajectory.RunEnd{Reason: turn.WaitingForReply}},
		{Body: trajectory.RunStart{Continued: true}},
		{Body: trajectory.CallStart{Call: c("a"), Turn: 1, Again: true, Reply: &trajectory.Reply{Kind: trajectory.ReplyAnswer, Text: "yes"}}},
		{Body: trajectory.CallEnd{Call: c("a"), Turn: 1, Message: turn.ToolResult("a", "")}},
		{Body: trajectory.CallEnd{Call: c("c"), Turn: 1, Status: trajectory.Denied, Message: turn.ToolResult("c", "no")}},
		{Body: trajectory.Spend{AuxiliarySpend: stats.AuxiliarySpend{Usage: usage}}},
		{Body: trajectory.Compact{Head: user("so far: ä"), Drop: 5, Spend: stats.AuxiliarySpend{Usage: usage}}},
		{Body: trajectory.Title{Title: "B"}},
		{Body: said("done")},
		{Body: trajectory.Message{Message: turn.User("nudge")}},
		{Body: said("", c("a"))},
		{Body: trajectory.CallStart{Call: c("a"), Turn: 3}},
		{Body: trajectory.RunEnd{Failure: "tool", Cause: "x"}},
	} {
		require.NoError(t, w.Append(e))
	}
	l := &law{whole: out.Bytes()}
	l.index(t)
	require.Len(t, l.events, 23)
	for n := 0; n <= len(l.whole); n++ {
		u := resume.Assess(l.reads(t, n))
		require.NotEmpty(t, u.Because)
	}
}
