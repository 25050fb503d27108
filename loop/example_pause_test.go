package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// A tool asks a person. The run returns; another process, on another day, gives
// the answer and the run goes on. What travels between them is JSON.
func ExampleWaitForReply() {
	ask := loop.NewTool(loop.Tool{Name: "ask", Description: "Ask the user.", ReplaySafe: true},
		func(_ context.Context, in struct {
			Question string `json:"question"`
		}) (string, error) {
			return "", loop.WaitForReply(in.Question)
		})
	o := loop.Options{Tools: []loop.Tool{ask}, Turn: turntest.NewScript(
		turntest.Say("", turn.Call{ID: "1", Name: "ask", Arguments: `{"question":"For how many?"}`}),
		turntest.Say("Booked for eight.")).Turn}

	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Book a table.")}, o)
	fmt.Println(res.StopReason, err)
	for _, w := range res.Waiting() {
		fmt.Println(w.ID, w.Suspension.Question)
	}
	stored, _ := json.Marshal(res)

	// the next day
	var past loop.Result
	if err := json.Unmarshal(stored, &past); err != nil {
		fmt.Println(err)
	}
	o.From, o.Replies = past.State, map[string]loop.Reply{"1": loop.Answer("for eight")}
	res, err = loop.RunToolLoop(context.Background(), past.Messages, o)
	fmt.Println(res.Text(), res.Stats.Turns, "turns", err)
	// Output:
	// waiting_for_reply <nil>
	// 1 For how many?
	// Booked for eight. 2 turns <nil>
}

// A tool that has to wait for something outside ends the run until then, and runs
// again with what it saved when a run is started in time.
func ExampleResumeLater() {
	clock := time.Date(2031, 5, 1, 9, 0, 0, 0, time.UTC)
	build := loop.Tool{Name: "build", Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
		if c.Resume == nil {
			return loop.Output{}, loop.ResumeLater(clock.Add(time.Hour), "the build takes an hour").Saving("build 12")
		}
		return loop.Text(string(c.Resume.Saved) + " passed"), nil
	}}
	o := loop.Options{Tools: []loop.Tool{build}, Now: func() time.Time { return clock }, Turn: turntest.NewScript(
		turntest.Say("", turn.Call{ID: "1", Name: "build"}), turntest.Say("It passed.")).Turn}

	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Build it.")}, o)
	until := res.Waiting()[0].Suspension.Until
	fmt.Println(res.StopReason, until.Format(time.Kitchen), err)

	clock = until // the host's own timer
	o.From = res.State
	res, err = loop.RunToolLoop(context.Background(), res.Messages, o)
	fmt.Println(turn.Text(res.Messages[2]), "·", res.Text(), err)
	// Output:
	// resuming_later 10:00AM <nil>
	// "build 12" passed · It passed. <nil>
}

// A call that needs approval suspends the run before it runs. The approval is for
// the arguments that were shown.
func ExampleApprove() {
	remove := loop.Tool{
		Name:     "remove",
		Approval: func(c loop.Call) string { return "Remove " + c.Arguments + "?" },
		Run:      func(_ context.Context, c loop.Call) (loop.Output, error) { return loop.Text("removed"), nil },
	}
	o := loop.Options{Tools: []loop.Tool{remove}, Turn: turntest.NewScript(
		turntest.Say("", turn.Call{ID: "a", Name: "remove", Arguments: `{"path":"old.go"}`}), turntest.Say("It is gone.")).Turn}
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Clean up.")}, o)
	fmt.Println(res.StopReason, res.Stats.ToolCalls, err)

	waiting := res.Waiting()[0]
	fmt.Println(waiting.Suspension.For, waiting.Suspension.Question)
	yes := loop.Approve()
	yes.Ticket = waiting.Ticket() // so that a second click approves nothing else

	o.From, o.Replies = res.State, map[string]loop.Reply{waiting.ID: yes}
	res, err = loop.RunToolLoop(context.Background(), res.Messages, o)
	fmt.Println(turn.Text(res.Messages[2]), "·", res.Text(), err)
	// Output:
	// waiting_for_reply 0 <nil>
	// approval Remove {"path":"old.go"}?
	// removed · It is gone. <nil>
}

// The model is told that the call was denied, and why, and goes on.
func ExampleDeny() {
	remove := loop.Tool{Name: "remove", Approval: func(loop.Call) string { return "May I?" },
		Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Text("removed"), nil }}
	o := loop.Options{Tools: []loop.Tool{remove}, Turn: turntest.NewScript(
		turntest.Say("", turn.Call{ID: "a", Name: "remove"}), turntest.Say("I leave it there.")).Turn}
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Clean up.")}, o)
	fmt.Println(res.StopReason, err)

	o.From, o.Replies = res.State, map[string]loop.Reply{"a": loop.Deny("it is still needed")}
	res, err = loop.RunToolLoop(context.Background(), res.Messages, o)
	fmt.Println(turn.Text(res.Messages[2]))
	fmt.Println(res.Text(), res.Stats.ToolCalls, err)
	// Output:
	// waiting_for_reply <nil>
	// This call was declined by a person and did not run. The reason: it is still needed
	// I leave it there. 0 <nil>
}

// Of two questions one is answered: the run waits on for the other, without asking
// the model.
func ExampleAnswer() {
	ask := loop.Tool{Name: "ask", Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
		return loop.Output{}, loop.WaitForReply("Question " + c.ID)
	}}
	model := turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "ask"}, turn.Call{ID: "b", Name: "ask"}), turntest.Say("Thank you."))
	o := loop.Options{Tools: []loop.Tool{ask}, Turn: model.Turn}
	messages := turn.Transcript{turn.User("Ask me.")}
	for _, id := range []string{"", "b", "a"} {
		o.Replies = map[string]loop.Reply{}
		if id != "" {
			o.Replies[id] = loop.Answer("answer " + id)
		}
		res, err := loop.RunToolLoop(context.Background(), messages, o)
		fmt.Println(res.StopReason, len(res.Waiting()), "open,", len(model.Asked()), "questions to the model", err)
		messages, o.From = res.Messages, res.State
	}
	for _, m := range messages[2:] {
		fmt.Println(turn.Text(m))
	}
	// Output:
	// waiting_for_reply 2 open, 1 questions to the model <nil>
	// waiting_for_reply 1 open, 1 questions to the model <nil>
	// done 0 open, 2 questions to the model <nil>
	// answer a
	// answer b
	// Thank you.
}

// With something saved, the tool runs again and makes the result of the reply
// itself.
func ExamplePause_Saving() {
	book := loop.Tool{Name: "book", Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
		if c.Resume == nil {
			return loop.Output{}, loop.WaitForReply("Window or aisle?").Saving("flight 12")
		}
		return loop.Text(fmt.Sprintf("%s, %s", c.Resume.Saved, c.Resume.Reply.Text)), nil
	}}
	o := loop.Options{Tools: []loop.Tool{book}, Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "book"}), turntest.Say("Booked.")).Turn}
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Book it.")}, o)
	fmt.Println(res.StopReason, err)

	o.From, o.Replies = res.State, map[string]loop.Reply{"a": loop.Answer("window")}
	res, err = loop.RunToolLoop(context.Background(), res.Messages, o)
	fmt.Println(turn.Text(res.Messages[2]), "·", res.Text(), err)
	// Output:
	// waiting_for_reply <nil>
	// "flight 12", window · Booked. <nil>
}
