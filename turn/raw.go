package turn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
)

// raw is a message's bytes as they go on the wire. It overrides a variant of the
// message union rather than the union itself: a union that is overridden has no
// role and no calls any more. A string, so that the typed fields share its memory.
type raw string

// MarshalJSON hands the bytes over unchanged.
func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// Transcript is a list of messages whose JSON is exact. It is assignable to and
// from a plain slice, whose own decoding would lose data.
type Transcript []TranscriptMessage

// MarshalJSON writes the messages with the bytes that they have on the wire.
// The nil transcript is an empty list.
func (t Transcript) MarshalJSON() ([]byte, error) {
	list := make([]json.RawMessage, len(t))
	for i, m := range t {
		data, err := storedMessage(m)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		list[i] = data
	}
	return json.Marshal(list)
}

// UnmarshalJSON reads each message as [ParseMessage] does.
func (t *Transcript) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	out := make(Transcript, len(list))
	for i, item := range list {
		text, err := unstored(item)
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if out[i], err = parse(text); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	*t = out
	return nil
}

// MessageJSON is a message's bytes as they go on the wire. Unlike json.Marshal
// it escapes no HTML. The bytes are the caller's.
func MessageJSON(m TranscriptMessage) ([]byte, error) {
	if r, ok := rawOf(m); ok {
		return []byte(r), nil
	}
	if Role(m) == "" {
		return nil, errors.New("the message is empty: it has no role")
	}
	return m.MarshalJSON()
}

// AppendMessage appends what [MessageJSON] returns, without a copy in between.
// After an error it returns dst as it was.
func AppendMessage(dst []byte, m TranscriptMessage) ([]byte, error) {
	if r, ok := rawOf(m); ok {
		return append(dst, r...), nil
	}
	data, err := MessageJSON(m)
	return append(dst, data...), err
}

// rawOf is the bytes that a message came with, if it came as JSON.
func rawOf(m TranscriptMessage) (raw, bool) {
	var v any
	switch {
	case m.OfAssistant != nil:
		v, _ = m.OfAssistant.Overrides()
	case m.OfTool != nil:
		v, _ = m.OfTool.Overrides()
	case m.OfUser != nil:
		v, _ = m.OfUser.Overrides()
	case m.OfSystem != nil:
		v, _ = m.OfSystem.Overrides()
	case m.OfDeveloper != nil:
		v, _ = m.OfDeveloper.Overrides()
	case m.OfFunction != nil:
		v, _ = m.OfFunction.Overrides()
	}
	r, ok := v.(raw)
	return r, ok
}

// ParseMessage reads one message. What goes on the wire again is the bytes given,
// without white space between tokens and with invalid UTF-8 replaced; fields that
// the wire types do not know are kept. The error says what is wrong with the JSON.
func ParseMessage(data []byte) (TranscriptMessage, error) { return parse(string(data)) }

func parse(text string) (TranscriptMessage, error) {
	text, err := canonical(text)
	if err != nil {
		return TranscriptMessage{}, err
	}
	f := fieldsOf(text)
	switch textOf(f.role) {
	case "assistant":
		return TranscriptMessage{OfAssistant: f.assistant(raw(text))}, nil
	case "tool":
		v := param.Override[openai.ChatCompletionToolMessageParam](raw(text))
		v.ToolCallID = textOf(f.callID)
		v.Content.OfString, v.Content.OfArrayOfContentParts = textContent(f.content)
		return TranscriptMessage{OfTool: &v}, nil
	case "user":
		v := param.Override[openai.ChatCompletionUserMessageParam](raw(text))
		v.Name, v.Content.OfString = optional(f.name), optional(f.content)
		decodeParts(f.content, &v.Content.OfArrayOfContentParts)
		return TranscriptMessage{OfUser: &v}, nil
	case "system":
		v := param.Override[openai.ChatCompletionSystemMessageParam](raw(text))
		v.Name = optional(f.name)
		v.Content.OfString, v.Content.OfArrayOfContentParts = textContent(f.content)
		return TranscriptMessage{OfSystem: &v}, nil
	case "developer":
		v := param.Override[openai.ChatCompletionDeveloperMessageParam](raw(text))
		v.Name = optional(f.name)
		v.Content.OfString, v.Content.OfArrayOfContentParts = textContent(f.content)
		return TranscriptMessage{OfDeveloper: &v}, nil
	case "function":
		v := param.Override[openai.ChatCompletionFunctionMessageParam](raw(text))
		v.Name, v.Content = textOf(f.name), optional(f.content)
		return TranscriptMessage{OfFunction: &v}, nil
	}
	if f.role == "" {
		return TranscriptMessage{}, errors.New("the message has no role")
	}
	return TranscriptMessage{}, fmt.Errorf("unknown role %.40s", f.role)
}

