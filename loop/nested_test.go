package loop_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// nested is a run of a given depth: each run calls its tool calls times in one
// turn, and each tool starts a run of one level less.
func nested(depth, calls int, o loop.Options) loop.Options {
	asked := 0
	o.Turn = func(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		asked++
		reply := turn.ModelTurnResult{Message: turn.Assistant("done"), Usage: turn.Usage{InputTokens: 10, OutputTokens: 1}}
		if asked == 1 && depth > 0 {
			var list []turn.Call
			for i := range calls {
				list = append(list, turn.Call{ID: fmt.Sprint("c", i), Name: "agent"})
			}
			reply.Message = turn.Assistant("", list...)
		}
		return reply, nil
	}
	o.Tools = []loop.Tool{{Name: "agent", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		res, err := loop.RunToolLoop(ctx, []turn.TranscriptMessage{turn.User("Go.")}, nested(depth-1, calls, o))
		return loop.Text(res.Text()), err
	}}}
	return o
}

// Three levels of runs are rolled up once: the parent's own totals are its own,
// its children's are all those below, and a replay of the record agrees. A limit
// of one or two calls at a time belongs to each run, so nobody waits for a place
// that a waiting parent holds.
func TestChildRunsAreRolledUpOnce(t *testing.T) {
	for _, parallel := range []int{1, 2, 0} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var entries []trajectory.Event
			agents := map[string]int{}
			o := loop.Options{MaxParallel: parallel, Record: func(e trajectory.Event) error {
				mu.Lock()
				defer mu.Unlock()
				entries = append(entries, e)
				if _, ok := e.Body.(trajectory.RunEnd); ok {
					agents[e.Agent]++
				}
				return nil
			}}
			res, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("Go.")}, nested(3, 2, o))
			require.NoError(t, err)
			// 1 run with 2 children, 4 grandchildren and 8 below: all but the last level take two turns
			require.Equal(t, stats.RunStats{Turns: 2, ToolCalls: 2, InputTokens: 20, OutputTokens: 2, Unpriced: 2}, counts(res.Stats))
			require.Equal(t, stats.RunStats{Turns: 2*2 + 4*2 + 8, ToolCalls: 4 + 8, InputTokens: 200, OutputTokens: 20, Unpriced: 20}, counts(res.Children))
			require.Equal(t, stats.AccumulateRun(res.Stats, res.Children), res.Total())
			require.Equal(t, jsonOf(t, res.State), jsonOf(t, replay(t, entries).State()))
			require.Len(t, agents, 15)
			require.Equal(t, 1, agents["1.c1/1.c0/1.c1"])
		})
	}
}

// counts leaves the times out.
func counts(s stats.RunStats) stats.RunStats {
	s.ModelTime, s.ToolTime, s.ToolTimeBreakdown = 0, 0, nil
	return s
}

// However a child run ends, what it spent reaches its parent, once.
func TestChildRunsThatEndInEveryWay(t *testing.T) {
	pressed := errors.New("enough")
	usage := turn.Usage{InputTokens: 10, OutputTokens: 1}
	says := func(m turn.AssistantTurnMessage, err error) turn.TurnFn {
		return func(ctx context.Context, _ []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
			return turn.ModelTurnResult{Message: m, Usage: usage}, err
		}
	}
	call := turn.Assistant("", turn.Call{ID: "x", Name: "work"})
	work := func(err error) []loop.Tool {
		return []loop.Tool{{Name: "work", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
			if err == nil {
				return loop.Output{}, sleep(ctx, time.Hour)
			}
			return loop.Output{}, err
		}}}
	}
	for name, c := range map[string]struct {
		child  loop.Options
		within time.Duration
		status trajectory.Status
		spent  int64
		agents int
	}{
		"done":            {child: loop.Options{Turn: says(turn.Assistant("hi"), nil)}, status: trajectory.OK, spent: 10, agents: 1},
		"iteration limit": {child: loop.Options{Turn: says(call, nil), Tools: work(errors.New("no")), MaxIterations: 3}, status: trajectory.OK, spent: 30, agents: 1},
		"stopped":         {child: loop.Options{Turn: says(call, nil), Tools: work(errors.New("no")), ShouldStop: func(s trajectory.State) error { return map[bool]error{true: pressed}[s.Stats.Turns > 1] }}, status: trajectory.OK, spent: 20, agents: 1},
		"waiting":         {child: loop.Options{Turn: says(call, nil), Tools: work(loop.WaitForReply("?"))}, status: trajectory.OK, spent: 10, agents: 1},
		"out of time":     {child: loop.Options{Turn: says(call, nil), Tools: work(nil)}, within: time.Second, status: trajectory.Failed, spent: 10, agents: 1},
		"model failure":   {child: loop.Options{Turn: says(turn.Assistant(""), fmt.Errorf("bad gateway"))}, status: trajectory.Failed, spent: 10, agents: 1},
		"fatal":           {child: loop.Options{Turn: says(call, nil), Tools: work(loop.Fatal(pressed))}, status: trajectory.Failed, spent: 10, agents: 1},
		"recorder":        {child: loop.Options{Turn: says(call, nil), Record: func(e trajectory.Event) error { return map[bool]error{true: pressed}[e.Body.Type() == "message"] }}, status: trajectory.Failed, spent: 10, agents: 1},
		"invalid":         {child: loop.Options{}, status: trajectory.Failed, spent: 0, agents: 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var end trajectory.CallEnd
				o := loop.Options{Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "agent"}), turntest.Say("done")).Turn}
				o.Tools = []loop.Tool{{Name: "agent", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
					if c.within > 0 {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, c.within)
						defer cancel()
					}
					res, err := loop.RunToolLoop(ctx, []turn.TranscriptMessage{turn.User("Go.")}, c.child)
					if fatal := new(loop.ToolError); errors.As(err, &fatal) {
						err = errors.New(err.Error()) // a child's fatal tool ends the child
					}
					return loop.Text(string(res.StopReason)), err
				}}}
				o.Record = func(e trajectory.Event) error {
					if b, ok := e.Body.(trajectory.CallEnd); ok && e.Agent == "" {
						end = b
					}
					return nil
				}
				res, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("Go.")}, o)
				require.NoError(t, err)
				require.Equal(t, c.status, end.Status)
				require.Equal(t, c.agents, end.Agents)
				require.Equal(t, c.spent, end.Children.InputTokens)
				require.Equal(t, c.spent, res.Children.InputTokens)
				require.Zero(t, res.Stats.InputTokens)
			})
		})
	}
}

