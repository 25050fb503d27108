package chat_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/chat"
)

// answer is what the server sends for one request.
type answer struct {
	status int // 200 when zero
	header map[string]string
	body   string
	cut    bool // the connection is reset after the body
	hold   bool // the connection stays open after the body, until the client leaves
}

// server answers requests in order, the last answer for ever, with exactly the
// bytes it was given.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	answers  []answer
	requests []string
	headers  []http.Header
}

func serve(t testing.TB, answers ...answer) *server {
	t.Helper()
	s := &server{answers: answers}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	a := s.answers[min(len(s.requests), len(s.answers)-1)]
	s.requests, s.headers = append(s.requests, string(body)), append(s.headers, r.Header.Clone())
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(max(a.status, 200))
	_, _ = io.WriteString(w, a.body)
	w.(http.Flusher).Flush()
	if a.hold {
		<-r.Context().Done()
	}
	if a.cut {
		panic(http.ErrAbortHandler)
	}
}

func (s *server) sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

func (s *server) service(options ...option.RequestOption) openai.ChatCompletionService {
	return openai.NewChatCompletionService(append([]option.RequestOption{option.WithBaseURL(s.URL + "/v1/"), option.WithAPIKey("test")}, options...)...)
}

// model asks the server, with as little waiting as may be.
func (s *server) model(o chat.Options) turn.TurnFn {
	if o.Backoff == 0 {
		o.Backoff = -1
	}
	return chat.New(s.service(), "m", o)
}

// stream is a body of events, with [DONE] at its end.
func stream(chunks ...string) string { return events(chunks...) + "data: [DONE]\n\n" }

func events(chunks ...string) string {
	var b bytes.Buffer
	for _, c := range chunks {
		fmt.Fprintf(&b, "data: %s\n\n", c)
	}
	return b.String()
}

// delta is a chunk with that delta and no finish reason.
func delta(fields string) string { return chunk(fields, "null") }

func chunk(fields, finish string) string {
	return `{"id":"x","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[{"index":0,"delta":{` + fields + `},"finish_reason":` + finish + `}]}`
}

func finish(reason string) string { return chunk("", `"`+reason+`"`) }

func spent(usage string) string {
	return `{"id":"x","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[],"usage":` + usage + `}`
}

// callDelta is a chunk with one piece of a tool call.
func callDelta(fields ...string) string {
	return delta(`"tool_calls":[{` + strings.Join(fields, "},{") + `}]`)
}

func hello() []turn.TranscriptMessage { return []turn.TranscriptMessage{turn.User("hello")} }

type ctx = context.Context
