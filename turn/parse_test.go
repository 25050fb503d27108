package turn_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/turn"
)

func TestParseMessageKeepsBytesAndFillsTheView(t *testing.T) {
	for text, want := range map[string]struct {
		role, text string
		calls      []turn.Call
	}{
		`{"role":"system","content":"be brief","x":1}`:         {"system", "be brief", nil},
		`{"content":"be brief","role":"developer","name":"n"}`: {"developer", "be brief", nil},
		`{"role":"user","content":"a<b>&\u003c","name":"n"}`:   {"user", "a<b>&<", nil},
		`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:,"}},{"type":"text","text":"b"}]}`: {"user", "a\nb", nil},
		`{"role":"user","content":["a"]}`:        {"user", "", nil},
		`{"role":"user","content":{"text":"a"}}`: {"user", "", nil},
		`{"role":"user"}`:                        {"user", "", nil},
		`{"role":"system","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`:          {"system", "a\nb", nil},
		`{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"r"}],"name":"f"}`:         {"tool", "r", nil},
		`{"role":"tool","tool_call_id":"a","content":""}`:                                              {"tool", "", nil},
		`{"role":"function","name":"f","content":"r"}`:                                                 {"function", "r", nil},
		`{"role":"function","name":"f","content":null}`:                                                {"function", "", nil},
		`{"role":"assistant","content":null,"reasoning_content":"r"}`:                                  {"assistant", "", nil},
		`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"refusal","refusal":"b"}]}`: {"assistant", "a", nil},
		`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},null,{"id":"b","type":"custom","custom":{"name":"g","input":"i"}}]}`: {
			"assistant", "", []turn.Call{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "b", Name: "g", Arguments: "i"}}},
		`{"role":"assistant","tool_calls":null,"audio":{"id":"au"},"function_call":{"name":"f","arguments":"{}"},"refusal":"no","name":"n"}`: {"assistant", "", nil},
	} {
		m, err := turn.ParseMessage([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, text, bytesOf(t, m))
		require.Equal(t, want.role, turn.Role(m), text)
		require.Equal(t, want.text, turn.Text(m), text)
		require.Equal(t, want.calls, turn.Calls(m), text)
	}
}

func TestParseMessageTakesOutWhiteSpaceAndWhatIsNoUTF8(t *testing.T) {
	for text, want := range map[string]string{
		" {\t\"role\" : \"user\",\r\n\"content\":\" a \\n b \" } \n": `{"role":"user","content":" a \n b "}`,
		"{\"role\":\"user\",\"content\":\"a\xffb\xc0\xafc\"}":        "{\"role\":\"user\",\"content\":\"a\ufffdb\ufffdc\"}",
		`{"role":"user","content":"\ud800"}`:                         `{"role":"user","content":"\ud800"}`,
		`{"role":"user","content":"\"{ "}`:                           `{"role":"user","content":"\"{ "}`,
		`{"role": "user","content":"\\"}`:                            `{"role":"user","content":"\\"}`,
	} {
		m, err := turn.ParseMessage([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, bytesOf(t, m))
	}
}

func TestParseMessageRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                                 "invalid JSON at byte 0",
		` `:                                "invalid JSON at byte 1",
		`{"role":"user"`:                   "invalid JSON at byte 14",
		`{"role":"user",}`:                 "invalid JSON at byte 16",
		`{"role":"user"} x`:                "invalid JSON at byte 17",
		"{\"role\":\"user\",\"x\":\"\n\"}": "invalid JSON at byte 21",
		"\ufeff{\"role\":\"user\"}":        "invalid JSON at byte 1",
		`[{"role":"user"}]`:                "not a JSON object",
		`"user"`:                           "not a JSON object",
		`null`:                             "not a JSON object",
		`{}`:                               "no role",
		`{"role":null}`:                    "unknown role null",
		`{"role":5}`:                       "unknown role 5",
		`{"role":"User"}`:                  `unknown role "User"`,
		`{"role":"` + strings.Repeat("x", 99) + `"}`:                                      "unknown role",
		`{"role":"user","x":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`: "nested deeper than 500",
		strings.Repeat("[", 5<<20):                                                        "nested deeper than 500",
		strings.Repeat(`{"a":`, 1<<20):                                                    "nested deeper than 500",
		`{"a":` + strings.Repeat("]", 999):                                                "invalid JSON",
	} {
		_, err := turn.ParseMessage([]byte(text))
		require.ErrorContains(t, err, want, text[:min(len(text), 60)])
		require.Less(t, len(err.Error()), 200)
	}
}

