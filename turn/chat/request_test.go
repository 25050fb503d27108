package chat_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/chat"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

var okay = answer{body: stream(delta(`"content":"ok"`), finish("stop"))}

func tool(t testing.TB, name string) turn.WireToolDefinition {
	t.Helper()
	d, err := turn.FunctionTool(name, "<b> & more", json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}},"required":["z"]}`))
	require.NoError(t, err)
	return d
}

func parsed(t testing.TB, messages ...string) []turn.TranscriptMessage {
	t.Helper()
	out := make([]turn.TranscriptMessage, len(messages))
	for i, m := range messages {
		var err error
		out[i], err = turn.ParseMessage([]byte(m))
		require.NoError(t, err)
	}
	return out
}

// request is the body that a server sees.
func request(t testing.TB, o chat.Options, messages []turn.TranscriptMessage, tools ...turn.WireToolDefinition) string {
	t.Helper()
	s := serve(t, okay, answer{body: `{"choices":[{"message":{"role":"assistant","content":"ok"}}]}`})
	_, err := s.model(o)(t.Context(), messages, tools)
	require.NoError(t, err)
	return s.sent()[0]
}

func TestRequestBody(t *testing.T) {
	messages := []turn.TranscriptMessage{turn.System("<be> & brief"), turn.User("hi\u2028")}
	require.Equal(t, `{"model":"m","messages":[{"content":"<be> & brief","role":"system"},{"content":"hi\u2028","role":"user"}],"stream":true,"stream_options":{"include_usage":true}}`,
		request(t, chat.Options{}, messages))
	require.Equal(t, `{"model":"m","messages":[{"content":"hi","role":"user"}],"tools":[{"type":"function","function":{"name":"b","description":"<b> & more","parameters":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}},"required":["z"]},"strict":true}},`+
		`{"type":"function","function":{"name":"a","description":"<b> & more","parameters":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}},"required":["z"]},"strict":true}}]}`,
		request(t, chat.Options{NoStream: true, Strict: true}, []turn.TranscriptMessage{turn.User("hi")}, tool(t, "b"), tool(t, "a")))

	p := openai.ChatCompletionNewParams{
		Temperature: openai.Float(0.5), MaxTokens: openai.Int(100), ParallelToolCalls: openai.Bool(false),
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeObfuscation: openai.Bool(false)},
		ToolChoice:    openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("required")},
		Model:         "other", Messages: messages,
	}
	p.SetExtraFields(map[string]any{"cache_prompt": true})
	body := request(t, chat.Options{Params: p}, hello(), tool(t, "f"))
	for path, want := range map[string]string{"model": "m", "temperature": "0.5", "max_tokens": "100", "parallel_tool_calls": "false", "tool_choice": "required", "cache_prompt": "true",
		"messages.#": "1", "tools.#": "1", "stream_options.include_usage": "true", "stream_options.include_obfuscation": "false"} {
		require.Equal(t, want, gjson.Get(body, path).String(), path)
	}
	body = request(t, chat.Options{Params: p, NoStreamUsage: true}, hello())
	require.Equal(t, "100", gjson.Get(body, "max_tokens").String())
	for _, path := range []string{"tools", "tool_choice", "parallel_tool_calls", "stream_options.include_usage"} {
		require.False(t, gjson.Get(body, path).Exists(), path)
	}
}

// Options of the service go on working: headers, and edits of the body.
func TestServiceOptions(t *testing.T) {
	s := serve(t, okay)
	service := s.service(option.WithHeader("X-Title", "pawl"), option.WithJSONSet("provider.order", []string{"a"}), option.WithMaxRetries(7))
	_, err := chat.New(service, "m", chat.Options{})(t.Context(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, "pawl", s.headers[0].Get("X-Title"))
	require.Equal(t, "Bearer test", s.headers[0].Get("Authorization"))
	require.Equal(t, `["a"]`, gjson.Get(s.sent()[0], "provider.order").Raw)
	require.Equal(t, "hello", gjson.Get(s.sent()[0], "messages.0.content").Str)
}

func TestForcedToolChoice(t *testing.T) {
	called := append(hello(), parsed(t, `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`, `{"role":"tool","tool_call_id":"a","content":"1"}`)...)
	choices := map[string]string{
		`"required"`: `"auto"`,
		`{"type":"function","function":{"name":"f"}}`:                             `"auto"`,
		`{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[]}}`: `{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[]}}`,
		`"none"`: `"none"`,
	}
	for choice, after := range choices {
		o := chat.Options{Params: param.Override[openai.ChatCompletionNewParams](json.RawMessage(`{"tool_choice":` + choice + `}`))}
		require.JSONEq(t, choice, gjson.Get(request(t, o, hello(), tool(t, "f")), "tool_choice").Raw)
		require.JSONEq(t, after, gjson.Get(request(t, o, called, tool(t, "f")), "tool_choice").Raw)
		o.KeepToolChoice = true
		require.JSONEq(t, choice, gjson.Get(request(t, o, called, tool(t, "f")), "tool_choice").Raw)
	}
}

func TestWhatOfARepliesGoesBack(t *testing.T) {
	const call = `"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]`
	messages := parsed(t,
		`{"role":"user","content":""}`,
		`{"role":"assistant","content":null,"reasoning_content":"r","annotations":[],`+call+`}`,
		`{"role":"tool","tool_call_id":"a","content":""}`,
		`{"role":"assistant","content":""}`,
		`{"role":"assistant","content":"ok","reasoning_details":[{}]}`)
	sent := func(o chat.Options) []string {
		var out []string
		for _, m := range gjson.Get(request(t, o, messages), "messages").Array() {
			if m.Get("role").Str == "assistant" {
				out = append(out, m.Raw)
			}
		}
		return out
	}
	require.Equal(t, []string{`{"role":"assistant","content":null,"reasoning_content":"r","annotations":[],` + call + `}`, `{"role":"assistant","content":"ok","reasoning_details":[{}]}`}, sent(chat.Options{}))
	require.Len(t, sent(chat.Options{SendEmpty: true}), 3)
	require.Equal(t, []string{`{"role":"assistant","reasoning_content":"r","annotations":[],` + call + `,"content":""}`, `{"role":"assistant","content":"ok","reasoning_details":[{}]}`}, sent(chat.Options{Content: chat.ContentEmpty}))
	require.NotContains(t, sent(chat.Options{Content: chat.ContentNone})[0], `content":n`)
	require.Contains(t, sent(chat.Options{Content: chat.ContentNull})[0], `"content":null`)
	require.Equal(t, []string{`{"role":"assistant","content":null,"annotations":[],` + call + `}`, `{"role":"assistant","content":"ok"}`}, sent(chat.Options{Echo: chat.EchoNone}))
	always := sent(chat.Options{Echo: chat.EchoAlways})
	require.Contains(t, always[0], `"reasoning_content":"r"`)
	require.Contains(t, always[1], `"reasoning_content":""`)
	require.NotContains(t, sent(chat.Options{OmitFields: []string{"annotations"}})[0], "annotations")
}

