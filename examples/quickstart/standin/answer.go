package standin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// answer is a reply on its way out.
type answer struct {
	Reply
	usage     map[string]any
	withUsage bool // at the end of a stream
	pace      time.Duration
}

func (a answer) finish() string {
	if len(a.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func wireCall(index int, c Call) map[string]any {
	return map[string]any{"index": index, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Arguments}}
}

func (a answer) whole(w http.ResponseWriter) {
	message := map[string]any{"role": "assistant", "content": a.Text}
	if len(a.Calls) > 0 {
		calls := make([]any, len(a.Calls))
		for i, c := range a.Calls {
			call := wireCall(i, c)
			delete(call, "index")
			calls[i] = call
		}
		message["tool_calls"] = calls
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"id": "standin", "object": "chat.completion", "created": time.Now().Unix(), "model": Model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": a.finish()}}, "usage": a.usage})
}

// stream sends the text word by word, and each call in two pieces.
func (a answer) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta map[string]any, finish any) {
		a.event(w, r, map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	send(map[string]any{"role": "assistant", "content": ""}, nil)
	for _, word := range strings.SplitAfter(a.Text, " ") {
		send(map[string]any{"content": word}, nil)
	}
	for i, c := range a.Calls {
		arguments := c.Arguments
		c.Arguments = ""
		send(map[string]any{"tool_calls": []any{wireCall(i, c)}}, nil)
		send(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": arguments}}}}, nil)
	}
	send(map[string]any{}, a.finish())
	if a.withUsage {
		a.event(w, r, map[string]any{"choices": []any{}, "usage": a.usage})
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func (a answer) event(w http.ResponseWriter, r *http.Request, chunk map[string]any) {
	chunk["id"], chunk["object"], chunk["model"], chunk["created"] = "standin", "chat.completion.chunk", Model, time.Now().Unix()
	data, _ := json.Marshal(chunk) // of maps and strings
	fmt.Fprintf(w, "data: %s\n\n", data)
	_ = http.NewResponseController(w).Flush()
	if a.pace > 0 {
		select {
		case <-time.After(a.pace):
		case <-r.Context().Done():
		}
	}
}
