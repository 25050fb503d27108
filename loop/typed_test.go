package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

type editIn struct {
	Zone  string  `json:"zone" jsonschema:"where it applies"`
	Path  string  `json:"path"`
	Lines []int   `json:"lines,omitempty"`
	Mode  *string `json:"mode,omitempty"`
	Where struct {
		Row, Column int
	} `json:"where"`
}

const editSchema = `{"type":"object","properties":{"zone":{"type":"string","description":"where it applies"},"path":{"type":"string"},` +
	`"lines":{"type":["null","array"],"items":{"type":"integer"}},"mode":{"type":["null","string"]},` +
	`"where":{"type":"object","properties":{"Row":{"type":"integer"},"Column":{"type":"integer"}},"required":["Row","Column"],"additionalProperties":false}},` +
	`"required":["zone","path","where"],"additionalProperties":false}`

// The schema refuses other properties at every depth, and the properties go out
// in the order in which the struct declares them, on every marshalling.
func TestTypedSchemaIsStrictAndKeepsItsOrder(t *testing.T) {
	value := loop.NewTool(loop.Tool{Name: "edit", Description: "Edit it."}, func(context.Context, editIn) (string, error) { return "", nil })
	pointer := loop.NewTool(loop.Tool{Name: "edit", Description: "Edit it."}, func(context.Context, *editIn) (string, error) { return "", nil })
	for range 20 {
		require.Equal(t, `{"type":"function","function":{"name":"edit","description":"Edit it.","parameters":`+editSchema+`}}`, jsonOf(t, value.Definition()))
	}
	require.Equal(t, editSchema, string(pointer.Schema))
	require.Equal(t, `{"type":"object","properties":{},"additionalProperties":false}`,
		string(loop.NewTool(loop.Tool{Name: "now"}, func(context.Context, struct{}) (string, error) { return "", nil }).Schema))
}

// A schema that the host wrote goes out as it is, and is what arguments are
// checked against.
func TestTypedToolKeepsAGivenSchema(t *testing.T) {
	given := json.RawMessage(`{"type":"object","properties":{"z":{"type":"string","enum":["a","b"]},"a":{"type":"string"}},"required":["z"],"additionalProperties":false}`)
	tool := loop.NewTool(loop.Tool{Name: "pick", Schema: given}, func(_ context.Context, in map[string]string) (map[string]string, error) { return in, nil })
	require.Contains(t, jsonOf(t, tool.Definition()), string(given))
	text, status, _ := callOnce(t, tool, `{"z":"c"}`)
	require.Equal(t, trajectory.BadArguments, status)
	require.Contains(t, text, "property z: enum: c does not equal any of: [a b]")
	text, _, _ = callOnce(t, tool, `{"z":"a"}`)
	require.Equal(t, `{"z":"a"}`, text)
}

// callOnce runs one call of a tool by a model, and returns its result and status.
func callOnce(t *testing.T, tool loop.Tool, arguments string) (text string, status trajectory.Status, res loop.Result) {
	t.Helper()
	o := loop.Options{Tools: []loop.Tool{tool}}
	o.Turn = turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: tool.Name, Arguments: arguments}), turntest.Say("done")).Turn
	o.Record = func(e trajectory.Event) error {
		if b, ok := e.Body.(trajectory.CallEnd); ok {
			text, status = turn.Text(b.Message), b.Status
		}
		return nil
	}
	res, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("Go.")}, o)
	require.NoError(t, err)
	return text, status, res
}

// moody panics or refuses when it is read.
type moody string

func (m *moody) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case `"panic"`:
		panic("bad mood")
	case `"refuse"`:
		return errors.New("not today")
	}
	return json.Unmarshal(data, (*string)(m))
}

// pair has to be whole.
type pair map[string]string

func (p *pair) UnmarshalJSON(data []byte) error {
	err := json.Unmarshal(data, (*map[string]string)(p))
	if _, ok := (*p)["b"]; err == nil && !ok {
		return errors.New("a without b")
	}
	return err
}