func TestDeclareTools(t *testing.T) {
	const call = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}},{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	called := append(hello(), parsed(t, call, `{"role":"tool","tool_call_id":"a","content":"1"}`, `{"role":"tool","tool_call_id":"b","content":"2"}`, `{"role":"tool","tool_call_id":"c","content":"3"}`)...)
	o := chat.Options{DeclareTools: true}
	require.Equal(t, `[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}},{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}}}]`,
		gjson.Get(request(t, o, called), "tools").Raw)
	require.Equal(t, "h", gjson.Get(request(t, o, called, tool(t, "h")), "tools.0.function.name").Str)
	require.False(t, gjson.Get(request(t, o, hello()), "tools").Exists())
	require.False(t, gjson.Get(request(t, chat.Options{}, called), "tools").Exists())
}

func TestRequestThatCannotBeWritten(t *testing.T) {
	s := serve(t, okay)
	_, err := s.model(chat.Options{})(t.Context(), []turn.TranscriptMessage{turn.User("a"), {}}, nil)
	require.ErrorContains(t, err, "message 1")
	_, err = s.model(chat.Options{Params: openai.ChatCompletionNewParams{Temperature: openai.Float(math.NaN())}})(t.Context(), hello(), nil)
	require.ErrorContains(t, err, "parameters")
	require.Empty(t, s.sent())
}

