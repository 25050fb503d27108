package loop_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// parseReply is a reply as a server sent it.
func parseReply(t require.TestingT, text string) turn.AssistantTurnMessage {
	var m turn.AssistantTurnMessage
	require.NoError(t, m.UnmarshalJSON([]byte(text)))
	return m
}

// The messages of a request are a byte prefix of those of the next, also where the
// loop had to mend a reply: missing and repeated ids, arguments that are no JSON,
// fields that the wire types do not know.
func TestRequestsArePrefixes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(rt, "turns")
		var script []turntest.Reply
		for range n {
			script = append(script, turntest.Reply{Result: turn.ModelTurnResult{Message: parseReply(rt, drawReplyJSON(rt))}})
		}
		var bodies []string
		model := turntest.NewScript(append(script, turntest.Say("done"))...)
		o := loop.Options{Tools: []loop.Tool{{Name: "f", Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
			return loop.Text("<&> \u2028 \xff " + c.Arguments), nil
		}}}}
		o.Turn = func(ctx context.Context, messages []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
			bodies = append(bodies, strings.Join(bytesOf(rt, messages), ","))
			return model.Turn(ctx, messages, tools)
		}
		res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Go <on>.")}, o)
		require.NoError(rt, err)
		require.Len(rt, bodies, n+1)
		bodies = append(bodies, strings.Join(bytesOf(rt, res.Messages), ","))
		for i := range bodies[1:] {
			require.True(rt, strings.HasPrefix(bodies[i+1], bodies[i]+","), "request %d:\n%s\nis no prefix of\n%s", i+1, bodies[i], bodies[i+1])
		}
		// and a transcript that was stored is sent with the same bytes
		require.Equal(rt, bytesOf(rt, res.Messages), bytesOf(rt, throughJSON(rt, res.Messages)))
	})
}

// drawReplyJSON is a reply with at least one call, and with what servers do.
func drawReplyJSON(t *rapid.T) string {
	var calls []string
	for range rapid.IntRange(1, 3).Draw(t, "calls") {
		id := rapid.SampledFrom([]string{`"id":"a",`, `"id":"b",`, `"id":"",`, `"id":null,`, ``}).Draw(t, "id")
		kind := rapid.SampledFrom([]string{`"type":"function",`, ``}).Draw(t, "type")
		arguments := rapid.SampledFrom([]string{`"{}"`, `"{ \"a\" : 1 }"`, `"{\"a\":"`, `""`, `"\"{}\""`, `{"n":1}`, `"<\u0026>"`}).Draw(t, "arguments")
		extra := rapid.SampledFrom([]string{``, `,"extra_content":{"sig":"<x>"}`}).Draw(t, "extra")
		calls = append(calls, fmt.Sprintf(`{%s%s"function":{"name":"f","arguments":%s}%s}`, id, kind, arguments, extra))
	}
	content := rapid.SampledFrom([]string{`"content":null,`, `"content":"",`, `"content":"I \u003c3 <it>",`, ``}).Draw(t, "content")
	reasoning := rapid.SampledFrom([]string{``, `"reasoning_content":"Hm.",`}).Draw(t, "reasoning")
	space := rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space")
	return fmt.Sprintf(`{%s"role":"assistant",%s%s"tool_calls":[%s]}`, space, content, reasoning, strings.Join(calls, ","+space))
}

// The tools part of a request never changes: one hash over fifty turns and two
// runs, with twenty tools.
func TestToolsAreSentAlikeForEver(t *testing.T) {
	hashes := map[[32]byte]bool{}
	turns := 0
	o := loop.Options{MaxIterations: 50}
	for i := range 20 {
		o.Tools = append(o.Tools, loop.NewTool(loop.Tool{Name: fmt.Sprint("tool_", (i*7)%20), Description: "It is <it>."},
			func(_ context.Context, in editIn) (string, error) { return in.Path, nil }))
	}
	o.Tools = append(o.Tools, loop.PlanTool())
	o.Turn = func(_ context.Context, _ []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		turns++
		require.Len(t, tools, 21)
		hashes[sha256.Sum256([]byte(jsonOf(t, tools)))] = true
		return turn.ModelTurnResult{Message: turn.Assistant("", turn.Call{ID: "a", Name: "tool_7", Arguments: "{}"})}, nil
	}
	for range 2 {
		res, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("Go.")}, o)
		require.NoError(t, err)
		require.Equal(t, turn.IterationLimit, res.StopReason)
	}
	require.Equal(t, 100, turns)
	require.Len(t, hashes, 1)
}

// The same Options value twice gives the same first request: nothing of the first
// run stays in it.
func TestTheSameOptionsTwice(t *testing.T) {
	var first []string
	o := loop.Options{Tools: []loop.Tool{{Name: "f", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Text("x"), nil }}}}
	base := make([]turn.TranscriptMessage, 2, 16)
	base[0], base[1] = turn.System("Be brief."), turn.User("Go.")
	for range 3 {
		asked := 0
		o.Turn = func(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
			if asked++; asked == 1 {
				first = append(first, strings.Join(bytesOf(t, messages), ","))
				return turn.ModelTurnResult{Message: turn.Assistant("", turn.Call{ID: "a", Name: "f"})}, nil
			}
			_ = append(messages, turn.User("a TurnFn that appends to what it was given"))
			return turn.ModelTurnResult{Message: turn.Assistant("done")}, nil
		}
		res, err := loop.RunToolLoop(t.Context(), base[:2], o)
		require.NoError(t, err)
		require.Len(t, res.Messages, 5)
		require.Equal(t, bytesOf(t, res.Messages), append(bytesOf(t, base), bytesOf(t, res.Added)...))
		_ = append(res.Messages, turn.User("a caller that appends"))
	}
	require.Equal(t, first[0], first[1])
	require.Equal(t, first[0], first[2])
	for _, m := range base[2:16] {
		require.Equal(t, "", turn.Role(m), "behind the caller's slice")
	}
}
