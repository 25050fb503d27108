package turn

import (
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/tidwall/gjson"
)

// FunctionTool is a function tool as it is advertised to a server. The schema is
// the JSON schema of its arguments, an object schema, and goes out as it stands,
// with its properties in their order; nil declares a tool without arguments. The
// definition keeps the schema's bytes, which must not change any more. [ToolName],
// [ToolDescription] and [ToolSchema] read it; the SDK's own field for the schema is a
// map, which would lose the order, and is left empty. The error says what is wrong
// with the schema.
func FunctionTool(name, description string, schema json.RawMessage) (WireToolDefinition, error) {
	if len(schema) == 0 {
		schema = noArguments
	}
	text, err := canonical(string(schema))
	if err != nil {
		return WireToolDefinition{}, fmt.Errorf("schema: %w", err)
	}
	if t := gjson.Get(text, "type"); t.Str != "object" {
		return WireToolDefinition{}, fmt.Errorf("schema: the type is %s, want \"object\"", orMissing(t.Raw))
	}
	if text != string(schema) {
		schema = json.RawMessage(text)
	}
	v := param.Override[openai.ChatCompletionFunctionToolParam](functionTool{name, description, schema})
	v.Function.Name = name
	if description != "" {
		v.Function.Description = param.NewOpt(description)
	}
	return WireToolDefinition{OfFunction: &v}, nil
}

// noArguments is one for all runs, of which there may be many.
var noArguments = json.RawMessage(`{"type":"object","properties":{}}`)

// functionTool writes a definition. Runs that share a tool share its schema.
type functionTool struct {
	name, description string
	schema            json.RawMessage
}

// MarshalJSON always writes the same bytes.
func (t functionTool) MarshalJSON() ([]byte, error) {
	out := append(make([]byte, 0, len(t.schema)+len(t.description)+128), `{"type":"function","function":{"name":`...)
	out = append(out, quote(t.name)...)
	if t.description != "" {
		out = append(append(out, `,"description":`...), quote(t.description)...)
	}
	out = append(append(out, `,"parameters":`...), t.schema...)
	return append(out, "}}"...), nil
}

// ToolName is a definition's name; "" for the zero definition.
func ToolName(d WireToolDefinition) string {
	switch {
	case d.OfFunction != nil:
		return d.OfFunction.Function.Name
	case d.OfCustom != nil:
		return d.OfCustom.Custom.Name
	}
	return ""
}

// ToolDescription is a definition's description; "" when there is none.
func ToolDescription(d WireToolDefinition) string {
	switch {
	case d.OfFunction != nil:
		return d.OfFunction.Function.Description.Value
	case d.OfCustom != nil:
		return d.OfCustom.Custom.Description.Value
	}
	return ""
}

// ToolSchema is the JSON schema of a definition's arguments, for a [TurnFn] that
// speaks another wire format; nil for the zero definition and for a custom tool, which
// has none. It must not be written to.
func ToolSchema(d WireToolDefinition) json.RawMessage {
	if d.OfFunction == nil {
		return nil
	}
	if wire, _ := d.OfFunction.Overrides(); wire != nil {
		t, _ := wire.(functionTool)
		return t.schema
	}
	if d.OfFunction.Function.Parameters == nil {
		return nil
	}
	schema, err := json.Marshal(d.OfFunction.Function.Parameters)
	if err != nil {
		return nil
	}
	return schema
}

func orMissing(s string) string {
	if s == "" {
		return "missing"
	}
	return s
}
