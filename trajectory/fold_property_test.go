package trajectory_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// genEvent is any entry, fitting or not. Ids and turns come from few, so that
// many fit.
func genEvent(now int) *rapid.Generator[trajectory.Event] {
	return rapid.Custom(func(t *rapid.T) trajectory.Event {
		id := rapid.SampledFrom([]string{"x", "y", "z", "x", "y", "é/1"}).Draw(t, "id")
		in := max(now-rapid.SampledFrom([]int{0, 0, 0, 0, 1}).Draw(t, "turns ago"), 0)
		ms := time.Duration(rapid.IntRange(0, 3).Draw(t, "ms")) * time.Millisecond
		spend := rapid.SampledFrom([]stats.AuxiliarySpend{{}, {Usage: turn.Usage{InputTokens: 3}, ModelTime: ms}}).Draw(t, "spend")
		children := rapid.SampledFrom([]stats.RunStats{{}, {Turns: 2, ToolCalls: 1, ToolTime: ms, ToolTimeBreakdown: map[string]time.Duration{"sub": ms}}}).Draw(t, "children")
		message := rapid.SampledFrom([]turn.TranscriptMessage{turn.User("u"), said("a"), said(""), calling("x", "y"), calling("y"), calling("é/1", "x", "z"), twice(),
			turn.ToolResult(id, "imported "+id), {}})
		usage := turn.Usage{InputTokens: 10, OutputTokens: 2}
		body := rapid.Custom(func(t *rapid.T) trajectory.Body {
			switch rapid.IntRange(0, 14).Draw(t, "type") {
			case 0:
				return trajectory.RunStart{Messages: rapid.SliceOfN(message, 0, 3).Draw(t, "messages"), Continued: rapid.Bool().Draw(t, "continued")}
			case 1:
				return trajectory.RunEnd{Reason: rapid.SampledFrom([]turn.StopReason{turn.Done, turn.WaitingForReply, turn.ResumingLater, ""}).Draw(t, "reason")}
			case 2, 3, 4:
				return trajectory.Message{Message: message.Draw(t, "message"), Turn: &trajectory.Turn{Usage: usage, Timings: turn.Timings{Generation: ms},
					Finish: rapid.SampledFrom([]string{"stop", "length"}).Draw(t, "finish")}}
			case 5:
				return trajectory.Message{Message: message.Draw(t, "message")}
			case 6, 7:
				return trajectory.CallStart{Call: call(id), Turn: in, Reply: rapid.SampledFrom([]*trajectory.Reply{nil, {Kind: trajectory.ReplyAnswer, Text: "yes"}}).Draw(t, "reply")}
			case 8, 9, 10:
				return trajectory.CallEnd{Call: call(id), Turn: in, Duration: ms, Children: children, Message: rapid.SampledFrom([]turn.TranscriptMessage{
					turn.ToolResult(id, "did "+id), turn.ToolResult(id, "did "+id), turn.ToolResult("x", "x"), {}}).Draw(t, "result")}
			case 11:
				return trajectory.Suspend{Call: call(id), Turn: in, Duration: ms, Children: children, Agents: 1,
					Suspension: trajectory.Suspension{For: trajectory.ForReply, Question: "?", Until: time.Unix(5, 6).UTC(), Saved: json.RawMessage(`{"a":1}`)}}
			case 12:
				return trajectory.PlanChange{Plan: plan.Plan{Steps: []plan.Step{{Text: id, State: plan.Done}}}}
			case 13:
				return trajectory.Spend{AuxiliarySpend: spend}
			default:
				return trajectory.Compact{Head: rapid.SliceOfN(message, 0, 2).Draw(t, "head"), Drop: rapid.IntRange(-1, 6).Draw(t, "drop"), Spend: spend}
			}
		}).Draw(t, "body")
		agent := ""
		if rapid.IntRange(0, 7).Draw(t, "who") == 0 {
			agent = trajectory.AgentName(in, id) + rapid.SampledFrom([]string{"", "/1.q"}).Draw(t, "grandchild")
		}
		return trajectory.Event{Agent: agent, Body: body}
	})
}

func bytesOf(t require.TestingT, messages turn.Transcript) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		data, err := turn.MessageJSON(m)
		require.NoError(t, err)
		out[i] = string(data)
	}
	return out
}

// again is what JSON makes of a fold's results.
func again(t require.TestingT, f *trajectory.Fold) (messages turn.Transcript, s trajectory.State) {
	type result struct {
		trajectory.State
		Messages turn.Transcript
	}
	data, err := json.Marshal(result{f.State(), f.Messages()})
	require.NoError(t, err)
	var out result
	require.NoError(t, json.Unmarshal(data, &out))
	return out.Messages, out.State
}

