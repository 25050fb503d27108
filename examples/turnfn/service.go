package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// service plays the server. It answers by rules, it is no language model, and it is
// as strict as a real one: a request that is not in its format is refused.
type service struct{}

type asked struct {
	Model     string `json:"model"`
	MaxTokens int    `json:"max_tokens"`
	System    string `json:"system"`
	Messages  []struct {
		Role    string `json:"role"`
		Content []part `json:"content"`
	} `json:"messages"`
	Tools []offer `json:"tools"`
}

type offer struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"input_schema"`
}

// part is a block, of any type.
type part struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  string          `json:"thinking,omitempty"`
	Signature string          `json:"signature,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
}

func (service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in asked
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		refuse(w, "invalid JSON: %v", err)
		return
	}
	if wrong := in.wrong(); wrong != "" || r.URL.Path != "/v1/messages" {
		refuse(w, "%s: %s", r.URL.Path, wrong)
		return
	}
	content := in.answer()
	stop := "end_turn"
	if content[len(content)-1].Type == "tool_use" {
		stop = "tool_use"
	}
	old, all := in.size()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "message", "role": "assistant", "model": in.Model, "content": content, "stop_reason": stop,
		"usage": map[string]int{"input_tokens": all - old, "cache_read_input_tokens": old, "output_tokens": size(content)}})
}

func refuse(w http.ResponseWriter, format string, args ...any) {
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]string{"type": "invalid_request_error", "message": fmt.Sprintf(format, args...)}})
}

// wrong says what is wrong with a request, "" for nothing.
func (in *asked) wrong() string {
	if in.Model == "" || in.MaxTokens < 1 || len(in.Messages) == 0 {
		return "model, max_tokens and messages are required"
	}
	for _, t := range in.Tools {
		if t.Name == "" || !json.Valid(t.Schema) {
			return "a tool without a name or a schema"
		}
	}
	var open []string
	for i, m := range in.Messages {
		if want := [...]string{"user", "assistant"}[i%2]; m.Role != want || len(m.Content) == 0 {
			return fmt.Sprintf("messages.%d: want a %s message that says something", i, want)
		}
		thought := false
		for _, p := range m.Content {
			switch {
			case p.Type == "tool_result" && len(open) > 0 && p.ToolUseID == open[0]:
				open = open[1:]
			case p.Type == "tool_result" || m.Role == "user" && len(open) > 0:
				return fmt.Sprintf("messages.%d: want the result of %v", i, open)
			case p.Type == "thinking" && p.Signature != sign(p.Thinking):
				return fmt.Sprintf("messages.%d: the thinking was changed", i)
			case p.Type == "thinking":
				thought = true
			case p.Type == "tool_use" && strings.HasPrefix(p.ID, callPrefix) && !thought:
				return fmt.Sprintf("messages.%d: the thinking before %s is missing", i, p.ID)
			case p.Type == "tool_use":
				open = append(open, p.ID)
			}
		}
	}
	if in.Messages[len(in.Messages)-1].Role == "assistant" {
		return "the last message is not the user's"
	}
	return ""
}

const callPrefix = "toolu_"

var (
	places = regexp.MustCompile(`\b(?:in|and) ([A-Z]\w+)`)
	number = regexp.MustCompile(`-?\d+`)
)

// answer looks up each place that was named, then converts what it was told, then
// says it. Without tools it only says something.
func (in *asked) answer() []part {
	last := in.Messages[len(in.Messages)-1].Content
	var calls []part
	add := func(tool string, input any) {
		data, _ := json.Marshal(input) // strings and numbers
		if slices.ContainsFunc(in.Tools, func(o offer) bool { return o.Name == tool }) {
			calls = append(calls, part{Type: "tool_use", ID: fmt.Sprintf("%s%d_%d", callPrefix, len(in.Messages), len(calls)), Name: tool, Input: data})
		}
	}
	said := ""
	for _, p := range last {
		switch {
		case p.Type == "text":
			for _, m := range places.FindAllStringSubmatch(p.Text, -1) {
				add("temperature", map[string]string{"place": m[1]})
			}
		case strings.HasSuffix(p.Content, "Celsius"):
			add("fahrenheit", map[string]json.Number{"celsius": json.Number(number.FindString(p.Content))})
		case p.Type == "tool_result":
			said += p.Content + ". "
		}
	}
	if len(calls) == 0 {
		return []part{{Type: "text", Text: strings.TrimSpace(said + "That is all I can say.")}}
	}
	thought := fmt.Sprintf("%d calls <will> do.", len(calls))
	return append([]part{{Type: "thinking", Thinking: thought, Signature: sign(thought)}}, calls...)
}

// sign stands for what only a server can make and check.
func sign(text string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte("secret" + text))
	return fmt.Sprintf("%x", h.Sum64())
}

// size is in tokens, as well as this server can count: all of a request, and what
// of it stood in the request before.
func (in *asked) size() (old, all int) {
	for i, m := range in.Messages {
		if i < len(in.Messages)-2 {
			old += size(m.Content)
		}
		all += size(m.Content)
	}
	return old, all + size(in.System)
}

func size(v any) int {
	data, _ := json.Marshal(v) // structs of strings
	return (len(data) + 3) / 4
}
