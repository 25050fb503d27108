package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
	"github.com/stretchr/testify/require"
)

func serve(t *testing.T, h http.Handler) server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return server{s.URL, "rules-1"}
}

func TestTheContract(t *testing.T) {
	turntest.Run(t, func(t *testing.T) turn.TurnFn { return serve(t, service{}).Turn })
}

func TestARunWithTwoTools(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	require.Contains(t, out.String(), "21 degrees Celsius are 69.8 Fahrenheit. -4 degrees Celsius are 24.8 Fahrenheit.")
	require.Contains(t, out.String(), "done after 3 turns and 4 calls")
}

// The server refuses a conversation whose signed thinking is missing or changed, so
// this fails if any of it is lost on its way through a session.
func TestARunGoesOnFromItsSession(t *testing.T) {
	model := serve(t, service{})
	for limit := 1; limit <= 3; limit++ {
		var file bytes.Buffer
		o := loop.Options{Turn: model.Turn, Tools: tools(), MaxIterations: limit, Record: trajectory.NewWriter(&file, trajectory.Header{}, trajectory.Tail{}).Append}
		_, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("How warm is it in Lima?")}, o)
		require.NoError(t, err)

		var f trajectory.Fold
		for e, err := range trajectory.NewReader(&file).Entries() {
			require.NoError(t, err)
			require.NoError(t, f.Add(e.Event))
		}
		res, err := loop.RunToolLoop(t.Context(), f.Messages(), loop.Options{Turn: model.Turn, Tools: tools(), From: f.State()})
		require.NoError(t, err)
		require.EqualValues(t, 3, res.Stats.Turns)
		require.Equal(t, "21 degrees Celsius are 69.8 Fahrenheit. That is all I can say.", res.Text())
	}
}

func TestWhatIsNoReply(t *testing.T) {
	for _, test := range []struct {
		name, body string
		status     int
		says       string
		overflow   bool
	}{
		{"a refusal", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, 529, "529", false},
		{"too long a prompt", `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}`, 400, "too long", true},
		{"a page", "<html>", 200, "the answer is no message: <html>", false},
		{"nothing", "", 200, "the answer is no message", false},
		{"an error that says it is none", `{"type":"error","error":{"message":"Overloaded"}}`, 200, "the answer is no message", false},
		{"a message without an end", `{"type":"message","content":[{"type":"text","text":"so"}]}`, 200, "the answer is no message", false},
		{"no content", `{"type":"message","stop_reason":"end_turn"}`, 200, "the answer is no message", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			model := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.body)
			}))
			_, err := model.Turn(t.Context(), []turn.TranscriptMessage{turn.User("Hello.")}, nil)
			require.ErrorContains(t, err, test.says)
			if test.overflow {
				require.ErrorIs(t, err, turn.ErrContextOverflow)
			} else {
				require.NotErrorIs(t, err, turn.ErrContextOverflow)
			}
		})
	}
}

func TestAReply(t *testing.T) {
	body := `{"type":"message","model":"m","stop_reason":"max_tokens","content":[{"type":"redacted_thinking","data":"a<b\u2028"},` +
		`{"type":"text","text":"Look."},{"type":"tool_use","id":"t1","name":"clock","input":{"n":12345678901234567890}}],` +
		`"usage":{"input_tokens":1,"cache_read_input_tokens":20,"cache_creation_input_tokens":300,"output_tokens":4}}`
	res, err := read([]byte(body))
	require.NoError(t, err)
	cached := int64(20)
	require.Equal(t, turn.Usage{InputTokens: 321, CachedInputTokens: &cached, OutputTokens: 4}, res.Usage)
	require.Equal(t, turn.FinishLength, res.Finish)
	m := turn.ReplayForm(res.Message)
	require.Equal(t, "Look.", turn.Text(m))
	require.Equal(t, []turn.Call{{ID: "t1", Name: "clock", Arguments: `{"n":12345678901234567890}`}}, turn.Calls(m))
	_, sent, err := translate([]turn.TranscriptMessage{m})
	require.NoError(t, err)
	require.Len(t, sent, 1)
	var blocks []string
	for _, b := range sent[0]["content"].([]any) {
		blocks = append(blocks, fmt.Sprintf("%s", b))
	}
	require.Equal(t, []string{`{"type":"redacted_thinking","data":"a<b\u2028"}`, `{"type":"text","text":"Look."}`,
		`{"type":"tool_use","id":"t1","name":"clock","input":{"n":12345678901234567890}}`}, blocks)
}

func TestMessagesOfAnotherModel(t *testing.T) {
	system, sent, err := translate([]turn.TranscriptMessage{
		turn.System("Be brief."), turn.User("Go."),
		turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a", Name: "x", Arguments: "no JSON"}, turn.Call{ID: "b", Name: "y"})),
		turn.ToolResult("a", "bad"), turn.ToolResult("b", "ok"), turn.ReplayForm(turn.Assistant("")), turn.User("On."),
	})
	require.NoError(t, err)
	require.Equal(t, "Be brief.\n", system)
	require.Len(t, sent, 3)
	require.Len(t, sent[1]["content"], 2)
	require.Equal(t, []any{
		object{"type": "tool_result", "tool_use_id": "a", "content": "bad"},
		object{"type": "tool_result", "tool_use_id": "b", "content": "ok"},
		object{"type": "text", "text": "On."},
	}, sent[2]["content"])

	picture := openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "data:,"})})
	_, err = server{}.Turn(context.Background(), []turn.TranscriptMessage{picture}, nil)
	require.ErrorContains(t, err, "takes no parts")
}
