package loop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// NewTool makes a tool from a typed function. It takes t and adds to it:
//
//   - Schema, inferred from In, a struct: its json tags name the properties, its
//     jsonschema tags describe them, a field without omitempty is required, other
//     properties are refused. It asks for what encoding/json reads: a string for a
//     time, for bytes and for a type that has UnmarshalText, anything for one that has
//     an UnmarshalJSON. A Schema that t already has is kept and used.
//   - a check of the arguments against that schema before the tool counts as
//     called: the model is told what is wrong, and run never sees it;
//   - Run, which decodes the arguments and encodes what run returns: a string and
//     an [Output] as they are, anything else as JSON.
//
// run finds its [Call], with the Resume of one that was suspended, by
// [CallFrom](ctx).
//
// When In has no schema the tool is unusable, and [RunToolLoop] says why.
func NewTool[In, Out any](t Tool, run func(context.Context, In) (Out, error)) Tool {
	if run == nil {
		t.err = errNoRun
		return t
	}
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
		if len(schema.Properties) == 0 { // some servers refuse an object schema without the word
			t.Schema = bytes.Replace(t.Schema, []byte(`{"type":"object"`), []byte(`{"type":"object","properties":{}`), 1)
		}
	}
	t.check = func(arguments string) error { return checkArguments[In](resolved, arguments) }
	t.Run = func(ctx context.Context, call Call) (Output, error) {
		var in In
		if err := decode(call.Arguments, &in); err != nil {
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
