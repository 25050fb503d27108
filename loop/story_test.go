package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// story is a script being told: what the runs so far left.
type story struct {
	t        *testing.T
	tools    []toolLine
	agents   map[string]scene
	messages turn.Transcript
	state    trajectory.State
	entries  []trajectory.Event // of all runs, as a session would hold them
	began    bool
	results  []told
}

// told is a result, and what it said when it was returned.
type told struct {
	result loop.Result
	said   string
}

// end waits until every tool that was left behind has ended: nothing that was
// returned may have changed by then.
func (s *story) end() {
	time.Sleep(1000 * time.Hour)
	for _, r := range s.results {
		require.Equal(s.t, r.said, jsonOf(s.t, r.result), "a late result reached something returned")
	}
}

// telling is one run of a story.
type telling struct {
	*story
	scene
	start   time.Time
	root    *telling // of the run that nobody started
	saying  sync.Mutex
	lines   []line
	mu      sync.Mutex     // guards what tools write
	used    map[string]int // acts, by the word that named them
	ran     []string       // ids of the calls whose tools ran
	running []string       // of those that still do
	past    int            // entries of the runs before
	times   int            // Record was called
	unsaid  []string       // what the script has no line for

	replying, summing *turntest.Script // what the models say
	children          []*telling
}

func newTelling(s *story, sc scene, start time.Time) *telling {
	return &telling{story: s, scene: sc, start: start, used: map[string]int{},
		replying: turntest.NewScript(sc.model...), summing: turntest.NewScript(sc.summaries...)}
}

// tell runs one scene and returns what is to be read of it.
func (s *story) tell(sc scene) (events, transcript, result string) {
	s.carryOn(sc)
	messages := append(slices.Clip(s.messages), sc.messages...)
	r := newTelling(s, sc, time.Now())
	r.root, r.past = r, len(s.entries)
	ctx, cancel := r.context()
	defer cancel()
	before := bytesOf(s.t, messages)
	res, err := loop.RunToolLoop(ctx, messages, r.options())
	require.Equal(s.t, before, bytesOf(s.t, messages), "the caller's messages changed")
	r.allTold()
	r.check(res, err)
	r.checkLeft(res)
	s.messages, s.state = res.Messages, res.State
	s.results = append(s.results, told{res, jsonOf(s.t, res)})
	return printEvents(r.lines), printTranscript(res.Messages), printResult(res, err, r.ran)
}

// carryOn puts the story where the scene goes on: through JSON, or with what a
// record of the entries so far tells.
func (s *story) carryOn(sc scene) {
	if sc.exactly {
		s.tools = sc.tools
	} else {
		for _, t := range sc.tools {
			if !slices.ContainsFunc(s.tools, func(known toolLine) bool { return known.name == t.name }) {
				s.tools = append(s.tools, t)
			}
		}
	}
	if s.agents == nil {
		s.agents = map[string]scene{}
	}
	for name, old := range s.agents { // what it was to say it has said
		old.model, old.summaries = nil, nil
		s.agents[name] = old
	}
	maps.Copy(s.agents, sc.agents)
	if !s.began {
		s.began = true
		return
	}
	time.Sleep(sc.later)
	if sc.killed > 0 {
		require.LessOrEqual(s.t, sc.killed, len(s.entries), "entries in the record")
		s.entries = s.entries[:sc.killed]
		f := replay(s.t, s.entries)
		s.messages, s.state = f.Messages(), f.State()
	}
	s.messages, s.state = throughJSON(s.t, s.messages), throughJSON(s.t, s.state)
	if sc.forgotten {
		s.state, s.entries = trajectory.State{}, nil
	}
}

// replay folds recorded entries, and checks the transcript at every one of them.
func replay(t require.TestingT, entries []trajectory.Event) *trajectory.Fold {
	f := new(trajectory.Fold)
	for i, e := range entries {
		require.NoError(t, f.Add(e), "entry %d: %s", i+1, e.Body.Type())
		require.NoError(t, turn.Check(f.Messages()), "entry %d: %s", i+1, e.Body.Type())
	}
	return f
}

