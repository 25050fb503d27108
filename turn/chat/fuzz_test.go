package chat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/chat"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// pieces is a body that comes in pieces of at most size bytes; random sizes for 0.
type pieces struct {
	rest []byte
	size int
	rand *rand.Rand
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := p.size
	if n == 0 {
		n = 1 + p.rand.IntN(40)
	}
	n = copy(b[:min(n, len(b))], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

type body struct{ io.Reader }

func (b body) Do(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(b.Reader), Request: r}, nil
}

// outcome is all that can be told of a turn.
type outcome struct {
	raw, finish, model, err string
	usage                   turn.Usage
	text, reasoning, calls  string // as told in deltas
	ok                      bool
}

func take(r io.Reader, retries int) (outcome, turn.ModelTurnResult) {
	var o outcome
	model := chat.New(openai.NewChatCompletionService(option.WithBaseURL("http://fake/"), option.WithHTTPClient(body{r})), "m", chat.Options{
		MaxRetries: retries,
		OnDelta: func(_ context.Context, d chat.Delta) {
			switch d.Kind {
			case chat.Text:
				o.text += d.Text
			case chat.Reasoning:
				o.reasoning += d.Text
			case chat.ToolCall:
				o.calls += d.Text
			}
			if !utf8.ValidString(d.Text) {
				panic("a delta is no UTF-8")
			}
		}})
	res, err := model(context.Background(), hello(), nil)
	o.raw, o.finish, o.model, o.usage, o.ok = res.Message.RawJSON(), res.Finish, res.Model, res.Usage, err == nil
	if err != nil {
		o.err = err.Error()
	}
	return o, res
}

// Whatever a server sends, and wherever its bytes are split: never a panic, never
// another result, and never a success that the server did not report.
func FuzzStream(f *testing.F) {
	hi := delta(`"role":"assistant","content":"你好 🌍 \ud83c\udf0d"`)
	call := callDelta(`"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\":"}`)
	f.Add([]byte(stream(hi, call, callDelta(`"index":0,"function":{"arguments":"1}"}`), finish("tool_calls"), spent(`{"prompt_tokens":1e99,"completion_tokens":-5}`))), uint64(1))
	f.Add([]byte("\uFEFF"+strings.ReplaceAll(stream(hi, finish("stop")), "\n", "\r\n")), uint64(2))
	f.Add([]byte(": hi\r\revent: error\rdata: {\"message\":\"boom\"}\r\r"), uint64(3))
	f.Add([]byte(events(hi, call)), uint64(4))
	f.Add([]byte(strings.ReplaceAll(stream(hi, delta(`"content":[{"type":"text","text":"a"}]`), finish("stop")), "\n\n", "\n")), uint64(5))
	f.Add([]byte(`{"choices":[{"message":{"role":"assistant","content":"hi","tool_calls":[{"id":1,"function":{"name":"f","arguments":{}}}]},"finish_reason":"stop"}],"usage":{"cost":"1e5"}}`), uint64(6))
	f.Add([]byte(`[{"error":{"message":{"a":[1]}}}]`), uint64(7))
	f.Add([]byte("<html><title>x</title>"), uint64(8))
	f.Add([]byte("data: {\"choices\":[{\"delta\":\"\\ud8\",\"finish_reason\":\"stop\"}]}"), uint64(9))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		whole, res := take(bytes.NewReader(data), -1)
		for _, size := range []int{1, 0, 7} {
			split, _ := take(&pieces{data, size, rand.New(rand.NewPCG(seed, 1))}, -1)
			require.Equal(t, whole, split)
		}
		require.GreaterOrEqual(t, res.Usage.InputTokens, int64(0))
		require.GreaterOrEqual(t, res.Usage.OutputTokens, int64(0))
		requireReplayable(t, res)
		if !whole.ok {
			require.Empty(t, res.Message.ToolCalls)
			return
		}
		said := bytes.Contains(data, []byte("[DONE]")) || bytes.Contains(data, []byte("finish_reason")) ||
			bytes.Contains(data, []byte(`\u`)) || // a name may be written in escapes
			json.Valid(bytes.TrimPrefix(data, []byte("\uFEFF")))
		require.True(t, said, "a success that nobody reported: %q", data)
	})
}

// A stream of a known reply, cut anywhere: before its finish reason it is an
// error with a beginning of the text, after it the reply.
func TestEveryCutOfAStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("ab \n\"\\<é你🌍"))).Draw(t, "text")
		arguments := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "arguments")
		raw, _ := json.Marshal(arguments)
		calls := rapid.IntRange(0, 3).Draw(t, "calls")
		var chunks []string
		for _, piece := range split(t, text) {
			chunks = append(chunks, delta(`"content":`+piece))
		}
		for i := range calls {
			head, _ := json.Marshal(i)
			chunks = append(chunks, callDelta(`"index":`+string(head)+`,"id":"c`+string(head)+`","type":"function","function":{"name":"f"}`))
			for _, piece := range split(t, string(raw)) {
				chunks = append(chunks, callDelta(`"index":`+string(head)+`,"function":{"arguments":`+piece+`}`))
			}
		}
		reason := "stop"
		if calls > 0 {
			reason = "tool_calls"
		}
		before := events(chunks...)
		full := before + stream(finish(reason), spent(`{"prompt_tokens":10,"completion_tokens":2}`))
		reported := len(before) + len(events(finish(reason))) - 2 // the line ends may be missing
		cut := rapid.IntRange(0, len(full)).Draw(t, "cut")
		if rapid.Bool().Draw(t, "uncut") {
			cut = len(full)
		}
		o, res := take(&pieces{[]byte(full[:cut]), 0, rand.New(rand.NewPCG(uint64(cut), 2))}, -1)
		require.Equal(t, cut >= reported, o.ok, "cut at %d of %d: %s", cut, len(full), o.err)
		require.True(t, strings.HasPrefix(text, strings.TrimSuffix(res.Message.Content, "\uFFFD")), "half a character is the most that is lost")
		require.Equal(t, res.Message.Content, o.text)
		if o.ok {
			require.Equal(t, text, res.Message.Content)
			require.Len(t, res.Message.ToolCalls, calls)
			for _, c := range res.Message.ToolCalls {
				require.Equal(t, string(raw), c.Function.Arguments)
			}
			require.Equal(t, strings.Repeat(string(raw), calls), o.calls)
		}
	})
}

// split cuts text into JSON strings, also within a character.
func split(t *rapid.T, text string) []string {
	var out []string
	for len(text) > 0 {
		n := rapid.IntRange(1, len(text)).Draw(t, "piece")
		out = append(out, jsonBytes(text[:n]))
		text = text[n:]
	}
	return out
}

// jsonBytes quotes bytes, half characters included.
func jsonBytes(s string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", `\n`).Replace(s) + `"`
}
