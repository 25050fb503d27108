package resume_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// walker is a host whose transcript is compacted, so that its model cannot count
// replies: it goes on from the last step that the transcript speaks of.
type walker struct {
	t     *testing.T
	steps int
	agent *loop.Tool     // where not nil, what walks
	did   map[string]int // steps walked, by number
}

var stepDone = regexp.MustCompile(`step (\d+) done`)

func lastStep(messages []turn.TranscriptMessage) (n int) {
	for _, m := range messages {
		for _, found := range stepDone.FindAllStringSubmatch(turn.Text(m), -1) {
			step, _ := strconv.Atoi(found[1])
			n = max(n, step)
		}
	}
	return n
}

func (w *walker) model(name string) turn.TurnFn {
	return func(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		size := 0
		for _, m := range messages {
			size += len(turn.Text(m))
		}
		r := turn.ModelTurnResult{Message: turn.Assistant("All done."), Usage: turn.Usage{InputTokens: int64(size), OutputTokens: 3}}
		if n := lastStep(messages); n < w.steps {
			r.Message = turn.Assistant("", turn.Call{ID: fmt.Sprint("c", n+1), Name: name, Arguments: fmt.Sprintf(`{"task":"%d"}`, n+1)})
		}
		return r, nil
	}
}

// run carries a session on to its end, from a state that was stored in between.
func (w *walker) run(session []byte) ([]byte, loop.Result) {
	past, err := resume.Read(bytes.NewReader(session), nil)
	require.NoError(w.t, err)
	stored, err := json.Marshal(past.State)
	require.NoError(w.t, err)
	past.State = trajectory.State{}
	require.NoError(w.t, json.Unmarshal(stored, &past.State))
	out := bytes.NewBuffer(bytes.Clone(session))
	record := trajectory.NewWriter(out, trajectory.Header{}, past.Tail).Append
	walk := loop.Tool{Name: "walk", ReplaySafe: true, Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
		n := strings.TrimPrefix(c.ID, "c")
		w.did[n]++
		return loop.Text("step " + n + " done " + strings.Repeat(".", 40)), nil
	}}
	o := loop.Options{Turn: w.model("walk"), Tools: []loop.Tool{walk}, From: past.State, Record: record,
		Compact: loop.Summarise(loop.SummaryOptions{Window: 150, At: 0.5, Keep: 0.05,
			Turn: func(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
				return turn.ModelTurnResult{Message: turn.Assistant(fmt.Sprintf("step %d done", lastStep(messages[1:]))), Usage: turn.Usage{InputTokens: 30, OutputTokens: 4}}, nil
			}})}
	if w.agent != nil {
		child := o
		child.From = trajectory.State{}
		o = loop.Options{Turn: leads, Tools: []loop.Tool{loop.NewSubAgent(*w.agent, "Walk.", child)}, From: past.State, Record: record}
	}
	messages := past.Messages
	if len(messages) == 0 {
		messages = turn.Transcript{turn.System("Be brief."), turn.User("Go.")}
	}
	res, err := loop.RunToolLoop(context.Background(), messages, o)
	require.NoError(w.t, err)
	require.Equal(w.t, turn.Done, res.StopReason)
	require.NoError(w.t, turn.Check(res.Messages))
	require.Empty(w.t, turn.OpenCalls(res.Messages))
	return out.Bytes(), res
}

// Cut before, in and after its compactions, a session ends as the one that was never
// cut: the same transcript, the same totals.
func TestCrashAroundCompactions(t *testing.T) {
	w := &walker{t: t, steps: 6, did: map[string]int{}}
	whole, want := w.run(nil)
	require.GreaterOrEqual(t, bytes.Count(whole, []byte(`{"t":"compact"`)), 2)
	for _, n := range cuts(string(whole), 61) {
		w.did = map[string]int{}
		_, res := w.run(whole[:n])
		require.Equal(t, transcript(t, want.Messages), transcript(t, res.Messages), "cut at %d", n)
		require.Equal(t, timeless(want.Total()), timeless(res.Total()), "cut at %d", n)
		w.didOnce(whole[:n])
	}
}

// Cut while a sub-agent is at work, a session ends as the one that was never cut, and
// no step that was done is done again. Only between the start of the agent's call and
// the first entry of its run nobody knows whether it began.
func TestCrashInsideAChildRun(t *testing.T) {
	for _, safe := range []bool{false, true} {
		w := &walker{t: t, steps: 6, did: map[string]int{}, agent: &loop.Tool{Name: "agent", ReplaySafe: safe}}
		whole, want := w.run(nil)
		require.Contains(t, string(whole), `"agent":"1.a"`)
		require.Contains(t, string(whole), `"t":"compact"`)
		require.Equal(t, spendOf(t, whole), timeless(want.Total()))
		called := bytes.Index(whole, []byte(`"t":"call.start"`))
		called += bytes.IndexByte(whole[called:], '\n')
		began := called + 1 + bytes.IndexByte(whole[called+1:], '\n')
		for _, n := range cuts(string(whole), 61) {
			w.did = map[string]int{}
			session, res := w.run(whole[:n])
			require.Equal(t, spendOf(t, session), timeless(res.Total()), "cut at %d", n)
			if !safe && n >= called && n < began {
				require.Empty(t, w.did, "cut at %d", n)
				continue
			}
			require.Equal(t, transcript(t, want.Messages), transcript(t, res.Messages), "cut at %d", n)
			require.Equal(t, timeless(want.Total()), timeless(res.Total()), "cut at %d", n)
			require.Equal(t, timeless(want.Stats), timeless(res.Stats), "cut at %d", n)
			w.didOnce(whole[:n])
		}
	}
}

// didOnce checks the steps of this process: none is walked twice, and none of which
// the session has the end.
func (w *walker) didOnce(session []byte) {
	for step, times := range w.did {
		require.Equal(w.t, 1, times, step)
		end := regexp.MustCompile(`"t":"call.end"[^\n]*"id":"c` + step + `"[^\n]*\n`)
		require.False(w.t, end.Match(session), "step %s ran again, cut at %d", step, len(session))
	}
}

// spendOf adds up what the entries of a session say, each once.
func spendOf(t *testing.T, session []byte) (s stats.RunStats) {
	for e, err := range trajectory.NewReader(bytes.NewReader(session)).Entries() {
		if err != nil {
			continue // the torn line of a process that died
		}
		switch b := e.Body.(type) {
		case trajectory.Message:
			if b.Turn != nil {
				s = stats.AccumulateTurn(s, turn.ModelTurnResult{Usage: b.Turn.Usage})
			}
		case trajectory.CallStart:
			if !b.Again {
				s = stats.AccumulateToolCall(s, b.Name, 0)
			}
		case trajectory.Compact:
			s = stats.AccumulateAuxiliarySpend(s, b.Spend)
		}
	}
	return timeless(s)
}