func throughJSON[T any](t require.TestingT, v T) T {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	var out T
	require.NoError(t, json.Unmarshal(data, &out))
	again, err := json.Marshal(out)
	require.NoError(t, err)
	require.Equal(t, string(data), string(again))
	return out
}

func jsonInto(data []byte, v any) error { return json.Unmarshal(data, v) }

func jsonOf(t require.TestingT, v any) string {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

func bytesOf(t require.TestingT, messages []turn.TranscriptMessage) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		data, err := turn.MessageJSON(m)
		require.NoError(t, err)
		out[i] = string(data)
	}
	return out
}

func (r *telling) context() (context.Context, context.CancelFunc) {
	var because error
	if r.because != "" {
		because = errors.New(r.because)
	}
	if r.shutdown {
		because = loop.ErrShutdown
	}
	ctx, cancel := context.WithCancelCause(r.t.Context())
	stop := func() { cancel(nil) }
	if r.cancelAt > 0 {
		time.AfterFunc(r.cancelAt, func() { cancel(because) })
	}
	if r.deadline > 0 {
		ctx, stop = context.WithTimeoutCause(ctx, r.deadline, because)
	}
	return ctx, func() { stop(); cancel(nil) }
}

func (r *telling) options() loop.Options {
	o := loop.Options{
		Turn: r.turn, From: r.state, Replies: r.replies, Record: r.record,
		MaxIterations: r.maxIterations, MaxParallel: r.maxParallel, Grace: r.grace,
	}
	for _, t := range r.story.tools {
		o.Tools = append(o.Tools, r.tool(t))
	}
	if r.stopCause != "" {
		o.ShouldStop = r.shouldStop
	}
	if len(r.inbox) > 0 {
		o.Inbox = r.takeInbox
	}
	if len(r.nudges) > 0 {
		o.OnTurnWouldEnd = r.nudge
	}
	if r.batch != "" {
		o.Batch = r.runBatch(o.Tools)
	}
	r.longOptions(&o)
	return o
}

func (r *telling) shouldStop(s trajectory.State) error {
	if s.Stats.Turns >= int64(r.stopTurns) && s.Stats.ToolCalls >= int64(r.stopN) {
		return errors.New(r.stopCause)
	}
	return nil
}

func (r *telling) takeInbox() []turn.TranscriptMessage {
	var due []turn.TranscriptMessage
	for len(r.inbox) > 0 && time.Since(r.start) >= r.inbox[0].at {
		due = append(due, turn.User(r.inbox[0].text))
		r.inbox = r.inbox[1:]
	}
	return due
}

func (r *telling) nudge(trajectory.State, turn.ModelTurnResult) []turn.TranscriptMessage {
	if len(r.nudges) == 0 {
		return nil
	}
	text := r.nudges[0]
	r.nudges = r.nudges[1:]
	return []turn.TranscriptMessage{turn.User(text)}
}

func (r *telling) record(e trajectory.Event) error {
	r.saying.Lock()
	defer r.saying.Unlock()
	if r.times++; r.times == r.recordFails {
		r.sayLocked(line{what: "no room for " + e.Body.Type()})
		return errors.New("disk full")
	}
	r.entries = append(r.entries, e)
	r.sayEntry(e)
	return nil
}

// turn plays the model.
func (r *telling) turn(ctx context.Context, messages []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	r.say(line{agent: agentOf(ctx), what: fmt.Sprintf("ask      %s", count(len(messages), "message"))})
	if err := turn.Check(messages); err != nil || len(turn.OpenCalls(messages)) > 0 {
		r.miss(fmt.Sprintf("a question that a strict server takes: %v", err))
	}
	return r.ask(ctx, r.replying, messages, tools)
}

// ask hands a question to the script of what the model replies.
func (r *telling) ask(ctx context.Context, script *turntest.Script, messages []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	reply, err := script.Turn(ctx, messages, tools)
	if errors.Is(err, turntest.ErrExhausted) {
		r.miss(err.Error())
	}
	return reply, err
}

// miss notes what the script does not say.
func (r *telling) miss(what string) {
	r.root.saying.Lock()
	defer r.root.saying.Unlock()
	r.unsaid = append(r.unsaid, what)
}