// fields are the raw values of a message that the views are made of; of a name
// that stands twice, the last.
type fields struct{ role, content, name, callID, calls, refusal, audio, function string }

func fieldsOf(text string) (f fields) {
	eachField(text, func(key, value string) {
		switch key {
		case "role":
			f.role = value
		case "content":
			f.content = value
		case "name":
			f.name = value
		case "tool_call_id":
			f.callID = value
		case "tool_calls":
			f.calls = value
		case "refusal":
			f.refusal = value
		case "audio":
			f.audio = value
		case "function_call":
			f.function = value
		}
	})
	return f
}

func parseAssistant(r raw) *openai.ChatCompletionAssistantMessageParam {
	return fieldsOf(string(r)).assistant(r)
}

func (f fields) assistant(r raw) *openai.ChatCompletionAssistantMessageParam {
	v := param.Override[openai.ChatCompletionAssistantMessageParam](r)
	v.Content.OfString = optional(f.content)
	decodeParts(f.content, &v.Content.OfArrayOfContentParts)
	v.Refusal, v.Name = optional(f.refusal), optional(f.name)
	eachField(f.audio, func(key, value string) {
		if key == "id" {
			v.Audio.ID = textOf(value)
		}
	})
	v.FunctionCall.Name, v.FunctionCall.Arguments = twoFields(f.function, "name", "arguments")
	v.ToolCalls = parseCalls(f.calls)
	return &v
}

func parseCalls(list string) []openai.ChatCompletionMessageToolCallUnionParam {
	var calls []openai.ChatCompletionMessageToolCallUnionParam
	eachItem(list, func(item string) {
		if item[0] != '{' {
			return
		}
		calls = append(calls, parseCall(item))
	})
	return calls
}

func parseCall(item string) (u openai.ChatCompletionMessageToolCallUnionParam) {
	var id, kind, function, custom string
	eachField(item, func(key, value string) {
		switch key {
		case "id":
			id = textOf(value)
		case "type":
			kind = textOf(value)
		case "function":
			function = value
		case "custom":
			custom = value
		}
	})
	if kind == "custom" && !strings.HasPrefix(function, "{") {
		v := param.Override[openai.ChatCompletionMessageCustomToolCallParam](raw(item))
		v.ID = id
		v.Custom.Name, v.Custom.Input = twoFields(custom, "name", "input")
		u.OfCustom = &v
		return u
	}
	v := param.Override[openai.ChatCompletionMessageFunctionToolCallParam](raw(item))
	v.ID = id
	v.Function.Name, v.Function.Arguments = twoFields(function, "name", "arguments")
	u.OfFunction = &v
	return u
}

// twoFields reads two texts of an object.
func twoFields(object, first, second string) (a, b string) {
	eachField(object, func(key, value string) {
		switch key {
		case first:
			a = textOf(value)
		case second:
			b = textOf(value)
		}
	})
	return a, b
}

// textOf is what a string says; a value of another kind stands as it is written.
func textOf(value string) string {
	switch {
	case value == "" || value == "null":
		return ""
	case value[0] == '"':
		return unquote(value)
	}
	return value
}

func optional(value string) param.Opt[string] {
	if value == "" || value[0] != '"' {
		return param.Opt[string]{}
	}
	return param.NewOpt(unquote(value))
}

func textContent(value string) (text param.Opt[string], parts []openai.ChatCompletionContentPartTextParam) {
	decodeParts(value, &parts)
	return optional(value), parts
}

// decodeParts fills a view; a part that it cannot read stays in the raw bytes alone.
func decodeParts[T any](value string, into *[]T) {
	eachItem(value, func(part string) {
		var p T
		if json.Unmarshal([]byte(part), &p) == nil {
			*into = append(*into, p)
		}
	})
}

// canonical checks that text is a JSON object and takes out what may differ
// between two encodings of the same message: white space between tokens and
// bytes that are no UTF-8. Nothing inside a string is touched.
func canonical(text string) (string, error) {
	text = validUTF8(text)
	spaced, err := check(text)
	if err != nil {
		return "", err
	}
	if spaced {
		var b bytes.Buffer
		if err := json.Compact(&b, []byte(text)); err != nil {
			return "", err
		}
		text = b.String()
	}
	if text[0] != '{' {
		return "", fmt.Errorf("not a JSON object: %.20q", text)
	}
	return text, nil
}

func validUTF8(s string) string {
	if utf8.ValidString(s) { // much the faster look
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// ValidJSON says why text is not one JSON value, and where; nil when it is. Text
// that is nested deeper than 500 is not, so whoever reads it next may recurse.
func ValidJSON(text string) error {
	_, err := check(text)
	return err
}

// syntaxError has encoding/json say where the fault is.
func syntaxError(text string) error {
	var v any
	err := json.Unmarshal([]byte(text), &v)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("invalid JSON at byte %d: %w", syntax.Offset, err)
	}
	return errors.New("invalid JSON")
}