// What is wrong with arguments is said in the model's own terms: where, what was
// found, what is wanted. The call never reaches the tool and counts as nothing.
func TestTypedArgumentErrorsTellTheModelWhatToMend(t *testing.T) {
	ran := 0
	edit := loop.NewTool(loop.Tool{Name: "edit"}, func(context.Context, editIn) (string, error) { ran++; return "edited", nil })
	mood := loop.NewTool(loop.Tool{Name: "mood", Schema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, in struct{ M moody }) (string, error) { ran++; return "good", nil })
	both := loop.NewTool(loop.Tool{Name: "both", Schema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, in pair) (string, error) { ran++; return "", nil })
	for _, c := range []struct {
		tool            loop.Tool
		arguments, want string
	}{
		{edit, `{}`, `missing: ["zone" "path" "where"]`},
		{edit, `{"zone":"z","path":"p"}`, `missing: ["where"]`},
		{edit, `{"line":7,"where":{"Row":1,"Column":2},"extra":1}`, `missing: ["zone" "path"]; unknown: ["extra" "line"]; the properties are ["zone" "path" "lines" "mode" "where"]`},
		{edit, `{"zone":7,"lines":["x"],"where":{"Row":1,"Column":"2"},"extra":1}`, `missing: ["path"]; unknown: ["extra"]; the properties are ["zone" "path" "lines" "mode" "where"]; ` +
			`property zone: type: 7 has type "integer", want "string"; property lines[]: type: "x" has type "string", want "integer"; property where.Column: type: "2" has type "string", want "integer"`},
		{edit, `{"zone":"z","path":7,"where":{"Row":1,"Column":2}}`, `property path: type: 7 has type "integer", want "string"`},
		{edit, `{"zone":"z","path":"p","where":{"Row":1,"Column":2},"extra":1}`, `unknown: ["extra"]; the properties are ["zone" "path" "lines" "mode" "where"]`},
		{edit, `{"zone":"z","path":"p","where":{"Row":1}}`, `property where: required: missing properties: ["Column"]`},
		{edit, `{"zone":"z","path":"p","where":{"Row":1.5,"Column":2}}`, `property where.Row: type: 1.5 has type "number", want "integer"`},
		{edit, `{"zone":"z","path":"p","lines":["x"],"where":{"Row":1,"Column":2}}`, `property lines[]: type: "x" has type "string", want "integer"`},
		{edit, `{"zone":"z","path":"p","lines":[99999999999999999999],"where":{"Row":1,"Column":2}}`, `property lines: number 99999999999999999999 does not fit int`},
		{edit, `{"zone":"z","path":"p","where":{"Row":1e400,"Column":2}}`, `property where: number 1e400 does not fit float64`},
		{mood, `{"M":"refuse"}`, `property M: not today`},
		{mood, `{"M":"panic"}`, `reading them panicked: bad mood`},
		{both, `{"a":"x"}`, `a without b`},
		{both, `{"a":"x","b":1}`, `number does not fit string`},
	} {
		text, status, res := callOnce(t, c.tool, c.arguments)
		require.Equal(t, trajectory.BadArguments, status, c.arguments)
		require.Equal(t, "This call did not run: its arguments are not valid: "+c.want+". You sent: "+c.arguments, text)
		require.Zero(t, res.Stats.ToolCalls)
		require.Empty(t, res.Stats.ToolTimeBreakdown)
	}
	require.Zero(t, ran)
	for _, arguments := range []string{
		`{"zone":"z","path":"p","where":{"Row":1,"Column":2}}`,
		`{"zone":"z","path":"p","lines":null,"mode":null,"where":{"Row":1,"Column":2}}`,
		`{"zone":"1.0","path":"\\\"2.0","lines":[3.0, -4.00],"where":{"Row":1.0,"Column":2}}`,
	} {
		text, status, res := callOnce(t, edit, arguments)
		require.Equal(t, "edited", text)
		require.Equal(t, trajectory.OK, status)
		require.EqualValues(t, 1, res.Stats.ToolCalls)
	}
	require.Equal(t, 3, ran)
}

