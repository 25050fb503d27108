package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/chat"
	"github.com/stretchr/testify/require"
)

// What a server streams, and the calls that come of it.
func TestToolCallsAsServersStreamThem(t *testing.T) {
	type call struct{ id, name, arguments string }
	type calls = []call
	tests := []struct {
		name   string
		chunks []string
		want   calls
	}{
		{"in pieces", []string{callDelta(`"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}`), callDelta(`"index":0,"function":{"arguments":"{\"n\""}`), callDelta(`"index":0,"function":{"arguments":":1}"}`)}, calls{{"a", "f", `{"n":1}`}}},
		{"whole, without an index", []string{callDelta(`"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\":1}"}`), callDelta(`"id":"b","type":"function","function":{"name":"g","arguments":"{\"n\":2}"}`)}, calls{{"a", "f", `{"n":1}`}, {"b", "g", `{"n":2}`}}},
		{"two in one chunk, without an index", []string{callDelta(`"id":"a","function":{"name":"f","arguments":"{}"}`, `"id":"b","function":{"name":"f","arguments":"{}"}`)}, calls{{"a", "f", `{}`}, {"b", "f", `{}`}}},
		{"the first with an index, the second without", []string{callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{}"}`), callDelta(`"id":"b","function":{"name":"g","arguments":"{}"}`)}, calls{{"a", "f", `{}`}, {"b", "g", `{}`}}},
		{"pieces without an index go to the last call", []string{callDelta(`"id":"a","function":{"name":"f","arguments":"{\"n\""}`), callDelta(`"function":{"arguments":":1}"}`)}, calls{{"a", "f", `{"n":1}`}}},
		{"without index and id", []string{callDelta(`"function":{"name":"f","arguments":"{\"n\":1}"}`), callDelta(`"function":{"name":"f","arguments":"{\"n\":2}"}`)}, calls{{"", "f", `{"n":1}`}, {"", "f", `{"n":2}`}}},
		{"two pieces of one call in one chunk", []string{callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":""}`, `"index":0,"function":{"arguments":"{\"a\":1,"}`), callDelta(`"index":0,"function":{"arguments":"\"b\":"}`, `"index":0,"function":{"arguments":"2}"}`)}, calls{{"a", "f", `{"a":1,"b":2}`}}},
		{"interleaved", []string{callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}`, `"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\""}`), callDelta(`"index":1,"function":{"arguments":":2}"}`), callDelta(`"index":0,"function":{"arguments":":1}"}`)}, calls{{"a", "f", `{"x":1}`}, {"b", "g", `{"y":2}`}}},
		{"out of order", []string{callDelta(`"index":1,"id":"b","function":{"name":"g","arguments":"{}"}`), callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{}"}`)}, calls{{"a", "f", `{}`}, {"b", "g", `{}`}}},
		{"the name and the id with each piece", []string{callDelta(`"index":0,"id":"a","function":{"name":"read_file","arguments":"{\"p\""}`), callDelta(`"index":0,"id":"a","function":{"name":"read_file","arguments":":1"}`), callDelta(`"index":0,"id":"a","function":{"name":"read_file","arguments":"}"}`)}, calls{{"a", "read_file", `{"p":1}`}}},
		{"the name with each piece, and no id", []string{callDelta(`"index":0,"function":{"name":"read","arguments":"{\"p\""}`), callDelta(`"index":0,"function":{"name":"read","arguments":":{}"}`), callDelta(`"index":0,"function":{"name":"read","arguments":"}"}`), callDelta(`"index":0,"function":{"name":"read","arguments":""}`)}, calls{{"", "read", `{"p":{}}`}}},
		{"another id with each piece", []string{callDelta(`"index":0,"id":"r1","function":{"name":"f","arguments":"{"}`), callDelta(`"index":0,"id":"r2","function":{"arguments":"}"}`)}, calls{{"r1", "f", `{}`}}},
		{"one index for all calls", []string{callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":""}`), callDelta(`"index":0,"id":"b","function":{"name":"f","arguments":""}`)}, calls{{"a", "f", ``}, {"b", "f", ``}}},
		{"one id for all calls", []string{callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{}"}`), callDelta(`"index":1,"id":"a","function":{"name":"g","arguments":"{}"}`)}, calls{{"a", "f", `{}`}, {"a", "g", `{}`}}},
		{"one id and one index for all calls", []string{callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\":1}"}`), callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\":2}"}`), callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":{"n":3}}`)}, calls{{"a", "f", `{"n":1}`}, {"a", "f", `{"n":2}`}, {"a", "f", `{"n":3}`}}},
		{"one call sent whole twice", []string{callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":{"n":1}}`), callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":{"n":1}}`)}, calls{{"a", "f", `{"n":1}`}}},
		{"an empty object before the arguments", []string{callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{}"}`), callDelta(`"index":0,"function":{"arguments":""}`), callDelta(`"index":0,"function":{"arguments":"{\"n\""}`), callDelta(`"index":0,"function":{"arguments":":1}"}`)}, calls{{"a", "f", `{"n":1}`}}},
		{"empty ids", []string{callDelta(`"index":0,"id":"","function":{"name":"f","arguments":"{\"n\":1}"}`, `"index":1,"id":"","function":{"name":"f","arguments":"{\"n\":2}"}`)}, calls{{"", "f", `{"n":1}`}, {"", "f", `{"n":2}`}}},
		{"the id comes late", []string{callDelta(`"index":0,"function":{"name":"f","arguments":"{\"n\""}`), callDelta(`"index":0,"id":"a","type":"function","function":{"arguments":":1}"}`)}, calls{{"a", "f", `{"n":1}`}}},
		{"the name in pieces", []string{callDelta(`"index":0,"id":"a","function":{"name":"get_"}`), callDelta(`"index":0,"function":{"name":"time"}`), callDelta(`"index":0,"function":{"arguments":"{}"}`)}, calls{{"a", "get_time", `{}`}}},
		{"the name grows", []string{callDelta(`"index":0,"id":"a","function":{"name":"get_"}`), callDelta(`"index":0,"id":"a","function":{"name":"get_time","arguments":"{}"}`)}, calls{{"a", "get_time", `{}`}}},
		{"the index begins at one", []string{callDelta(`"index":1,"id":"a","function":{"name":"f","arguments":"{}"}`)}, calls{{"a", "f", `{}`}}},
		{"a gap and a huge index", []string{callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{}"}`, `"index":5,"id":"b","function":{"name":"f","arguments":"{}"}`, `"index":2000000000,"id":"c","function":{"name":"f","arguments":"{}"}`)}, calls{{"a", "f", `{}`}, {"b", "f", `{}`}, {"c", "f", `{}`}}},
		{"an index that is none", []string{callDelta(`"index":-1,"id":"a","function":{"name":"f","arguments":"{}"}`), callDelta(`"index":null,"id":"b","function":{"name":"f","arguments":"{}"}`), callDelta(`"index":"0","id":"c","function":{"name":"f","arguments":"{}"}`)}, calls{{"a", "f", `{}`}, {"b", "f", `{}`}, {"c", "f", `{}`}}},
		{"a place that is never filled", []string{callDelta(`"index":0`, `"index":1,"id":"a","function":{"name":"f","arguments":"{}"}`)}, calls{{"a", "f", `{}`}}},
		{"null, and an empty list", []string{delta(`"content":"A","tool_calls":null`), delta(`"tool_calls":[]`), delta(`"tool_calls":[null]`)}, nil},
		{"arguments that are an object", []string{callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":{"n":"\"<1>"}}`)}, calls{{"a", "f", `{"n":"\"<1>"}`}}},
		{"no arguments at all", []string{callDelta(`"index":0,"id":"a","function":{"name":"f"}`)}, calls{{"a", "f", ``}}},
		{"arguments that are null", []string{callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":null}`)}, calls{{"a", "f", ``}}},
		{"arguments in pieces, and then once more whole", []string{callDelta(`"index":0,"id":"a","function":{"name":"sh","arguments":""}`), callDelta(`"index":0,"function":{"arguments":"{\"cmd\":"}`), callDelta(`"index":0,"function":{"arguments":"\"ls\"}"}`), callDelta(`"index":0,"function":{"arguments":"{\"cmd\":\"ls\"}"}`)}, calls{{"a", "sh", `{"cmd":"ls"}`}}},
		{"arguments that are no JSON", []string{callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{\"action\": listt\"}"}`)}, calls{{"a", "f", `{"action": listt"}`}}},
		{"arguments encoded twice", []string{callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"\"{\\\"a\\\":1}\""}`)}, calls{{"a", "f", `"{\"a\":1}"`}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, answer{body: stream(append(tt.chunks, finish("tool_calls"))...)})
			res, err := s.model(chat.Options{})(t.Context(), hello(), nil)
			require.NoError(t, err)
			var got calls
			for _, c := range res.Message.ToolCalls {
				got = append(got, call{c.ID, c.Function.Name, c.Function.Arguments})
			}
			require.Equal(t, tt.want, got, res.Message.RawJSON())
			require.Equal(t, "tool_calls", res.Finish)
			requireReplayable(t, res)
		})
	}
}

// requireReplayable holds what a strict server asks of a reply that comes back.
func requireReplayable(t *testing.T, res turn.ModelTurnResult) {
	t.Helper()
	m := turn.ReplayForm(res.Message)
	raw, err := turn.MessageJSON(m)
	require.NoError(t, err)
	var wire struct {
		Role  string `json:"role"`
		Calls []struct {
			ID, Type string
			Index    *int
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	require.NoError(t, json.Unmarshal(raw, &wire), string(raw))
	require.Equal(t, "assistant", wire.Role)
	seen := map[string]bool{}
	for _, c := range wire.Calls {
		require.NotEmpty(t, c.ID)
		require.False(t, seen[c.ID], "an id stands twice: %s", raw)
		seen[c.ID] = true
		require.Equal(t, "function", c.Type)
		require.Nil(t, c.Index)
		require.True(t, json.Valid([]byte(c.Function.Arguments)), c.Function.Arguments)
	}
}

func TestFramesAndText(t *testing.T) {
	hi := delta(`"role":"assistant","content":"hi"`)
	tests := []struct {
		name, body, want string
	}{
		{"comments and empty events", ": PROCESSING\n\n:\n\nretry: 3000\n\nevent: ping\n\n" + events(hi) + ": ping - 2026\n\nid: 7\n\n" + stream(finish("stop")), "hi"},
		{"a comment wrapped up as data", "data: : OPENROUTER PROCESSING\n\n" + stream(hi, finish("stop")), "hi"},
		{"data without a space", strings.ReplaceAll(stream(hi, finish("stop")), "data: ", "data:"), "hi"},
		{"lines that end in CRLF", strings.ReplaceAll(stream(hi, finish("stop")), "\n", "\r\n"), "hi"},
		{"lines that end in CR", strings.ReplaceAll(stream(hi, finish("stop")), "\n", "\r"), "hi"},
		{"a byte order mark", "\uFEFF" + stream(hi, finish("stop")), "hi"},
		{"empty lines first", "\r\n\n" + stream(hi, finish("stop")), "hi"},
		{"no empty line between events", strings.ReplaceAll(stream(hi, delta(`"content":" you"`), finish("stop")), "\n\n", "\n"), "hi you"},
		{"no line end at the end", strings.TrimSpace(stream(hi, finish("stop"))), "hi"},
		{"an event over several data lines", "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"hi\"}}]}\n\n" + stream(finish("stop")), "hi"},
		{"no choices in the first and the last chunk", stream(spent("null"), hi, finish("stop"), spent(`{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}`)), "hi"},
		{"choices that are null", stream(`{"id":"x","choices":null}`, hi, finish("stop")), "hi"},
		{"an id that changes", stream(hi, strings.ReplaceAll(delta(`"content":" B"`), `"id":"x"`, `"id":"y"`), finish("stop")), "hi B"},
		{"the role in every chunk", stream(hi, delta(`"role":"assistant","content":" A"`), finish("stop")), "hi A"},
		{"no role at all", stream(delta(`"content":"A"`), finish("stop")), "A"},
		{"text that repeats itself", stream(delta(`"content":"ha"`), delta(`"content":"ha"`), chunk(`"content":"ha"`, `"stop"`)), "hahaha"},
		{"line feeds", stream(delta(`"content":"\n"`), delta(`"content":"\n"`), chunk(`"content":"Answer"`, `"stop"`)), "\n\nAnswer"},
		{"a finish reason that is empty until the end", stream(chunk(`"content":"A"`, `""`), chunk(`"content":"B"`, `""`), finish("stop")), "AB"},
		{"text behind the finish reason", stream(chunk(`"content":"A"`, `"stop"`), delta(`"content":"B"`)), "AB"},
		{"a second choice", stream(hi, `{"choices":[{"index":1,"delta":{"content":"other"}}]}`, finish("stop")), "hi"},
		{"a character in two escapes of two chunks", stream(delta(`"content":"a\ud83d"`), delta(`"content":"\ude00b"`), finish("stop")), "a😀b"},
		{"a character in two halves of two chunks", stream(delta("\"content\":\"\xe4\xbd\""), delta("\"content\":\"\xa0\""), finish("stop")), "你"},
		{"half a character", stream(delta(`"content":"a\ud83d"`), delta(`"content":"b\\ud83d"`), finish("stop")), `a` + "\uFFFD" + `b\ud83d`},
		{"an error that is null", stream(strings.Replace(hi, `"id"`, `"error":null,"id"`, 1), finish("stop")), "hi"},
		{"a status beside the choices", stream(hi, strings.Replace(finish("stop"), `"id"`, `"base_resp":{"status_code":0,"status_msg":""},"id"`, 1)), "hi"},
		{"one object", `{"id":"x","object":"chat.completion","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`, "hi"},
		{"one object, printed for people", "\n{\n  \"choices\": [ { \"message\": {\n \"role\": \"assistant\", \"content\": \"hi\" }, \"finish_reason\": \"stop\" } ]\n}\n", "hi"},
		{"parts", stream(delta(`"content":[{"type":"text","text":"a"}]`), delta(`"content":[{"type":"text","text":"b"}]`), delta(`"content":"c"`), finish("stop")), "abc"},
	}
	for _, o := range []chat.Options{{}, {NoStream: true}} {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				var told strings.Builder
				o := o
				o.OnDelta = func(_ ctx, d chat.Delta) { told.WriteString(d.Text) }
				s := serve(t, answer{body: tt.body})
				res, err := s.model(o)(t.Context(), hello(), nil)
				require.NoError(t, err)
				require.Equal(t, tt.want, turn.Text(turn.ReplayForm(res.Message)), res.Message.RawJSON())
				require.Equal(t, tt.want, told.String())
				require.Equal(t, "stop", res.Finish)
				require.Len(t, s.sent(), 1)
				requireReplayable(t, res)
			})
		}
	}
}
