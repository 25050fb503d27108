package chat_test

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/pawl-dev/pawl/turn/chat"
	"github.com/stretchr/testify/require"
)

// What is no success is an error that says what arrived, and has beside it the
// text so far and what was spent.
func TestWhatIsNoSuccess(t *testing.T) {
	par := delta(`"role":"assistant","content":"par"`)
	html := "<html><head><title>502 Bad &amp; Gateway</title></head><body>no</body></html>"
	tests := []struct {
		name    string
		answer  answer
		text    string // of the partial message
		says    string // in the error
		is      error
		status  int
		code    string
		retries bool
	}{
		{name: "an end without a finish reason", answer: answer{body: events(par)}, text: "par", says: "3 bytes of content", is: chat.ErrIncomplete, retries: true},
		{name: "an end after the role", answer: answer{body: events(delta(`"role":"assistant"`))}, says: "nothing of the reply", is: chat.ErrIncomplete, retries: true},
		{name: "a reset", answer: answer{body: events(par), cut: true}, text: "par", says: "broke off", is: chat.ErrIncomplete, retries: true},
		{name: "a reset in the middle of an event", answer: answer{body: events(par) + "data: {\"choi", cut: true}, text: "par", says: "broke off", is: chat.ErrIncomplete, retries: true},
		{name: "an end in the middle of an event", answer: answer{body: events(par) + "data: {\"choi"}, text: "par", says: "neither", is: chat.ErrIncomplete, retries: true},
		{name: "half a tool call", answer: answer{body: events(par, callDelta(`"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":\"/et"}`))}, text: "par", says: "1 tool calls", is: chat.ErrIncomplete, retries: true},
		{name: "half a tool call, and [DONE]", answer: answer{body: stream(par, callDelta(`"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":\"/et"}`))}, text: "par", says: "in the middle of a tool call", is: chat.ErrIncomplete, retries: true},
		{name: "a tool call without a name", answer: answer{body: stream(callDelta(`"index":0,"id":"a","function":{"arguments":"{}"}`), finish("tool_calls"))}, says: "never got a name", is: chat.ErrIncomplete, retries: true},
		{name: "an empty body", answer: answer{}, says: "is empty", is: chat.ErrIncomplete, retries: true},
		{name: "only comments", answer: answer{body: ": hi\n\n: hi\n\n"}, says: ": hi", is: chat.ErrIncomplete, retries: true},
		{name: "text", answer: answer{body: "upstream went away"}, says: "upstream went away", is: chat.ErrIncomplete, retries: true},
		{name: "only [DONE]", answer: answer{body: stream()}, says: "no choices", is: chat.ErrIncomplete, retries: true},
		{name: "only usage", answer: answer{body: stream(spent(`{"prompt_tokens":10,"completion_tokens":2}`))}, says: "no choices", is: chat.ErrIncomplete, retries: true},
		{name: "no choices", answer: answer{body: `{"id":"x","choices":[]}`}, says: "no choices", retries: true},
		{name: "half an object", answer: answer{body: `{"id":"x","choices":[{"mess`}, says: "no JSON", retries: true},
		{name: "brackets without end", answer: answer{body: strings.Repeat(`[`, 1<<20)}, says: "no JSON", retries: true},
		{name: "brackets without end in an event", answer: answer{body: "data: " + strings.Repeat(`{"a":`, 1<<18) + "\n\n" + stream(par)}, says: "no JSON", retries: true},
		{name: "a page", answer: answer{body: html}, says: "502 Bad & Gateway"},
		{name: "a page with a status", answer: answer{status: 502, body: html}, says: "502 Bad & Gateway", status: 502, retries: true},
		{name: "an event that is no JSON", answer: answer{body: stream(par, "{oops}")}, text: "par", says: "{oops}", retries: true},
		{name: "an error inside the stream", answer: answer{body: events(par, `{"id":"x","choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"Provider disconnected"}}`)}, text: "par", says: "Provider disconnected", status: 502, code: "502", retries: true},
		{name: "an error with its code as a string", answer: answer{body: events(`{"error":{"code":"server_error","message":"bad day"}}`)}, says: "bad day", code: "server_error", retries: true},
		{name: "an error event", answer: answer{body: "event: error\ndata: {\"message\":\"boom\"}\n\n"}, says: "boom", retries: true},
		{name: "an error event that is text", answer: answer{body: "event: error\ndata: boom\n\n"}, says: "boom", retries: true},
		{name: "an error event that says it twice", answer: answer{body: "event: error\ndata: {\"error\":{\"message\":\"boom\"},\"message\":\"boom\"}\n\n"}, says: "boom", retries: true},
		{name: "an error event whose error is empty", answer: answer{body: events(par) + "event: error\ndata: {\"error\":{}}\n\n"}, text: "par", says: "error", retries: true},
		{name: "an error without an envelope", answer: answer{body: events(`{"object":"error","message":"no such model","type":"NotFoundError","code":404}`)}, says: "no such model", status: 404, code: "404"},
		{name: "an error that names its status", answer: answer{body: events(`{"error":{"message":"busy","status":503}}`)}, says: "busy", status: 503, retries: true},
		{name: "an error inside the stream that is the request's", answer: answer{body: events(`{"error":{"message":"no such model","type":"NotFoundError"}}`)}, says: "no such model"},
		{name: "an error on a line of its own", answer: answer{body: events(par) + "{\"error\":{\"message\":\"boom\"}}\n"}, text: "par", says: "boom", retries: true},
		{name: "an error in a field of its own", answer: answer{body: events(par) + "error: {\"code\":500,\"message\":\"boom\",\"type\":\"server_error\"}\n\ndata: [DONE]\n\n"}, text: "par", says: "boom", status: 500, code: "500", retries: true},
		{name: "nothing but an error in a field of its own", answer: answer{body: "error: {\"code\":404,\"message\":\"no such model\"}\n\n"}, says: "no such model", status: 404, code: "404"},
		{name: "an error in a list inside the stream", answer: answer{body: events(par, `[{"error":{"code":503,"message":"The model is overloaded","status":"UNAVAILABLE"}}]`)}, text: "par", says: "overloaded", status: 503, code: "503", retries: true},
		{name: "an error that stands where good replies say that they are good", answer: answer{body: `{"id":"x","choices":null,"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`}, says: "insufficient balance", is: chat.ErrQuota, code: "1008"},
		{name: "the same inside a stream", answer: answer{body: events(par, `{"id":"x","choices":null,"base_resp":{"status_code":1002,"status_msg":"slow down"}}`)}, text: "par", says: "slow down", code: "1002", retries: true},
		{name: "an error where the usage may stand", answer: answer{body: events(par, `{"id":"x","choices":[],"x_groq":{"id":"req","error":"over capacity"}}`)}, text: "par", says: "over capacity", retries: true},
		{name: "an error in the choice", answer: answer{body: `{"choices":[{"error":{"code":429,"message":"slow down"},"message":{"role":"assistant","content":""}}]}`}, says: "slow down", status: 429, code: "429", retries: true},
		{name: "a finish reason that is an error", answer: answer{body: stream(par, finish("error"))}, text: "par", says: `finish reason "error"`, retries: true},
		{name: "a server that gave up in the middle", answer: answer{body: stream(par, finish("insufficient_system_resource"))}, text: "par", says: `finish reason "insufficient_system_resource", after 3 bytes of content`, retries: true},
		{name: "a server that lost its own connection", answer: answer{body: stream(par, finish("network_error"))}, text: "par", says: "network_error", retries: true},
		{name: "a request that the server aborted", answer: answer{body: stream(par, finish("abort"))}, text: "par", says: "abort", retries: true},
		{name: "a call that the server could not read", answer: answer{body: stream(finish("function_call_filter: MALFORMED_FUNCTION_CALL"))}, says: "MALFORMED", retries: true},
		{name: "calls that are none", answer: answer{body: stream(delta(`"content":null,"reasoning_content":"hm","tool_calls":[]`), finish("tool_calls"))}, says: "calls none", is: chat.ErrIncomplete, retries: true},
		{name: "calls that are none, in one object", answer: answer{body: `{"choices":[{"message":{"role":"assistant","content":"","tool_calls":[]},"finish_reason":"tool_calls"}]}`}, says: "calls none", is: chat.ErrIncomplete, retries: true},
		{name: "an error as one object", answer: answer{body: `{"error":{"message":"bad model","type":"invalid_request_error","code":null}}`}, says: "bad model"},
		{name: "an error that is a string", answer: answer{status: 400, body: `{"error":"bad model"}`}, says: "bad model", status: 400},
		{name: "an error in a list", answer: answer{status: 400, body: `[{"error":{"code":400,"message":"bad model","status":"INVALID_ARGUMENT"}}]`}, says: "bad model", status: 400, code: "400"},
		{name: "a detail", answer: answer{status: 422, body: `{"detail":"bad model"}`}, says: "bad model", status: 422},
		{name: "details", answer: answer{status: 422, body: `{"detail":[{"loc":["body"],"msg":"no model"},{"msg":"no messages"}]}`}, says: "no model; no messages", status: 422},
		{name: "a message that is an object", answer: answer{status: 400, body: `{"error":{"message":{"message":"deep down"}}}`}, says: "deep down", status: 400},
		{name: "what the provider behind a router said", answer: answer{status: 400, body: `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":\"no tools\"}"}}}`}, says: "no tools", status: 400, code: "400"},
		{name: "an event with a status", answer: answer{status: 429, body: "id:1\nevent:error\n:HTTP_STATUS/429\ndata:{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"pay\"}}\n\n"}, says: "pay", is: chat.ErrQuota, status: 429, code: "insufficient_quota"},
		{name: "an empty body with a status", answer: answer{status: 503}, says: "503", status: 503, retries: true},
		{name: "a body that breaks off with a status", answer: answer{status: 500, body: `{"error":{"mess`, cut: true}, says: "500", status: 500, retries: true},
		{name: "a request that is wrong", answer: answer{status: 400, body: `{"error":{"message":"bad history","type":"invalid_request_error","code":"bad"}}`}, says: "bad history", status: 400, code: "bad"},
		{name: "no rights", answer: answer{status: 401, body: `{"error":{"message":"who?"}}`}, says: "who?", status: 401},
		{name: "a conflict", answer: answer{status: 409}, says: "409", status: 409, retries: true},
		{name: "an overload", answer: answer{status: 529, body: `{"error":{"message":"Overloaded"}}`}, says: "Overloaded", status: 529, retries: true},
		{name: "a server that asks not to try again", answer: answer{status: 500, header: map[string]string{"X-Should-Retry": "false"}}, says: "500", status: 500},
		{name: "a used up quota", answer: answer{status: 429, body: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`}, says: "quota", is: chat.ErrQuota, status: 429, code: "insufficient_quota"},
		{name: "a suspended account", answer: answer{status: 429, body: `{"error":{"message":"Your account is suspended","type":"exceeded_current_quota_error"}}`}, says: "suspended", is: chat.ErrQuota, status: 429},
		{name: "an inactive account", answer: answer{status: 429, body: `{"error":{"message":"Your account is not active, please check your billing details","code":"billing_not_active"}}`}, says: "billing", is: chat.ErrQuota, status: 429, code: "billing_not_active"},
		{name: "no balance", answer: answer{status: 429, body: `{"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}`}, says: "recharge", is: chat.ErrQuota, status: 429, code: "1113"},
		{name: "a spending limit", answer: answer{status: 429, body: `{"code":"Some resource has been exhausted","error":"Your team has either used all available credits or reached its monthly spending limit."}`}, says: "credits", is: chat.ErrQuota, status: 429, code: "Some resource has been exhausted"},
		{name: "a budget of the gateway", answer: answer{status: 400, body: `{"error":{"message":"Budget has been exceeded! Current cost: 2.0, Max budget: 1.0","type":"budget_exceeded","code":"400"}}`}, says: "Budget", is: chat.ErrQuota, status: 400, code: "400"},
		{name: "a rate limit that speaks of a quota", answer: answer{status: 429, body: `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}`}, says: "quota", status: 429, retries: true},
		{name: "no capacity", answer: answer{status: 498, body: `{"error":{"message":"no flex capacity","code":"capacity_exceeded"}}`}, says: "capacity", status: 498, code: "capacity_exceeded", retries: true},
		{name: "a reply that the server could not read", answer: answer{status: 400, body: `{"error":{"message":"Parsing failed. See 'failed_generation' for more details.","code":"output_parse_failed","failed_generation":"<|x|>"}}`}, says: "Parsing", status: 400, code: "output_parse_failed", retries: true},
		{name: "no money", answer: answer{status: 402, body: `{"error":{"message":"Insufficient Balance"}}`}, says: "Balance", is: chat.ErrQuota, status: 402},
		{name: "a tool call that the server could not read", answer: answer{status: 400, body: `{"error":{"message":"Failed to call a function","code":"tool_use_failed","failed_generation":"<function=read>"}}`}, says: "Failed to call", status: 400, code: "tool_use_failed", retries: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.answer.header = merged(tt.answer.header, "X-Request-Id", "req_7")
			s := serve(t, tt.answer)
			res, err := s.model(chat.Options{MaxRetries: 2})(t.Context(), hello(), nil)
			var e *chat.Error
			require.ErrorAs(t, err, &e)
			require.ErrorContains(t, err, tt.says)
			require.ErrorContains(t, err, "req_7")
			require.Equal(t, "req_7", e.RequestID)
			require.Equal(t, tt.text, res.Message.Content)
			require.Empty(t, res.Message.ToolCalls, "half a reply must not call anything")
			require.Equal(t, tt.status, e.Status)
			require.Equal(t, tt.code, e.Code)
			require.Equal(t, tt.retries, e.Retryable)
			require.Equal(t, tt.is == chat.ErrIncomplete, errors.Is(err, chat.ErrIncomplete))
			require.Equal(t, tt.is == chat.ErrQuota, errors.Is(err, chat.ErrQuota))
			want := 1
			if tt.retries {
				want = 3
			}
			require.Len(t, s.sent(), want)
			require.Equal(t, want, e.Attempts)
		})
	}
}

func merged(m map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// A reply is complete with its finish reason or with [DONE], whatever follows.
func TestCleanEnds(t *testing.T) {
	hi := delta(`"content":"hi"`)
	whole := callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{}"}`)
	for _, tt := range []struct {
		name, finish string
		answer       answer
		calls        int
	}{
		{"[DONE] without a finish reason", "", answer{body: stream(hi)}, 0},
		{"[DONE] without a finish reason, with a call", "", answer{body: stream(hi, whole)}, 1},
		{"a finish reason without [DONE]", "stop", answer{body: events(hi, finish("stop"))}, 0},
		{"a reset after the finish reason", "stop", answer{body: events(hi, finish("stop")), cut: true}, 0},
		{"a connection held open after [DONE]", "stop", answer{body: stream(hi, finish("stop")), hold: true}, 0},
		{"garbage after [DONE]", "stop", answer{body: stream(hi, finish("stop")) + "data: {oops\n\n"}, 0},
		{"one object without a finish reason", "", answer{body: `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":null}]}`}, 0},
		{"cut by length", "length", answer{body: stream(hi, callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{\"p"}`), finish("length"))}, 1},
		{"filtered", "content_filter", answer{body: stream(hi, finish("content_filter"))}, 0},
		{"text where the reason speaks of calls", "tool_calls", answer{body: stream(hi, finish("tool_calls"))}, 0},
		{"a reason that nobody knows", "end_turn", answer{body: stream(hi, whole, finish("end_turn"))}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.answer)
			res, err := s.model(chat.Options{})(t.Context(), hello(), nil)
			require.NoError(t, err)
			require.Equal(t, "hi", res.Message.Content)
			require.Equal(t, tt.finish, res.Finish)
			require.Len(t, res.Message.ToolCalls, tt.calls)
		})
	}
	s := serve(t, answer{body: stream(finish("stop"))})
	res, err := s.model(chat.Options{})(t.Context(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, `{"role":"assistant"}`, res.Message.RawJSON())
	s = serve(t, answer{body: stream(delta(`"content":null,"refusal":"I can"`), delta(`"refusal":"not"`), finish("stop"))})
	res, err = s.model(chat.Options{})(t.Context(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, "I cannot", res.Message.Refusal)
}

func TestNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := "http://" + l.Addr().String()
	require.NoError(t, l.Close())
	model := chat.New(openai.NewChatCompletionService(option.WithBaseURL(address)), "m", chat.Options{MaxRetries: 1, Backoff: -1})
	_, err = model(t.Context(), hello(), nil)
	var e *chat.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, 2, e.Attempts)
	require.Zero(t, e.Status)
	var dial *net.OpError
	require.ErrorAs(t, err, &dial)
}
