package turn

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"
)

var scanSeeds = []string{
	`{}`, `[]`, `{"a":1}`, `[1,-0.5e+3,"x",null,true,false,{"b":[{}]}]`, `{"a":"\u00e9\ud83d\ude00\ud800x\"\\\/\b\f\n\r\t"}`,
	` { "a" : [ 1 , 2 ] } `, `{"a":1,}`, `[1,]`, `{"a"}`, `{"a":}`, `{,}`, `{1:2}`, `01`, `-`, `1.`, `1e`, `.5`, `+1`, `tru`, `nulll`, ``,
	"\"\x01\"", "\"a\tb\"", `"\x"`, `"\u12g4"`, `"\u12`, `"abc`, `"abcdefgh\`, `"12345678"`, `"1234567"`, `"é漢字😀"`, `{"a":1}{`, `]`, `}`, "\"\x7f\"",
	`{"role":"assistant","content":"hi","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":\"\\\"\"}"}}]}`,
	`{"r\u006fle":"user","content":[{"type":"text","text":"x"}]}`, "\u2028", "{\"a\":\"\u2028\"}",
}

// A text is valid when encoding/json says so; what is then read from it is what
// gjson, which trusts less and takes longer, reads from it.
func scanAgrees(t require.TestingT, text string) {
	spaced, err := check(text)
	require.Equal(t, json.Valid([]byte(text)), err == nil, "%q: %v", text, err)
	if err != nil || spaced || !utf8.ValidString(text) {
		return
	}
	v := gjson.Parse(text)
	var keys, values []string
	eachField(text, func(key, value string) { keys, values = append(keys, key), append(values, value) })
	eachItem(text, func(value string) { values = append(values, value) })
	var wantKeys, wantValues []string
	if v.IsObject() || v.IsArray() {
		v.ForEach(func(key, value gjson.Result) bool {
			if v.IsObject() {
				var s string
				require.NoError(t, json.Unmarshal([]byte(key.Raw), &s))
				wantKeys = append(wantKeys, s)
			}
			wantValues = append(wantValues, value.Raw)
			return true
		})
	}
	require.Equal(t, wantKeys, keys, "%q", text)
	require.Equal(t, wantValues, values, "%q", text)
	if v.Type == gjson.String {
		var s string
		require.NoError(t, json.Unmarshal([]byte(text), &s))
		require.Equal(t, s, unquote(text), "%q", text)
	}
	for _, value := range values {
		scanAgrees(t, value)
	}
}

func TestScanAgreesWithSlowerReaders(t *testing.T) {
	for _, text := range scanSeeds {
		scanAgrees(t, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{`{`, `}`, `[`, `]`, `,`, `:`, `"a"`, `"é\n"`, `"`, `\`, `\u00e9`, `\ud83d\ude00`, `\ud800`, `1`, `-2.5e3`, `true`, `null`, ` `, `x`, "\x00", `longer text without anything`})
		scanAgrees(t, strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), ""))
	})
	rapid.Check(t, func(t *rapid.T) {
		data, err := json.Marshal(rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.String())).Draw(t, "value"))
		require.NoError(t, err)
		scanAgrees(t, string(data))
	})
}

func FuzzScan(f *testing.F) {
	for _, text := range scanSeeds {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(text, "[")+strings.Count(text, "{") < maxDepth {
			scanAgrees(t, text)
		}
		_, _ = ParseMessage([]byte(text))
	})
}

func TestNestingIsBounded(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	_, err := check(deep(maxDepth))
	require.NoError(t, err)
	_, err = check(deep(maxDepth + 1))
	require.ErrorIs(t, err, errTooDeep)
	_, err = check(strings.Repeat(`{"a":`, 10_000_000))
	require.ErrorIs(t, err, errTooDeep)
	_, err = ParseMessage([]byte(`{"role":"user","content":` + deep(maxDepth) + `}`))
	require.ErrorIs(t, err, errTooDeep)
}

func BenchmarkParseMessage(b *testing.B) {
	prose := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 400)
	code := strings.Repeat("\tif err := f(\"x\"); err != nil {\n\t\treturn err\n\t}\n", 400)
	for name, m := range map[string]TranscriptMessage{
		"prose": ToolResult("call_1", prose), "code": ToolResult("call_1", code),
		"call": ReplayForm(Assistant("", Call{"c", "edit", `{"text":` + quote(code) + `}`})),
	} {
		data, err := m.MarshalJSON()
		require.NoError(b, err)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseMessage(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
