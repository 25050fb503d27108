package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/turn"
)

const team = "team@example.org"

// model is a turn.TurnFn made of rules. What it knows is in the messages, as with
// a real model, so it goes on in another process as if nothing had happened.
func (w *world) model(ctx context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	if err := ctx.Err(); err != nil {
		return turn.ModelTurnResult{}, err
	}
	text, calls := decide(results(messages))
	res := turn.ModelTurnResult{Message: turn.Assistant(text, calls...), Finish: "stop", Model: "rules"}
	if len(calls) > 0 {
		res.Finish = "tool_calls"
	}
	for _, m := range messages {
		res.Usage.InputTokens += tokens(turn.Text(m))
		for _, c := range turn.Calls(m) {
			res.Usage.InputTokens += tokens(c.Arguments)
		}
	}
	res.Usage.OutputTokens = tokens(text)
	for _, c := range calls {
		res.Usage.OutputTokens += tokens(c.Arguments)
	}
	return res, w.effect("model %d %d", res.Usage.InputTokens, res.Usage.OutputTokens)
}

func tokens(text string) int64 { return int64(len(text)+3) / 4 }

// results are what the tools said, by call id.
func results(messages []turn.TranscriptMessage) map[string]string {
	found := make(map[string]string)
	for _, m := range messages {
		if m.OfTool != nil {
			found[turn.CallID(m)] = turn.Text(m)
		}
	}
	return found
}

// decide is what to do next, by what is known so far.
func decide(said map[string]string) (text string, calls []turn.Call) {
	done := func(id string) bool { _, ok := said[id]; return ok }
	mail := func(id string) turn.Call {
		return call(id, "send_mail", mailInput{team, "Release 1.4"})
	}
	inDoubt := strings.Contains(said["mail"], "is unknown")
	switch {
	case !done("plan"):
		return "I'll plan it first.", []turn.Call{makePlan("plan", plan.InProgress, plan.Pending)}
	case !done("mail"):
		return "These four can be done at once.", []turn.Call{
			mail("mail"),
			call("notes", "write_notes", notesInput{"Release 1.4: it turns.\n"}),
			call("words", "count_words", wordsInput{manual}),
			call("publish", "publish", publishInput{"1.4"}),
		}
	case inDoubt && !done("outbox"):
		return "Nobody knows whether the mail went out. I look before I send it a second time.",
			[]turn.Call{call("outbox", "read_outbox", struct{}{})}
	case inDoubt && !strings.Contains(said["outbox"], team) && !done("mail_again"):
		return "It did not go out, so I send it now.", []turn.Call{mail("mail_again")}
	case !done("all_done"):
		return "All of it happened.", []turn.Call{makePlan("all_done", plan.Done, plan.Done)}
	}
	return fmt.Sprintf("Release 1.4 is out, and the team knows. The manual has %s.", said["words"]), nil
}

func makePlan(id string, send, see plan.State) turn.Call {
	return call(id, plan.ToolName, plan.Plan{Steps: []plan.Step{
		{Text: "Send the release out", State: send}, {Text: "See that everything arrived", State: see}}})
}

func call(id, tool string, arguments any) turn.Call {
	text, err := json.Marshal(arguments)
	if err != nil {
		panic(err) // structs of strings
	}
	return turn.Call{ID: id, Name: tool, Arguments: string(text)}
}