// shout is a number to Go and a word in JSON.
type shout int

func (s shout) MarshalText() ([]byte, error) { return []byte(strings.Repeat("a", int(s))), nil }
func (s *shout) UnmarshalText(text []byte) error {
	*s = shout(len(text))
	return nil
}

// option is what JSON it likes.
type option struct{ v any }

func (o option) MarshalJSON() ([]byte, error)     { return json.Marshal(o.v) }
func (o *option) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &o.v) }

// lax has fields, and reads them in a way of its own.
type lax struct {
	Name string `json:"name"`
}

func (l *lax) UnmarshalJSON(data []byte) error {
	type plain lax
	return json.Unmarshal(data, (*plain)(l))
}

// takes has a model send what encoding/json writes of in, and returns what the tool got
// and the schema of its one property.
func takes[T any](t *testing.T, v T) (got T, schema string) {
	t.Helper()
	type in struct {
		V T `json:"v"`
	}
	tool := loop.NewTool(loop.Tool{Name: "take"}, func(_ context.Context, i in) (string, error) { got = i.V; return "taken", nil })
	text, _, _ := callOnce(t, tool, jsonOf(t, in{v}))
	require.Equal(t, "taken", text)
	return got, gjson.GetBytes(tool.Schema, "properties.v").Raw
}

