package turn

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/tidwall/gjson"
)

// ReplayForm is a reply as it goes back to the server: the bytes that it came
// with, fields that the wire types do not know included. A reply built by hand is
// written from its fields; one that was parsed and then edited keeps its bytes,
// but for the content, the refusal and the calls that the edit changed.
//
// What would poison a transcript is mended, since most servers refuse the whole
// conversation from then on, and nothing else is touched:
//   - a missing role or call type is filled in;
//   - a call without an id, or with the id of an earlier call in the same reply,
//     gets one of nine letters and digits, which every server takes; the same
//     reply always gets the same ids;
//   - arguments given as an object become a string, no arguments become "{}", and
//     a text that is no JSON becomes an object that holds it: see [Arguments];
//   - a list of no calls is left out.
func ReplayForm(m AssistantTurnMessage) TranscriptMessage {
	text := m.RawJSON()
	if text != "" {
		if clean, err := canonical(text); err == nil {
			return TranscriptMessage{OfAssistant: parseAssistant(mend(clean, m))}
		}
	}
	return TranscriptMessage{OfAssistant: fromFields(m)}
}

// mend returns text unchanged when nothing is wrong with it and nothing was edited.
func mend(text string, m AssistantTurnMessage) raw {
	var b strings.Builder
	changed, hasRole := false, false
	seen := parseAssistant(raw(text))
	field := func(key, value string) {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(key)
		b.WriteByte(':')
		b.WriteString(value)
	}
	put := func(key, was, value string) {
		changed = changed || was != value
		field(key, value)
	}
	b.WriteByte('{')
	if !gjson.Get(text, "role").Exists() {
		put(`"role"`, "", `"assistant"`)
	}
	hasContent, hasCalls := false, false
	gjson.Parse(text).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "role":
			if hasRole {
				changed = true
				return true
			}
			hasRole = true
			put(key.Raw, value.Raw, `"assistant"`)
		case "content":
			hasContent = true
			put(key.Raw, value.Raw, edited(value.Raw, seen.Content.OfString.Value, m.Content))
		case "refusal":
			put(key.Raw, value.Raw, edited(value.Raw, seen.Refusal.Value, m.Refusal))
		case "tool_calls":
			hasCalls = true
			if calls := mendCalls(value, m.ToolCalls); calls != "[]" {
				put(key.Raw, value.Raw, calls)
			} else {
				changed = true
			}
		default:
			field(key.Raw, value.Raw)
		}
		return true
	})
	if !hasContent && m.Content != "" {
		put(`"content"`, "", quote(m.Content))
	}
	if !hasCalls && len(m.ToolCalls) > 0 {
		put(`"tool_calls"`, "", mendCalls(gjson.Result{}, m.ToolCalls))
	}
	b.WriteByte('}')
	if !changed {
		return raw(text)
	}
	return raw(b.String())
}

// edited is the raw value, unless the host changed the field since it was parsed.
func edited(rawValue, was, is string) string {
	if was == is || strings.HasPrefix(rawValue, "[") && is == "" {
		return rawValue
	}
	return quote(is)
}

func mendCalls(list gjson.Result, calls []WireToolCall) string {
	var raws []gjson.Result
	for _, r := range list.Array() {
		if r.IsObject() {
			raws = append(raws, r)
		}
	}
	ids := newIDs(len(calls))
	items := make([]string, 0, len(calls))
	for i, c := range calls {
		var was gjson.Result
		if text := c.RawJSON(); text != "" {
			was = gjson.Parse(text)
		} else if len(raws) == len(calls) {
			was = raws[i] // a reply read with its calls, the calls themselves rebuilt
		}
		if !was.IsObject() && c.ID == "" && c.Function.Name == "" && c.Custom.Name == "" {
			continue // a null in the list
		}
		items = append(items, mendCall(was, c, ids.next(c.ID, c.Function.Name, c.Function.Arguments)))
	}
	return "[" + strings.Join(items, ",") + "]"
}

// mendCall writes one call: the fields of was, in its order, with what c says.
func mendCall(was gjson.Result, c WireToolCall, id string) string {
	b := newObject(was)
	b.set("id", id)
	if c.Type == "" {
		b.set("type", "function")
	}
	if isCustom(was) || c.Type == "custom" && c.Function.Name == "" {
		custom := newObject(was.Get("custom"))
		custom.set("name", c.Custom.Name)
		custom.set("input", c.Custom.Input)
		b.setRaw("custom", custom.String())
		return b.String()
	}
	function := newObject(was.Get("function"))
	function.set("name", c.Function.Name)
	function.set("arguments", wireArguments(c.Function.Arguments))
	b.setRaw("function", function.String())
	return b.String()
}

