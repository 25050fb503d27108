package turn_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/turn"
)

func TestReplyInWhichNothingIsWrongKeepsItsBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genSoundReply().Draw(t, "reply")
		got := bytesOf(t, turn.ReplayForm(reply(t, text)))
		require.Equal(t, compact(t, text), got)
	})
}

// What is mended is the role and the calls. Of every other field the bytes stay.
func TestUneditedFieldsKeepTheirBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genAnyReply().Draw(t, "reply")
		got := bytesOf(t, turn.ReplayForm(reply(t, text)))
		require.Equal(t, otherFields(compact(t, text)), otherFields(got))
	})
}

// otherFields are the names and values of an object that a reply's mending leaves alone.
func otherFields(text string) (fields [][2]string) {
	gjson.Parse(text).ForEach(func(key, value gjson.Result) bool {
		if key.Str != "role" && key.Str != "tool_calls" {
			fields = append(fields, [2]string{key.Raw, value.Raw})
		}
		return true
	})
	return fields
}

func TestReplayFormIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genAnyReply().Draw(t, "reply")
		m := turn.ReplayForm(reply(t, text))
		once := bytesOf(t, m)
		require.Equal(t, once, bytesOf(t, turn.ReplayForm(reply(t, text))), "the same reply, the same bytes")
		require.Equal(t, once, bytesOf(t, turn.ReplayForm(reply(t, once))), "mending what is mended changes nothing")

		parsed, err := turn.ParseMessage([]byte(once))
		require.NoError(t, err)
		require.Equal(t, once, bytesOf(t, parsed))
		require.Equal(t, turn.Calls(m), turn.Calls(parsed))
		require.Equal(t, turn.Text(m), turn.Text(parsed))
	})
}

// Whatever a model sends, its calls can be paired, and hold what a strict server asks.
func TestReplayFormIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := turn.ReplayForm(reply(t, genAnyReply().Draw(t, "reply")))
		require.NoError(t, turn.Check([]turn.TranscriptMessage{m}))

		sent := gjson.Parse(bytesOf(t, m))
		require.Equal(t, "assistant", sent.Get("role").Str)
		calls := turn.Calls(m)
		require.Equal(t, len(calls), int(sent.Get("tool_calls.#").Int()))
		if sent.Get("tool_calls").Exists() {
			require.NotEmpty(t, calls)
		}
		for i, c := range sent.Get("tool_calls").Array() {
			require.Equal(t, gjson.String, c.Get("id").Type)
			require.Equal(t, calls[i].ID, c.Get("id").Str)
			require.NotEmpty(t, c.Get("type").Str)
			if c.Get("type").Str == "custom" && !c.Get("function").IsObject() {
				require.Equal(t, gjson.String, c.Get("custom.name").Type)
				require.Equal(t, calls[i].Name, c.Get("custom.name").Str)
				require.Equal(t, calls[i].Arguments, c.Get("custom.input").Str)
				continue
			}
			require.Equal(t, calls[i].Name, c.Get("function.name").Str)
			require.Equal(t, calls[i].Arguments, c.Get("function.arguments").Str)
			require.True(t, json.Valid([]byte(c.Get("function.arguments").Str)))
		}
	})
}

// nested is a host's own type with a transcript somewhere in it.
type nested struct {
	Note string
	Runs map[string]*struct{ Messages turn.Transcript }
}

func genMessage() *rapid.Generator[turn.TranscriptMessage] {
	return rapid.Custom(func(t *rapid.T) turn.TranscriptMessage {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return turn.ReplayForm(reply(t, genAnyReply().Draw(t, "reply")))
		case 1:
			text := rapid.SampledFrom([]string{"", "a<b>&c", "\u2028", `\u003c`, `"`, "\xff"}).Draw(t, "text")
			return rapid.SampledFrom([]turn.TranscriptMessage{turn.User(text), turn.System(text), turn.ToolResult("id", text),
				turn.ReplayForm(turn.Assistant(text, turn.Call{ID: "c", Name: "n", Arguments: text}))}).Draw(t, "built")
		default:
			role := rapid.SampledFrom([]string{`"user"`, `"system"`, `"developer"`, `"tool"`, `"function"`, `"assistant"`}).Draw(t, "role")
			m, err := turn.ParseMessage([]byte(objectOf(t, append(unknownFields(t), [2]string{`"role"`, role},
				[2]string{`"content"`, genValue(2).Draw(t, "content")}, [2]string{`"tool_call_id"`, genString().Draw(t, "id")}))))
			require.NoError(t, err)
			return m
		}
	})
}

func TestTranscriptSurvivesAnyJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := turn.Transcript(rapid.SliceOfN(genMessage(), 0, 4).Draw(t, "messages"))
		want := wire(t, messages...)
		in := nested{"<", map[string]*struct{ Messages turn.Transcript }{"a&b": {messages}}}

		plain, err := json.Marshal(in)
		require.NoError(t, err)
		indented, err := json.MarshalIndent(in, "", "\t")
		require.NoError(t, err)
		var unescaped bytes.Buffer
		encoder := json.NewEncoder(&unescaped)
		encoder.SetEscapeHTML(false)
		require.NoError(t, encoder.Encode(in))

		for _, data := range [][]byte{plain, indented, unescaped.Bytes()} {
			var out nested
			require.NoError(t, json.Unmarshal(data, &out))
			require.Equal(t, want, wire(t, out.Runs["a&b"].Messages...))
		}
	})
}

func TestModelTurnResultSurvivesAnyJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := turn.ModelTurnResult{
			Message: reply(t, genAnyReply().Draw(t, "reply")),
			Usage:   genUsage().Draw(t, "usage"),
			Timings: genTimings().Draw(t, "timings"),
			Finish:  rapid.String().Draw(t, "finish"),
			Model:   rapid.String().Draw(t, "model"),
		}
		data, err := json.Marshal(struct{ Last turn.ModelTurnResult }{in})
		require.NoError(t, err)
		var out struct{ Last turn.ModelTurnResult }
		require.NoError(t, json.Unmarshal(data, &out))
		require.Equal(t, bytesOf(t, turn.ReplayForm(in.Message)), bytesOf(t, turn.ReplayForm(out.Last.Message)))
		require.Equal(t, turn.Calls(turn.ReplayForm(in.Message)), turn.Calls(turn.ReplayForm(out.Last.Message)))
		in.Message, out.Last.Message = turn.AssistantTurnMessage{}, turn.AssistantTurnMessage{}
		require.Equal(t, in, out.Last)
	})
}
