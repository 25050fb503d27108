package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// world is a random run as plain data, so that it can be told again and again: a
// model's replies, what each call does, and what befalls the run. It is drawn
// before the clock stops, since rapid and a bubble do not share a goroutine.
type world struct {
	Replies     []worldReply
	Deeds       []deed // by the number in a call's arguments
	Parallel    int
	Iterations  int
	Batch       bool // through a host's own batch
	CancelAt    time.Duration
	Deadline    time.Duration
	StopAfter   int64 // turns; 0 never
	RecordFails int   // the nth entry; 0 never
	Inbox       []time.Duration
	Nudges      int
	Window      int64     // of a compaction; 0 for none
	Later       []episode // how the run is carried on
}

type worldReply struct {
	Text, Finish string
	Calls        []turn.Call
	Usage        turn.Usage
	Takes        time.Duration
	Fails        bool
}

// deed is what a call's tool does. No two sets of deeds take equally long, so no
// two things happen in the same instant and the same world is always told alike.
type deed struct {
	Does   string
	Takes  time.Duration
	Saving bool
	Until  time.Duration // since the beginning of time
}

// episode carries a run on: after so long, with these replies by place among the
// waiting calls, or after the process died.
type episode struct {
	After    time.Duration
	Kinds    []int // by place: 0 no reply, 1 what it waits for, 2 a denial
	Killed   int   // of the entries that many percent are left; 0 all
	CancelAt time.Duration
}

const abortBit = 1 << 20 // nanoseconds; the deeds have the bits below

func drawWorld(t *rapid.T) world {
	w := world{
		Parallel:    rapid.IntRange(0, 3).Draw(t, "parallel"),
		Iterations:  rapid.SampledFrom([]int{0, 0, 2, 3}).Draw(t, "iterations"),
		Batch:       rapid.Bool().Draw(t, "batch"),
		StopAfter:   rapid.SampledFrom([]int64{0, 0, 0, 1, 2}).Draw(t, "stopAfter"),
		RecordFails: max(0, rapid.IntRange(-30, 25).Draw(t, "recordFails")),
		Window:      rapid.SampledFrom([]int64{0, 0, 40}).Draw(t, "window"),
		Nudges:      rapid.IntRange(0, 1).Draw(t, "nudges"),
		CancelAt:    drawAbort(t, "cancelAt"),
		Deadline:    2 * drawAbort(t, "deadline"),
	}
	for range rapid.IntRange(1, 4).Draw(t, "replies") {
		w.Replies = append(w.Replies, w.drawReply(t))
	}
	for range rapid.IntRange(0, 1).Draw(t, "inbox") {
		w.Inbox = append(w.Inbox, milliseconds(t, "arrives"))
	}
	for range rapid.IntRange(0, 3).Draw(t, "episodes") {
		w.Later = append(w.Later, episode{
			After:    time.Duration(rapid.IntRange(0, 2).Draw(t, "after")) * time.Hour,
			Kinds:    rapid.SliceOfN(rapid.IntRange(0, 2), 4, 4).Draw(t, "kinds"),
			Killed:   max(0, rapid.IntRange(-100, 100).Draw(t, "killed")),
			CancelAt: drawAbort(t, "cancelAt"),
		})
	}
	return w
}

func milliseconds(t *rapid.T, label string) time.Duration {
	return time.Duration(rapid.IntRange(0, 60).Draw(t, label)) * time.Millisecond
}

// drawAbort is mostly never.
func drawAbort(t *rapid.T, label string) time.Duration {
	if rapid.IntRange(0, 3).Draw(t, label+"?") > 0 {
		return 0
	}
	return milliseconds(t, label) + abortBit
}

var deeds = []string{"ok", "ok", "ok", "fail", "panic", "exit", "ignore", "wait", "wait", "later", "child", "plan", "fatal"}

func (w *world) drawReply(t *rapid.T) worldReply {
	r := worldReply{
		Text:   rapid.SampledFrom([]string{"", "Hm.", "<b>&amp;</b>"}).Draw(t, "text"),
		Finish: rapid.SampledFrom([]string{"", "stop", "tool_calls", "length"}).Draw(t, "finish"),
		Takes:  milliseconds(t, "takes"),
		Fails:  rapid.IntRange(0, 15).Draw(t, "fails") == 0,
		Usage:  turn.Usage{InputTokens: int64(rapid.IntRange(-1, 99).Draw(t, "in")), OutputTokens: 7},
	}
	for i := range rapid.SampledFrom([]int{0, 1, 2, 3, 4}).Draw(t, "calls") {
		c := turn.Call{
			ID:   rapid.SampledFrom([]string{fmt.Sprint("c", i), fmt.Sprint("c", i), fmt.Sprint("c", i), "", "c0"}).Draw(t, "id"),
			Name: rapid.SampledFrom([]string{"work", "work", "safe", "alone", "asks", "slow", "missing"}).Draw(t, "name"),
		}
		c.Arguments = fmt.Sprintf(`{"deed":%d}`, len(w.Deeds))
		if rapid.IntRange(0, 9).Draw(t, "bad") == 0 {
			c.Arguments = rapid.SampledFrom([]string{`{"deed":`, `[]`, `{"a":1,"a":2}`}).Draw(t, "arguments")
		}
		w.Deeds = append(w.Deeds, deed{
			Does:   rapid.SampledFrom(deeds).Draw(t, "does"),
			Takes:  milliseconds(t, "takes") + 1<<len(w.Deeds),
			Saving: rapid.Bool().Draw(t, "saving"),
			Until:  time.Duration(rapid.IntRange(0, 3).Draw(t, "until")) * time.Hour,
		})
		r.Calls = append(r.Calls, c)
	}
	return r
}

