package turn_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/turn"
)

func TestArguments(t *testing.T) {
	for in, want := range map[string]string{
		``:                                       `{}`,
		"  \n\t":                                 `{}`,
		`null`:                                   `{}`,
		` null `:                                 `{}`,
		`{}`:                                     `{}`,
		` { "a" : 1 } `:                          `{ "a" : 1 }`,
		`{"a":1,"b":{"a":[{}]}}`:                 `{"a":1,"b":{"a":[{}]}}`,
		`"{\"city\":\"Paris\"}"`:                 `{"city":"Paris"}`,
		`" {\"n\":1} "`:                          `{"n":1}`,
		`"\"{}\""`:                               "the arguments are no JSON object", // once, and no further
		`"{\"n\":"`:                              "the arguments are no JSON object",
		`"plain"`:                                "the arguments are no JSON object",
		`""`:                                     "the arguments are no JSON object",
		`[1]`:                                    "the arguments are no JSON object",
		`5`:                                      "the arguments are no JSON object",
		`true`:                                   "the arguments are no JSON object",
		`{"a":1}{"a":1}`:                         "invalid JSON at byte 8", // sent in pieces and once more whole
		`{"p":"/et`:                              "invalid JSON at byte 9",
		`{"action": listt_windows"}`:             "invalid JSON at byte 12",
		`{'a':1}`:                                "invalid JSON at byte 2",
		`{"a":NaN}`:                              "invalid JSON at byte 6",
		`{"a":1,}`:                               "invalid JSON at byte 8",
		"{\"a\":\"x\ny\"}":                       "invalid JSON at byte 8",
		`{"path":"/safe","path":"/etc"}`:         `the name "path" stands twice in one object`,
		`{"a":[{"b":{"x":1,"y":2,"\u0078":3}}]}`: `the name "x" stands twice in one object`,
		`{"\ud800\u0061":1,"\ud800\u0062":2}`:    `{"\ud800\u0061":1,"\ud800\u0062":2}`,
		`{"\ud800a":1,"\ud800\u0061":2}`:         "the name \"\ufffda\" stands twice in one object",
		`"{\"a\":\"\ud800\u0061\"}"`:             "{\"a\":\"\ufffda\"}",
		`"{\"x\":1,\"x\":2}"`:                    `the name "x" stands twice in one object`,
		"{\"a\xff\":1,\"a\xfe\":2}":              "the name \"a\ufffd\" stands twice in one object",
		`{"a":{"x":1},"b":{"x":2},"x":[{"x":3}]}`: `{"a":{"x":1},"b":{"x":2},"x":[{"x":3}]}`,
		"{\"a\":\"\xff\"}":                        "{\"a\":\"\ufffd\"}",
		`{"_invalid_arguments":"{\"p\":\"/et"}`:   "invalid JSON at byte 9", // read back from a transcript
		`{"_invalid_arguments":" {} "}`:           `{}`,
		`{"_invalid_arguments":"{\"a\":1}"}`:      `{"a":1}`,
		// values are nobody's business here
		`{"todos":"[{\"t\":1}]","note":"42","code":"{oops}"}`:         `{"todos":"[{\"t\":1}]","note":"42","code":"{oops}"}`,
		`{"n":12345678901234567890,"f":1e400}`:                        `{"n":12345678901234567890,"f":1e400}`,
		strings.Repeat("[", 5<<20):                                    "nested deeper than 500",
		strings.Repeat(`{"a":`, 501) + "1" + strings.Repeat("}", 501): "nested deeper than 500",
	} {
		got, err := turn.Arguments(in)
		if want[0] == '{' {
			require.NoError(t, err, in)
			require.Equal(t, want, got, in)
			continue
		}
		require.ErrorContains(t, err, want, in[:min(len(in), 40)])
		require.Empty(t, got)
	}
}

