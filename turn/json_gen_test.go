package turn_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/turn"
)

// wire is what a server would receive for the messages, each as it stands in the
// body of a request.
func wire(t require.TestingT, messages ...turn.TranscriptMessage) []string {
	body, err := openai.ChatCompletionNewParams{Model: "m", Messages: messages}.MarshalJSON()
	require.NoError(t, err)
	var out []string
	gjson.GetBytes(body, "messages").ForEach(func(_, m gjson.Result) bool {
		out = append(out, m.Raw)
		return true
	})
	return out
}

// reply decodes a reply as the SDK decodes one from a response body.
func reply(t require.TestingT, text string) turn.AssistantTurnMessage {
	var m turn.AssistantTurnMessage
	require.NoError(t, m.UnmarshalJSON([]byte(text)))
	return m
}

// bytesOf is a message's bytes; they must be what goes on the wire, too.
func bytesOf(t require.TestingT, m turn.TranscriptMessage) string {
	data, err := turn.MessageJSON(m)
	require.NoError(t, err)
	require.Equal(t, []string{string(data)}, wire(t, m))
	return string(data)
}

func compact(t require.TestingT, text string) string {
	var b strings.Builder
	dec := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	require.NoError(t, dec.Decode(&raw))
	inString := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			b.WriteByte(c)
			i++
			b.WriteByte(raw[i])
			continue
		case c == '"':
			inString = !inString
		case !inString && strings.IndexByte(" \t\r\n", c) >= 0:
			continue
		}
		b.WriteByte(raw[i])
	}
	return b.String()
}

// The pieces that strings are drawn from: everything that two encoders of JSON
// have been seen to write differently.
var stringPieces = []string{
	"a", "Z", "7", " ", "é", "日", "😀", "<", ">", "&", "</script>", "\u2028", "\u2029", "\u00a0", "\ufeff", "\ufffd", "\x7f",
	`\"`, `\\`, `\/`, `\b`, `\n`, `\t`, `\u0000`, `\u003c`, `\u003C`, `\u0026`, `\u003e`, `\u2028`, `\u2029`, `\\u003c`, `\ud83d\ude00`,
	`\ud800`, `\udc00`, `\u0061`, "{", "}", "[", "]", ",", ":",
}

func genString() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return `"` + strings.Join(rapid.SliceOfN(rapid.SampledFrom(stringPieces), 0, 5).Draw(t, "pieces"), "") + `"`
	})
}

// genValue is any JSON value, as text.
func genValue(depth int) *rapid.Generator[string] {
	scalars := []*rapid.Generator[string]{
		genString(),
		rapid.SampledFrom([]string{"null", "true", "false", "0", "-0", "1.0", "1e400", "12345678901234567890", "0.1e-7", `""`}),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	return rapid.OneOf(append(scalars, genArray(genValue(depth-1)), genObject(genString(), genValue(depth-1)))...)
}

// space is what may stand between two tokens, mostly nothing.
func space(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", "", " ", "\n  ", "\t", "\r\n"}).Draw(t, "space")
}

func genArray(item *rapid.Generator[string]) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return "[" + space(t) + strings.Join(rapid.SliceOfN(item, 0, 3).Draw(t, "items"), space(t)+","+space(t)) + space(t) + "]"
	})
}

func genObject(key, value *rapid.Generator[string]) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		fields := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return key.Draw(t, "key") + space(t) + ":" + space(t) + value.Draw(t, "value")
		}), 0, 4).Draw(t, "fields")
		return "{" + space(t) + strings.Join(fields, space(t)+","+space(t)) + space(t) + "}"
	})
}

// object writes fields given as key text and value text, in any order.
func objectOf(t *rapid.T, fields [][2]string) string {
	fields = rapid.Permutation(fields).Draw(t, "order")
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = f[0] + space(t) + ":" + space(t) + f[1]
	}
	return "{" + space(t) + strings.Join(parts, space(t)+","+space(t)) + space(t) + "}"
}