func TestTranscriptJSON(t *testing.T) {
	data, err := json.Marshal(turn.Transcript(nil))
	require.NoError(t, err)
	require.Equal(t, `[]`, string(data))

	_, err = json.Marshal(turn.Transcript{turn.User("a"), {}})
	require.ErrorContains(t, err, "message 1: the message is empty")

	for text, want := range map[string]string{
		`[{"role":"user","content":"a"},{"role":"nobody"}]`: `message 1: unknown role "nobody"`,
		`[null]`:               "message 0: not a JSON object",
		`[5]`:                  "message 0: not a JSON object",
		`["{"]`:                "message 0: invalid JSON",
		`[["a"]]`:              "message 0: not a JSON object",
		`{"role":"user"}`:      "cannot unmarshal object",
		`["{\"role\":\"x\"}"]`: "message 0: unknown role",
	} {
		kept := turn.Transcript{turn.User("kept")}
		require.ErrorContains(t, json.Unmarshal([]byte(text), &kept), want)
		require.Len(t, kept, 1, "after an error the transcript is as it was")
		require.Equal(t, "kept", turn.Text(kept[0]))
	}

	// Assignable both ways.
	var plain []turn.TranscriptMessage = turn.Transcript{turn.User("a")}
	var named turn.Transcript = plain
	require.Len(t, named, 1)
}

// The escapes of json.Marshal are undone, those that were there stay.
func TestTranscriptKeepsEscapesApart(t *testing.T) {
	for _, content := range []string{`<`, `\u003c`, `\u003C`, `\\u003c`, `\\\u003c`, `\\\\u003c`, "\u2028", `\u2028`, `&\u0026`, `\"\u003e`, `<\u003c`, `\\<`} {
		text := `{"role":"user","content":"` + content + `"}`
		m, err := turn.ParseMessage([]byte(text))
		require.NoError(t, err)
		data, err := json.Marshal(map[string]any{"deep": []any{turn.Transcript{m}}})
		require.NoError(t, err)
		var out struct{ Deep []turn.Transcript }
		require.NoError(t, json.Unmarshal(data, &out))
		require.Equal(t, text, bytesOf(t, out.Deep[0][0]))
	}
}

func TestMessageJSONOfMessagesBuiltByHand(t *testing.T) {
	for want, m := range map[string]turn.TranscriptMessage{
		`{"content":"a<b>","role":"user"}`:                       turn.User("a<b>"),
		`{"content":"","role":"system"}`:                         turn.System(""),
		`{"content":"","tool_call_id":"a","role":"tool"}`:        turn.ToolResult("a", ""),
		`{"content":"be brief","role":"developer"}`:              openai.DeveloperMessage("be brief"),
		`{"content":[{"text":"a","type":"text"}],"role":"user"}`: openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{openai.TextContentPart("a")}),
	} {
		require.Equal(t, want, bytesOf(t, m))
	}
	_, err := turn.MessageJSON(turn.TranscriptMessage{})
	require.ErrorContains(t, err, "no role")

	data, err := turn.MessageJSON(turn.User("a"))
	require.NoError(t, err)
	data[0] = 'x'
	parsed, err := turn.ParseMessage([]byte(`{"role":"user","content":"a"}`))
	require.NoError(t, err)
	data, err = turn.MessageJSON(parsed)
	require.NoError(t, err)
	data[0] = 'x'
	require.Equal(t, `{"role":"user","content":"a"}`, bytesOf(t, parsed), "the bytes are the caller's")
}
