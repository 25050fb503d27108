package chat

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/turn"
	"github.com/tidwall/gjson"
)

// reply is one reply of the model as it grows, streamed or whole. The SDK's own
// accumulator sums usage that is cumulative, glues calls without an index
// together, and drops every field that the wire types do not know.
type reply struct {
	delta   func(Delta) // nil when nobody listens
	message value
	calls   []*call
	usage   usage
	choice  int64          // which of several choices is read: the first that came
	chosen  []gjson.Result // its parts in the chunk at hand
	begun   bool           // a choice was seen
	spoken  bool           // something that is not empty was seen
	done    bool           // the server said that this is all
	finish  string
	model   string

	heldText, heldReasoning held
}

// event takes in the data of one server-sent event.
func (r *reply) event(name string, data []byte, tail bool) error {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0 || data[0] == ':': // a comment that a gateway wrapped up as data
		return nil
	case bytes.HasPrefix(data, []byte("[DONE]")):
		r.done = true
		return nil
	}
	v, ok := parseJSON(data)
	switch {
	case ok:
		return r.chunk(name, v)
	case bytes.IndexByte(data, '\n') > 0: // events without an empty line between them
		for line := range bytes.Lines(bytes.Clone(data)) {
			if err := r.event(name, line, tail); err != nil || r.done {
				return err
			}
		}
		return nil
	case tail:
		return nil // cut off in the middle; the end of the stream says the rest
	case name == "error":
		return errorInBody(gjson.Result{}, data)
	}
	return &Error{Message: fmt.Sprintf("an event of the stream is no JSON: %s", excerpt(data)), Body: clip(data), Retryable: true}
}

// chunk takes in one piece of a streamed reply.
func (r *reply) chunk(name string, v gjson.Result) error {
	if v.IsArray() { // around an error
		v = v.Get("0")
	}
	root := object(v)
	r.choose(root)
	r.usage.readFrom(root, r.chosen)
	if name == "error" || root.isError() {
		return errorInBody(v, []byte(v.Raw))
	}
	if root.model.Type == gjson.String && root.model.Str != "" {
		r.model = root.model.Str
	}
	for _, choice := range r.chosen {
		r.begun = true
		if delta := either(choice, "delta", "message"); delta.IsObject() {
			r.add(delta, false)
		}
		if err := r.finished(choice); err != nil {
			return err
		}
	}
	return nil
}

// whole takes in a reply that came in one piece.
func (r *reply) whole(data []byte) error {
	data = bytes.TrimSpace(data)
	v, ok := parseJSON(data)
	if !ok {
		return &Error{Message: "the response is no JSON: " + plainText(data), Body: clip(data), Retryable: data[0] != '<'}
	}
	root := object(v)
	r.choose(root)
	r.usage.readFrom(root, r.chosen)
	if root.isError() || v.IsArray() {
		return errorInBody(v, data)
	}
	r.model = root.model.String()
	for _, choice := range r.chosen {
		message := either(choice, "message", "delta")
		if !message.IsObject() {
			continue
		}
		r.add(message, !r.begun)
		r.begun, r.done = true, true
		if err := r.finished(choice); err != nil {
			return err
		}
	}
	if !r.begun {
		return &Error{Message: "the response holds no choices: " + excerpt(data), Body: clip(data), Retryable: true}
	}
	return nil
}

// either is the first of two members that is an object.
func either(v gjson.Result, first, second string) gjson.Result {
	if found := v.Get(first); found.IsObject() {
		return found
	}
	return v.Get(second)
}

// fields are the parts of a chunk that are looked at, found in one pass.
type fields struct{ object, model, choices, failure, message, detail, usage, groq gjson.Result }

func object(v gjson.Result) (f fields) {
	if !v.IsObject() {
		return f
	}
	v.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "object":
			f.object = value
		case "model":
			f.model = value
		case "choices":
			f.choices = value
		case "error":
			f.failure = value
		case "message":
			f.message = value
		case "detail":
			f.detail = value
		case "usage":
			f.usage = value
		case "x_groq":
			if f.groq = value; value.Get("error").String() != "" {
				f.failure = value
			}
		case "base_resp": // MiniMax: in each response, also in a good one
			if value.Get("status_code").Int() != 0 {
				f.failure = value
			}
		}
		return true
	})
	return f
}

// isError: an error object, or a body that is nothing but a message.
func (f fields) isError() bool {
	if f.failure.IsObject() || f.failure.IsArray() || f.failure.Type == gjson.String && f.failure.Str != "" {
		return true
	}
	return !f.choices.Exists() && (f.object.Str == "error" || f.message.Type == gjson.String || f.detail.Exists())
}