func jsonOf(t require.TestingT, v any) string {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

func TestFoldLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		live := new(trajectory.Fold)
		resumed := new(trajectory.Fold) // made anew from JSON now and then
		type snapshot struct {
			messages turn.Transcript
			bytes    []string
			state    trajectory.State
			json     string
		}
		var snapshots []snapshot
		total := live.State().Total()
		for i := range rapid.IntRange(1, 25).Draw(t, "entries") {
			if rapid.IntRange(0, 3).Draw(t, "resume") == 0 {
				messages, s := again(t, live)
				require.Equal(t, jsonOf(t, live.State()), jsonOf(t, s), "the state survives JSON")
				messages = append(messages, turn.User("for later")) // not recorded yet
				resumed = new(trajectory.Fold)
				resumed.Resume(messages, s)
			}
			e := genEvent(live.Turn()).Draw(t, fmt.Sprintf("entry %d", i))
			err1, err2 := live.Add(e), resumed.Add(e)
			require.Equal(t, err1 == nil, err2 == nil, "%v, resumed: %v", err1, err2)

			messages, s := live.Messages(), live.State()
			require.NoError(t, turn.Check(messages))
			require.Equal(t, len(messages), s.Recorded)
			open := turn.OpenCalls(messages)
			require.Len(t, s.Open, len(open))
			for i := range open {
				require.Equal(t, open[i], s.Open[i].Call)
			}
			require.Equal(t, bytesOf(t, messages), bytesOf(t, resumed.Messages()))
			require.Equal(t, jsonOf(t, s), jsonOf(t, resumed.State()))
			require.Equal(t, live.Turn(), resumed.Turn())
			require.Equal(t, s.Iterations, live.Iterations())
			if e.Agent == "" {
				if _, stopped := e.Body.(trajectory.CallEnd); !stopped { // which knows better what its children spent
					if _, paused := e.Body.(trajectory.Suspend); !paused {
						require.GreaterOrEqual(t, s.Total().Turns, total.Turns, "a total never goes down")
						require.GreaterOrEqual(t, s.Total().InputTokens, total.InputTokens)
					}
				}
			}
			total = s.Total()

			data, err := json.Marshal(s)
			require.NoError(t, err)
			snapshots = append(snapshots, snapshot{messages, bytesOf(t, messages), s, string(data)})
		}
		for _, snap := range snapshots {
			require.Equal(t, snap.bytes, bytesOf(t, snap.messages), "a later entry changed what was handed out")
			data, err := json.Marshal(snap.state)
			require.NoError(t, err)
			require.Equal(t, snap.json, string(data))
		}
	})
}

// A run's totals are what the folds of stats give for its entries, one by one.
func TestFoldCountsAsStatsDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f trajectory.Fold
		want := stats.EmptyRunStats()
		for n := range rapid.IntRange(1, 4).Draw(t, "turns") {
			ids := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y", "z", "w"}), 0, 4, rapid.ID).Draw(t, "calls")
			reply := turn.ModelTurnResult{Usage: turn.Usage{InputTokens: rapid.Int64Range(-1, 100).Draw(t, "input")},
				Timings: turn.Timings{Generation: time.Duration(rapid.Int64Range(-1, 1e10).Draw(t, "generation"))}}
			want = stats.AccumulateTurn(want, reply)
			require.NoError(t, f.Add(entry(trajectory.Message{Message: calling(ids...), Turn: &trajectory.Turn{Usage: reply.Usage, Timings: reply.Timings}})))
			var ends []trajectory.Event
			for _, id := range ids {
				if rapid.Bool().Draw(t, "refused") {
					ends = append(ends, refused(n+1, id))
					continue
				}
				d := time.Duration(rapid.Int64Range(-1, 1e10).Draw(t, "duration"))
				want = stats.AccumulateToolCall(want, call(id).Name, d)
				require.NoError(t, f.Add(started(n+1, id)))
				ends = append(ends, entry(trajectory.CallEnd{Call: call(id), Turn: n + 1, Duration: d, Message: turn.ToolResult(id, "did "+id)}))
			}
			if len(ends) > 0 {
				ends = rapid.Permutation(ends).Draw(t, "order")
			}
			for _, e := range ends {
				require.NoError(t, f.Add(e))
			}
		}
		require.Equal(t, want, f.State().Stats)
	})
}