func TestArgumentsFindsTheRepeatedNameAmongMany(t *testing.T) {
	for _, n := range []int{2, 15, 16, 17, 18, 40} {
		fields := make([]string, n)
		for i := range fields {
			fields[i] = fmt.Sprintf(`"k%d":{"k%d":%d}`, i, i, i)
		}
		text := "{" + strings.Join(fields, ",") + "}"
		got, err := turn.Arguments(text)
		require.NoError(t, err)
		require.Equal(t, text, got)
		for i := range n {
			_, err := turn.Arguments(fmt.Sprintf(`%s,"k%d":0}`, text[:len(text)-1], i))
			require.ErrorContains(t, err, fmt.Sprintf(`"k%d" stands twice`, i))
		}
	}
}

// What comes out is one object that every reader sees the same way, and reading
// it again changes nothing.
func TestArgumentsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genValue(3).Draw(t, "arguments")
		if rapid.Bool().Draw(t, "encoded twice") {
			twice, err := json.Marshal(text)
			require.NoError(t, err)
			text = string(twice)
		}
		if rapid.IntRange(0, 3).Draw(t, "spoil") == 0 {
			at := rapid.IntRange(0, len(text)).Draw(t, "at")
			text = text[:at] + rapid.SampledFrom([]string{"", `"`, "\xff", "}", "\\"}).Draw(t, "with") + text[min(len(text), at+1):]
		}
		checkArguments(t, text)
	})
}

func checkArguments(t require.TestingT, text string) {
	got, err := turn.Arguments(text)
	if err != nil {
		require.Empty(t, got)
		return
	}
	var std map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(got), &std))
	require.Len(t, gjson.Parse(got).Get("@keys").Array(), len(std), "no name stands twice")
	again, err := turn.Arguments(got)
	require.NoError(t, err)
	require.Equal(t, got, again)
}

// What a model wrote as arguments stays what it was, however often it is stored.
func TestInvalidArguments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(genValue(1), rapid.String(), rapid.Just(`{"p":"/et`)).Draw(t, "arguments")
		form := turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a", Name: "f", Arguments: text}))
		for range 2 {
			sent := turn.Calls(form)[0].Arguments
			require.True(t, json.Valid([]byte(sent)))
			written, invalid := turn.InvalidArguments(sent)
			if invalid {
				require.Equal(t, text, written)
			}
			_, before := turn.Arguments(text)
			_, after := turn.Arguments(sent)
			require.Equal(t, before, after, "the tool's view is the same")

			stored, err := json.Marshal(turn.Transcript{form})
			require.NoError(t, err)
			var read turn.Transcript
			require.NoError(t, json.Unmarshal(stored, &read))
			form = read[0]
		}
	})
}

// twins reports, the slow way, whether a name stands twice in an object of the value
// that comes next.
func twins(t require.TestingT, d *json.Decoder) (found bool) {
	token, err := d.Token()
	require.NoError(t, err)
	if token != json.Delim('{') && token != json.Delim('[') {
		return false
	}
	seen := map[string]bool{}
	for d.More() {
		if token == json.Delim('{') {
			name, err := d.Token()
			require.NoError(t, err)
			found = found || seen[name.(string)]
			seen[name.(string)] = true
		}
		found = twins(t, d) || found
	}
	_, err = d.Token() // the end of it
	require.NoError(t, err)
	return found
}

// Most arguments are told by a mark for each name to have none twice. Marks collide,
// and a name can be written in many ways, but none that stands twice is missed.
func TestNoNameThatStandsTwiceIsMissed(t *testing.T) {
	key := rapid.SampledFrom([]string{`"a"`, `"b"`, `"ab"`, `"ba"`, `""`, `"\u0061"`, `"\""`, `"ä"`, `"\u00e4"`, `"path"`, `"pith"`, `"limit"`, `"query"`})
	var value func(depth int) *rapid.Generator[string]
	value = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			if depth == 0 || rapid.Bool().Draw(t, "plain") {
				return rapid.SampledFrom([]string{`1`, `"x"`, `null`, `[]`, `{}`}).Draw(t, "value")
			}
			if rapid.Bool().Draw(t, "array") {
				return genArray(value(depth-1)).Draw(t, "values")
			}
			return genObject(key, value(depth-1)).Draw(t, "object")
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		text := genObject(key, value(2)).Draw(t, "arguments")
		_, err := turn.Arguments(text)
		require.Equal(t, twins(t, json.NewDecoder(strings.NewReader(text))), err != nil, "%s: %v", text, err)
	})
}
