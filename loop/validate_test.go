package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// Whatever cannot be run is one error that names the field, before any effect:
// neither the model nor the recorder nor a hook has been called.
func TestOptionsAreCheckedFirst(t *testing.T) {
	run := func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, nil }
	tool := func(name string) loop.Tool { return loop.Tool{Name: name, Run: run} }
	ask := turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a", Name: "f", Arguments: "{}"}))
	user := turn.User("Go.")
	waiting := func(s trajectory.Suspension) trajectory.State {
		return trajectory.State{Stats: stats.RunStats{Turns: 1}, Recorded: 2, Open: []trajectory.OpenCall{
			{Call: turn.Call{ID: "a", Name: "f", Arguments: "{}"}, Turn: 1, Suspension: &s}}}
	}
	for want, c := range map[string]struct {
		messages []turn.TranscriptMessage
		change   func(*loop.Options)
	}{
		"Turn: there is no model":                 {change: func(o *loop.Options) { o.Turn = nil }},
		`Tools[1] (f): the same name as Tools[0]`: {change: func(o *loop.Options) { o.Tools = []loop.Tool{tool("f"), tool("f")} }},
		`Tools[0]: the name "" is not`:            {change: func(o *loop.Options) { o.Tools = []loop.Tool{tool("")} }},
		`Tools[0] (a b): the name "a b" is not`:   {change: func(o *loop.Options) { o.Tools = []loop.Tool{tool("a b")} }},
		"Tools[0] (f): there is no Run":           {change: func(o *loop.Options) { o.Tools = []loop.Tool{{Name: "f"}} }},
		`Tools[0] (f): schema: the type is "array"`: {change: func(o *loop.Options) {
			o.Tools = []loop.Tool{{Name: "f", Run: run, Schema: json.RawMessage(`{"type":"array"}`)}}
		}},
		"Tools[0] (f): schema: invalid JSON":                      {change: func(o *loop.Options) { o.Tools = []loop.Tool{{Name: "f", Run: run, Schema: json.RawMessage(`{`)}} }},
		"From.Recorded: -1 is negative":                           {change: func(o *loop.Options) { o.From.Recorded = -1 }},
		"From.Recorded: 9 messages are recorded, but only 1 were": {change: func(o *loop.Options) { o.From.Recorded = 9 }},
		"From.Iterations: -1 is negative":                         {change: func(o *loop.Options) { o.From.Iterations = -1 }},
		"From.Stats: a total is negative":                         {change: func(o *loop.Options) { o.From.Stats.ModelTime = -1 }},
		"From.Children: a total is negative":                      {change: func(o *loop.Options) { o.From.Children.Cost = -1 }},
		"Budget.NoticeAt: a share lies between 0 and 1":           {change: func(o *loop.Options) { o.Budget.NoticeAt = 2 }},
		"Tools[0] (f): no schema for": {change: func(o *loop.Options) {
			o.Tools = []loop.Tool{loop.NewTool(loop.Tool{Name: "f"}, func(context.Context, func()) (string, error) { return "", nil })}
		}},
		"Tools[0] (f): the sub-agent has no model": {change: func(o *loop.Options) {
			o.Tools = []loop.Tool{loop.NewSubAgent(loop.Tool{Name: "f"}, "", loop.Options{})}
		}},
		"messages: the transcript is empty":               {messages: []turn.TranscriptMessage{}},
		"messages: message 1: message without a role":     {messages: []turn.TranscriptMessage{user, {}}},
		`messages: message 1: orphan result (call "x")`:   {messages: []turn.TranscriptMessage{user, turn.ToolResult("x", "")}},
		`messages: message 2: unanswered call (call "a")`: {messages: []turn.TranscriptMessage{user, ask, user}},
		`messages: message 2: message between a call and its result (call "a")`: {
			messages: []turn.TranscriptMessage{user, ask, user, turn.ToolResult("a", "")}},
		`messages: message 3: repeated result (call "a")`: {
			messages: []turn.TranscriptMessage{user, ask, turn.ToolResult("a", ""), turn.ToolResult("a", "")}},
		"Replies[x]: no call of that id is open": {change: func(o *loop.Options) { o.Replies = map[string]loop.Reply{"x": loop.Approve()} }},
		"Replies[a]: the state in From says nothing of the call": {messages: []turn.TranscriptMessage{user, ask},
			change: func(o *loop.Options) { o.Replies = map[string]loop.Reply{"a": loop.Deny("")} }},
		`Replies[a]: call "a" (f) does not wait`: {messages: []turn.TranscriptMessage{user, ask},
			change: func(o *loop.Options) {
				o.From, o.Replies = waiting(trajectory.Suspension{}), map[string]loop.Reply{"a": loop.Deny("")}
				o.From.Open[0].Suspension = nil
			}},
		"Replies[a]: the call waits for an approval, not for an answer": {messages: []turn.TranscriptMessage{user, ask},
			change: func(o *loop.Options) {
				o.From, o.Replies = waiting(trajectory.Suspension{For: trajectory.ForApproval}), map[string]loop.Reply{"a": loop.Answer("")}
			}},
		"Replies[a]: the call waits for an answer to a question": {messages: []turn.TranscriptMessage{user, ask},
			change: func(o *loop.Options) {
				o.From, o.Replies = waiting(trajectory.Suspension{For: trajectory.ForReply}), map[string]loop.Reply{"a": loop.Approve()}
			}},
		"Replies[a]: the call waits for a time": {messages: []turn.TranscriptMessage{user, ask},
			change: func(o *loop.Options) {
				o.From, o.Replies = waiting(trajectory.Suspension{For: trajectory.ForTime}), map[string]loop.Reply{"a": loop.Answer("")}
			}},
		`Replies[a]: unknown kind of reply "shrug"`: {messages: []turn.TranscriptMessage{user, ask},
			change: func(o *loop.Options) {
				o.From, o.Replies = waiting(trajectory.Suspension{For: trajectory.ForReply}), map[string]loop.Reply{"a": {Kind: "shrug"}}
			}},
		`messages: message 2 comes while call "a" (f) waits`: {messages: []turn.TranscriptMessage{user, ask, user},
			change: func(o *loop.Options) { o.From = waiting(trajectory.Suspension{For: trajectory.ForReply}) }},
	} {
		t.Run(want, func(t *testing.T) {
			called := func(what string) { require.Fail(t, what+" was called") }
			o := loop.Options{
				Turn: func(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
					called("Turn")
					return turn.ModelTurnResult{}, errors.New("no")
				},
				Record:     func(trajectory.Event) error { called("Record"); return nil },
				ShouldStop: func(trajectory.State) error { called("ShouldStop"); return nil },
				Inbox:      func() []turn.TranscriptMessage { called("Inbox"); return nil },
			}
			messages := c.messages
			if messages == nil {
				messages = []turn.TranscriptMessage{user}
			}
			if c.change != nil {
				c.change(&o)
			}
			res, err := loop.RunToolLoop(t.Context(), messages, o)
			var invalid *loop.InvalidError
			require.ErrorAs(t, err, &invalid)
			require.ErrorContains(t, err, "loop: "+want)
			require.Equal(t, loop.FailureInvalid, loop.ClassifyRunFailure(err))
			require.Equal(t, messages, []turn.TranscriptMessage(res.Messages), "the whole result, as far as it came")
			require.Equal(t, o.From, res.State)
			require.Empty(t, res.StopReason)
		})
	}
}

