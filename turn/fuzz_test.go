package turn_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/turn"
)

var seedMessages = []string{
	`{"role":"user","content":"a<b"}`,
	`{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"\u003c"}]}`,
	`{ "role": "assistant", "content": null, "reasoning_content": "r", "tool_calls": [ {"id":"","function":{"name":"f","arguments":{"a":1}}}, null ] }`,
	`{"role":"assistant","content":"\ud800","tool_calls":[{"id":"a","id":"b","type":"custom","custom":{"name":"g","input":"i"}}]}`,
	"{\"role\":\"assistant\",\"content\":[\"\xff\"],\"refusal\":5,\"content\":\"\u2028\"}",
	`{"r\u006fle":"assistant","tool_calls":{"id":1}}`,
	`{"role":"user","x":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`,
	`[`, ``, `{"role":`, `null`,
}

func FuzzParseMessage(f *testing.F) {
	for _, s := range seedMessages {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := turn.ParseMessage(data)
		if err != nil {
			require.Zero(t, m)
			return
		}
		text := bytesOf(t, m)
		again, err := turn.ParseMessage([]byte(text))
		require.NoError(t, err)
		require.Equal(t, text, bytesOf(t, again))

		stored, err := json.Marshal(turn.Transcript{m})
		require.NoError(t, err)
		var read turn.Transcript
		require.NoError(t, json.Unmarshal(stored, &read))
		require.Equal(t, text, bytesOf(t, read[0]))

		turn.Text(m)
		_ = turn.Check([]turn.TranscriptMessage{m})
	})
}

func FuzzReplayForm(f *testing.F) {
	for _, s := range seedMessages {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return // the SDK's decoder never sees it
		}
		var in turn.AssistantTurnMessage
		if in.UnmarshalJSON(data) != nil {
			return
		}
		form := turn.ReplayForm(in)
		text := bytesOf(t, form)
		require.NoError(t, turn.Check([]turn.TranscriptMessage{form}))
		require.Equal(t, text, bytesOf(t, turn.ReplayForm(in)))
		require.Equal(t, text, bytesOf(t, turn.ReplayForm(reply(t, text))))
		for _, c := range turn.Calls(form) {
			require.NotEmpty(t, c.ID)
		}
	})
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{``, `null`, `{}`, `"{\"a\":1}"`, `{"a":1,"a":2}`, `{"a":[{"b":{}}],"\ud800\u0061":1}`, `{"a":`, "{\"\xff\":1}", `[1]`,
		strings.Repeat("[", 600)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { checkArguments(t, text) })
}

func FuzzCost(f *testing.F) {
	for _, s := range append([]string{"0.0125", "-1e2", "9223372036.854775807", "-9223372036.854775808", "0.0000000005"}, absurdNumbers[:30]...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := turn.ParseCents(text)
		if err != nil {
			require.Zero(t, c)
			return
		}
		require.True(t, json.Valid([]byte(text)))
		again, err := turn.ParseCents(c.Cents())
		require.NoError(t, err)
		require.Equal(t, c, again)
		var m turn.Milliseconds
		require.NoError(t, m.UnmarshalJSON([]byte(c.Cents())))
	})
}
