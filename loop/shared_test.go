package loop_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// Twenty runs at once share one Options value, its tools and one backing array of
// messages. Nobody sees anything of another, and the totals are exact.
func TestRunsShareTheirOptions(t *testing.T) {
	const runs, wide = 20, 8
	o := loop.Options{Turn: func(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		reply := turn.ModelTurnResult{Message: turn.Assistant("done"), Usage: turn.Usage{InputTokens: 5, OutputTokens: 3}}
		if len(messages) < 1+3*(wide+1) {
			var calls []turn.Call
			for i := range wide {
				calls = append(calls, turn.Call{ID: fmt.Sprint("c", i), Name: fmt.Sprint("f", i%2), Arguments: fmt.Sprintf(`{"n":%d}`, i)})
			}
			reply.Message = turn.Assistant("", calls...)
		}
		return reply, nil
	}}
	for i := range 2 {
		o.Tools = append(o.Tools, loop.NewTool(loop.Tool{Name: fmt.Sprint("f", i)}, func(ctx context.Context, in struct {
			N int `json:"n"`
		}) (string, error) {
			return fmt.Sprint(in.N), sleep(ctx, time.Duration(rand.IntN(int(time.Millisecond))))
		}))
	}
	o.Record = func(trajectory.Event) error { return nil }
	o.Replies = map[string]loop.Reply{}
	base := make([]turn.TranscriptMessage, 1, 64)
	base[0] = turn.User("Go.")
	var wg sync.WaitGroup
	for range runs {
		wg.Go(func() {
			res, err := loop.RunToolLoop(t.Context(), base[:1], o)
			if err != nil || res.Stats.ToolCalls != 3*wide || res.Stats.OutputTokens != 4*3 || len(res.Messages) != 1+3*(wide+1)+1 {
				t.Errorf("error %v, totals %+v, %d messages", err, res.Stats, len(res.Messages))
			}
		})
	}
	wg.Wait()
	for _, m := range base[1:64] {
		require.Equal(t, "", turn.Role(m))
	}
}

// Every request has the results of all eight calls, in call order, however they
// finish: two hundred runs under the race detector.
func TestNoRequestMissesAResult(t *testing.T) {
	for range 200 {
		var want []string
		var calls []turn.Call
		for i := range 8 {
			calls = append(calls, turn.Call{ID: fmt.Sprint("c", i), Name: "f", Arguments: fmt.Sprintf(`{"n":%d}`, i)})
			want = append(want, fmt.Sprintf(`{"n":%d}`, i))
		}
		asked := 0
		_, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("Go.")}, loop.Options{
			Turn: func(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
				if asked++; asked == 1 {
					return turn.ModelTurnResult{Message: turn.Assistant("", calls...)}, nil
				}
				var got []string
				for _, m := range messages[2:] {
					got = append(got, turn.Text(m))
				}
				require.Equal(t, want, got)
				return turn.ModelTurnResult{Message: turn.Assistant("done")}, nil
			},
			Tools: []loop.Tool{{Name: "f", Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
				return loop.Text(c.Arguments), sleep(ctx, time.Duration(rand.IntN(int(100*time.Microsecond))))
			}}},
		})
		require.NoError(t, err)
		require.Equal(t, 2, asked)
	}
}

// A tool that is left behind comes back while the next run is at work, with an
// output that it goes on writing to. Nothing that was returned changes, the next
// run does not hear of it, and the race detector has nothing to say.
func TestLateResultsReachNobody(t *testing.T) {
	release := make(chan struct{})
	var ended atomic.Int32
	var entries, begun atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	late := loop.Tool{Name: "late", Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
		defer ended.Add(1)
		if begun.Add(1) == 2 {
			cancel() // and not a moment before: what has not started is not left
		}
		out := loop.Output{Text: "late", Paths: []string{"a"}, Plan: &plan.Plan{Steps: []plan.Step{{Text: "late"}}}}
		<-release
		_, err := loop.RunToolLoop(ctx, []turn.TranscriptMessage{turn.User("late child")}, loop.Options{Turn: turntest.NewScript(turntest.Say("late")).Turn})
		out.Paths[0], out.Plan.Steps[0].Text = "changed", "changed"
		return out, err
	}}
	o := loop.Options{Grace: time.Millisecond, Tools: []loop.Tool{late}, Record: func(trajectory.Event) error { entries.Add(1); return nil }}
	o.Turn = func(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		return turn.ModelTurnResult{Message: turn.Assistant("", turn.Call{ID: "a", Name: "late"}, turn.Call{ID: "b", Name: "late"})}, nil
	}
	res, err := loop.RunToolLoop(ctx, []turn.TranscriptMessage{turn.User("Go.")}, o)
	require.NoError(t, err)
	require.Equal(t, turn.Aborted, res.StopReason)
	require.Len(t, res.Abandoned, 2)
	require.Contains(t, turn.Text(res.Messages[2]), "It did not stop when it was told to, and may still be running.")
	before, recorded := jsonOf(t, res), entries.Load()

	o.From = res.State
	o.Turn = func(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		close(release)
		for ended.Load() < 2 {
			runtime.Gosched()
		}
		return turn.ModelTurnResult{Message: turn.Assistant("done")}, nil
	}
	next, err := loop.RunToolLoop(t.Context(), append(res.Messages, turn.User("And?")), o)
	require.NoError(t, err)
	require.Equal(t, before, jsonOf(t, res))
	require.NotContains(t, jsonOf(t, next), "late child")
	require.Nil(t, next.Plan)
	require.Zero(t, next.Children.Turns)
	require.Equal(t, recorded+3, entries.Load(), "the start, the reply and the end of the next run")
}

