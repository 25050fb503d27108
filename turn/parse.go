package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
)

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
