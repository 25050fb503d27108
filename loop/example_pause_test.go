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
	ask := loop.NewTool(loop.Tool{Name: "ask", Description: "Ask the user."},
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
