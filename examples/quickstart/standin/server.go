package standin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Model is the name under which the stand-in answers.
const Model = "stand-in"

// Server serves chat completions on a loopback port of its own.
type Server struct {
	URL  string // for a client: http://127.0.0.1:…/v1
	http *http.Server
}

// Start begins to serve. The pace is the time between two pieces of a streamed
// reply, so that something is to be seen; zero is at once.
func Start(pace time.Duration) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{URL: fmt.Sprintf("http://%s/v1", l.Addr()), http: &http.Server{Handler: Handler(pace), ReadHeaderTimeout: time.Minute}}
	go s.http.Serve(l)
	return s, nil
}

// Close ends the server and every request.
func (s *Server) Close() error { return s.http.Close() }

// Handler answers requests for chat completions, streamed and whole.
func Handler(pace time.Duration) http.Handler {
	h := &handler{pace: pace}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", h.complete)
	return mux
}

type handler struct {
	pace time.Duration

	mu   sync.Mutex
	seen []string // the messages of the latest request, as a prompt cache would hold them
}

type request struct {
	Model         string            `json:"model"`
	Messages      []json.RawMessage `json:"messages"`
	Stream        bool              `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

func (h *handler) complete(w http.ResponseWriter, r *http.Request) {
	var req request
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<20)).Decode(&req)
	if err == nil && len(req.Messages) == 0 {
		err = errors.New("messages is empty")
	}
	var messages []Message
	if err == nil {
		messages, err = parseMessages(req.Messages)
	}
	if err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": err.Error(), "type": "invalid_request_error"}})
		return
	}
	var tools []string
	for _, t := range req.Tools {
		tools = append(tools, t.Function.Name)
	}
	reply := Next(messages, tools)
	a := answer{Reply: reply, usage: h.usage(req.Messages, reply), withUsage: req.StreamOptions.IncludeUsage, pace: h.pace}
	if req.Stream {
		a.stream(w, r)
	} else {
		a.whole(w)
	}
}

// parseMessages refuses what a strict server refuses: a call without a result, or
// a result without a call.
func parseMessages(raw []json.RawMessage) ([]Message, error) {
	messages := make([]Message, len(raw))
	var open []string
	for i, data := range raw {
		m, err := parseMessage(data)
		if err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		messages[i] = m
		if m.Role == "tool" {
			at := slices.Index(open, m.ToolCallID)
			if at < 0 {
				return nil, fmt.Errorf("messages[%d]: no call %q is open", i, m.ToolCallID)
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			return nil, fmt.Errorf("messages[%d]: call %q has no result", i, open[0])
		}
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("call %q has no result", open[0])
	}
	return messages, nil
}

func parseMessage(data []byte) (Message, error) {
	var m struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		ToolCallID string          `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return Message{}, err
	}
	out := Message{Role: m.Role, ToolCallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, Call{c.ID, c.Function.Name, c.Function.Arguments})
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Content, &out.Content) != nil && json.Unmarshal(m.Content, &parts) == nil {
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = p.Text
		}
		out.Content = strings.Join(texts, "\n")
	}
	return out, nil
}

// usage counts four bytes as a token. What the request has in common with the one
// before counts as cached, as it would with a provider that caches prompts.
func (h *handler) usage(messages []json.RawMessage, reply Reply) map[string]any {
	h.mu.Lock()
	defer h.mu.Unlock()
	input, cached, same := 0, 0, true
	seen := make([]string, len(messages))
	for i, m := range messages {
		seen[i] = string(m)
		same = same && i < len(h.seen) && h.seen[i] == seen[i]
		input += len(m)
		if same {
			cached += len(m)
		}
	}
	h.seen = seen
	output := len(reply.Text)
	for _, c := range reply.Calls {
		output += len(c.Name) + len(c.Arguments)
	}
	tokens := func(bytes int) int { return (bytes + 3) / 4 }
	return map[string]any{"prompt_tokens": tokens(input), "completion_tokens": tokens(output), "total_tokens": tokens(input) + tokens(output),
		"prompt_tokens_details": map[string]any{"cached_tokens": cached / 4}}
}
