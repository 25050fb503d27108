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
// error says what is wrong with the schema.
func FunctionTool(name, description string, schema json.RawMessage) (WireToolDefinition, error) {
	text := `{"type":"object","properties":{}}`
	if len(schema) > 0 {
		var err error
		if text, err = canonical(string(schema)); err != nil {
			return WireToolDefinition{}, fmt.Errorf("schema: %w", err)
		}
		if t := gjson.Get(text, "type"); t.Str != "object" {
			return WireToolDefinition{}, fmt.Errorf("schema: the type is %s, want \"object\"", orMissing(t.Raw))
		}
	}
	function := `{"name":` + quote(name)
	if description != "" {
		function += `,"description":` + quote(description)
	}
	wire := raw(`{"type":"function","function":` + function + `,"parameters":` + text + `}}`)
	v := param.Override[openai.ChatCompletionFunctionToolParam](wire)
	v.Function.Name = name
	if description != "" {
		v.Function.Description = param.NewOpt(description)
	}
	if err := json.Unmarshal([]byte(text), &v.Function.Parameters); err != nil {
		return WireToolDefinition{}, fmt.Errorf("schema: %w", err)
	}
	return WireToolDefinition{OfFunction: &v}, nil
}

func orMissing(s string) string {
	if s == "" {
		return "missing"
	}
	return s
}
