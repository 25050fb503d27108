package turn

import (
	"strings"

	"github.com/tidwall/gjson"
)

// object is a JSON object under edit: fields keep their order and their bytes.
type object struct{ keys, values []string }

func newObject(from gjson.Result) *object {
	o := &object{}
	if from.IsObject() {
		from.ForEach(func(key, value gjson.Result) bool {
			o.keys, o.values = append(o.keys, key.Raw), append(o.values, value.Raw)
			return true
		})
	}
	return o
}

// set gives a field a string; the bytes of an equal one stay as they are.
func (o *object) set(key, value string) {
	key = quote(key)
	for i, k := range o.keys {
		if k == key {
			if was := gjson.Parse(o.values[i]); was.Type != gjson.String || was.Str != value {
				o.values[i] = quote(value)
			}
			return
		}
	}
	o.keys, o.values = append(o.keys, key), append(o.values, quote(value))
}

func (o *object) setRaw(key, value string) {
	key = quote(key)
	for i, k := range o.keys {
		if k == key {
			o.values[i] = value
			return
		}
	}
	o.keys, o.values = append(o.keys, key), append(o.values, value)
}

func (o *object) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, k := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(k)
		b.WriteByte(':')
		b.WriteString(o.values[i])
	}
	b.WriteByte('}')
	return b.String()
}
