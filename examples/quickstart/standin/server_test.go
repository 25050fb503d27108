package standin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"
)

func toolParams(names ...string) []openai.ChatCompletionToolUnionParam {
	var out []openai.ChatCompletionToolUnionParam
	for _, name := range names {
		out = append(out, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: name}))
	}
	return out
}

// The client is the SDK's own: it reads a reply the same, streamed and whole.
func TestAReplyIsTheSameStreamedAndWhole(t *testing.T) {
	s, err := Start(0)
	require.NoError(t, err)
	defer s.Close()
	service := openai.NewChatCompletionService(option.WithBaseURL(s.URL), option.WithMaxRetries(0))
	params := openai.ChatCompletionNewParams{Model: "any", Tools: toolParams(allTools...), Messages: []openai.ChatCompletionMessageParamUnion{
		openai.SystemMessage("Be brief."), openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{openai.TextContentPart("Mend it.")})}}
	whole, err := service.New(t.Context(), params)
	require.NoError(t, err)

	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := service.NewStreaming(t.Context(), params)
	var joined openai.ChatCompletionAccumulator
	for stream.Next() {
		require.True(t, joined.AddChunk(stream.Current()))
	}
	require.NoError(t, stream.Err())

	a, b := whole.Choices[0], joined.Choices[0]
	require.Equal(t, "tool_calls", a.FinishReason)
	require.Equal(t, a.FinishReason, b.FinishReason)
	require.Equal(t, a.Message.Content, b.Message.Content)
	require.Len(t, a.Message.ToolCalls, 2)
	for i := range a.Message.ToolCalls {
		require.Equal(t, a.Message.ToolCalls[i].ID, b.Message.ToolCalls[i].ID)
		require.Equal(t, a.Message.ToolCalls[i].Function.Name, b.Message.ToolCalls[i].Function.Name)
		require.Equal(t, a.Message.ToolCalls[i].Function.Arguments, b.Message.ToolCalls[i].Function.Arguments)
	}
	require.Equal(t, whole.Usage.PromptTokens, joined.Usage.PromptTokens)
	require.Equal(t, whole.Usage.CompletionTokens, joined.Usage.CompletionTokens)
	require.Zero(t, whole.Usage.PromptTokensDetails.CachedTokens)
	require.Positive(t, joined.Usage.PromptTokensDetails.CachedTokens, "it has seen the prompt before")
}

func TestAPlainReplyStops(t *testing.T) {
	s, err := Start(0)
	require.NoError(t, err)
	defer s.Close()
	service := openai.NewChatCompletionService(option.WithBaseURL(s.URL), option.WithMaxRetries(0))
	c, err := service.New(t.Context(), openai.ChatCompletionNewParams{Model: "any", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hi.")}})
	require.NoError(t, err)
	require.Equal(t, "stop", c.Choices[0].FinishReason)
	require.Equal(t, Model, c.Model)
}

func TestItRefusesWhatAStrictServerRefuses(t *testing.T) {
	const called = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"x","arguments":"{}"}}]}`
	result := func(id string) string { return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"r"}`, id) }
	const user = `{"role":"user","content":"u"}`
	for _, test := range []struct {
		name, body, error string
	}{
		{"no JSON", `{`, "unexpected EOF"},
		{"no messages", `{"model":"m"}`, "messages is empty"},
		{"a message that is none", `{"messages":["hello"]}`, "messages[0]: "},
		{"an unanswered call at the end", `{"messages":[` + user + `,` + called + `,` + result("a") + `]}`, `call "b" has no result`},
		{"an unanswered call in the middle", `{"messages":[` + called + `,` + result("b") + `,` + user + `]}`, `messages[2]: call "a" has no result`},
		{"a result twice", `{"messages":[` + called + `,` + result("a") + `,` + result("a") + `]}`, `messages[2]: no call "a" is open`},
		{"a result of nothing", `{"messages":[` + result("a") + `]}`, `messages[0]: no call "a" is open`},
		{"all in order", `{"messages":[` + user + `,` + called + `,` + result("a") + `,` + result("b") + `]}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			Handler(0).ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(test.body)))
			if test.error == "" {
				require.Equal(t, http.StatusOK, w.Code, w.Body)
				return
			}
			require.Equal(t, http.StatusBadRequest, w.Code)
			var e struct{ Error struct{ Message string } }
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &e))
			require.Contains(t, e.Error.Message, test.error)
		})
	}
}

func TestItServesNothingElse(t *testing.T) {
	for _, request := range []string{"GET /v1/chat/completions", "POST /v1/responses", "GET /"} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		Handler(0).ServeHTTP(w, httptest.NewRequest(method, path, bytes.NewReader(nil)))
		require.GreaterOrEqual(t, w.Code, 400, request)
		_, err := io.Copy(io.Discard, w.Body)
		require.NoError(t, err)
	}
}
