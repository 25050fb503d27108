package loop

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

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
		return decodeError[any](err, arguments)
	}
	if err := schema.Validate(v); err != nil {
		if found := faults(schema.Schema(), v); found != nil {
			return found
		}
		return schemaError("", err)
	}
	if err := decode(arguments, new(In)); err != nil {
		return decodeError[In](err, arguments)
	}
	return nil
}

// decode is what a typed tool gets. A schema's integer may be written 2.0, as some
// models do, and encoding/json does not take that for an int.
func decode[In any](arguments string, in *In) error {
	err := json.Unmarshal([]byte(arguments), in)
	if err == nil {
		return nil
	}
	whole := literal.ReplaceAllStringFunc(arguments, func(l string) string {
		if n, fraction, ok := strings.Cut(l, "."); ok && l[0] != '"' && strings.Trim(fraction, "0") == "" {
			return n
		}
		return l
	})
	if whole == arguments {
		return err
	}
	*in = *new(In)
	return json.Unmarshal([]byte(whole), in)
}

// literal is a string or a number in valid JSON, or a letter that some numbers have.
var literal = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[-+.\deE]+`)

// decodeError says in which property a value is that does not fit. Not every error of
// encoding/json tells, and none of an UnmarshalJSON: there it is the property that
// fails in the same way by itself, unless In itself has one and reads the whole.
func decodeError[In any](err error, arguments string) error {
	kind, place := (*json.UnmarshalTypeError)(nil), ""
	if errors.As(err, &kind) {
		place = kind.Field
	}
	var each map[string]json.RawMessage
	if !reflect.TypeFor[*In]().Implements(unmarshalsJSON) && !reflect.TypeFor[In]().Implements(unmarshalsJSON) {
		_ = json.Unmarshal([]byte(arguments), &each) // an object, as far as anybody knows by now
	}
	for _, name := range slices.Sorted(maps.Keys(each)) {
		one, _ := json.Marshal(map[string]json.RawMessage{name: each[name]})
		if alone := decode(string(one), new(In)); place == "" && alone != nil && alone.Error() == err.Error() {
			place = name
		}
	}
	if kind != nil {
		err = fmt.Errorf("%s does not fit %s", kind.Value, kind.Type.Kind())
	}
	if place == "" {
		return err
	}
	return fmt.Errorf("property %s: %w", place, err)
}

// faults names everything that is wrong with the properties at once, where the schema
// stops at the first: a model mends it in one go. It is nil where none of them is it.
func faults(schema *jsonschema.Schema, arguments any) error {
	given, _ := arguments.(map[string]any)
	known := schema.PropertyOrder
	if len(known) != len(schema.Properties) {
		known = slices.Sorted(maps.Keys(schema.Properties))
	}
	var missing, unknown, found []string
	for _, name := range schema.Required {
		if _, ok := given[name]; !ok {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		found = append(found, fmt.Sprintf("missing: %q", missing))
	}
	closed := schema.AdditionalProperties != nil && schema.AdditionalProperties.Not != nil && len(schema.PatternProperties) == 0
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, ok := schema.Properties[name]; !ok && closed {
			unknown = append(unknown, name)
		}
	}
	if unknown != nil {
		found = append(found, fmt.Sprintf("unknown: %q; the properties are %q", unknown, known))
	}
	for _, name := range known {
		value, ok := given[name]
		if !ok || schema.Properties[name] == nil {
			continue
		}
		alone, err := schema.Properties[name].CloneSchemas().Resolve(nil)
		if err != nil { // it refers to another part
			continue
		}
		if err := alone.Validate(value); err != nil {
			found = append(found, schemaError(name, err).Error())
		}
	}
	if found == nil {
		return nil
	}
	return errors.New(strings.Join(found, "; "))
}

// schemaError keeps the innermost place, in the words of the arguments rather
// than of the schema: "property where.row: …".
func schemaError(path string, err error) error {
	place, text := "", err.Error()
	for strings.HasPrefix(text, "validating ") {
		var ok bool
		if place, text, ok = strings.Cut(strings.TrimPrefix(text, "validating "), ": "); !ok {
			return err
		}
	}
	isName := false
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
	if i := strings.LastIndex(text, ` has type "string", want `); i >= 0 { // which it does not quote
		text = "type: " + strconv.Quote(clip(strings.TrimPrefix(text[:i], "type: "), 80)) + text[i:]
	}
	if path == "" {
		return errors.New(text)
	}
	return fmt.Errorf("property %s: %s", strings.TrimPrefix(path, "."), text)
}