// The first entry says that options, messages and replies were accepted: it comes before
// everything else that a run calls, also where the run goes on or has nothing to do.
func TestTheFirstEntrySaysThatTheRunWasAccepted(t *testing.T) {
	ask := turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a", Name: "f", Arguments: "{}"}))
	waiting := trajectory.State{Stats: stats.RunStats{Turns: 1}, Recorded: 2, Open: []trajectory.OpenCall{
		{Call: turn.Call{ID: "a", Name: "f", Arguments: "{}"}, Turn: 1, Started: true, Suspension: &trajectory.Suspension{For: trajectory.ForReply, Saved: json.RawMessage("1")}}}}
	for name, o := range map[string]struct {
		messages []turn.TranscriptMessage
		loop.Options
	}{
		"a new run":        {messages: []turn.TranscriptMessage{turn.User("Go.")}},
		"a call left open": {messages: []turn.TranscriptMessage{turn.User("Go."), ask}},
		"a reply": {messages: []turn.TranscriptMessage{turn.User("Go."), ask},
			Options: loop.Options{From: waiting, Replies: map[string]loop.Reply{"a": loop.Answer("yes")}}},
		"a finished transcript": {messages: []turn.TranscriptMessage{turn.User("Go."), turn.ReplayForm(turn.Assistant("Done."))}},
	} {
		t.Run(name, func(t *testing.T) {
			var called []string
			script := turntest.NewScript(turntest.Say("Done.")).Turn
			o.Turn = func(ctx context.Context, messages []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
				called = append(called, "Turn")
				return script(ctx, messages, tools)
			}
			o.Tools = []loop.Tool{{Name: "f", Run: func(context.Context, loop.Call) (loop.Output, error) {
				called = append(called, "Run")
				return loop.Output{}, nil
			}}}
			o.Record = func(e trajectory.Event) error { called = append(called, e.Body.Type()); return nil }
			o.ShouldStop = func(trajectory.State) error { called = append(called, "ShouldStop"); return nil }
			o.Inbox = func() []turn.TranscriptMessage { called = append(called, "Inbox"); return nil }
			o.Compact = func(context.Context, loop.Compacting) (loop.Compaction, error) {
				called = append(called, "Compact")
				return loop.Compaction{}, nil
			}
			_, err := loop.RunToolLoop(t.Context(), o.messages, o.Options)
			require.NoError(t, err)
			require.Equal(t, "run.start", called[0])
			require.Equal(t, "run.end", called[len(called)-1])
		})
	}
}

