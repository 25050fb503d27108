package loop_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/turn"
)

// A last word goes into the transcript as it came, like every reply: a server that
// wants its reasoning back gets it. Only calls are left out, since nobody would
// answer them.
func TestLastWordIsKeptAsItCame(t *testing.T) {
	const call = `{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}`
	for came, kept := range map[string]string{
		`{"role":"assistant","content":"Half of it.","reasoning_content":"hm"}`:                           `{"role":"assistant","content":"Half of it.","reasoning_content":"hm"}`,
		`{"role":"assistant","content":"Half.","reasoning_content":"hm","tool_calls":[` + call + `]}`:     `{"role":"assistant","content":"Half.","reasoning_content":"hm"}`,
		`{"role":"assistant","content":null,"refusal":"I will not."}`:                                     `{"role":"assistant","content":null,"refusal":"I will not."}`,
		`{"role":"assistant","content":[{"type":"text","text":"In parts."}],"tool_calls":[` + call + `]}`: `{"role":"assistant","content":[{"type":"text","text":"In parts."}]}`,
	} {
		replies := []turn.AssistantTurnMessage{turn.Assistant("", turn.Call{ID: "a", Name: "f"}), replyFrom(t, came)}
		res, err := loop.RunToolLoop(t.Context(), turn.Transcript{turn.User("Go.")}, loop.Options{
			MaxIterations: 1, FinalTurn: true,
			Turn: func(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
				m := replies[0]
				replies = replies[1:]
				return turn.ModelTurnResult{Message: m}, nil
			},
			Tools: []loop.Tool{{Name: "f", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, nil }}},
		})
		require.NoError(t, err)
		require.Equal(t, turn.IterationLimit, res.StopReason)
		last, err := turn.MessageJSON(res.Messages[len(res.Messages)-1])
		require.NoError(t, err)
		require.Equal(t, kept, string(last))
		require.Empty(t, turn.OpenCalls(res.Messages))
	}
}

// replyFrom is a reply as an adapter gets it from a server.
func replyFrom(t *testing.T, text string) (m turn.AssistantTurnMessage) {
	t.Helper()
	require.NoError(t, m.UnmarshalJSON([]byte(text)))
	return m
}
