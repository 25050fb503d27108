package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/chat"
)

// local is a model server of a few fixed answers.
func local(status int, bodies ...string) *httptest.Server {
	n := 0
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, bodies[min(n, len(bodies)-1)])
		n++
	}))
}

// A run that shows what the model says as it comes.
func ExampleNew() {
	server := local(200,
		stream(callDelta(`"index":0,"id":"a","type":"function","function":{"name":"clock","arguments":"{}"}`), finish("tool_calls"), spent(`{"prompt_tokens":50,"completion_tokens":5}`)),
		stream(delta(`"content":"It is "`), delta(`"content":"noon."`), finish("stop"), spent(`{"prompt_tokens":70,"completion_tokens":4}`)))
	defer server.Close()

	service := openai.NewChatCompletionService(option.WithBaseURL(server.URL), option.WithAPIKey("key"))
	model := chat.New(service, "small-model", chat.Options{
		OnDelta: func(_ context.Context, d chat.Delta) {
			if d.Kind == chat.Text {
				fmt.Print(d.Text)
			}
		},
	})
	clock := loop.Tool{Name: "clock", Description: "Tells the time.", Schema: json.RawMessage(`{"type":"object","properties":{}}`),
		Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Text("12:00"), nil }}
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("What time is it?")},
		loop.Options{Turn: model, Tools: []loop.Tool{clock}})
	fmt.Println()
	fmt.Println(res.StopReason, res.Stats.InputTokens, res.Stats.OutputTokens, err)
	// Output:
	// It is noon.
	// done 120 9 <nil>
}

// connect makes a model of a server; OpenAI's own is https://api.openai.com/v1.
func connect(url, key, name string) turn.TurnFn {
	service := openai.NewChatCompletionService(option.WithBaseURL(url), option.WithAPIKey(key))
	return chat.New(service, name, chat.Options{})
}

// All that a real model takes: a server, a key and a name.
func ExampleNew_server() {
	server := local(200, stream(delta(`"content":"Good morning."`), finish("stop")))
	defer server.Close()
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Hello.")},
		loop.Options{Turn: connect(server.URL, "key", "small-model")})
	fmt.Println(res.Text(), err)
	// Output: Good morning. <nil>
}

// What a server gets beside messages and tools are its own parameters.
func ExampleOptions() {
	server := local(200, stream(delta(`"content":"hi"`), finish("stop"), spent(`{"prompt_tokens":1000000,"completion_tokens":0}`)))
	defer server.Close()

	params := openai.ChatCompletionNewParams{Temperature: openai.Float(0.2), MaxTokens: openai.Int(500)}
	params.SetExtraFields(map[string]any{"top_k": 40})
	model := chat.New(openai.NewChatCompletionService(option.WithBaseURL(server.URL)), "deepseek-reasoner", chat.Options{
		Params:  params,
		Content: chat.ContentEmpty, // it refuses a null
		Echo:    chat.EchoAlways,
		Idle:    30 * time.Second,
		Price: func(_ string, u turn.Usage) *turn.Cost {
			cost := turn.Cost(u.InputTokens) * turn.Dollar / 2_000_000
			return &cost
		},
	})
	res, err := model(context.Background(), []turn.TranscriptMessage{turn.User("hello")}, nil)
	fmt.Println(res.Message.Content, res.Usage.Cost, err)
	// Output:
	// hi $0.5 <nil>
}

// An error says what happened in the provider's own words, and what can be done.
func ExampleError() {
	server := local(429, `{"error":{"message":"You exceeded your current quota.","code":"insufficient_quota"}}`)
	defer server.Close()

	model := chat.New(openai.NewChatCompletionService(option.WithBaseURL(server.URL)), "m", chat.Options{})
	_, err := model(context.Background(), []turn.TranscriptMessage{turn.User("hello")}, nil)
	fmt.Println(err)
	var failed *chat.Error
	fmt.Println(errors.As(err, &failed), failed.Status, failed.Retryable, errors.Is(err, chat.ErrQuota))
	// Output:
	// chat: HTTP 429 Too Many Requests: insufficient_quota: You exceeded your current quota.: the quota is used up
	// true 429 false true
}
