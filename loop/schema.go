package loop

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaFor is what a typed tool asks for: the schema it was given, or what In says.
func schemaFor[In any](given json.RawMessage) (*jsonschema.Schema, error) {
	if len(given) > 0 {
		s := new(jsonschema.Schema)
		if err := json.Unmarshal(given, s); err != nil {
			return nil, fmt.Errorf("schema: %w", err)
		}
		return s, nil
	}
	s, err := inferred(reflect.TypeFor[In]())
	if err != nil {
		return nil, fmt.Errorf("no schema for %T: %w", *new(In), err)
	}
	return s, nil
}

func inferred(t reflect.Type) (*jsonschema.Schema, error) {
	if t.Kind() == reflect.Pointer { // arguments are never null
		t = t.Elem()
	}
	types := make(decoders)
	if err := types.find(t); err != nil {
		return nil, err
	}
	return jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: types.schemas()})
}

// decoders are types that encoding/json reads in a way of their own, with the schema of
// what it reads. By its fields or its kind alone a model would be asked for something
// that is then refused, every time.
type decoders map[reflect.Type]*jsonschema.Schema

// find looks through t. A nil schema is of a type that is as it looks.
func (d decoders) find(t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if _, seen := d[t]; seen {
		return nil
	}
	if d[t] = read(t); d[t] != nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return d.find(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() && !f.Anonymous {
				continue
			}
			if options := strings.Split(f.Tag.Get("json"), ",")[1:]; slices.Contains(options, "string") {
				return fmt.Errorf("field %s has the json option string: give the tool a Schema", f.Name)
			}
			if err := d.find(f.Type); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d decoders) schemas() map[reflect.Type]*jsonschema.Schema {
	maps.DeleteFunc(d, func(_ reflect.Type, s *jsonschema.Schema) bool { return s == nil })
	return d
}

var (
	unmarshalsJSON = reflect.TypeFor[json.Unmarshaler]()
	unmarshalsText = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// read is the schema of what encoding/json reads into t, where t alone does not show it;
// else nil.
func read(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[big.Int]():
		return &jsonschema.Schema{Type: "integer"}
	case reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"}
	}
	methods := reflect.PointerTo(t)
	switch {
	case methods.Implements(unmarshalsJSON):
		if hasFields(t) { // it fills in defaults, checks, or takes an older form too
			return nil
		}
		return &jsonschema.Schema{Types: []string{"null", "boolean", "number", "string", "array", "object"}}
	case methods.Implements(unmarshalsText):
		return &jsonschema.Schema{Type: "string"}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && read(t.Elem()) == nil:
		return &jsonschema.Schema{Types: []string{"null", "string"}, ContentEncoding: "base64"}
	}
	return nil
}

func hasFields(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			return true
		}
	}
	return false
}
