package chat

import "github.com/tidwall/gjson"

// value is a JSON value that grows piece by piece, as a server streams it. Text
// is kept as it is escaped on the wire: appending the inside of one JSON string
// to that of another joins also a character that the server split in two.
type value struct {
	kind   kind
	text   []byte // of isText: the escaped inside; of isScalar: the JSON itself
	fields []field
	byName map[string]*value // only of an object with many fields
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
	if f := v.find(name); f != nil {
		return f
	}
	v.kind = isObject
	n := &value{}
	v.fields = append(v.fields, field{name, raw, n})
	if v.byName != nil {
		v.byName[name] = n
	} else if len(v.fields) == 32 {
		v.byName = make(map[string]*value, 64)
		for _, f := range v.fields {
			v.byName[f.name] = f.value
		}
	}
	return n
}

// find is the field of that name, nil when it is missing.
func (v *value) find(name string) *value {
	if v.byName != nil {
		return v.byName[name]
	}
	for i := range v.fields {
		if v.fields[i].name == name {
			return v.fields[i].value
		}
	}
	return nil
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
			if in.Get("signature").String() != "" {
				old.forget(in)
			}
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
	if last.raw("type") != typ || last.isSigned() || last.raw("id") != in.Get("id").Raw {
		return nil
	}
	for _, name := range itemTexts {
		if last.find(name) != nil && in.Get(name).Exists() {
			return last
		}
	}
	return nil
}

// itemTexts are the fields that the text of an item may stand in.
var itemTexts = [...]string{"text", "thinking", "summary"}

// isSigned: some servers send an empty signature with each piece but the last.
func (v *value) isSigned() bool {
	f := v.find("signature")
	return f != nil && f.kind == isText && len(f.text) > 0
}

// forget drops a text that came in pieces and stands in the signed piece once more
// whole: nobody signed it twice over.
func (v *value) forget(in gjson.Result) {
	for _, name := range itemTexts {
		if f := v.find(name); f != nil && f.kind == isText && string(f.appendTo(nil)) == in.Get(name).Raw {
			f.text = nil
		}
	}
}

// raw is the JSON of a short field, "" when it is missing.
func (v *value) raw(name string) string {
	if f := v.find(name); f != nil {
		return string(f.appendTo(nil))
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