// player tells a world: one run and those that carry it on.
type player struct {
	world
	asked     int
	questions [][]string
	started   time.Time

	mu      sync.Mutex // guards what tools and child runs write
	entries []trajectory.Event
	records int
	failed  bool // Record has failed for the run itself
	again   bool // and was called again

	compacted bool
	runs      int // of tools
	running   map[string]int
	left      map[string]bool // of those, the ones that a result named
}

func (p *player) options(tools []loop.Tool) loop.Options {
	o := loop.Options{
		Turn: p.turn, Tools: tools, Record: p.record, Grace: 5*time.Millisecond + abortBit*4,
		MaxIterations: p.Iterations, MaxParallel: p.Parallel,
		ShouldStop: func(s trajectory.State) error {
			if p.StopAfter > 0 && s.Stats.Turns >= p.StopAfter {
				return errors.New("enough")
			}
			return nil
		},
		OnTurnWouldEnd: func(s trajectory.State, _ turn.ModelTurnResult) []turn.TranscriptMessage {
			if p.Nudges == 0 {
				return nil
			}
			p.Nudges--
			return []turn.TranscriptMessage{turn.User(fmt.Sprintf("Go on: %v", s.Plan))}
		},
		Inbox: func() (out []turn.TranscriptMessage) {
			for len(p.Inbox) > 0 && time.Since(p.started) >= p.Inbox[0] {
				out, p.Inbox = append(out, turn.User("By the way.")), p.Inbox[1:]
			}
			return out
		},
	}
	if p.Window > 0 {
		o.Compact = loop.Summarise(loop.SummaryOptions{Turn: p.summarise, Window: p.Window})
	}
	if p.Batch {
		o.Batch = func(ctx context.Context, calls []loop.Call) ([]loop.Outcome, error) {
			outs := make([]loop.Outcome, len(calls))
			for i, c := range calls {
				outs[i] = toolOf(tools, c.Name).Do(ctx, c)
			}
			return outs, nil
		}
	}
	return o
}

func (p *player) summarise(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	p.compacted = true
	return turn.ModelTurnResult{Message: turn.Assistant("so far"), Usage: turn.Usage{InputTokens: 1}}, nil
}

func toolOf(tools []loop.Tool, name string) loop.Tool {
	for _, t := range tools {
		if t.Name == name {
			return t
		}
	}
	return loop.Tool{Run: func(context.Context, loop.Call) (loop.Output, error) {
		return loop.Output{}, fmt.Errorf("no tool %q", name)
	}}
}

func (p *player) record(e trajectory.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Agent == "" && p.failed {
		p.again = true
	}
	if p.records++; p.records == p.RecordFails {
		p.failed = p.failed || e.Agent == ""
		return errors.New("disk full")
	}
	p.entries = append(p.entries, e)
	return nil
}

func (p *player) turn(ctx context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	question := make([]string, len(messages))
	for i, m := range messages {
		data, err := turn.MessageJSON(m)
		if err != nil {
			return turn.ModelTurnResult{}, err
		}
		question[i] = string(data)
	}
	p.questions = append(p.questions, question)
	reply := worldReply{Text: "That is all."}
	if p.asked < len(p.Replies) {
		reply = p.Replies[p.asked]
	}
	p.asked++
	out := turn.ModelTurnResult{Message: turn.Assistant(reply.Text, reply.Calls...), Usage: reply.Usage, Finish: reply.Finish}
	if err := sleep(ctx, reply.Takes); err != nil {
		return out, err
	}
	if reply.Fails {
		return out, errors.New("bad gateway")
	}
	return out, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *player) tools() []loop.Tool {
	tools := []loop.Tool{
		{Name: "work"}, {Name: "safe", ReplaySafe: true}, {Name: "alone", Alone: true},
		{Name: "asks", Approval: func(c loop.Call) string { return "May I " + c.Arguments + "?" }},
		{Name: "slow", Timeout: 10*time.Millisecond + abortBit*8},
	}
	for i := range tools {
		tools[i].Run = p.run
	}
	return tools
}

func (p *player) count(c loop.Call) (done func()) {
	key := c.ID
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs++
	p.running[key]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.running[key]--; p.running[key] == 0 {
			delete(p.running, key)
		}
	}
}

func (p *player) run(ctx context.Context, c loop.Call) (loop.Output, error) {
	defer p.count(c)()
	var in struct{ Deed int }
	if err := json.Unmarshal([]byte(c.Arguments), &in); err != nil {
		return loop.Output{}, err
	}
	d := p.Deeds[in.Deed]
	if d.Does == "ignore" {
		time.Sleep(10 * d.Takes)
		return loop.Text("late"), nil
	}
	if d.Does == "child" {
		return p.child(ctx, d)
	}
	if err := sleep(ctx, d.Takes); err != nil {
		return loop.Text("half"), err
	}
	if c.Resume != nil {
		return loop.Text(fmt.Sprintf("resumed with %s and %v", c.Resume.Saved, c.Resume.Reply)), nil
	}
	return d.finish()
}
