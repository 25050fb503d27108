package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/pawl-dev/pawl/turn"
)

// server speaks a format like that of Anthropic's Messages API: messages are lists
// of blocks, and a tool's result is a block of a user message. Turn is its TurnFn.
type server struct{ url, model string }

type object map[string]any

func (s server) Turn(ctx context.Context, messages []turn.TranscriptMessage, tools []turn.WireToolDefinition) (res turn.ModelTurnResult, err error) {
	offered := make([]object, len(tools))
	for i, t := range tools {
		offered[i] = object{"name": turn.ToolName(t), "description": turn.ToolDescription(t), "input_schema": turn.ToolSchema(t)}
	}
	request := object{"model": s.model, "max_tokens": 4096, "tools": offered}
	if request["system"], request["messages"], err = translate(messages); err != nil {
		return res, err
	}
	body, err := json.Marshal(request)
	if err != nil {
		return res, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		return res, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return res, err // it wraps the context's, when that is why
	}
	defer answer.Body.Close()
	if body, err = io.ReadAll(io.LimitReader(answer.Body, 16<<20)); err != nil {
		return res, err
	}
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.500s", answer.Status, body)
		if bytes.Contains(body, []byte("prompt is too long")) {
			err = fmt.Errorf("%w: %w", turn.ErrContextOverflow, err)
		}
		return res, err
	}
	return read(body)
}

// translate joins messages of one role that follow on one another, and leaves out
// a reply that says nothing.
func translate(messages []turn.TranscriptMessage) (system string, out []object, err error) {
	for _, m := range messages {
		role, content := "user", []any(nil)
		switch {
		case m.OfSystem != nil || m.OfDeveloper != nil:
			system += turn.Text(m) + "\n"
		case m.OfTool != nil:
			content = []any{object{"type": "tool_result", "tool_use_id": turn.CallID(m), "content": turn.Text(m)}}
		case m.OfUser != nil && len(m.OfUser.Content.OfArrayOfContentParts) > 0:
			return "", nil, errors.New("this model takes no parts") // better than a question without its picture
		case m.OfUser != nil:
			content = []any{object{"type": "text", "text": turn.Text(m)}}
		default:
			role, content = "assistant", replyBlocks(m)
		}
		if n := len(out) - 1; n >= 0 && out[n]["role"] == role {
			out[n]["content"] = append(out[n]["content"].([]any), content...)
		} else if len(content) > 0 {
			out = append(out, object{"role": role, "content": content})
		}
	}
	return system, out, nil
}

// replyBlocks are those that a reply came with. One of another model has none.
func replyBlocks(m turn.TranscriptMessage) (out []any) {
	var kept struct{ Blocks []json.RawMessage }
	if raw, err := turn.MessageJSON(m); err == nil && json.Unmarshal(raw, &kept) == nil && kept.Blocks != nil {
		for _, b := range kept.Blocks {
			out = append(out, b)
		}
		return out
	}
	if text := turn.Text(m); text != "" {
		out = append(out, object{"type": "text", "text": text})
	}
	for _, c := range turn.Calls(m) {
		input, err := turn.Arguments(c.Arguments)
		if err != nil {
			input = "{}" // its result says what was wrong with it
		}
		out = append(out, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(input)})
	}
	return out
}

// finishes are the reasons to stop by the names that the loop knows. It acts on
// one: a reply that was cut off runs none of its calls.
var finishes = map[string]string{"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": turn.FinishLength, "refusal": "content_filter"}

// read keeps the blocks as they came beside text and calls. What only the server
// understands, its signed thinking, then goes back to it in the next turn, or from
// a session file in the next week.
func read(body []byte) (res turn.ModelTurnResult, err error) {
	var reply struct {
		Model      string
		StopReason string `json:"stop_reason"`
		Content    json.RawMessage
		Usage      struct {
			Input      int64 `json:"input_tokens"`
			CacheRead  int64 `json:"cache_read_input_tokens"`
			CacheWrite int64 `json:"cache_creation_input_tokens"`
			Output     int64 `json:"output_tokens"`
		}
	}
	var blocks []struct {
		Type, Text, ID, Name string
		Input                json.RawMessage
	}
	err = errors.Join(json.Unmarshal(body, &reply), json.Unmarshal(reply.Content, &blocks))
	if err != nil || finishes[reply.StopReason] == "" {
		return res, fmt.Errorf("the answer is no message: %.500s", body)
	}
	text, calls := "", []turn.Call(nil)
	for _, b := range blocks {
		if b.Type == "tool_use" {
			calls = append(calls, turn.Call{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		}
		text += b.Text // which only text has
	}
	u := reply.Usage // cached tokens are no part of its input, and are of ours
	res.Usage = turn.Usage{InputTokens: u.Input + u.CacheRead + u.CacheWrite, CachedInputTokens: &u.CacheRead, OutputTokens: u.Output}
	res.Model, res.Finish = reply.Model, finishes[reply.StopReason]
	wire, err := turn.MessageJSON(turn.ReplayForm(turn.Assistant(text, calls...)))
	if err != nil {
		return res, err
	}
	wire = append(append(wire[:len(wire)-1], `,"blocks":`...), reply.Content...)
	err = json.Unmarshal(append(wire, '}'), &res.Message)
	return res, err
}