// wireArguments keeps a conversation alive: a strict server refuses every request
// whose history holds arguments that are no JSON. What the model wrote is kept
// inside, so that the call stays invalid however often the transcript is stored.
func wireArguments(arguments string) string {
	switch {
	case strings.TrimSpace(arguments) == "":
		return "{}"
	case ValidJSON(arguments) == nil:
		return arguments
	}
	return `{"` + invalidKey + `":` + quote(arguments) + `}`
}

// fromFields writes a reply that was built by hand.
func fromFields(m AssistantTurnMessage) *openai.ChatCompletionAssistantMessageParam {
	p := &openai.ChatCompletionAssistantMessageParam{Role: "assistant"}
	if m.Content != "" || len(m.ToolCalls) == 0 {
		p.Content.OfString = param.NewOpt(m.Content)
	}
	if m.Refusal != "" {
		p.Refusal = param.NewOpt(m.Refusal)
	}
	p.Audio.ID = m.Audio.ID
	p.FunctionCall.Name, p.FunctionCall.Arguments = m.FunctionCall.Name, m.FunctionCall.Arguments
	if len(m.ToolCalls) == 0 {
		return p
	}
	p.ToolCalls = make([]openai.ChatCompletionMessageToolCallUnionParam, len(m.ToolCalls))
	functions := make([]openai.ChatCompletionMessageFunctionToolCallParam, len(m.ToolCalls))
	ids := newIDs(len(m.ToolCalls))
	for i := range m.ToolCalls {
		c, f := &m.ToolCalls[i], &functions[i]
		id := ids.next(c.ID, c.Function.Name, c.Function.Arguments)
		switch text := c.RawJSON(); {
		case text != "": // a call that was parsed, in a reply that was not
			*f = param.Override[openai.ChatCompletionMessageFunctionToolCallParam](raw(mendCall(gjson.Parse(text), *c, id)))
		case c.Type == "custom" && c.Function.Name == "":
			p.ToolCalls[i].OfCustom = &openai.ChatCompletionMessageCustomToolCallParam{ID: id,
				Custom: openai.ChatCompletionMessageCustomToolCallCustomParam{Name: c.Custom.Name, Input: c.Custom.Input}}
			continue
		}
		f.ID, f.Function.Name, f.Function.Arguments = id, c.Function.Name, wireArguments(c.Function.Arguments)
		p.ToolCalls[i].OfFunction = f
	}
	return p
}

// idMaker hands out the ids of one reply's calls, each once.
type idMaker struct {
	used  []string
	known map[string]bool // used, once looking through it would cost
}

func newIDs(n int) idMaker {
	m := idMaker{used: make([]string, 0, n)}
	if n > 16 {
		m.known = make(map[string]bool, n)
	}
	return m
}

// next keeps a server's id, and mints one in place of a missing or repeated one.
func (m *idMaker) next(id, name, arguments string) string {
	given := id
	for salt := 0; id == "" || m.taken(id); salt++ {
		id = mintID(len(m.used), salt, given, name, wireArguments(arguments))
	}
	m.used = append(m.used, id)
	if m.known != nil {
		m.known[id] = true
	}
	return id
}

func (m *idMaker) taken(id string) bool {
	if m.known != nil {
		return m.known[id]
	}
	return slices.Contains(m.used, id)
}

const mintedLength = 9

// mintID depends on the call alone, never on chance or time, so that the same
// reply is always sent as the same bytes.
func mintID(index, salt int, given, name, arguments string) string {
	h := fnv.New64a()
	for _, s := range []string{strconv.Itoa(index), strconv.Itoa(salt), given, name, arguments} {
		_, _ = h.Write([]byte(s))
		_, _ = h.Write([]byte{0})
	}
	s := "00000000" + strconv.FormatUint(h.Sum64(), 36)
	return s[len(s)-mintedLength:]
}

// Repeated reports whether calls[i], of a message that [ReplayForm] made, came
// with the id of an earlier call in the same reply. The id it has now tells.
func Repeated(calls []Call, i int) bool {
	c := calls[i]
	if len(c.ID) != mintedLength {
		return false
	}
	for _, earlier := range calls[:i] {
		if c.ID == mintID(i, 0, earlier.ID, c.Name, c.Arguments) {
			return true
		}
	}
	return false
}

func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