// What encoding/json writes of a type is what the schema asks for, and what the tool gets.
func TestTypedSchemaIsWhatTheDecoderReads(t *testing.T) {
	check := func(want, got any, wantSchema, schema string) {
		t.Helper()
		require.Equal(t, want, got)
		require.Equal(t, wantSchema, schema)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	got, schema := takes(t, now)
	check(now, got, `{"type":"string","format":"date-time"}`, schema)
	gotP, schema := takes(t, &now)
	check(&now, gotP, `{"type":["null","string"],"format":"date-time"}`, schema)
	gotB, schema := takes(t, []byte("hi"))
	check([]byte("hi"), gotB, `{"type":["null","string"],"contentEncoding":"base64"}`, schema)
	gotA, schema := takes(t, [2]byte{1, 2})
	check([2]byte{1, 2}, gotA, `{"type":"array","items":{"type":"integer","minimum":0,"maximum":255},"minItems":2,"maxItems":2}`, schema)
	gotS, schema := takes(t, []shout{3})
	check([]shout{3}, gotS, `{"type":["null","array"],"items":{"type":"string"}}`, schema)
	gotM, schema := takes(t, map[string]*big.Int{"a": big.NewInt(7)})
	check(map[string]*big.Int{"a": big.NewInt(7)}, gotM, `{"type":"object","additionalProperties":{"type":["null","integer"]}}`, schema)
	gotR, schema := takes(t, json.RawMessage(`{"a":[1]}`))
	check(json.RawMessage(`{"a":[1]}`), gotR, `{"type":["null","boolean","number","string","array","object"]}`, schema)
	gotN, schema := takes(t, json.Number("5"))
	check(json.Number("5"), gotN, `{"type":"number"}`, schema)
	gotO, schema := takes(t, &option{"x"})
	check(&option{"x"}, gotO, `{"type":["null","boolean","number","string","array","object"]}`, schema)
	gotL, schema := takes(t, lax{"x"})
	check(lax{"x"}, gotL, `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`, schema)
	gotI, schema := takes(t, netip.MustParseAddr("10.0.0.1"))
	check(netip.MustParseAddr("10.0.0.1"), gotI, `{"type":"string"}`, schema)
	gotV, schema := takes(t, slog.LevelWarn)
	check(slog.LevelWarn, gotV, `{"type":["null","boolean","number","string","array","object"]}`, schema)
	gotF, schema := takes(t, big.NewRat(1, 3))
	check(big.NewRat(1, 3), gotF, `{"type":["null","string"]}`, schema)
}

// typed is the result of a typed tool that returns this.
func typed[Out any](t *testing.T, out Out, err error) string {
	t.Helper()
	tool := loop.NewTool(loop.Tool{Name: "give"}, func(context.Context, struct{}) (Out, error) { return out, err })
	text, _, _ := callOnce(t, tool, "")
	return text
}

func TestTypedOutputs(t *testing.T) {
	type point struct{ X, Y int }
	no := errors.New("no")
	require.Equal(t, "plain <text>", typed(t, "plain <text>", nil))
	require.Equal(t, "", typed(t, "", nil))
	require.Equal(t, "an output", typed(t, loop.Output{Text: "an output"}, nil))
	require.Equal(t, `{"X":1,"Y":2}`, typed(t, point{1, 2}, nil))
	require.Equal(t, `{"X":0,"Y":0}`, typed(t, point{}, nil), "zero is a result where there is no error")
	require.Equal(t, `["<a>","b & c"]`, typed(t, []string{"<a>", "b & c"}, nil), "a model reads it as it is")
	require.Equal(t, "null", typed[*point](t, nil, nil))
	require.Equal(t, "any text", typed[any](t, "any text", nil))
	require.Equal(t, "Error: no", typed(t, point{}, no), "the zero value beside an error is no output")
	require.Equal(t, "Error: no", typed[*point](t, nil, no))
	require.Equal(t, "Error: no\n\nIts output until then:\n{\"X\":1,\"Y\":0}", typed(t, point{X: 1}, no))
	require.Equal(t, "Error: no\n\nIts output until then:\nhalf", typed(t, "half", no))
	require.Contains(t, typed(t, func() {}, nil), "Error: encoding the result: ")
}

// A typed tool can do what a raw one can: see its call, suspend, be fatal.
func TestTypedToolSeesItsCall(t *testing.T) {
	tool := loop.NewTool(loop.Tool{Name: "give"}, func(ctx context.Context, _ struct{}) (string, error) {
		c, ok := loop.CallFrom(ctx)
		return fmt.Sprint(c.ID, c.Turn, c.Name, ok), nil
	})
	text, _, _ := callOnce(t, tool, "")
	require.Equal(t, "a1givetrue", text)
	_, ok := loop.CallFrom(t.Context())
	require.False(t, ok)
}

func TestTypedToolsThatCannotBe(t *testing.T) {
	type cycle struct {
		Next *cycle `json:"next"`
	}
	for want, tool := range map[string]loop.Tool{
		"there is no Run": loop.NewTool[editIn, string](loop.Tool{Name: "x"}, nil),
		"no schema for":   loop.NewTool(loop.Tool{Name: "x"}, func(context.Context, struct{ F func() }) (string, error) { return "", nil }),
		"json option string": loop.NewTool(loop.Tool{Name: "x"}, func(context.Context, struct {
			N int `json:"n,string,omitempty"`
		}) (string, error) {
			return "", nil
		}),
		"cycle detected":              loop.NewTool(loop.Tool{Name: "x"}, func(context.Context, cycle) (string, error) { return "", nil }),
		`the type is "string"`:        loop.NewTool(loop.Tool{Name: "x"}, func(context.Context, string) (string, error) { return "", nil }),
		"schema: unexpected end":      loop.NewTool(loop.Tool{Name: "x", Schema: []byte(`{"type":`)}, func(context.Context, struct{}) (string, error) { return "", nil }),
		`schema: the type is missing`: loop.NewTool(loop.Tool{Name: "x", Schema: []byte(`{}`)}, func(context.Context, struct{}) (string, error) { return "", nil }),
	} {
		_, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("Go.")}, loop.Options{Turn: turntest.NewScript().Turn, Tools: []loop.Tool{tool}})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "loop: Tools[0] (x): ")
		require.Zero(t, tool.Definition())
	}
}