// choose finds the one choice that is read: a reply is one message. Some gateways
// give its text and each of its calls as choices of one index.
func (r *reply) choose(f fields) {
	r.chosen = r.chosen[:0]
	f.choices.ForEach(func(_, c gjson.Result) bool {
		index := c.Get("index").Int()
		if c.IsObject() && (index == r.choice || !r.begun && len(r.chosen) == 0) {
			r.choice = index
			r.chosen = append(r.chosen, c)
		}
		return true
	})
}

func (r *reply) finished(choice gjson.Result) error {
	if failure := choice.Get("error"); failure.IsObject() || failure.Type == gjson.String && failure.Str != "" {
		return errorInBody(choice, []byte(choice.Raw))
	}
	if finish := choice.Get("finish_reason"); finish.Type == gjson.String && finish.Str != "" {
		r.finish = finish.Str
	}
	return nil
}

// add takes in a delta, or a message whole.
func (r *reply) add(delta gjson.Result, whole bool) {
	reasoned := false
	delta.ForEach(func(key, v gjson.Result) bool {
		switch name := key.Str; name {
		case "role":
			return true
		case "tool_calls":
			if v.IsArray() {
				r.addCalls(v, whole)
				r.message.at(name, key.Raw) // keeps the place
			}
			return true
		case "content":
			r.sayContent(v)
		case "reasoning", "reasoning_content", "reasoning_text", "thinking":
			if v.Type == gjson.String && v.Str != "" && !reasoned {
				reasoned = true // under two names, and said once
				r.say(Reasoning, v)
			}
		case "refusal":
			r.say(Text, v)
		}
		if f := r.message.at(key.Str, key.Raw); whole {
			f.set(v.Raw)
		} else {
			f.merge(key.Str, v)
		}
		return true
	})
	if !reasoned {
		for _, item := range delta.Get("reasoning_details").Array() {
			r.say(Reasoning, item.Get("text"))
			r.say(Reasoning, item.Get("summary"))
		}
	}
	if call := delta.Get("function_call"); call.Get("name").String() != "" || call.Get("arguments").String() != "" {
		r.spoken = true
	}
}

func (r *reply) sayContent(v gjson.Result) {
	if v.Type == gjson.String {
		r.say(Text, v)
		return
	}
	for _, part := range v.Array() {
		r.say(Text, part.Get("text"))
		for _, t := range part.Get("thinking").Array() {
			if t.IsObject() {
				t = t.Get("text")
			}
			r.say(Reasoning, t)
		}
	}
}

// say tells the host of a piece of text. A piece that ends in the middle of a
// character keeps that end for the next one.
func (r *reply) say(kind Kind, v gjson.Result) {
	if v.Type != gjson.String || v.Str == "" {
		return
	}
	r.spoken = true
	if r.delta == nil {
		return
	}
	h := &r.heldText
	if kind == Reasoning {
		h = &r.heldReasoning
	}
	if text := h.take(v.Raw[1 : len(v.Raw)-1]); text != "" {
		r.delta(Delta{Kind: kind, Text: text})
	}
}

// flush says what was held back: half a character that never became whole.
func (r *reply) flush() {
	for kind, h := range [...]held{Text: r.heldText, Reasoning: r.heldReasoning} {
		if h != "" {
			r.delta(Delta{Kind: Kind(kind), Text: readable(string(h))})
		}
	}
}

// result is the message so far. The calls of a reply that did not end are left
// out: they must never run.
func (r *reply) result(complete bool) (turn.AssistantTurnMessage, error) {
	var m turn.AssistantTurnMessage
	if !r.spoken && !complete {
		return m, nil
	}
	b := []byte(`{"role":"assistant"`)
	for _, f := range r.message.fields {
		if f.name == "tool_calls" {
			if list := r.callList(); complete && len(list) > 0 {
				b = append(append(b, `,"tool_calls":`...), list...)
			}
			continue
		}
		b = append(append(append(b, ','), f.raw...), ':')
		b = f.value.appendTo(b)
	}
	b = append(b, '}')
	if err := m.UnmarshalJSON(mendSurrogates(bytes.ToValidUTF8(b, []byte("\uFFFD")))); err != nil {
		return m, fmt.Errorf("the reply: %w", err)
	}
	return m, nil
}

func (r *reply) callList() []byte {
	calls := slices.DeleteFunc(slices.Clone(r.calls), (*call).isGhost)
	if len(calls) == 0 {
		return nil
	}
	if !slices.ContainsFunc(calls, func(c *call) bool { return c.index < 0 }) {
		slices.SortStableFunc(calls, func(a, b *call) int { return cmp.Compare(a.index, b.index) })
	}
	b := []byte{'['}
	for i, c := range calls {
		if i > 0 {
			b = append(b, ',')
		}
		b = c.appendTo(b)
	}
	return append(b, ']')
}
