package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"
)

// TranscriptMessage is one message of a transcript, as it goes to a server.
type TranscriptMessage = openai.ChatCompletionMessageParamUnion

// AssistantTurnMessage is a model's reply, as it came from a server. Its text is its
// field Content; [ReplayForm] makes a [TranscriptMessage] of it.
type AssistantTurnMessage = openai.ChatCompletionMessage

// WireToolDefinition is a tool as it is advertised to a server.
type WireToolDefinition = openai.ChatCompletionToolUnionParam

// WireToolCall is one call in a model's reply.
type WireToolCall = openai.ChatCompletionMessageToolCallUnion

// TurnFn is the seam between the loop and any model client: it sends the messages
// and the tools, and returns one completed turn. Retries, routing and streaming
// live inside it. What it needs of a message it reads with [Role], [Text], [Calls] and
// [CallID], of a tool with [ToolName], [ToolDescription] and [ToolSchema].
//
// It must not write to either slice and may keep neither beyond the call. After ctx
// is done it must return soon: with an error for which errors.Is(err, ctx.Err())
// holds, or with the turn if that was complete. It may be called from several
// goroutines when several runs share it. Beside an error it may return what it knows:
// usage that was spent is then counted, and the partial message reaches the host.
//
// The zero ModelTurnResult with a nil error is an empty reply, and ends the run as
// done: a client that got nothing returns an error.
//
// An error that wraps [ErrContextOverflow] says that the messages no longer fit.
type TurnFn func(ctx context.Context, messages []TranscriptMessage, tools []WireToolDefinition) (ModelTurnResult, error)

// ErrContextOverflow is what a [TurnFn] wraps when the messages no longer fit the
// model's context window.
var ErrContextOverflow = errors.New("the messages do not fit the model's context window")

// ModelTurnResult is one completed model turn. Its JSON is exact: a message reads
// back with the bytes it had, also the fields that the wire types do not know.
type ModelTurnResult struct {
	Message AssistantTurnMessage
	Usage   Usage
	Timings Timings
	Finish  string // the finish reason as reported, "" when unknown; see [IsCut]
	Model   string // the model that answered, "" when unknown
}

type modelTurnJSON struct {
	Message json.RawMessage `json:"message"`
	Usage   Usage           `json:"usage"`
	Timings Timings         `json:"timings"`
	Finish  string          `json:"finish,omitempty"`
	Model   string          `json:"model,omitempty"`
}

// MarshalJSON writes the message as [ReplayForm] gives it.
func (r ModelTurnResult) MarshalJSON() ([]byte, error) {
	message, err := storedMessage(ReplayForm(r.Message))
	if err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	return json.Marshal(modelTurnJSON{message, r.Usage, r.Timings, r.Finish, r.Model})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *ModelTurnResult) UnmarshalJSON(data []byte) error {
	var j modelTurnJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*r = ModelTurnResult{Usage: j.Usage, Timings: j.Timings, Finish: j.Finish, Model: j.Model}
	if len(j.Message) == 0 || string(j.Message) == "null" {
		return nil
	}
	text, err := unstored(j.Message)
	if err != nil {
		return fmt.Errorf("message: %w", err)
	}
	if text, err = canonical(text); err != nil {
		return fmt.Errorf("message: %w", err)
	}
	if err := r.Message.UnmarshalJSON([]byte(text)); err != nil {
		return fmt.Errorf("message: %w", err)
	}
	return nil
}

// StopReason says why a run stopped. There are six and no more; what a host needs
// beyond them is a run's cause.
type StopReason string

const (
	// Done: the model gave a reply without tool calls.
	Done StopReason = "done"
	// WaitingForReply: a tool asked a person, and nothing happens until they answer.
	WaitingForReply StopReason = "waiting_for_reply"
	// ResumingLater: the run paused on purpose until a given time.
	ResumingLater StopReason = "resuming_later"
	// IterationLimit: the model was still calling tools when its turns ran out.
	IterationLimit StopReason = "iteration_limit"
	// Deadline: the context's deadline expired.
	Deadline StopReason = "deadline"
	// Aborted: the context was cancelled, or the host asked to stop.
	Aborted StopReason = "aborted"
)