// A host's clock that steps back an hour, and forward eight, gives no negative
// time and no absurd one for tools, which are timed by the process's own clock.
func TestClockThatJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jumps := []time.Duration{0, 0, -time.Hour, -time.Hour, 8 * time.Hour, 8 * time.Hour, -time.Hour}
		n := 0
		start := time.Now()
		o := loop.Options{Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "f"}), turntest.Say("done")).Turn}
		o.Now = func() time.Time {
			n++
			return start.Add(jumps[n%len(jumps)])
		}
		o.Tools = []loop.Tool{{Name: "f", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
			return loop.Output{}, sleep(ctx, 20*time.Millisecond)
		}}}
		res, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("Go.")}, o)
		require.NoError(t, err)
		require.GreaterOrEqual(t, res.Stats.ModelTime, time.Duration(0))
		require.Equal(t, 20*time.Millisecond, res.Stats.ToolTime)
		require.NotContains(t, jsonOf(t, res.Stats), "-")
	})
}

// What a tool gives beside its text is recorded before its end, also when the call
// then waits: nothing that it said is lost.
func TestWhatATalkingToolSays(t *testing.T) {
	for name, pause := range map[string]error{"call.end": nil, "suspend": loop.WaitForReply("?")} {
		var types []string
		o := loop.Options{Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "f"}), turntest.Say("done")).Turn}
		o.Record = func(e trajectory.Event) error { types = append(types, e.Body.Type()); return nil }
		o.Tools = []loop.Tool{{Name: "f", Run: func(context.Context, loop.Call) (loop.Output, error) {
			return loop.Output{Plan: &plan.Plan{}, Events: []trajectory.Custom{{Name: "x.test.one"}, {Name: "x.test.two"}}}, pause
		}}}
		res, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("Go.")}, o)
		require.NoError(t, err)
		require.NotNil(t, res.Plan)
		require.Equal(t, "run.start message call.start plan x.test.one x.test.two "+name, strings.Join(types[:7], " "))
	}
}

// Of two plans in one batch the later call's stands, also when it finished first.
func TestTheLaterCallsPlanStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := loop.Options{Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "f", Arguments: `{"d":30}`}, turn.Call{ID: "b", Name: "f", Arguments: `{"d":10}`}), turntest.Say("done")).Turn}
		o.Tools = []loop.Tool{loop.NewTool(loop.Tool{Name: "f"}, func(ctx context.Context, in struct {
			D int `json:"d"`
		}) (loop.Output, error) {
			return loop.Output{Plan: &plan.Plan{Steps: []plan.Step{{Text: fmt.Sprint(in.D)}}}}, sleep(ctx, time.Duration(in.D)*time.Millisecond)
		})}
		res, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("Go.")}, o)
		require.NoError(t, err)
		require.Equal(t, "10", res.Plan.Steps[0].Text)
	})
}

// An outcome is plain data: it crosses an engine as JSON and means the same.
func TestOutcomeCrossesAsJSON(t *testing.T) {
	for _, run := range []func(context.Context, loop.Call) (loop.Output, error){
		func(context.Context, loop.Call) (loop.Output, error) {
			return loop.Output{Text: "<ok>", Paths: []string{"a"}, Plan: &plan.Plan{Steps: []plan.Step{{Text: "x", State: plan.Done}}}}, nil
		},
		func(context.Context, loop.Call) (loop.Output, error) { return loop.Text("half"), errors.New("no") },
		func(context.Context, loop.Call) (loop.Output, error) { panic("boom") },
		func(context.Context, loop.Call) (loop.Output, error) {
			return loop.Output{}, loop.WaitForReply("which?").Saving(map[string]int{"n": 1})
		},
		func(context.Context, loop.Call) (loop.Output, error) {
			return loop.Output{}, loop.ResumeLater(beginning, "later").Saving(nil)
		},
		func(context.Context, loop.Call) (loop.Output, error) {
			return loop.Output{}, loop.WaitForReply("which?").Saving(func() {})
		},
	} {
		direct := runThrough(t, run, func(o loop.Outcome) loop.Outcome { return o })
		crossed := runThrough(t, run, func(o loop.Outcome) loop.Outcome { return throughJSON(t, o) })
		require.Equal(t, direct, crossed)
	}
	_, err := fatalThrough(t, func(o loop.Outcome) loop.Outcome { return throughJSON(t, o) })
	require.EqualError(t, err, "tool f (call a): the end", "a fatal error keeps its text, if not its identity")
}

func runThrough(t *testing.T, run func(context.Context, loop.Call) (loop.Output, error), cross func(loop.Outcome) loop.Outcome) string {
	tool := loop.Tool{Name: "f", Run: run}
	res, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("Go.")}, loop.Options{
		Turn:  turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "f"}), turntest.Say("done")).Turn,
		Tools: []loop.Tool{tool},
		Batch: func(ctx context.Context, calls []loop.Call) ([]loop.Outcome, error) {
			o := tool.Do(ctx, throughJSON(t, calls[0]))
			o.Duration = 0
			return []loop.Outcome{cross(o)}, nil
		},
		Now: func() time.Time { return beginning },
	})
	require.NoError(t, err)
	return jsonOf(t, res)
}

func fatalThrough(t *testing.T, cross func(loop.Outcome) loop.Outcome) (loop.Result, error) {
	tool := loop.Tool{Name: "f", Run: func(context.Context, loop.Call) (loop.Output, error) {
		return loop.Output{}, loop.Fatal(errors.New("the end"))
	}}
	return loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("Go.")}, loop.Options{
		Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "f"})).Turn, Tools: []loop.Tool{tool},
		Batch: func(ctx context.Context, calls []loop.Call) ([]loop.Outcome, error) {
			return []loop.Outcome{cross(tool.Do(ctx, calls[0]))}, nil
		},
	})
}