// Of several wrong replies the same one is named every time.
func TestTheSameMistakeGivesTheSameError(t *testing.T) {
	o := loop.Options{Turn: turntest.NewScript().Turn, Replies: map[string]loop.Reply{}}
	for _, id := range []string{"d", "b", "a", "e", "c"} {
		o.Replies[id] = loop.Approve()
	}
	for range 50 {
		_, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("Go.")}, o)
		require.ErrorContains(t, err, "loop: Replies[a]: ")
	}
}

// Negative is no limit, for every limit.
func TestNegativeIsNoLimit(t *testing.T) {
	calls := slices.Repeat([]turntest.Reply{turntest.Say("", turn.Call{ID: "a", Name: "f"})}, 600)
	o := loop.Options{MaxIterations: -1, MaxParallel: -1, Grace: -1, Turn: turntest.NewScript(append(calls, turntest.Say("done"))...).Turn}
	o.Tools = []loop.Tool{{Name: "f", Timeout: -time.Second, Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, nil }}}
	res, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("Go.")}, o)
	require.NoError(t, err)
	require.Equal(t, turn.Done, res.StopReason)
	require.EqualValues(t, 601, res.Stats.Turns)
}

// The default limit exists: a model that calls the same tool for ever is stopped.
func TestDefaultLimit(t *testing.T) {
	o := loop.Options{Turn: func(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		return turn.ModelTurnResult{Message: turn.Assistant("Again.", turn.Call{ID: "a", Name: "f"})}, nil
	}}
	res, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("Go.")}, o)
	require.NoError(t, err)
	require.Equal(t, turn.IterationLimit, res.StopReason)
	require.EqualValues(t, 500, res.Stats.Turns)
	require.Equal(t, "Again.", res.Text())
}
