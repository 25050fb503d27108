package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/turn"
)

// standIn plays a model that takes orders: it asks for the colour, packs, charges, and
// sums up all that it was told. It is a pure function of the transcript, as a model is,
// so it says the same in any process.
func standIn(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	var heard []string
	said, names := map[string]string{}, map[string]string{} // the latest result of each tool; tools by call id
	words := 0
	for _, m := range messages {
		words += len(strings.Fields(turn.Text(m)))
		for _, c := range turn.Calls(m) {
			names[c.ID] = c.Name
		}
		switch {
		case m.OfUser != nil:
			heard = append(heard, turn.Text(m))
		case m.OfTool != nil && strings.HasPrefix(turn.Text(m), "This call was not started"): // as if it had not been made
		case m.OfTool != nil:
			name := names[m.OfTool.ToolCallID]
			said[name] = turn.Text(m)
			if name == "pay" {
				delete(said, "list_payments") // what was looked up before says nothing of it
			}
		}
	}
	tool, arguments, text := next(said)
	res := turn.ModelTurnResult{Model: "stand-in", Finish: "stop", Usage: turn.Usage{InputTokens: int64(words), OutputTokens: 10}}
	if tool == "" {
		res.Message = turn.Assistant(fmt.Sprintf("You told me: %s. The colour: %s. %s", strings.Join(heard, "; "), said["ask_customer"], text))
		return res, nil
	}
	res.Finish = "tool_calls"
	res.Message = turn.Assistant("", turn.Call{ID: fmt.Sprintf("call_%d", len(names)+1), Name: tool, Arguments: arguments})
	return res, nil
}

// next is the call to make, or what to say of the payment where all is done.
func next(said map[string]string) (tool, arguments, text string) {
	const charge = `{"dollars":40}`
	paid, looked := said["pay"], said["list_payments"]
	unknown := strings.HasPrefix(paid, "The run was ")
	switch {
	case said["ask_customer"] == "":
		return "ask_customer", `{"question":"Which colour?"}`, ""
	case !strings.HasPrefix(said["pack"], "All "):
		return "pack", `{}`, ""
	case paid == "":
		return "pay", charge, ""
	case unknown && looked == "":
		return "list_payments", `{}`, ""
	case unknown && looked == "nothing is paid":
		return "pay", charge, ""
	case unknown:
		return "", "", "I looked: " + looked + "."
	}
	return "", "", paid
}
