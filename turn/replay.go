package turn

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/tidwall/gjson"
)

// ReplayForm is a reply as it goes back to the server: the bytes that it came
// with, fields that the wire types do not know included. A reply built by hand is
// written from its fields; one that was parsed and then edited keeps its bytes,
// but for the content, the refusal and the calls that the edit changed.
//
// What would poison a transcript is mended, since most servers refuse the whole
// conversation from then on, and nothing else is touched:
//   - a missing role or call type is filled in, and an id or a name that is no
//     string becomes one;
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
			return TranscriptMessage{OfAssistant: parseAssistant(mend(clean, &m))}
		}
	}
	return TranscriptMessage{OfAssistant: fromFields(&m)}
}

// mend returns text unchanged when nothing is wrong with it and nothing was edited.
func mend(text string, m *AssistantTurnMessage) raw {
	var b strings.Builder
	changed, has := false, make(map[string]bool, 8)
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
	gjson.Parse(text).ForEach(func(key, value gjson.Result) bool {
		again := has[key.Str]
		has[key.Str] = true
		switch key.Str {
		case "role":
			if again {
				changed = true
				break
			}
			put(key.Raw, value.Raw, `"assistant"`)
		case "content":
			put(key.Raw, value.Raw, edited(value.Raw, m.JSON.Content, m.Content))
		case "refusal":
			put(key.Raw, value.Raw, edited(value.Raw, m.JSON.Refusal, m.Refusal))
		case "tool_calls":
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
	if !has["content"] && m.Content != "" {
		put(`"content"`, "", quote(m.Content))
	}
	if !has["refusal"] && m.Refusal != "" {
		put(`"refusal"`, "", quote(m.Refusal))
	}
	if !has["tool_calls"] && len(m.ToolCalls) > 0 {
		put(`"tool_calls"`, "", mendCalls(gjson.Result{}, m.ToolCalls))
	}
	b.WriteByte('}')
	if !changed {
		return raw(text)
	}
	return raw(b.String())
}

// edited is the raw value, unless the host changed the field since it was parsed.
// The SDK reads a number, a list or an object into a string too, so what the field
// held is what the same reading of its own bytes gives.
func edited(rawValue string, parsed respjson.Field, is string) string {
	was := gjson.Parse(parsed.Raw())
	if was.String() == is || was.Type != gjson.String && is == "" {
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
		was := parsedCall(&c)
		if c.RawJSON() == "" && len(raws) == len(calls) {
			was = raws[i] // a reply read with its calls, the calls themselves rebuilt
		}
		if !was.IsObject() && c.ID == "" && c.Function.Name == "" && c.Custom.Name == "" {
			continue // a null in the list
		}
		items = append(items, mendCall(was, c, ids.next(&c)))
	}
	return "[" + strings.Join(items, ",") + "]"
}

// parsedCall is the object that a call was parsed from, if it was.
func parsedCall(c *WireToolCall) gjson.Result {
	if c.RawJSON() == "" {
		return gjson.Result{} // built by hand
	}
	text, err := canonical(c.RawJSON())
	if err != nil {
		return gjson.Result{}
	}
	return gjson.Parse(text)
}

// mendCall writes one call: the fields of was, in its order, with what c says.
func mendCall(was gjson.Result, c WireToolCall, id string) string {
	kind := c.Type
	if t := was.Get("type"); kind == "" || t.Exists() && t.Type != gjson.String && kind != "custom" {
		kind = "function"
	}
	b := newObject(was)
	b.set("id", id)
	b.set("type", kind)
	if kind == "custom" && !was.Get("function").IsObject() && c.Function.Name == "" {
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

func isCustom(c *WireToolCall) bool { return c.Type == "custom" && c.Function.Name == "" }

// wireNames are a call's name and arguments as everybody reads them from the
// transcript, before and after it was stored.
func wireNames(c *WireToolCall) (name, arguments string) {
	if isCustom(c) {
		return validUTF8(c.Custom.Name), validUTF8(c.Custom.Input)
	}
	return validUTF8(c.Function.Name), wireArguments(validUTF8(c.Function.Arguments))
}

// fromFields writes a reply that was built by hand.
func fromFields(m *AssistantTurnMessage) *openai.ChatCompletionAssistantMessageParam {
	var p *openai.ChatCompletionAssistantMessageParam
	var functions []openai.ChatCompletionMessageFunctionToolCallParam
	if len(m.ToolCalls) == 1 { // most replies: one allocation for all of it
		one := new(struct {
			p     openai.ChatCompletionAssistantMessageParam
			union [1]openai.ChatCompletionMessageToolCallUnionParam
			call  [1]openai.ChatCompletionMessageFunctionToolCallParam
		})
		p, functions, one.p.ToolCalls = &one.p, one.call[:], one.union[:]
	} else {
		p = new(openai.ChatCompletionAssistantMessageParam)
		functions = make([]openai.ChatCompletionMessageFunctionToolCallParam, len(m.ToolCalls))
		p.ToolCalls = make([]openai.ChatCompletionMessageToolCallUnionParam, len(m.ToolCalls))
	}
	p.Role = "assistant"
	if m.Content != "" || len(m.ToolCalls) == 0 {
		p.Content.OfString = param.NewOpt(m.Content)
	}
	if m.Refusal != "" {
		p.Refusal = param.NewOpt(m.Refusal)
	}
	p.Audio.ID = m.Audio.ID
	p.FunctionCall.Name, p.FunctionCall.Arguments = m.FunctionCall.Name, m.FunctionCall.Arguments
	if len(m.ToolCalls) == 0 {
		p.ToolCalls = nil
		return p
	}
	var ids *idMaker
	if len(m.ToolCalls) > 1 || m.ToolCalls[0].ID == "" { // else there is nothing to compare
		ids = newIDs(len(m.ToolCalls))
	}
	for i := range m.ToolCalls {
		c, f := &m.ToolCalls[i], &functions[i]
		id := validUTF8(c.ID)
		if ids != nil {
			id = ids.next(c)
		}
		if was := parsedCall(c); was.IsObject() { // a call that was parsed, in a reply that was not
			p.ToolCalls[i] = parseCall(mendCall(was, *c, id))
			continue
		}
		name, arguments := wireNames(c)
		if isCustom(c) {
			p.ToolCalls[i].OfCustom = &openai.ChatCompletionMessageCustomToolCallParam{ID: id,
				Custom: openai.ChatCompletionMessageCustomToolCallCustomParam{Name: name, Input: arguments}}
			continue
		}
		f.ID, f.Function.Name, f.Function.Arguments = id, name, arguments
		p.ToolCalls[i].OfFunction = f
	}
	return p
}

// idMaker hands out the ids of one reply's calls, each once.
type idMaker struct {
	n     int // so far
	few   [16]string
	known map[string]bool // instead of few, where looking through them would cost
}

func newIDs(n int) *idMaker {
	m := new(idMaker)
	if n > len(m.few) {
		m.known = make(map[string]bool, n)
	}
	return m
}

// next keeps a server's id, and mints one in place of a missing or repeated one.
func (m *idMaker) next(c *WireToolCall) string {
	given := validUTF8(c.ID)
	id := given
	for salt := 0; id == "" || m.taken(id); salt++ {
		name, arguments := wireNames(c)
		id = mintID(m.n, salt, given, name, arguments)
	}
	if m.known != nil {
		m.known[id] = true
	} else {
		m.few[m.n] = id
	}
	m.n++
	return id
}

func (m *idMaker) taken(id string) bool {
	if m.known != nil {
		return m.known[id]
	}
	return slices.Contains(m.few[:m.n], id)
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

// Repeated reports whether a call of the last assistant message came with the id
// of an earlier call in the same reply. The id that [ReplayForm] gave it tells.
func Repeated(messages []TranscriptMessage, id string) bool {
	if len(id) != mintedLength {
		return false
	}
	i := len(messages) - 1
	for i >= 0 && messages[i].OfTool != nil {
		i--
	}
	if i < 0 {
		return false
	}
	calls := Calls(messages[i])
	n := slices.IndexFunc(calls, func(c Call) bool { return c.ID == id })
	for _, earlier := range calls[:max(n, 0)] {
		if id == mintID(n, 0, earlier.ID, calls[n].Name, calls[n].Arguments) {
			return true
		}
	}
	return false
}

func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(validUTF8(s)) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
