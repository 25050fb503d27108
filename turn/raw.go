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
	"github.com/tidwall/gjson"
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
	role, content := gjson.Get(text, "role"), gjson.Get(text, "content")
	r := raw(text)
	switch role.String() {
	case "assistant":
		return TranscriptMessage{OfAssistant: parseAssistant(r)}, nil
	case "tool":
		v := param.Override[openai.ChatCompletionToolMessageParam](r)
		v.ToolCallID = gjson.Get(text, "tool_call_id").String()
		v.Content.OfString, v.Content.OfArrayOfContentParts = textContent(content)
		return TranscriptMessage{OfTool: &v}, nil
	case "user":
		v := param.Override[openai.ChatCompletionUserMessageParam](r)
		v.Name = optional(gjson.Get(text, "name"))
		if content.Type == gjson.String {
			v.Content.OfString = param.NewOpt(content.Str)
		} else if content.IsArray() {
			decodeParts(content, &v.Content.OfArrayOfContentParts)
		}
		return TranscriptMessage{OfUser: &v}, nil
	case "system":
		v := param.Override[openai.ChatCompletionSystemMessageParam](r)
		v.Name = optional(gjson.Get(text, "name"))
		v.Content.OfString, v.Content.OfArrayOfContentParts = textContent(content)
		return TranscriptMessage{OfSystem: &v}, nil
	case "developer":
		v := param.Override[openai.ChatCompletionDeveloperMessageParam](r)
		v.Name = optional(gjson.Get(text, "name"))
		v.Content.OfString, v.Content.OfArrayOfContentParts = textContent(content)
		return TranscriptMessage{OfDeveloper: &v}, nil
	case "function":
		v := param.Override[openai.ChatCompletionFunctionMessageParam](r)
		v.Name, v.Content = gjson.Get(text, "name").String(), optional(content)
		return TranscriptMessage{OfFunction: &v}, nil
	}
	if !role.Exists() {
		return TranscriptMessage{}, errors.New("the message has no role")
	}
	return TranscriptMessage{}, fmt.Errorf("unknown role %.40s", role.Raw)
}

func parseAssistant(r raw) *openai.ChatCompletionAssistantMessageParam {
	v := param.Override[openai.ChatCompletionAssistantMessageParam](r)
	gjson.Parse(string(r)).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "content":
			if value.Type == gjson.String {
				v.Content.OfString = param.NewOpt(value.Str)
			} else if value.IsArray() {
				decodeParts(value, &v.Content.OfArrayOfContentParts)
			}
		case "refusal":
			v.Refusal = optional(value)
		case "name":
			v.Name = optional(value)
		case "audio":
			v.Audio.ID = value.Get("id").String()
		case "function_call":
			v.FunctionCall.Name, v.FunctionCall.Arguments = value.Get("name").String(), value.Get("arguments").String()
		case "tool_calls":
			v.ToolCalls = parseCalls(value)
		}
		return true
	})
	return &v
}

func parseCalls(list gjson.Result) []openai.ChatCompletionMessageToolCallUnionParam {
	if !list.IsArray() {
		return nil
	}
	var calls []openai.ChatCompletionMessageToolCallUnionParam
	list.ForEach(func(_, c gjson.Result) bool {
		if !c.IsObject() {
			return true
		}
		calls = append(calls, parseCall(c))
		return true
	})
	return calls
}

func parseCall(c gjson.Result) (u openai.ChatCompletionMessageToolCallUnionParam) {
	if isCustom(c) {
		v := param.Override[openai.ChatCompletionMessageCustomToolCallParam](raw(c.Raw))
		v.ID, v.Custom.Name, v.Custom.Input = c.Get("id").String(), c.Get("custom.name").String(), c.Get("custom.input").String()
		u.OfCustom = &v
		return u
	}
	v := param.Override[openai.ChatCompletionMessageFunctionToolCallParam](raw(c.Raw))
	v.ID, v.Function.Name, v.Function.Arguments = c.Get("id").String(), c.Get("function.name").String(), c.Get("function.arguments").String()
	u.OfFunction = &v
	return u
}

func isCustom(call gjson.Result) bool {
	return call.Get("type").Str == "custom" && !call.Get("function").IsObject()
}

func optional(v gjson.Result) param.Opt[string] {
	if v.Type != gjson.String {
		return param.Opt[string]{}
	}
	return param.NewOpt(v.Str)
}

func textContent(v gjson.Result) (text param.Opt[string], parts []openai.ChatCompletionContentPartTextParam) {
	if v.IsArray() {
		decodeParts(v, &parts)
	}
	return optional(v), parts
}

// decodeParts fills a view; a part that it cannot read stays in the raw bytes alone.
func decodeParts[T any](v gjson.Result, into *[]T) {
	v.ForEach(func(_, part gjson.Result) bool {
		var p T
		if json.Unmarshal([]byte(part.Raw), &p) == nil {
			*into = append(*into, p)
		}
		return true
	})
}

// canonical checks that text is a JSON object and takes out what may differ
// between two encodings of the same message: white space between tokens and
// bytes that are no UTF-8. Nothing inside a string is touched.
func canonical(text string) (string, error) {
	text = validUTF8(text)
	if err := validJSON(text); err != nil {
		return "", err
	}
	if spaced, _ := layout(text); spaced {
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

// validJSON says what is wrong with text and where.
func validJSON(text string) error {
	if len(text) > maxDepth { // a shorter one cannot nest deeper
		if _, depth := layout(text); depth > maxDepth {
			return fmt.Errorf("the JSON is nested deeper than %d", maxDepth)
		}
	}
	if !gjson.Valid(text) {
		return syntaxError(text)
	}
	return nil
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

// maxDepth bounds the nesting that is read at all. A validator that calls itself
// for each level would otherwise let a few megabytes of brackets end the process.
const maxDepth = 500

// layout reports white space between tokens, and how deep brackets nest.
func layout(text string) (spaced bool, depth int) {
	level := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ' ', '\t', '\n', '\r':
			spaced = true
		case '{', '[':
			level++
			depth = max(depth, level)
		case '}', ']':
			level--
		case '"':
			i = endOfString(text, i)
		}
	}
	return spaced, depth
}

// endOfString is the index of the quote that closes the string opened at i.
func endOfString(text string, i int) int {
	for {
		n := strings.IndexByte(text[i+1:], '"')
		if n < 0 {
			return len(text)
		}
		i += 1 + n
		slashes := 0
		for text[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
}
