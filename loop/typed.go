package loop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
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
		if reflect.TypeFor[In]().Kind() == reflect.Pointer && len(s.Types) > 0 {
			s.Type, s.Types = s.Types[len(s.Types)-1], nil // arguments are never null
		}
		return s, nil
	}
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(given, s); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return s, nil
}

// checkArguments says what a model has to mend. It decodes too, since a schema
// knows neither Go's number types nor what an UnmarshalJSON refuses.
func checkArguments[In any](schema *jsonschema.Resolved, arguments string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("reading them panicked: " + oneLine(p))
		}
	}()
	var v any
	if err := json.Unmarshal([]byte(arguments), &v); err != nil {
		return err
	}
	if err := schema.Validate(v); err != nil {
		if names := misnamed(schema.Schema(), v); names != nil {
			return names
		}
		return schemaError(err)
	}
	var in In
	err = json.Unmarshal([]byte(arguments), &in)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("property %s: %s does not fit %s", kind.Field, kind.Value, kind.Type.Kind())
	}
	return err
}

// misnamed names all properties that are missing or unknown at once, where the schema
// stops at the first: a model mends them in one go.
func misnamed(schema *jsonschema.Schema, arguments any) error {
	given, _ := arguments.(map[string]any)
	known := schema.PropertyOrder
	if len(known) != len(schema.Properties) {
		known = slices.Sorted(maps.Keys(schema.Properties))
	}
	var missing, unknown []string
	for _, name := range schema.Required {
		if _, ok := given[name]; !ok {
			missing = append(missing, name)
		}
	}
	closed := schema.AdditionalProperties != nil && schema.AdditionalProperties.Not != nil && len(schema.PatternProperties) == 0
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, ok := schema.Properties[name]; !ok && closed {
			unknown = append(unknown, name)
		}
	}
	switch {
	case unknown == nil && missing == nil:
		return nil
	case unknown == nil:
		return fmt.Errorf("missing: %q", missing)
	case missing == nil:
		return fmt.Errorf("unknown: %q; the properties are %q", unknown, known)
	}
	return fmt.Errorf("missing: %q; unknown: %q; the properties are %q", missing, unknown, known)
}

// schemaError keeps the innermost place, in the words of the arguments rather
// than of the schema: "property where.row: …".
func schemaError(err error) error {
	place, text := "", err.Error()
	for strings.HasPrefix(text, "validating ") {
		var ok bool
		if place, text, ok = strings.Cut(strings.TrimPrefix(text, "validating "), ": "); !ok {
			return err
		}
	}
	path, isName := "", false
	for part := range strings.SplitSeq(place, "/") {
		switch {
		case isName:
			path, isName = path+"."+part, false
		case part == "properties":
			isName = true
		case part == "items":
			path += "[]"
		}
	}
	if path == "" {
		return errors.New(text)
	}
	return fmt.Errorf("property %s: %s", strings.TrimPrefix(path, "."), text)
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
