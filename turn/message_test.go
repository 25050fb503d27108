package turn_test

import (
	"encoding/json"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/pawl-dev/pawl/turn"
)

func TestCallAt(t *testing.T) {
	one, two := turn.Call{ID: "a", Name: "f", Arguments: "{}"}, turn.Call{ID: "b", Name: "g", Arguments: "{}"}
	m := turn.ReplayForm(turn.Assistant("", one, two))
	require.Equal(t, []turn.Call{one, two}, []turn.Call{turn.CallAt(m, 0), turn.CallAt(m, 1)})
	for _, i := range []int{-1, 2, 1 << 40} {
		require.Zero(t, turn.CallAt(m, i))
		require.Zero(t, turn.CallAt(turn.User("a"), i))
	}
}

func TestIsEmpty(t *testing.T) {
	for text, want := range map[string]bool{
		`{"role":"assistant"}`:                                        true,
		`{"role":"assistant","content":null}`:                         true,
		`{"role":"assistant","content":""}`:                           true,
		`{"role":"assistant","content":[]}`:                           true,
		`{"role":"assistant","content":"","refusal":null}`:            true,
		`{"role":"assistant","content":null,"reasoning_content":"r"}`: true, // most servers take no reasoning alone
		`{"role":"assistant","content":"","tool_calls":[]}`:           true,
		`{"role":"assistant","content":" "}`:                          false,
		`{"role":"assistant","content":[{"type":"text","text":"a"}]}`: false,
		`{"role":"assistant","content":["a"]}`:                        false, // nothing we can read, but something
		`{"role":"assistant","content":[{"type":"new"}]}`:             false,
		`{"role":"assistant","content":{"text":"a"}}`:                 false,
		`{"role":"assistant","refusal":"no"}`:                         false,
		`{"role":"assistant","audio":{"id":"a"}}`:                     false,
		`{"role":"assistant","function_call":{"name":"f"}}`:           false,
		`{"role":"assistant","tool_calls":[{"id":"a"}]}`:              false,
		`{"role":"user","content":""}`:                                false,
		`{"role":"tool","content":"","tool_call_id":"a"}`:             false,
	} {
		m, err := turn.ParseMessage([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, turn.IsEmpty(m), text)
	}
	require.True(t, turn.IsEmpty(turn.ReplayForm(turn.Assistant(""))))
	require.False(t, turn.IsEmpty(turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a"}))))
	require.False(t, turn.IsEmpty(turn.TranscriptMessage{}))
}

func TestTheViewOfAMessageBuiltByHand(t *testing.T) {
	user := openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
		openai.TextContentPart("a"), openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "data:,"}), openai.TextContentPart("b")})
	for _, c := range []struct {
		m          turn.TranscriptMessage
		role, text string
	}{
		{turn.TranscriptMessage{}, "", ""},
		{user, "user", "a\nb"},
		{turn.User("a"), "user", "a"},
		{turn.System("a"), "system", "a"},
		{openai.DeveloperMessage("a"), "developer", "a"},
		{turn.ToolResult("id", "a"), "tool", "a"},
		{openai.ToolMessage([]openai.ChatCompletionContentPartTextParam{{Text: "a"}, {Text: "b"}}, "id"), "tool", "a\nb"},
		{turn.ReplayForm(turn.Assistant("a")), "assistant", "a"},
		{openai.ChatCompletionMessageParamOfFunction("a", "f"), "function", "a"},
	} {
		require.Equal(t, c.role, turn.Role(c.m))
		require.Equal(t, c.text, turn.Text(c.m))
		require.Nil(t, turn.Calls(c.m))
		require.Equal(t, c.role == "tool", turn.CallID(c.m) == "id")
		require.Equal(t, c.role != "tool", turn.CallID(c.m) == "")
	}
	calls := []turn.Call{{ID: "a", Name: "f", Arguments: `{"n":1}`}, {ID: "b", Name: "g", Arguments: "{}"}}
	require.Equal(t, calls, turn.Calls(turn.ReplayForm(turn.Assistant("", calls...))))
	require.Equal(t, []turn.Call{{}}, turn.Calls(turn.TranscriptMessage{OfAssistant: &openai.ChatCompletionAssistantMessageParam{
		ToolCalls: make([]openai.ChatCompletionMessageToolCallUnionParam, 1)}}))
}

