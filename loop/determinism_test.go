package loop_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// recorded is a run whose answers are known: what the model replies and what each
// call comes to, whatever it takes. Nothing in it hangs on time.
type recorded struct {
	replies [][]turn.Call
	wide    int // calls a turn
}

func newRecorded() recorded {
	r := recorded{wide: 5}
	names := []string{"read", "plan", "fail", "plan", "wait", "missing", "panic"}
	for n := range 3 {
		var calls []turn.Call
		for i := range r.wide {
			calls = append(calls, turn.Call{ID: fmt.Sprint("c", i), Name: names[((2-n)*6+i)%len(names)], Arguments: fmt.Sprintf(`{"n":%d,"i":%d}`, n, i)})
		}
		r.replies = append(r.replies, calls)
	}
	return r
}

// questions runs it with a random delay for each call, and with a batch of the
// host's where there is one. Waiting calls are answered, and the hooks ask things
// that the state decides. It returns every question in full, and the last state.
func (r recorded) questions(seed uint64, batch func(tools []loop.Tool) loop.BatchFn) (asked []string, err error) {
	random := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	delay := func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(random.IntN(1e6))
	}
	turns := 0
	var o loop.Options
	o.Turn = func(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		asked = append(asked, question(messages))
		turns++
		if turns <= len(r.replies) {
			return turn.ModelTurnResult{Message: turn.Assistant("", r.replies[turns-1]...)}, nil
		}
		return turn.ModelTurnResult{Message: turn.Assistant("done")}, nil
	}
	for _, name := range []string{"read", "fail", "panic", "plan", "wait"} {
		o.Tools = append(o.Tools, loop.Tool{Name: name, Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
			time.Sleep(delay())
			return knownOutcome(c)
		}})
	}
	nudges := 0
	o.OnTurnWouldEnd = func(s trajectory.State, _ turn.ModelTurnResult) []turn.TranscriptMessage {
		if nudges++; nudges > 2 {
			return nil
		}
		return []turn.TranscriptMessage{turn.User(fmt.Sprintf("The plan is %v", s.Plan))}
	}
	if batch != nil {
		o.Batch = batch(o.Tools)
	}
	messages := []turn.TranscriptMessage{turn.User("Go.")}
	for range 20 {
		res, err := loop.RunToolLoop(context.Background(), messages, o)
		if err != nil || res.StopReason == turn.Done {
			return append(asked, question(res.Messages)), err
		}
		messages, o.From, o.Replies = res.Messages, res.State, map[string]loop.Reply{}
		for _, c := range res.Waiting() {
			o.Replies[c.ID] = loop.Answer("answer to " + c.Arguments)
		}
	}
	return asked, errors.New("the run does not end")
}

// question is a request's messages, byte for byte.
func question(messages []turn.TranscriptMessage) string {
	var b strings.Builder
	for _, m := range messages {
		data, err := turn.MessageJSON(m)
		if err != nil {
			panic(err)
		}
		b.Write(append(data, '\n'))
	}
	return b.String()
}

func knownOutcome(c loop.Call) (loop.Output, error) {
	switch c.Name {
	case "fail":
		return loop.Text("half of " + c.Arguments), errors.New("no " + c.Arguments)
	case "panic":
		panic(c.Arguments)
	case "wait":
		return loop.Output{}, loop.WaitForReply("which?")
	case "plan":
		return loop.Output{Text: "planned", Plan: &plan.Plan{Steps: []plan.Step{{Text: c.Arguments}}}}, nil
	}
	return loop.Text("text of " + c.Arguments), nil
}

// sameQuestions replays the run many times, with calls finishing in another order
// each time. An error says how two runs differ.
func (r recorded) sameQuestions(t *testing.T, times int, batch func([]loop.Tool) loop.BatchFn) (err error) {
	synctest.Test(t, func(t *testing.T) {
		var first []string
		for seed := range times {
			asked, fault := r.questions(uint64(seed), batch)
			if fault != nil {
				err = fault
				return
			}
			if seed == 0 {
				first = asked
			} else if !slices.Equal(first, asked) {
				i := 0
				for i < min(len(first), len(asked)) && first[i] == asked[i] {
					i++
				}
				err = fmt.Errorf("replay %d asks another question %d", seed, i+1)
				return
			}
		}
	})
	return err
}

// batchOf runs the calls side by side and has collect put the outcomes together,
// from a channel that gives them in the order in which they finished.
func batchOf(collect func(calls []loop.Call, ends <-chan finished) []loop.Outcome) func([]loop.Tool) loop.BatchFn {
	return func(tools []loop.Tool) loop.BatchFn {
		return func(ctx context.Context, calls []loop.Call) ([]loop.Outcome, error) {
			ends := make(chan finished, len(calls))
			for i, c := range calls {
				go func() { ends <- finished{i, toolOf(tools, c.Name).Do(ctx, c)} }()
			}
			return collect(calls, ends), nil
		}
	}
}

type finished struct {
	i       int
	outcome loop.Outcome
}

func inCallOrder(calls []loop.Call, ends <-chan finished) []loop.Outcome {
	outs := make([]loop.Outcome, len(calls))
	for range calls {
		e := <-ends
		outs[e.i] = e.outcome
	}
	return outs
}

func inFinishOrder(calls []loop.Call, ends <-chan finished) []loop.Outcome {
	var outs []loop.Outcome
	for range calls {
		outs = append(outs, (<-ends).outcome)
	}
	return outs
}

func inMapOrder(calls []loop.Call, ends <-chan finished) []loop.Outcome {
	byCall := map[loop.Call]loop.Outcome{}
	for range calls {
		e := <-ends
		byCall[calls[e.i]] = e.outcome
	}
	var outs []loop.Outcome
	for _, o := range byCall {
		outs = append(outs, o)
	}
	return outs
}

func TestTheSameAnswersGiveTheSameQuestions(t *testing.T) {
	r := newRecorded()
	require.NoError(t, r.sameQuestions(t, 1000, nil), "the loop's own batch")
	require.NoError(t, r.sameQuestions(t, 100, batchOf(inCallOrder)), "a host's batch")
	live, err := r.oneRun(t, nil)
	require.NoError(t, err)
	own, err := r.oneRun(t, batchOf(inCallOrder))
	require.NoError(t, err)
	require.Equal(t, live, own, "the loop's own batch and a host's")
	require.Greater(t, len(live), 5)
}

// The check bites: a batch that collects outcomes as they finish, and one that
// ranges over a map, are found out.
func TestTheReplayCheckBites(t *testing.T) {
	r := newRecorded()
	require.ErrorContains(t, r.sameQuestions(t, 1000, batchOf(inFinishOrder)), "asks another question")
	require.ErrorContains(t, r.sameQuestions(t, 1000, batchOf(inMapOrder)), "asks another question")
}

func (r recorded) oneRun(t *testing.T, batch func([]loop.Tool) loop.BatchFn) (asked []string, err error) {
	synctest.Test(t, func(*testing.T) { asked, err = r.questions(1, batch) })
	return asked, err
}