// agentOf is the name of a child run that asks.
func agentOf(ctx context.Context) string {
	if c, ok := loop.CallFrom(ctx); ok {
		return trajectory.AgentName(c.Turn, c.ID)
	}
	return ""
}

func (r *telling) tool(t toolLine) loop.Tool {
	tool := loop.Tool{Name: t.name, Alone: t.alone, ReplaySafe: t.replaySafe, Polls: t.polls, Timeout: t.timeout}
	if t.approval {
		tool.Approval = func(c loop.Call) string { return "May I " + c.Name + " " + c.Arguments + "?" }
	}
	tool.Run = func(ctx context.Context, c loop.Call) (loop.Output, error) { return r.play(ctx, c) }
	if t.name == "update_plan" {
		tool = loop.PlanTool()
	}
	return tool
}

// next is what a call does: the next of its own acts, or of its tool's, whose
// last one serves all that follow.
func (r *telling) next(c loop.Call) (act, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ran = append(r.ran, c.ID)
	who, acts := c.ID, r.acts[c.ID]
	n := r.used[who]
	if len(acts) == 0 {
		who, acts = c.Name, r.acts[c.Name]
		n = min(r.used[who], len(acts)-1)
	}
	if n < 0 || n >= len(acts) {
		r.unsaid = append(r.unsaid, fmt.Sprintf("what call %q does the %d. time", c.ID, n+1))
		return act{}, false
	}
	r.used[who]++
	r.running = append(r.running, c.ID)
	return acts[n], true
}

func (r *telling) through(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.running, id)
	r.running = slices.Delete(r.running, i, i+1)
}

// play does what the script says of a call.
func (r *telling) play(ctx context.Context, c loop.Call) (loop.Output, error) {
	a, ok := r.next(c)
	if !ok {
		return loop.Output{}, errors.New("the script does not say what this call does")
	}
	defer r.through(c.ID)
	if a.does == "ignore" {
		time.Sleep(a.after)
		return loop.Text(a.text), nil
	}
	select {
	case <-time.After(a.after):
	case <-ctx.Done():
		return loop.Output{}, ctx.Err()
	}
	switch a.does {
	case "fail":
		return loop.Text(a.more), errors.New(a.text)
	case "panic":
		panic(a.text)
	case "fatal":
		return loop.Output{}, loop.Fatal(errors.New(a.text))
	case "exit":
		runtime.Goexit()
	case "wait":
		return loop.Output{}, pause(loop.WaitForReply(a.text), a.more)
	case "later":
		return loop.Output{}, pause(loop.ResumeLater(time.Now().Add(a.until), a.text), a.more)
	}
	return loop.Text(fill(a.text, c)), nil
}

func pause(p *loop.Pause, saving string) error {
	if saving != "" {
		return p.Saving(json.RawMessage(saving))
	}
	return p
}

func fill(text string, c loop.Call) string {
	saved, reply := "nothing", "nobody"
	if c.Resume != nil {
		if c.Resume.Saved != nil {
			saved = string(c.Resume.Saved)
		}
		if c.Resume.Reply != nil {
			reply = c.Resume.Reply.Text
		}
	}
	return strings.NewReplacer("$args", c.Arguments, "$saved", saved, "$reply", reply).Replace(text)
}

// runBatch is a host's own batch.
func (r *telling) runBatch(tools []loop.Tool) loop.BatchFn {
	do := func(ctx context.Context, c loop.Call) loop.Outcome {
		i := slices.IndexFunc(tools, func(t loop.Tool) bool { return t.Name == c.Name })
		return tools[i].Do(ctx, c)
	}
	return func(ctx context.Context, calls []loop.Call) ([]loop.Outcome, error) {
		outs := make([]loop.Outcome, len(calls))
		for i := range calls {
			switch r.batch {
			case "reversed":
				i = len(calls) - 1 - i
			case "stops":
				if i == r.batchAfter {
					return outs[:i], errors.New(r.batchError)
				}
			}
			outs[i] = do(ctx, calls[i])
		}
		return outs, nil
	}
}