// unknownFields are fields that the wire types do not know, or know and need not read.
func unknownFields(t *rapid.T) [][2]string {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
		`"reasoning_content"`, `"reasoning_details"`, `"annotations"`, `"audio"`, `"function_call"`, `"name"`, `"x<y"`, `"\u0078"`,
	}), 0, 4, rapid.ID).Draw(t, "unknown")
	var fields [][2]string
	for _, n := range names {
		fields = append(fields, [2]string{n, genValue(2).Draw(t, n)})
	}
	return fields
}

// genCall is a call in which nothing has to be mended.
func genCall(id string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		arguments, err := json.Marshal(genObject(genString(), genValue(1)).Draw(t, "arguments"))
		require.NoError(t, err)
		fields := [][2]string{{`"id"`, id}}
		if rapid.IntRange(0, 5).Draw(t, "kind") == 0 {
			fields = append(fields, [2]string{`"type"`, `"custom"`},
				[2]string{`"custom"`, objectOf(t, [][2]string{{`"name"`, genString().Draw(t, "name")}, {`"input"`, genString().Draw(t, "input")}})})
		} else {
			fields = append(fields, [2]string{`"type"`, `"function"`},
				[2]string{`"function"`, objectOf(t, [][2]string{{`"name"`, genString().Draw(t, "name")}, {`"arguments"`, string(arguments)}})})
		}
		if rapid.Bool().Draw(t, "extra") {
			fields = append(fields, [2]string{`"extra_content"`, genValue(2).Draw(t, "extra_content")}, [2]string{`"index"`, "0"})
		}
		return objectOf(t, fields)
	})
}

// genSoundReply is a reply in which nothing has to be mended, whatever else it holds.
func genSoundReply() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		fields := append([][2]string{{`"role"`, `"assistant"`}}, unknownFields(t)...)
		if rapid.Bool().Draw(t, "has content") {
			fields = append(fields, [2]string{`"content"`, genValue(2).Draw(t, "content")})
		}
		if rapid.Bool().Draw(t, "has refusal") {
			fields = append(fields, [2]string{`"refusal"`, genValue(1).Draw(t, "refusal")})
		}
		if n := rapid.IntRange(0, 3).Draw(t, "calls"); n > 0 {
			calls := make([]string, n)
			for i := range calls {
				calls[i] = genCall([]string{`"a<b"`, `"call_2"`, `"\u00e9"`}[i]).Draw(t, "call")
			}
			fields = append(fields, [2]string{`"tool_calls"`, "[" + space(t) + strings.Join(calls, space(t)+","+space(t)) + "]"})
		}
		return objectOf(t, fields)
	})
}

// genAnyReply is an object with the names of a reply and anything under them,
// names that stand twice included.
func genAnyReply() *rapid.Generator[string] {
	name := rapid.SampledFrom([]string{`"role"`, `"content"`, `"content"`, `"refusal"`, `"tool_calls"`, `"tool_calls"`, `"reasoning_content"`, `"r\u006fle"`, `"c\u006fntent"`})
	callName := rapid.SampledFrom([]string{`"id"`, `"id"`, `"type"`, `"function"`, `"function"`, `"custom"`, `"extra_content"`, `"\u0069d"`})
	inner := genObject(rapid.SampledFrom([]string{`"name"`, `"arguments"`, `"input"`, `"n\u0061me"`}), genValue(1))
	kind := rapid.SampledFrom([]string{`"function"`, `"custom"`, `"other"`, `""`, "null"})
	call := genObject(callName, rapid.OneOf(inner, inner, kind, genValue(1)))
	calls := genArray(rapid.OneOf(call, call, call, genValue(1)))
	return genObject(name, rapid.OneOf(calls, calls, genValue(2), rapid.Just(`"assistant"`)))
}

func TestGeneratorsMakeJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		require.True(t, json.Valid([]byte(genSoundReply().Draw(t, "sound"))))
		require.True(t, json.Valid([]byte(genAnyReply().Draw(t, "any"))))
	})
}
