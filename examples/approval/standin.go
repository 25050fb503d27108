package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/turn"
)

// standIn plays a model that paints a sign with the task's words on it: it looks
// around, asks for a colour, writes the sign and reads it back. It is a pure
// function of the transcript, so after a pause it says what it would have said
// without one.
func standIn(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	return turn.ModelTurnResult{Message: reply(hear(messages)), Model: "stand-in", Finish: "stop"}, nil
}

// heard is what the stand-in goes by: the latest task, and what became of the
// calls that it made for it.
type heard struct {
	task    string
	results []string // in call order
	calls   int      // in the whole transcript, so that ids do not come twice
}

func hear(messages []turn.TranscriptMessage) (h heard) {
	for _, m := range messages {
		switch {
		case m.OfUser != nil:
			h.task, h.results = turn.Text(m), nil
		case m.OfTool != nil:
			h.results = append(h.results, turn.Text(m))
		}
		h.calls += turn.CountCalls(m)
	}
	return h
}

func declined(result string) bool { return strings.HasPrefix(result, "This call was ") }

// lost is the result of a call that something stopped or interrupted.
func lost(result string) bool { return strings.HasPrefix(result, "The run was ") }

func reply(h heard) turn.AssistantTurnMessage {
	switch r := h.results; len(r) {
	case 0:
		return turn.Assistant("I'll look at what is there, and I need a decision.",
			h.command(0, "ls -A"), h.call(1, "ask_user", questionInput{"What colour should the sign be?"}))
	case 2:
		colour := r[1]
		if declined(colour) {
			colour = "no colour"
		}
		return turn.Assistant("Now I'll write the sign.", h.command(0, fmt.Sprintf("printf '%%s\\n' %s %s > sign.txt", quote(h.task), quote("in "+colour))))
	case 3:
		switch {
		case declined(r[2]):
			return turn.Assistant("I did not write the sign. " + r[2])
		case strings.HasPrefix(r[2], "Error:"):
			return turn.Assistant("I could not write the sign. " + r[2])
		}
		return turn.Assistant("I'll read it back.", h.command(0, "cat sign.txt"))
	default:
		last := r[len(r)-1]
		if declined(last) || lost(last) {
			return turn.Assistant("The sign should be there. I have not read it back.")
		}
		return turn.Assistant("The sign is there. It says:\n" + strings.TrimSpace(last))
	}
}

func (h heard) command(n int, line string) turn.Call {
	return h.call(n, "run_command", commandInput{line})
}

func (h heard) call(n int, name string, input any) turn.Call {
	arguments, _ := json.Marshal(input) // two structs of text
	return turn.Call{ID: fmt.Sprintf("call_%d", h.calls+n+1), Name: name, Arguments: string(arguments)}
}

// quote makes one word of the shell's of a text.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
