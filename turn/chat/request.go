package chat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/turn"
	"github.com/tidwall/gjson"
)

// template is what is the same in each request of a TurnFn, as JSON members.
// Requests are written by hand and not by the SDK, so that a message which was
// sent once is sent byte for byte the same ever after.
type template struct {
	model string
	head  string   // `{"model":"x"`
	rest  []string // members that go with any request
	tools []string // members that go with tools alone
	// choice is the member tool_choice, free what stands for it after a tool ran.
	choice, free string
	stream       string
}

func newTemplate(model string, o *Options) (template, error) {
	t := template{model: model, head: "{"}
	if model != "" {
		t.head += `"model":"` + quoted(model) + `",`
	}
	raw, err := o.Params.MarshalJSON()
	if err != nil {
		return t, err
	}
	streamOptions := ""
	gjson.ParseBytes(raw).ForEach(func(key, v gjson.Result) bool {
		member := key.Raw + ":" + v.Raw
		switch key.Str {
		case "model", "messages", "tools", "stream":
		case "stream_options":
			streamOptions = v.Raw
		case "tool_choice":
			t.choice, t.free = member, freeChoice(member, v)
		case "parallel_tool_calls":
			t.tools = append(t.tools, member)
		default:
			t.rest = append(t.rest, member)
		}
		return true
	})
	if o.KeepToolChoice {
		t.free = t.choice
	}
	if !o.NoStream {
		t.stream = `,"stream":true`
		if !o.NoStreamUsage {
			streamOptions = withMember(streamOptions, "include_usage", "true")
		}
		if streamOptions != "" {
			t.stream += `,"stream_options":` + streamOptions
		}
	}
	return t, nil
}

// freeChoice is a tool choice that leaves the model free to answer.
func freeChoice(member string, v gjson.Result) string {
	switch {
	case v.Str == "required", v.Get("type").Str == "function", v.Get("type").Str == "custom":
		return `"tool_choice":"auto"`
	case v.Get("allowed_tools.mode").Str == "required":
		allowed := withMember(v.Get("allowed_tools").Raw, "mode", `"auto"`)
		return `"tool_choice":` + withMember(v.Raw, "allowed_tools", allowed)
	}
	return member
}

// request is the body of one request.
func (t *template) request(o *Options, messages []turn.TranscriptMessage, tools []turn.WireToolDefinition) ([]byte, error) {
	b, err := o.appendMessages([]byte(t.head), messages)
	if err != nil {
		return nil, err
	}
	if len(tools) == 0 && o.DeclareTools {
		tools = calledTools(messages)
	}
	if len(tools) > 0 {
		if b, err = appendTools(b, tools, o.Strict); err != nil {
			return nil, err
		}
		choice := t.choice
		if slices.ContainsFunc(messages, func(m turn.TranscriptMessage) bool { return m.OfTool != nil }) {
			choice = t.free
		}
		if choice != "" {
			b = append(append(b, ','), choice...)
		}
		b = appendMembers(b, t.tools)
	}
	return append(append(appendMembers(b, t.rest), t.stream...), '}'), nil
}

func (o *Options) appendMessages(b []byte, messages []turn.TranscriptMessage) ([]byte, error) {
	b = append(b, `"messages":[`...)
	first := true
	for i, m := range messages {
		if !o.SendEmpty && turn.IsEmpty(m) {
			continue
		}
		raw, err := turn.MessageJSON(m)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		if m.OfAssistant != nil && o.editsReplies() {
			b = append(b, o.editReply(string(raw))...)
		} else {
			b = append(b, raw...)
		}
	}
	return append(b, ']'), nil
}

func appendMembers(b []byte, members []string) []byte {
	for _, member := range members {
		b = append(append(b, ','), member...)
	}
	return b
}

// calledTools are the tools that the messages call, each once.
func calledTools(messages []turn.TranscriptMessage) (tools []turn.WireToolDefinition) {
	seen := map[string]bool{}
	for _, m := range messages {
		for _, c := range turn.Calls(m) {
			if seen[c.Name] {
				continue
			}
			seen[c.Name] = true
			if d, err := turn.FunctionTool(c.Name, "", nil); err == nil {
				tools = append(tools, d)
			}
		}
	}
	return tools
}

func appendTools(b []byte, tools []turn.WireToolDefinition, strict bool) ([]byte, error) {
	b = append(b, `,"tools":[`...)
	for i, tool := range tools {
		raw, err := tool.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("tool %d: %w", i, err)
		}
		definition := string(raw)
		if function := gjson.Get(definition, "function"); strict && function.IsObject() {
			definition = withMember(definition, "function", withMember(function.Raw, "strict", "true"))
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, definition...)
	}
	return append(b, ']'), nil
}

func (o *Options) editsReplies() bool {
	return o.Content != ContentAsIs || o.Echo != EchoAsIs || len(o.OmitFields) > 0
}

var reasoningFields = []string{"reasoning", "reasoning_content", "reasoning_text", "reasoning_details", "thinking", "thinking_blocks"}

// editReply writes an assistant message the way an endpoint wants it.
func (o *Options) editReply(raw string) string {
	silent := gjson.Get(raw, "tool_calls").IsArray() && gjson.Get(raw, "content").String() == ""
	edited := editMembers(raw, func(key string) bool {
		return silent && key == "content" && o.Content != ContentAsIs ||
			o.Echo == EchoNone && slices.Contains(reasoningFields, key) || slices.Contains(o.OmitFields, key)
	})
	switch {
	case silent && o.Content == ContentNull:
		edited = withMember(edited, "content", "null")
	case silent && o.Content == ContentEmpty:
		edited = withMember(edited, "content", `""`)
	}
	if o.Echo == EchoAlways && !gjson.Get(edited, "reasoning_content").Exists() {
		edited = withMember(edited, "reasoning_content", `""`)
	}
	return edited
}

// editMembers leaves out members of an object; the others keep their bytes.
func editMembers(raw string, omit func(key string) bool) string {
	var b strings.Builder
	b.WriteByte('{')
	gjson.Parse(raw).ForEach(func(key, v gjson.Result) bool {
		if !omit(key.Str) {
			if b.Len() > 1 {
				b.WriteByte(',')
			}
			b.WriteString(key.Raw + ":" + v.Raw)
		}
		return true
	})
	return b.String() + "}"
}

// withMember sets one member of an object, in its place or at the end. "" is the
// empty object.
func withMember(raw, key, value string) string {
	var b strings.Builder
	found := false
	gjson.Parse(raw).ForEach(func(k, v gjson.Result) bool {
		if k.Str == key {
			found, v.Raw = true, value
		}
		b.WriteString("," + k.Raw + ":" + v.Raw)
		return true
	})
	if !found {
		b.WriteString(`,"` + key + `":` + value)
	}
	return "{" + b.String()[1:] + "}"
}
