package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// NewTool makes a tool from a typed function. It takes t and adds to it:
//
//   - Schema, inferred from In, a struct: its json tags name the properties, its
//     jsonschema tags describe them, a field without omitempty is required, other
//     properties are refused. A Schema that t already has is kept and used.
//   - a check of the arguments against that schema before the tool counts as
//     called: the model is told what is wrong, and run never sees it;
//   - Run, which decodes the arguments and encodes what run returns: a string and
//     an [Output] as they are, anything else as JSON.
//
// When In has no schema the tool is unusable, and [RunToolLoop] says why.
func NewTool[In, Out any](t Tool, run func(context.Context, In) (Out, error)) Tool {
	schema, err := schemaFor[In](t.Schema)
	if err != nil {
		t.err = err
		return t
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.err = fmt.Errorf("schema: %w", err)
		return t
	}
	if len(t.Schema) == 0 {
		if t.Schema, err = json.Marshal(schema); err != nil {
			t.err = fmt.Errorf("schema: %w", err)
			return t
		}
	}
	t.check = func(arguments string) error {
		var v any
		if err := json.Unmarshal([]byte(arguments), &v); err != nil {
			return err
		}
		if err := resolved.Validate(v); err != nil {
			return schemaError(err)
		}
		var in In
		return json.Unmarshal([]byte(arguments), &in)
	}
	t.Run = func(ctx context.Context, call Call) (Output, error) {
		var in In
		if err := json.Unmarshal([]byte(call.Arguments), &in); err != nil {
			return Output{}, err
		}
		out, err := run(ctx, in)
		if err != nil && reflect.ValueOf(&out).Elem().IsZero() {
			return Output{}, err // the zero value beside an error is no output
		}
		encoded, encodeErr := encode(out)
		if err == nil {
			err = encodeErr
		}
		return encoded, err
	}
	return t
}

func schemaFor[In any](given json.RawMessage) (*jsonschema.Schema, error) {
	if len(given) == 0 {
		s, err := jsonschema.For[In](nil)
		if err != nil {
			return nil, fmt.Errorf("no schema for %T: %w", *new(In), err)
		}
		return s, nil
	}
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(given, s); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return s, nil
}

// schemaError takes the words off that are no use to a model.
func schemaError(err error) error {
	text := strings.TrimPrefix(err.Error(), "validating root: ")
	text = strings.ReplaceAll(text, "validating /properties/", "property ")
	return fmt.Errorf("%s", text)
}

func encode(out any) (Output, error) {
	switch v := out.(type) {
	case Output:
		return v, nil
	case string:
		return Text(v), nil
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // a model reads it, no browser
	if err := e.Encode(out); err != nil {
		return Output{}, fmt.Errorf("encoding the result: %w", err)
	}
	return Text(strings.TrimSuffix(b.String(), "\n")), nil
}
