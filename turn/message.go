package turn

import (
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/tidwall/gjson"
)

// Call is a tool call as the loop sees it: which, of what, with what. Arguments
// is the text that the model produced, which need not be JSON.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// System is a system message.
func System(text string) TranscriptMessage { return openai.SystemMessage(text) }

// User is a user message.
func User(text string) TranscriptMessage { return openai.UserMessage(text) }

// ToolResult is the message that answers a call. The content is present on the
// wire also when text is empty. That a call failed can only stand in the text: the
// wire has no flag for it.
func ToolResult(callID, text string) TranscriptMessage { return openai.ToolMessage(text, callID) }

// Assistant is a reply built by hand, for adapters and scripted models.
func Assistant(text string, calls ...Call) AssistantTurnMessage {
	m := AssistantTurnMessage{Role: "assistant", Content: text}
	if len(calls) == 0 {
		return m
	}
	m.ToolCalls = make([]WireToolCall, len(calls))
	for i, c := range calls {
		w := &m.ToolCalls[i]
		w.ID, w.Type = c.ID, "function"
		w.Function.Name, w.Function.Arguments = c.Name, c.Arguments
	}
	return m
}

// Role is a message's role as the wire names it; "" for the zero message.
func Role(m TranscriptMessage) string {
	switch {
	case m.OfAssistant != nil:
		return "assistant"
	case m.OfTool != nil:
		return "tool"
	case m.OfUser != nil:
		return "user"
	case m.OfSystem != nil:
		return "system"
	case m.OfDeveloper != nil:
		return "developer"
	case m.OfFunction != nil:
		return "function"
	}
	return ""
}

// Text is the text of a message: its content, or the text parts of its content
// with a line feed between them.
func Text(m TranscriptMessage) string {
	var parts []string
	switch {
	case m.OfAssistant != nil:
		c := m.OfAssistant.Content
		if c.OfString.Valid() {
			return c.OfString.Value
		}
		for _, p := range c.OfArrayOfContentParts {
			if p.OfText != nil {
				parts = append(parts, p.OfText.Text)
			}
		}
	case m.OfUser != nil:
		c := m.OfUser.Content
		if c.OfString.Valid() {
			return c.OfString.Value
		}
		for _, p := range c.OfArrayOfContentParts {
			if p.OfText != nil {
				parts = append(parts, p.OfText.Text)
			}
		}
	case m.OfTool != nil:
		return stringOrParts(m.OfTool.Content.OfString, m.OfTool.Content.OfArrayOfContentParts)
	case m.OfSystem != nil:
		return stringOrParts(m.OfSystem.Content.OfString, m.OfSystem.Content.OfArrayOfContentParts)
	case m.OfDeveloper != nil:
		return stringOrParts(m.OfDeveloper.Content.OfString, m.OfDeveloper.Content.OfArrayOfContentParts)
	case m.OfFunction != nil:
		return m.OfFunction.Content.Value
	}
	return strings.Join(parts, "\n")
}

// CallID is the id of the call that a tool message answers; "" for any other message.
func CallID(m TranscriptMessage) string {
	if m.OfTool == nil {
		return ""
	}
	return m.OfTool.ToolCallID
}

func stringOrParts(s param.Opt[string], parts []openai.ChatCompletionContentPartTextParam) string {
	if s.Valid() {
		return s.Value
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n")
}

// Calls are the tool calls of an assistant message, in order; nil for any other.
// A custom tool's input stands as its Arguments.
func Calls(m TranscriptMessage) []Call {
	if CountCalls(m) == 0 {
		return nil
	}
	calls := make([]Call, CountCalls(m))
	for i := range calls {
		calls[i] = CallAt(m, i)
	}
	return calls
}

// CountCalls is len(Calls(m)).
func CountCalls(m TranscriptMessage) int {
	if m.OfAssistant == nil {
		return 0
	}
	return len(m.OfAssistant.ToolCalls)
}

// CallAt is Calls(m)[i], without the rest; the zero Call where there is none.
func CallAt(m TranscriptMessage, i int) Call {
	if i < 0 || i >= CountCalls(m) {
		return Call{}
	}
	switch u := &m.OfAssistant.ToolCalls[i]; {
	case u.OfFunction != nil:
		return Call{u.OfFunction.ID, u.OfFunction.Function.Name, u.OfFunction.Function.Arguments}
	case u.OfCustom != nil:
		return Call{u.OfCustom.ID, u.OfCustom.Custom.Name, u.OfCustom.Custom.Input}
	}
	return Call{}
}

// IsEmpty reports whether a message is an assistant's that says nothing and calls
// nothing. A transcript may hold one (a model can end a run without a word), but
// many servers refuse a request with one in it, so a [TurnFn] leaves it out.
func IsEmpty(m TranscriptMessage) bool {
	a := m.OfAssistant
	if a == nil || len(a.ToolCalls) > 0 || a.Content.OfString.Value != "" || len(a.Content.OfArrayOfContentParts) > 0 ||
		a.Refusal.Value != "" || a.Audio.ID != "" || a.FunctionCall.Name != "" {
		return false
	}
	r, _ := rawOf(m) // it may hold content that the types cannot show
	switch gjson.Get(string(r), "content").Raw {
	case "", "null", `""`, "[]":
		return true
	}
	return false
}
