package chat

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// call is one tool call as it grows.
type call struct {
	value
	index     int64 // as the server counts; -1 when it does not
	id, name  string
	function  *value
	arguments *value
	end       ending
	held      held
}

// addCalls takes in the tool_calls of a delta, or, when whole, those of a
// finished message, each of which is a call of its own.
func (r *reply) addCalls(list gjson.Result, whole bool) {
	position := int64(0)
	list.ForEach(func(_, in gjson.Result) bool {
		if in.IsObject() {
			index := callIndex(in.Get("index"))
			if whole {
				index = position
			}
			position++
			r.addCall(in, index)
		}
		return true
	})
}

// callIndex takes -1, null and what is no whole number as missing.
func callIndex(v gjson.Result) int64 {
	n, err := strconv.ParseInt(v.String(), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

func (r *reply) addCall(in gjson.Result, index int64) {
	id, function := in.Get("id").String(), in.Get("function")
	name, piece := function.Get("name").String(), function.Get("arguments")
	if custom := in.Get("custom"); custom.Exists() && !function.Exists() {
		name, piece = custom.Get("name").String(), custom.Get("input")
	}
	c := r.continuedCall(index, id, name, piece)
	if c == nil {
		c = &call{index: index}
		r.calls = append(r.calls, c)
	}
	if c.id == "" {
		c.id = id
	}
	if c.index < 0 {
		c.index = index
	}
	in.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "index":
		case "id":
			if f := c.at("id", key.Raw); f.kind != isText || len(f.text) == 0 {
				f.merge("id", v)
			}
		case "function", "custom":
			if v.IsObject() {
				c.addFunction(key.Raw, key.Str, name, v)
			}
		default:
			c.at(key.Str, key.Raw).merge(key.Str, v)
		}
		return true
	})
	if name == "" && piece.String() == "" {
		return
	}
	r.spoken = true
	if r.delta != nil {
		text := piece.String()
		if piece.Type == gjson.String {
			text = c.held.take(escaped(piece))
		}
		r.delta(Delta{Kind: ToolCall, Index: slices.Index(r.calls, c), ID: c.id, Name: c.name, Text: text})
	}
}

// continuedCall is the call that a delta belongs to, nil for a new one. Servers
// agree on little here: some send no index, some the same one for every call,
// some no id, some another id with each delta, some the name again and again.
// What tells a new call is a name beside an id that is not the known one, or
// beside arguments that begin again after an earlier call's were complete.
func (r *reply) continuedCall(index int64, id, name string, piece gjson.Result) *call {
	var known *call
	for i := len(r.calls) - 1; i >= 0; i-- {
		c := r.calls[i]
		if id != "" && c.id == id && (index < 0 || c.index < 0 || c.index == index || name == "") {
			if name != "" && c.isAnother(piece) {
				return nil
			}
			return c
		}
		if known == nil && (index < 0 || c.index == index) {
			known = c
		}
	}
	if known == nil || name == "" || known.name == "" {
		return known
	}
	if id != "" {
		if known.id == "" && !known.end.complete() {
			return known
		}
		return nil
	}
	if known.end.complete() && isObjectStart(piece) {
		return nil
	}
	if index < 0 && name != known.name {
		return nil
	}
	return known
}

func isObjectStart(piece gjson.Result) bool {
	return strings.HasPrefix(strings.TrimSpace(piece.String()), "{")
}

// isAnother: these are the arguments of another call, though it has the same id.
func (c *call) isAnother(piece gjson.Result) bool {
	return c.end.complete() && isObjectStart(piece) && !c.isUnfilled() && escaped(piece) != string(c.arguments.text)
}

// isUnfilled: some gateways send {} before the arguments.
func (c *call) isUnfilled() bool { return c.end.complete() && string(c.arguments.text) == "{}" }

func (c *call) addFunction(rawKey, key, name string, in gjson.Result) {
	c.function = c.at(key, rawKey)
	c.function.kind = isObject
	in.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "name":
			c.addName(c.function.at("name", k.Raw), name)
		case "arguments", "input":
			c.arguments = c.function.at(k.Str, k.Raw)
			c.addArguments(k.Str, v)
		default:
			c.function.at(k.Str, k.Raw).merge(k.Str, v)
		}
		return true
	})
}

// addName takes a name that is repeated once, also when it grew, and one that
// comes in pieces before the arguments begin as the sum of the pieces.
func (c *call) addName(f *value, name string) {
	switch {
	case strings.HasPrefix(name, c.name):
		c.name = name
	case name != "" && !c.end.begun && !strings.HasPrefix(c.name, name):
		c.name += name
	}
	*f = value{kind: isText, text: []byte(quoted(c.name))}
}

func (c *call) addArguments(key string, v gjson.Result) {
	if v.Type == gjson.JSON { // an object where a string belongs
		v = gjson.Parse(`"` + escaped(v) + `"`)
	}
	if v.Type == gjson.String && key == "arguments" { // the input of a custom tool is any text
		if c.end.complete() && escaped(v) == string(c.arguments.text) {
			return // sent in pieces, and then once more whole
		}
		if c.isUnfilled() && isObjectStart(v) {
			*c.arguments, c.end = value{}, ending{}
		}
		c.end.scan(v.Str)
	}
	c.arguments.merge(key, v)
}

// escaped is the inside of the JSON string that arguments are to be.
func escaped(v gjson.Result) string {
	switch v.Type {
	case gjson.JSON:
		return quoted(v.Raw)
	case gjson.String:
		return v.Raw[1 : len(v.Raw)-1]
	}
	return ""
}

// isGhost: a place in the list that no call ever filled.
func (c *call) isGhost() bool {
	return c.id == "" && c.name == "" && (c.arguments == nil || len(c.arguments.text) == 0)
}

// isHalf: the arguments begin and do not end.
func (c *call) isHalf() bool { return c.end.begun && !c.end.complete() }

// ending finds where a JSON value that comes in pieces is complete.
type ending struct {
	depth             int
	inString, escaped bool
	begun, over, rest bool // rest: something stands after the end
}

func (e *ending) complete() bool { return e.over && !e.rest }

func (e *ending) scan(piece string) {
	for i := range len(piece) {
		c := piece[i]
		switch {
		case e.escaped:
			e.escaped = false
		case e.inString && c == '\\':
			e.escaped = true
		case e.inString && c != '"':
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		case e.over:
			e.rest = true
		case c == '"':
			e.inString = !e.inString
			e.over = !e.inString && e.depth == 0
		case c == '{' || c == '[':
			e.depth++
		case c == '}' || c == ']':
			e.depth--
			e.over = e.depth <= 0
		}
		e.begun = e.begun || c != ' ' && c != '\t' && c != '\n' && c != '\r'
	}
}

// quoted is s as it stands inside a JSON string.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return b.String()[1 : b.Len()-2]
}
