package loop_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// A deadline is the context's. It is an error, and the result beside it is as
// complete as any.
func ExampleRunToolLoop_deadline() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	model := turntest.NewScript(
		turntest.Say("I'll look.", turn.Call{ID: "a", Name: "look"}),
		turntest.Say("It is fine.").Taking(time.Minute))
	look := loop.Tool{Name: "look", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Text("a.go"), nil }}

	res, err := loop.RunToolLoop(ctx, []turn.TranscriptMessage{turn.User("Is it fine?")}, loop.Options{Turn: model.Turn, Tools: []loop.Tool{look}})
	var late *loop.RunTimeoutError
	fmt.Println(errors.As(err, &late), errors.Is(err, context.DeadlineExceeded), loop.ClassifyRunFailure(err))
	fmt.Println(res.StopReason, "after", len(res.Messages), "messages")
	// Output:
	// true true timed_out
	// deadline after 3 messages
}

// A budget holds for the run and all its child runs, earlier runs of the session
// included. To reach it is no error: the cause says so.
func ExampleBudget() {
	model := turntest.NewScript(
		turntest.Say("", turn.Call{ID: "a", Name: "look"}).Spending(700, 20),
		turntest.Say("", turn.Call{ID: "b", Name: "look"}).Spending(900, 20),
		turntest.Say("I looked twice and found nothing.").Spending(950, 10))
	look := loop.Tool{Name: "look", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Text("nothing"), nil }}

	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Find it.")}, loop.Options{
		Turn: model.Turn, Tools: []loop.Tool{look},
		Budget:    loop.Budget{Tokens: 1500},
		FinalTurn: true, // one more call, without tools, for a last word
	})
	var spent *loop.BudgetError
	fmt.Println(res.StopReason, errors.As(res.Cause, &spent), err)
	fmt.Println(res.Cause)
	fmt.Println(res.Text())
	// Output:
	// aborted true <nil>
	// the budget is spent: 1640 of 1500 tokens
	// I looked twice and found nothing.
}

// A host that stops a run by a rule of its own.
func ExampleOptions_shouldStop() {
	call := turntest.Say("", turn.Call{ID: "a", Name: "look"})
	look := loop.Tool{Name: "look", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, nil }}
	enough := errors.New("three turns are enough")
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Find it.")}, loop.Options{
		Turn: turntest.NewScript(call, call, call, call).Turn, Tools: []loop.Tool{look},
		ShouldStop: func(s trajectory.State) error {
			if s.Stats.Turns >= 3 {
				return enough
			}
			return nil
		},
	})
	fmt.Println(res.StopReason, res.Cause == enough, err)
	// Output: aborted true <nil>
}

// What the user says meanwhile is delivered before the next turn, never between a
// call and its result.
func ExampleOptions_inbox() {
	var typed []turn.TranscriptMessage
	look := loop.Tool{Name: "look", Run: func(context.Context, loop.Call) (loop.Output, error) {
		typed = append(typed, turn.User("Only the tests, please."))
		return loop.Text("a.go a_test.go"), nil
	}}
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Look.")}, loop.Options{
		Turn:  turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "look"}), turntest.Say("a_test.go")).Turn,
		Tools: []loop.Tool{look},
		Inbox: func() (arrived []turn.TranscriptMessage) {
			arrived, typed = typed, nil
			return arrived
		},
	})
	for _, m := range res.Added {
		fmt.Printf("%s %q\n", turn.Role(m), turn.Text(m))
	}
	fmt.Println(err)
	// Output:
	// assistant ""
	// tool "a.go a_test.go"
	// user "Only the tests, please."
	// assistant "a_test.go"
	// <nil>
}

// The model ends while its plan has open steps, and is reminded of them.
func ExamplePlanNudge() {
	update := func(state string) turn.Call {
		return turn.Call{ID: "p", Name: "update_plan", Arguments: `{"steps":[{"text":"test it","state":"` + state + `"}]}`}
	}
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Fix it.")}, loop.Options{
		Tools: []loop.Tool{loop.PlanTool()},
		Turn: turntest.NewScript(turntest.Say("", update("pending")), turntest.Say("I am done."),
			turntest.Say("", update("done")), turntest.Say("Now I am.")).Turn,
		OnTurnWouldEnd: loop.PlanNudge(2),
	})
	for _, m := range res.Added {
		if turn.Role(m) == "user" {
			fmt.Println(turn.Text(m))
		}
	}
	fmt.Println(res.Text(), err)
	// Output:
	// The plan still has open steps:
	// - test it
	// Do them, or mark each as done or dropped, before you finish.
	// Now I am. <nil>
}

// One vocabulary for whatever ended a run, be it an error or a result's cause.
func ExampleClassifyRunFailure() {
	for _, err := range []error{
		nil,
		&loop.RunTimeoutError{Elapsed: time.Minute},
		&loop.ModelError{Err: io.ErrUnexpectedEOF},
		&loop.ToolError{Tool: "deploy", CallID: "a", Err: io.ErrClosedPipe},
		&loop.RecorderError{Entry: "call.start", Err: io.ErrShortWrite},
		&loop.InvalidError{Field: "Turn", Err: errors.New("there is no model")},
		context.Canceled,
	} {
		fmt.Printf("%q %v\n", loop.ClassifyRunFailure(err), err)
	}
	// Output:
	// "" <nil>
	// "timed_out" the run's deadline expired after 1m0s
	// "model" model: unexpected EOF
	// "tool" tool deploy (call a): io: read/write on closed pipe
	// "recorder" recording call.start: short write
	// "invalid" loop: Turn: there is no model
	// "cancelled" context canceled
}

// The last text that is not empty: some models end without a word, after they have
// said it all beside their last calls.
func ExampleResult_Text() {
	note := loop.Tool{Name: "note", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, nil }}
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Well?")}, loop.Options{
		Tools: []loop.Tool{note},
		Turn:  turntest.NewScript(turntest.Say("All is well.", turn.Call{ID: "a", Name: "note"}), turntest.Say("")).Turn,
	})
	fmt.Printf("%q %q %v\n", res.Text(), res.Last.Message.Content, err)
	// Output: "All is well." "" <nil>
}
