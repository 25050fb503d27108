package chat_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/chat"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// A request that fails is sent again, with the same bytes; the tools that ran
// before it do not run again.
func TestRetriesRepeatNoTool(t *testing.T) {
	charges := 0
	charge := loop.Tool{Name: "charge", Schema: json.RawMessage(`{"type":"object"}`), Run: func(context.Context, loop.Call) (loop.Output, error) {
		charges++
		return loop.Text("done"), nil
	}}
	s := serve(t, answer{body: stream(callDelta(`"index":0,"id":"a","function":{"name":"charge","arguments":""}`), finish("tool_calls"))},
		answer{status: 500}, answer{body: events(delta(`"content":"pa"`)), cut: true}, answer{body: stream(delta(`"content":"paid"`), finish("stop"))})
	res, err := loop.RunToolLoop(t.Context(), hello(), loop.Options{Turn: s.model(chat.Options{}), Tools: []loop.Tool{charge}})
	require.NoError(t, err)
	require.Equal(t, "paid", res.Text())
	require.Equal(t, 1, charges)
	sent := s.sent()
	require.Len(t, sent, 4)
	require.Equal(t, sent[1], sent[2])
	require.Equal(t, sent[1], sent[3])
	require.Equal(t, `{}`, gjson.Get(sent[1], "messages.1.tool_calls.0.function.arguments").Str)
}

// Two calls to which the server gave no ids run both, and each result finds its call.
func TestCallsWithoutIDs(t *testing.T) {
	s := serve(t, answer{body: stream(callDelta(`"index":0,"id":"","function":{"name":"weather","arguments":"{\"city\":\"A\"}"}`, `"index":1,"id":"","function":{"name":"weather","arguments":"{\"city\":\"B\"}"}`), finish("stop"))}, okay)
	res, err := loop.RunToolLoop(t.Context(), hello(), loop.Options{Turn: s.model(chat.Options{}), Tools: []loop.Tool{weather}})
	require.NoError(t, err)
	require.Equal(t, int64(2), res.Stats.ToolCalls)
	request := s.sent()[1]
	for i, city := range []string{"A", "B"} {
		call := gjson.Get(request, "messages.1.tool_calls").Array()[i]
		result := gjson.Get(request, "messages").Array()[2+i]
		require.Regexp(t, `^[a-zA-Z0-9]{9}$`, call.Get("id").Str)
		require.Equal(t, call.Get("id").Str, result.Get("tool_call_id").Str)
		require.Contains(t, result.Get("content").Str, city)
	}
	if _, missing := requestSchema(); missing == nil {
		requireValidRequest(t, request)
	}
}

// A server that wants its reasoning back gets it, and the host's text has none of it.
func TestReasoningGoesBack(t *testing.T) {
	s := serve(t, answer{body: stream(delta(`"reasoning_content":"r1"`), callDelta(`"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"A\"}"}`), finish("tool_calls"))}, okay)
	res, err := loop.RunToolLoop(t.Context(), hello(), loop.Options{Turn: s.model(chat.Options{Echo: chat.EchoAlways}), Tools: []loop.Tool{weather}})
	require.NoError(t, err)
	require.Equal(t, "ok", res.Text())
	require.Equal(t, "r1", gjson.Get(s.sent()[1], "messages.1.reasoning_content").Str)
}

// A forced call is forced once, or the model could never finish.
func TestForcedCallEnds(t *testing.T) {
	o := chat.Options{Params: openai.ChatCompletionNewParams{ToolChoice: openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("required")}}}
	s := serve(t, answer{body: stream(callDelta(`"index":0,"id":"a","function":{"name":"weather","arguments":"{\"city\":\"A\"}"}`), finish("tool_calls"))}, okay)
	_, err := loop.RunToolLoop(t.Context(), hello(), loop.Options{Turn: s.model(o), Tools: []loop.Tool{weather}})
	require.NoError(t, err)
	require.Equal(t, "required", gjson.Get(s.sent()[0], "tool_choice").Str)
	require.Equal(t, "auto", gjson.Get(s.sent()[1], "tool_choice").Str)
}

// Calls leave no goroutine and no connection behind, however they end.
func TestNothingIsLeftBehind(t *testing.T) {
	var open atomic.Int32
	long := strings.Repeat(events(delta(`"content":"x"`)), 1000)
	s := serve(t, answer{body: long, hold: true})
	client := &http.Client{Transport: &http.Transport{}}
	counting := http.RoundTripper(roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := client.Transport.RoundTrip(r)
		if err == nil {
			open.Add(1)
			response.Body = &counted{response.Body, &open, sync.Once{}}
		}
		return response, err
	}))
	before := runtime.NumGoroutine()
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		model := chat.New(s.service(withTransport(counting)), "m", chat.Options{OnDelta: func(context.Context, chat.Delta) { cancel() }})
		_, err := model(ctx, hello(), nil)
		require.ErrorIs(t, err, context.Canceled)
	}
	client.CloseIdleConnections()
	require.Eventually(t, func() bool { return open.Load() == 0 && runtime.NumGoroutine() <= before+3 }, 10*time.Second, 10*time.Millisecond)
}

// The connection of a finished stream is used again.
func TestConnectionIsUsedAgain(t *testing.T) {
	s := serve(t, okay)
	var mu sync.Mutex
	addresses := map[string]bool{}
	handler := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		addresses[r.RemoteAddr] = true
		mu.Unlock()
		handler.ServeHTTP(w, r)
	})
	model := chat.New(s.service(withTransport(&http.Transport{})), "m", chat.Options{})
	for range 5 {
		_, err := model(t.Context(), hello(), nil)
		require.NoError(t, err)
	}
	require.Less(t, len(addresses), 5)
}

// Runs that share a TurnFn do not meet in it, and its hooks are never called two
// at a time.
func TestSharedByManyRuns(t *testing.T) {
	s := serve(t, answer{body: stream(delta(`"content":"a"`), delta(`"content":"b"`), finish("stop"), spent(`{"prompt_tokens":3,"completion_tokens":2}`))})
	var telling, observing atomic.Int32
	alone := func(n *atomic.Int32) {
		if n.Add(1) > 1 {
			panic("two at a time")
		}
		time.Sleep(time.Millisecond)
		n.Add(-1)
	}
	model := s.model(chat.Options{OnDelta: func(context.Context, chat.Delta) { alone(&telling) }, Observe: func(context.Context, chat.Report) { alone(&observing) }})
	var group sync.WaitGroup
	results := make([]turn.ModelTurnResult, 20)
	errs := make([]error, len(results))
	for i := range results {
		group.Go(func() { results[i], errs[i] = model(t.Context(), hello(), nil) })
	}
	group.Wait()
	for i, r := range results {
		require.NoError(t, errs[i])
		require.Equal(t, "ab", r.Message.Content)
		require.Equal(t, turn.Usage{InputTokens: 3, OutputTokens: 2}, r.Usage)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// counted is a body that is missed until it is closed.
type counted struct {
	io.ReadCloser
	open *atomic.Int32
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.ReadCloser.Close()
}

func withTransport(t http.RoundTripper) option.RequestOption {
	return option.WithHTTPClient(&http.Client{Transport: t})
}