// What a server sends beside the fields that the wire types know comes back to it
// with the same bytes, also through a stored result and a stored transcript.
func TestOpaqueFieldsRoundTrip(t *testing.T) {
	tests := map[string]struct{ body, message string }{
		"streamed": {
			stream(delta(`"role":"assistant","content":null,"reasoning_content":"I <th"`), delta(`"reasoning_content":"ink>\u00e9"`),
				callDelta(`"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"q\":"},"extra_content":{"google":{"thought_signature":"SIG=="}}`),
				callDelta(`"index":0,"function":{"arguments":"\"<&>\"}"}`),
				callDelta(`"index":1,"id":"b","type":"function","function":{"name":"f","arguments":"{}"}`),
				delta(`"reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]`), delta(`"reasoning_details":[{"type":"reasoning.text","text":"b","signature":"S","index":0},{"type":"reasoning.encrypted","data":"D","index":1}]`),
				delta(`"x":1.50`), delta(`"x":2.50,"y":{"z":[1]}`), delta(`"y":{"z":[2],"w":null}`), finish("tool_calls")),
			`{"role":"assistant","content":null,"reasoning_content":"I <think>\u00e9","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"q\":\"<&>\"}"},"extra_content":{"google":{"thought_signature":"SIG=="}}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}],` +
				`"reasoning_details":[{"type":"reasoning.text","text":"ab","index":0,"signature":"S"},{"type":"reasoning.encrypted","data":"D","index":1}],"x":2.50,"y":{"z":[1,2],"w":null}}`,
		},
		"whole": {
			`{"choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"reasoning":"<r>","annotations":[{"a":1.0}],"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"SIG=="}}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}],"refusal":null}}]}`,
			`{"role":"assistant","content":null,"reasoning":"<r>","annotations":[{"a":1.0}],"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"SIG=="}}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}],"refusal":null}`,
		},
		"a text and its calls as choices": {
			`{"choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","content":"so"}},{"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}},` +
				`{"finish_reason":"tool_calls","message":{"role":"assistant","tool_calls":[{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}`,
			`{"role":"assistant","content":"so","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
		},
		"a text and its call as choices of one chunk": {
			stream(`{"choices":[{"index":0,"delta":{"role":"assistant","content":"so"}},{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}},{"index":1,"delta":{"content":"other"}}]}`, finish("tool_calls")),
			`{"role":"assistant","content":"so","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
		},
		"many fields": {
			stream(delta(`"content":"a",`+many("1", 100)), delta(many("2", 100)), finish("stop")),
			`{"role":"assistant","content":"a",` + many("2", 100) + `}`,
		},
		"no type": {
			stream(callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{}"}`), finish("tool_calls")),
			`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"},"type":"function"}]}`,
		},
		"thinking in parts": {
			stream(delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"}]}]`), delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"m"}]}]`), delta(`"content":"ok"`), finish("stop")),
			`{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"ok"}]}`,
		},
		"thinking with an empty signature until the last piece": {
			stream(delta(`"thinking_blocks":[{"type":"thinking","thinking":"h","signature":""}]`), delta(`"thinking_blocks":[{"type":"thinking","thinking":"m","signature":null}]`), delta(`"thinking_blocks":[{"type":"thinking","thinking":"","signature":"S"}]`),
				delta(`"thinking_blocks":[{"type":"redacted_thinking","data":"D"}]`), delta(`"thinking_blocks":[{"type":"thinking","thinking":"so","signature":""}]`), delta(`"thinking_blocks":[{"type":"thinking","thinking":"","signature":"T"}]`), delta(`"content":"ok"`), finish("stop")),
			`{"role":"assistant","thinking_blocks":[{"type":"thinking","thinking":"hm","signature":"S"},{"type":"redacted_thinking","data":"D"},{"type":"thinking","thinking":"so","signature":"T"}],"content":"ok"}`,
		},
		"thinking in pieces, and once more whole with its signature": {
			stream(delta(`"thinking_blocks":[{"type":"thinking","thinking":"h\n"}]`), delta(`"thinking_blocks":[{"type":"thinking","thinking":"m"}]`), delta(`"thinking_blocks":[{"type":"thinking","thinking":"h\nm","signature":"S"}]`), delta(`"content":"ok"`), finish("stop")),
			`{"role":"assistant","thinking_blocks":[{"type":"thinking","thinking":"h\nm","signature":"S"}],"content":"ok"}`,
		},
		"a deprecated call": {
			stream(delta(`"content":null,"function_call":{"name":"f","arguments":"{\"a\""}`), delta(`"function_call":{"arguments":":1}"}`), finish("function_call")),
			`{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{\"a\":1}"}}`,
		},
		"a custom call whose text looks like JSON": {
			stream(callDelta(`"index":0,"id":"a","type":"custom","custom":{"name":"sh","input":"{}"}`), callDelta(`"index":0,"custom":{"input":"{}"}`), callDelta(`"index":0,"custom":{"input":"{"}`)),
			`{"role":"assistant","tool_calls":[{"id":"a","type":"custom","custom":{"name":"sh","input":"{}{}{"}}]}`,
		},
		"a custom call": {
			stream(callDelta(`"index":0,"id":"a","type":"custom","custom":{"name":"sh","input":"ls"}`), callDelta(`"index":0,"custom":{"input":" -l"}`), finish("tool_calls")),
			`{"role":"assistant","tool_calls":[{"id":"a","type":"custom","custom":{"name":"sh","input":"ls -l"}}]}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := serve(t, answer{body: tt.body}, okay)
			res, err := s.model(chat.Options{})(t.Context(), hello(), nil)
			require.NoError(t, err)

			stored, err := json.Marshal(res)
			require.NoError(t, err)
			var again turn.ModelTurnResult
			require.NoError(t, json.Unmarshal(stored, &again))
			transcript := turn.Transcript(append(hello(), turn.ReplayForm(again.Message)))
			stored, err = json.Marshal(transcript)
			require.NoError(t, err)
			var back turn.Transcript
			require.NoError(t, json.Unmarshal(stored, &back))

			for _, messages := range [][]turn.TranscriptMessage{append(hello(), turn.ReplayForm(res.Message)), transcript, back} {
				_, err = s.model(chat.Options{})(t.Context(), messages, nil)
				require.NoError(t, err)
				sent := s.sent()
				require.Equal(t, tt.message, gjson.Get(sent[len(sent)-1], "messages.1").Raw)
			}
		})
	}
}

// A message that was sent once is sent byte for byte the same ever after.
func TestRequestsExtendEachOther(t *testing.T) {
	reply := answer{body: stream(delta(`"content":"<é>"`), callDelta(`"index":0,"id":"","function":{"name":"f","arguments":"{oops"}`), finish("tool_calls"))}
	s := serve(t, reply)
	messages, tools := hello(), []turn.WireToolDefinition{tool(t, "b"), tool(t, "a")}
	before := ""
	for range 10 {
		res, err := s.model(chat.Options{})(t.Context(), messages, tools)
		require.NoError(t, err)
		m := turn.ReplayForm(res.Message)
		messages = append(messages, m, turn.ToolResult(turn.Calls(m)[0].ID, "no"))
		sent := s.sent()
		list := gjson.Get(sent[len(sent)-1], "messages").Raw
		require.True(t, strings.HasPrefix(list, before))
		before = strings.TrimSuffix(list, "]")
	}
}

// many is that many members of one value.
func many(value string, n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"x%d":%s`, i, value)
	}
	return strings.Join(members, ",")
}