// A child's fatal tool is fatal for the parent too where the tool hands the error
// on as it is: the host said so, and errors.Is finds the cause through both.
func TestChildsFatalErrorHandedOn(t *testing.T) {
	gone := errors.New("the database is gone")
	inner := loop.Options{Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "x", Name: "db"})).Turn,
		Tools: []loop.Tool{{Name: "db", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, loop.Fatal(gone) }}}}
	outer := loop.Options{Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "agent"})).Turn,
		Tools: []loop.Tool{{Name: "agent", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
			_, err := loop.RunToolLoop(ctx, []turn.TranscriptMessage{turn.User("Go.")}, inner)
			return loop.Output{}, err
		}}}}
	res, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("Go.")}, outer)
	require.ErrorIs(t, err, gone)
	require.Equal(t, loop.FailureTool, loop.ClassifyRunFailure(err))
	require.EqualValues(t, 1, res.Children.ToolCalls)
	require.Empty(t, turn.OpenCalls(res.Messages))
}

// What a child that waits has spent is kept with its parent's open call, counts in
// the total, and is counted once when the call goes on and ends.
func TestChildThatWaits(t *testing.T) {
	child := loop.Options{
		Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "q", Name: "ask"}).Spending(10, 1), turntest.Say("eight it is").Spending(10, 1)).Turn,
		Tools: []loop.Tool{{Name: "ask", Run: func(context.Context, loop.Call) (loop.Output, error) {
			return loop.Output{}, loop.WaitForReply("For how many?")
		}}},
	}
	var entries []trajectory.Event
	o := loop.Options{Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "agent"}), turntest.Say("done")).Turn}
	o.Record = func(e trajectory.Event) error { entries = append(entries, e); return nil }
	child.Record = o.Record
	o.Tools = []loop.Tool{{Name: "agent", Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
		messages, co := []turn.TranscriptMessage{turn.User("Go.")}, child
		if c.Resume != nil {
			var past loop.Result
			if err := jsonInto(c.Resume.Saved, &past); err != nil {
				return loop.Output{}, err
			}
			messages, co.From, co.Replies = past.Messages, past.State, map[string]loop.Reply{"q": *c.Resume.Reply}
		}
		res, err := loop.RunToolLoop(ctx, messages, co)
		if res.StopReason == turn.WaitingForReply {
			return loop.Output{}, loop.WaitForReply(res.Waiting()[0].Suspension.Question).Saving(res)
		}
		return loop.Text(res.Text()), err
	}}}
	res, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("Go.")}, o)
	require.NoError(t, err)
	require.Equal(t, turn.WaitingForReply, res.StopReason)
	require.Equal(t, "For how many?", res.Waiting()[0].Suspension.Question)
	require.EqualValues(t, 10, res.Total().InputTokens)
	require.Equal(t, jsonOf(t, res.State), jsonOf(t, replay(t, entries).State()))

	past := throughJSON(t, res)
	o.From, o.Replies = past.State, map[string]loop.Reply{"a": loop.Answer("eight")}
	res, err = loop.RunToolLoop(t.Context(), past.Messages, o)
	require.NoError(t, err)
	require.Equal(t, turn.Done, res.StopReason)
	require.Equal(t, "eight it is", turn.Text(res.Messages[2]))
	require.EqualValues(t, 20, res.Children.InputTokens)
	require.EqualValues(t, 1, res.Children.ToolCalls)
	require.EqualValues(t, 1, res.Stats.ToolCalls)
	require.Equal(t, jsonOf(t, res.State), jsonOf(t, replay(t, entries).State()))
}
