package chat

import (
	"bytes"
	"strconv"
	"unicode/utf16"

	"github.com/tidwall/gjson"
)

// value is a JSON value that grows piece by piece, as a server streams it. Text
// is kept as it is escaped on the wire: appending the inside of one JSON string
// to that of another joins also a character that the server split in two.
type value struct {
	kind   kind
	text   []byte // of isText: the escaped inside; of isScalar: the JSON itself
	fields []field
	items  []*value
}

type kind byte

const (
	isNothing kind = iota
	isScalar       // null, a number, true, false, or a value taken whole
	isText
	isObject
	isList
)

type field struct {
	name, raw string // the key, and the key as quoted on the wire
	value     *value
}

// grows says which texts come in pieces. Any other text is repeated whole when it
// is repeated, such as a type or a signature.
func grows(name string) bool {
	switch name {
	case "content", "refusal", "reasoning", "reasoning_content", "reasoning_text", "thinking",
		"text", "summary", "transcript", "data", "arguments", "input":
		return true
	}
	return false
}

// at is the field of that name, made when it is missing.
func (v *value) at(name, raw string) *value {
	for i := range v.fields {
		if v.fields[i].name == name {
			return v.fields[i].value
		}
	}
	v.kind = isObject
	n := &value{}
	v.fields = append(v.fields, field{name, raw, n})
	return n
}

// merge takes in the next piece. A null never wipes what is there.
func (v *value) merge(name string, in gjson.Result) {
	switch {
	case in.Type == gjson.Null:
		if v.kind == isNothing {
			v.set(in.Raw)
		}
	case in.Type == gjson.String:
		v.mergeText(name, in.Raw[1:len(in.Raw)-1])
	case in.IsObject():
		if v.kind != isObject {
			*v = value{kind: isObject}
		}
		in.ForEach(func(key, item gjson.Result) bool {
			v.at(key.Str, key.Raw).merge(key.Str, item)
			return true
		})
	case in.IsArray():
		v.toList()
		in.ForEach(func(_, item gjson.Result) bool {
			v.addItem(item)
			return true
		})
	default:
		v.set(in.Raw)
	}
}

// set takes a value whole.
func (v *value) set(raw string) { *v = value{kind: isScalar, text: []byte(raw)} }

func (v *value) mergeText(name, piece string) {
	switch {
	case v.kind == isList && name == "content": // parts first, then plain text
		if piece != "" {
			v.addItem(gjson.Parse(`{"type":"text","text":"` + piece + `"}`))
		}
	case v.kind == isText && grows(name):
		v.text = append(v.text, piece...)
	case v.kind != isText || piece != "":
		*v = value{kind: isText, text: []byte(piece)}
	}
}

func (v *value) toList() {
	if v.kind == isList {
		return
	}
	was := *v
	*v = value{kind: isList}
	if was.kind == isText && len(was.text) > 0 { // plain text first, then parts
		v.addItem(gjson.Parse(`{"type":"text","text":"` + string(was.text) + `"}`))
	}
}

func (v *value) addItem(in gjson.Result) {
	if in.IsObject() {
		if old := v.continued(in); old != nil {
			old.merge("", in)
			return
		}
	}
	n := &value{}
	n.merge("", in)
	v.items = append(v.items, n)
}

// continued is the item that in is a further piece of: the one with its index,
// or the last one, when both are text of one type and no signature closed it.
func (v *value) continued(in gjson.Result) *value {
	typ := in.Get("type").Raw
	if index := in.Get("index"); index.Type == gjson.Number {
		for i := len(v.items) - 1; i >= max(0, len(v.items)-16); i-- {
			if old := v.items[i]; old.raw("index") == index.Raw && old.raw("type") == typ {
				return old
			}
		}
		return nil
	}
	if len(v.items) == 0 || typ == "" {
		return nil
	}
	last := v.items[len(v.items)-1]
	if last.raw("type") != typ || last.raw("signature") != "" || last.raw("id") != in.Get("id").Raw {
		return nil
	}
	for _, name := range []string{"text", "thinking", "summary"} {
		if last.has(name) && in.Get(name).Exists() {
			return last
		}
	}
	return nil
}

func (v *value) has(name string) bool {
	for i := range v.fields {
		if v.fields[i].name == name {
			return true
		}
	}
	return false
}

// raw is the JSON of a short field, "" when it is missing.
func (v *value) raw(name string) string {
	for i := range v.fields {
		if v.fields[i].name == name {
			return string(v.fields[i].value.appendTo(nil))
		}
	}
	return ""
}

func (v *value) appendTo(b []byte) []byte {
	switch v.kind {
	case isScalar:
		return append(b, v.text...)
	case isText:
		b = append(b, '"')
		return append(append(b, v.text...), '"')
	case isObject:
		b = append(b, '{')
		for i, f := range v.fields {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, f.raw...), ':')
			b = f.value.appendTo(b)
		}
		return append(b, '}')
	case isList:
		b = append(b, '[')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendTo(b)
		}
		return append(b, ']')
	}
	return append(b, "null"...)
}

// mendSurrogates replaces half characters in the escapes of a JSON text. A strict
// parser refuses them, and with them every later request of the conversation.
func mendSurrogates(text []byte) []byte {
	if !bytes.Contains(text, []byte(`\ud`)) && !bytes.Contains(text, []byte(`\uD`)) {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		if text[i] != '\\' || i+1 >= len(text) {
			out = append(out, text[i])
			i++
			continue
		}
		n := 2
		if r, ok := escapedUnit(text[i:]); ok {
			n = 6
			if utf16.IsSurrogate(r) {
				if low, ok := escapedUnit(text[i+6:]); ok && utf16.DecodeRune(r, low) != '\uFFFD' {
					n = 12
				} else {
					out = append(out, `\ufffd`...)
					i += 6
					continue
				}
			}
		}
		out = append(out, text[i:i+n]...)
		i += n
	}
	return out
}

// escapedUnit reads a \uXXXX at the start of text.
func escapedUnit[T string | []byte](text T) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}
