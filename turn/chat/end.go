package chat

import (
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/turn"
)

// end judges a stream that is over: what is no success is an error.
func (r *reply) end() error {
	switch {
	case r.finish == "" && !r.done:
		return r.incomplete("the stream ended with neither a finish reason nor [DONE]")
	case !r.begun:
		return r.incomplete("the stream held no choices")
	case isFailure(r.finish):
		return &Error{Message: r.ended(), Retryable: true}
	case r.finish == "model_context_window_exceeded":
		return &Error{Message: r.ended(), Err: turn.ErrContextOverflow}
	case r.finish == "tool_calls" && r.isEmpty():
		return r.incomplete("the reply is to call tools and calls none")
	}
	for _, c := range r.calls {
		if c.name == "" && !c.isGhost() {
			return r.incomplete("a tool call never got a name")
		}
		if r.finish == "" && c.isHalf() {
			return r.incomplete("the stream ended in the middle of a tool call")
		}
	}
	return nil
}

// isFailure knows the finish reasons of a server that gave up in the middle, or
// could not read the call that the model made. It is asked once the stream is over,
// since the usage comes after the finish reason.
func isFailure(finish string) bool {
	switch finish {
	case "error", "abort", "aborted", "network_error", "insufficient_system_resource":
		return true
	}
	finish = strings.ToLower(finish) // it may have a prefix
	return strings.HasSuffix(finish, "malformed_function_call") || strings.HasSuffix(finish, "unexpected_tool_call")
}

func (r *reply) ended() string {
	return fmt.Sprintf("the server ended the reply with the finish reason %q, after %s", r.finish, r.arrived())
}

func (r *reply) isEmpty() bool {
	m, err := r.result(true)
	return err == nil && turn.IsEmpty(turn.ReplayForm(m))
}

func (r *reply) incomplete(what string) *Error {
	return &Error{Message: what + ", after " + r.arrived(), Retryable: true, Err: ErrIncomplete}
}

// arrived says in words what there is of the reply.
func (r *reply) arrived() string {
	var parts []string
	for _, f := range r.message.fields {
		if n := len(f.value.text); f.value.kind == isText && n > 0 {
			parts = append(parts, fmt.Sprintf("%d bytes of %s", n, f.name))
		}
	}
	if n := len(r.calls); n > 0 {
		parts = append(parts, fmt.Sprintf("%d tool calls", n))
	}
	if len(parts) == 0 {
		return "nothing of the reply"
	}
	return strings.Join(parts, ", ")
}