func TestCallJSON(t *testing.T) {
	data, err := json.Marshal(turn.Call{ID: "a", Name: "f", Arguments: `{}`})
	require.NoError(t, err)
	require.Equal(t, `{"id":"a","name":"f","arguments":"{}"}`, string(data))
}

// toolsOnTheWire is the tools part of a request.
func toolsOnTheWire(t *testing.T, tools ...turn.WireToolDefinition) string {
	body, err := openai.ChatCompletionNewParams{Model: "m", Tools: tools}.MarshalJSON()
	require.NoError(t, err)
	return gjson.GetBytes(body, "tools").Raw
}

func TestFunctionTool(t *testing.T) {
	schema := json.RawMessage("{ \"type\": \"object\",\n \"properties\": {\"z\": {\"const\": \"<&>\"}, \"a\": {}, \"m\": {}}, \"required\": [\"z\"], \"x-new\": 1e2 }")
	tool, err := turn.FunctionTool("f\"<", "does <this>", schema)
	require.NoError(t, err)
	want := `[{"type":"function","function":{"name":"f\"<","description":"does <this>","parameters":{"type":"object","properties":{"z":{"const":"<&>"},"a":{},"m":{}},"required":["z"],"x-new":1e2}}}]`
	require.Equal(t, want, toolsOnTheWire(t, tool))
	require.Equal(t, "f\"<", turn.ToolName(tool))
	require.Equal(t, "does <this>", turn.ToolDescription(tool))
	require.Equal(t, `{"type":"object","properties":{"z":{"const":"<&>"},"a":{},"m":{}},"required":["z"],"x-new":1e2}`, string(turn.ToolSchema(tool)))
	byHand := turn.WireToolDefinition{OfFunction: &openai.ChatCompletionFunctionToolParam{}}
	require.Nil(t, turn.ToolSchema(byHand))
	byHand.OfFunction.Function.Parameters = openai.FunctionParameters{"type": "object"}
	require.JSONEq(t, `{"type":"object"}`, string(turn.ToolSchema(byHand)))
	require.Nil(t, turn.ToolSchema(turn.WireToolDefinition{}))
	require.Empty(t, turn.ToolName(turn.WireToolDefinition{})+turn.ToolDescription(turn.WireToolDefinition{}))
	custom := turn.WireToolDefinition{OfCustom: &openai.ChatCompletionCustomToolParam{
		Custom: openai.ChatCompletionCustomToolCustomParam{Name: "shell", Description: openai.String("runs")}}}
	require.Equal(t, "shell runs", turn.ToolName(custom)+" "+turn.ToolDescription(custom))
	require.Nil(t, turn.ToolSchema(custom))

	tool, err = turn.FunctionTool("now", "", nil)
	require.NoError(t, err)
	require.Empty(t, turn.ToolDescription(tool))
	require.Equal(t, `[{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}]`, toolsOnTheWire(t, tool))
}

func TestFunctionToolRefuses(t *testing.T) {
	for schema, want := range map[string]string{
		`{}`:                  `schema: the type is missing, want "object"`,
		`{"type":"string"}`:   `schema: the type is "string", want "object"`,
		`{"type":["object"]}`: `schema: the type is ["object"], want "object"`,
		`{"type":null}`:       `schema: the type is null`,
		`true`:                "schema: not a JSON object",
		`[]`:                  "schema: not a JSON object",
		`{"type":"object"`:    "schema: invalid JSON at byte 16",
	} {
		_, err := turn.FunctionTool("f", "", json.RawMessage(schema))
		require.ErrorContains(t, err, want, schema)
	}
}
