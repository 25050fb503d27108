package turn

import (
	"slices"
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
	value = validUTF8(value)
	i := o.only(key)
	if was := gjson.Parse(o.values[i]); was.Type != gjson.String || was.Str != value {
		o.values[i] = quote(value)
	}
}

func (o *object) setRaw(key, value string) { o.values[o.only(key)] = value }

// only is the index of a field, added where it is missing. Of a name that stands
// twice the first is kept: two readers would take different ones.
func (o *object) only(key string) int {
	first := -1
	for i := 0; i < len(o.keys); i++ {
		switch {
		case gjson.Parse(o.keys[i]).Str != key:
		case first < 0:
			first = i
		default:
			o.keys, o.values = slices.Delete(o.keys, i, i+1), slices.Delete(o.values, i, i+1)
			i--
		}
	}
	if first < 0 {
		first = len(o.keys)
		o.keys, o.values = append(o.keys, quote(key)), append(o.values, "")
	}
	return first
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
