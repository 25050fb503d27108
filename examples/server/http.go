package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"regexp"
	"strings"

	"github.com/pawl-dev/pawl/loop"
)

var errRequest = errors.New("bad request")

// sessionID has no capitals, since some file systems take two names for one that
// differ in nothing else, and two runs would then share a file.
var sessionID = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// handler is what the server offers. Pages of other sites cannot post to it.
func (h *host) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sessions", func(w http.ResponseWriter, _ *http.Request) {
		list, err := h.list()
		respond(w, http.StatusOK, list, err)
	})
	// What is done to a session is answered with how it then stands.
	handle := func(pattern string, status int, do func(*session, *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			var now state
			r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
			id, err := r.PathValue("id"), error(nil)
			if !sessionID.MatchString(id) {
				err = fmt.Errorf("%w: an id is 1 to 64 of a-z, 0-9 and -", errRequest)
			} else if err = do(h.session(id), r); err == nil {
				now, err = h.session(id).state()
			}
			respond(w, status, now, err)
		})
	}
	handle("GET /sessions/{id}", http.StatusOK, func(*session, *http.Request) error { return nil })
	handle("POST /sessions/{id}/messages", http.StatusAccepted, postMessage)
	handle("POST /sessions/{id}/replies", http.StatusAccepted, postReply)
	handle("DELETE /sessions/{id}/run", http.StatusOK, func(s *session, _ *http.Request) error { return s.stop() })
	return http.NewCrossOriginProtection().Handler(mux)
}

func postMessage(s *session, r *http.Request) error {
	var in struct {
		Text string `json:"text"`
	}
	if err := decode(r, &in); err != nil {
		return err
	}
	if in.Text == "" {
		return fmt.Errorf("%w: the text is empty", errRequest)
	}
	return s.post(in.Text)
}

// replyRequest is a reply in the form that it has in the library. The ticket that came
// with the question may be sent along: the reply is then refused if it comes too late.
type replyRequest struct {
	Call string `json:"call"`
	loop.Reply
}

func postReply(s *session, r *http.Request) error {
	var in replyRequest
	if err := decode(r, &in); err != nil {
		return err
	}
	return s.reply(in.Call, in.Reply)
}

func decode(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", errRequest, err)
	}
	return nil
}

func respond(w http.ResponseWriter, status int, body any, err error) {
	if err != nil {
		status, body = statusOf(err), state{Error: err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who asked may be gone
}

// statusOf tells what the client can mend from what it cannot.
func statusOf(err error) int {
	var invalid *loop.InvalidError
	switch {
	case errors.Is(err, errRequest):
		return http.StatusBadRequest
	case errors.Is(err, fs.ErrNotExist):
		return http.StatusNotFound
	case errors.Is(err, errBusy), errors.Is(err, errIdle):
		return http.StatusConflict
	case errors.As(err, &invalid) && strings.HasPrefix(invalid.Field, "Replies"):
		return http.StatusConflict // any other field of it is ours
	case errors.Is(err, loop.ErrShutdown), errors.Is(err, errNotTaken):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
