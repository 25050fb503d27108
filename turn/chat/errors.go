package chat

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/turn"
	"github.com/tidwall/gjson"
)

var (
	// ErrIncomplete is what the error of a reply wraps that began and did not end:
	// a cut stream, half a tool call, a body that stops in the middle.
	ErrIncomplete = errors.New("the reply is incomplete")
	// ErrTimeout is what an error wraps when Options.FirstToken or Options.Idle ran out.
	ErrTimeout = errors.New("the model said nothing for too long")
	// ErrQuota is what an error wraps when the account has nothing left to spend.
	// Unlike a rate limit it does not pass by itself, so it is never retried.
	ErrQuota = errors.New("the quota is used up")
)

// Error is a model call that failed for a reason other than the host's context.
// It also wraps [turn.ErrContextOverflow] when the messages no longer fit.
type Error struct {
	// Status is the HTTP status, or the one that an error inside a 200 names; 0
	// when no response came.
	Status int
	// Code, Type and Message are the provider's own words, as far as it gave any.
	Code, Type, Message string
	// RequestID is the provider's name for the request, for its support.
	RequestID string
	// Retryable says whether the same request may succeed later.
	Retryable bool
	// RetryAfter is how long the server asked to wait; zero when it did not.
	RetryAfter time.Duration
	// Attempts is how many requests were sent, this one included.
	Attempts int
	// Body is what arrived, as far as it explains the error, at most 4 KiB.
	Body string
	// Err is what went wrong below: a network error, or one of the errors that this
	// package names.
	Err error
}

// Error says what the server answered, and what was made of it.
func (e *Error) Error() string {
	var parts []string
	if e.Status != 0 {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status))))
	}
	if name := first(e.Code, e.Type); name != "" && name != strconv.Itoa(e.Status) {
		parts = append(parts, name)
	}
	if e.Message != "" {
		parts = append(parts, e.Message)
	}
	var notes []string
	if e.RequestID != "" {
		notes = append(notes, "request "+e.RequestID)
	}
	if e.Attempts > 1 {
		notes = append(notes, fmt.Sprintf("%d attempts", e.Attempts))
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	text := "chat: " + strings.Join(parts, ": ")
	if len(notes) > 0 {
		text += " (" + strings.Join(notes, ", ") + ")"
	}
	return text
}

// Unwrap is Err.
func (e *Error) Unwrap() error { return e.Err }

func first(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

// errorInBody reads an error that a server sent in place of a reply, in whatever
// shape it has. v is the zero value for a body that is no JSON.
func errorInBody(v gjson.Result, body []byte) *Error {
	e := &Error{Body: clip(body)}
	if v.IsArray() {
		v = v.Get("0")
	}
	if !v.IsObject() {
		e.Message = plainText(body)
		e.classify()
		return e
	}
	inner := v.Get("error")
	if inner.IsArray() {
		inner = inner.Get("0")
	}
	if !inner.IsObject() {
		inner = v
		if base := v.Get("base_resp"); base.IsObject() {
			inner = base
		}
	}
	e.Code, e.Type = first(inner.Get("code").String(), inner.Get("status_code").String()), first(inner.Get("type").String(), inner.Get("status").String())
	for _, m := range [...]gjson.Result{inner.Get("message"), v.Get("message"), v.Get("error"), v.Get("detail"), v.Get("errors"), inner.Get("status_msg"), v.Get("x_groq.error"), inner.Get("failed_generation")} {
		if e.Message == "" {
			e.Message = messageText(m)
		}
	}
	if raw := inner.Get("metadata.raw").String(); raw != "" && !strings.Contains(e.Message, raw) {
		e.Message = strings.TrimSpace(e.Message + ": " + clip([]byte(raw))) // what the provider behind a router said
	}
	if e.Message == "" {
		e.Message = "the server reported an error: " + excerpt(body)
	}
	for _, s := range [...]string{e.Code, inner.Get("status").String()} {
		if n, err := strconv.Atoi(s); err == nil && n >= 400 && n < 600 && e.Status == 0 {
			e.Status = n
		}
	}
	if delay, err := time.ParseDuration(inner.Get("details.#(retryDelay).retryDelay").String()); err == nil {
		e.RetryAfter = max(delay, 0)
	}
	e.classify()
	return e
}

// messageText reads a message that is a string, an object, or a list of faults.
func messageText(v gjson.Result) string {
	switch {
	case v.Type == gjson.String:
		return clip([]byte(strings.TrimSpace(v.Str)))
	case v.IsObject():
		if s := first(v.Get("message").String(), v.Get("msg").String(), v.Get("detail").String()); s != "" {
			return clip([]byte(s))
		}
		if v.Raw != "{}" {
			return excerpt([]byte(v.Raw))
		}
	case v.IsArray():
		var parts []string
		v.ForEach(func(_, item gjson.Result) bool {
			if s := messageText(item); s != "" {
				parts = append(parts, s)
			}
			return len(parts) < 8
		})
		return strings.Join(parts, "; ")
	}
	return ""
}

// classify decides what can be read out of the words: an overflow, a used up
// quota, and whether the same request may succeed later.
func (e *Error) classify() {
	e.Err = nil
	switch words := strings.ToLower(e.Code + " " + e.Type + " " + e.Message); {
	case isOverflow(e.Status, words):
		e.Err, e.Retryable = turn.ErrContextOverflow, false
	case e.Status == http.StatusPaymentRequired, containsAny(words, quotaWords):
		e.Err, e.Retryable = ErrQuota, false
	case containsAny(words, []string{"tool_use_failed", "failed_generation"}):
		e.Retryable = true // the server could not read what the model produced: another try may be readable
	case e.Status != 0:
		e.Retryable = retryableStatus(e.Status)
	default: // inside a 200: the request itself was accepted
		name := strings.ReplaceAll(strings.ToLower(e.Code+" "+e.Type), "_", "")
		e.Retryable = !containsAny(name, []string{"invalidrequest", "badrequest", "authentication", "permission", "notfound", "contentfilter", "contentpolicy", "unsupported"})
	}
}

func retryableStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests, 498: // Groq: no capacity for a flexible request
		return true
	}
	return status >= 500
}

// plainText makes one line of a body that is no JSON: of an HTML page its title,
// else its text.
func plainText(body []byte) string {
	s := clipTo(body, 64<<10)
	lower := strings.ToLower(s)
	if len(lower) == len(s) && strings.Contains(lower, "<") {
		if i, j := strings.Index(lower, "<title>"), strings.Index(lower, "</title>"); i >= 0 && j > i {
			s = s[i+len("<title>") : j]
		} else {
			s = withoutTags(s)
		}
		s = html.UnescapeString(s)
	}
	if s = strings.Join(strings.Fields(s), " "); s == "" {
		return "the body is empty"
	}
	return excerpt([]byte(s))
}

func withoutTags(s string) string {
	var b strings.Builder
	for s != "" {
		text, rest, _ := strings.Cut(s, "<")
		b.WriteString(text + " ")
		_, s, _ = strings.Cut(rest, ">")
	}
	return b.String()
}

func excerpt(body []byte) string { return clipTo(body, 300) }

func clip(body []byte) string { return clipTo(body, 4<<10) }

// clipTo cuts between two characters.
func clipTo(body []byte, n int) string {
	if len(body) > n {
		for n > 0 && !utf8.RuneStart(body[n]) {
			n--
		}
		body = body[:n]
	}
	return strings.ToValidUTF8(string(body), "\uFFFD")
}
