package turntest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// answer is the agent under test: it may look at a clock.
func answer(ctx context.Context, model turn.TurnFn, question string) (loop.Result, error) {
	clock := loop.Tool{Name: "clock", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Text("12:00"), nil }}
	return loop.RunToolLoop(ctx, []turn.TranscriptMessage{turn.User(question)}, loop.Options{Turn: model, Tools: []loop.Tool{clock}})
}

// An agent is tested without a model: the script says what the model would, and
// remembers what it was asked.
func ExampleNewScript() {
	model := turntest.NewScript(
		turntest.Say("I'll look.", turn.Call{ID: "a", Name: "clock"}).Spending(40, 9),
		turntest.Say("It is noon.").Spending(60, 5),
	)
	res, err := answer(context.Background(), model.Turn, "What time is it?")
	fmt.Println(res.Text(), res.StopReason, err)
	fmt.Println(res.Stats.Turns, "turns,", res.Stats.InputTokens, "tokens in,", model.Left(), "replies left")

	second := model.Asked()[1] // the request after the tool ran
	fmt.Println(second.Result("a"), "·", turn.ToolName(second.Tools[0]))
	// Output:
	// It is noon. done <nil>
	// 2 turns, 100 tokens in, 0 replies left
	// 12:00 · clock
}

// A script that is asked once more than it has replies says so, and what it was
// asked: mostly the agent went on where the test expected it to end.
func ExampleScript() {
	model := turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "clock"}))
	_, err := answer(context.Background(), model.Turn, "What time is it?")
	fmt.Println(err)
	fmt.Println(errors.Is(err, turntest.ErrExhausted))
	// Output:
	// model: request 2 to a script of 1, ending in the tool message "12:00": the script has no more replies
	// true
}

// What a test says as the model: text, calls, or both. A call needs no Arguments,
// and its id need only differ from those of the same reply.
func ExampleSay() {
	reply := turntest.Say("I'll look.", turn.Call{ID: "a", Name: "clock"}, turn.Call{ID: "b", Name: "calendar", Arguments: `{"day":"today"}`})
	fmt.Println(reply.Result.Message.Content, len(reply.Result.Message.ToolCalls), reply.Result.Finish)
	fmt.Println(turntest.Say("Noon.").Result.Finish)
	// Output:
	// I'll look. 2 tool_calls
	// stop
}

// How an agent takes a model that fails. An error may stand beside a result.
func ExampleFail() {
	model := turntest.NewScript(turntest.Fail(errors.New("503 overloaded")))
	res, err := answer(context.Background(), model.Turn, "What time is it?")
	fmt.Println(err, loop.ClassifyRunFailure(err), len(res.Messages))
	// Output: model: 503 overloaded model 1
}

// A reply with everything that a model can report.
func ExampleReply() {
	cost := turn.Cent / 2
	reply := turntest.Reply{Result: turn.ModelTurnResult{
		Message: turn.Assistant("It is"),
		Usage:   turn.Usage{InputTokens: 40, OutputTokens: 2, Cost: &cost},
		Finish:  "length",
		Model:   "small-1",
	}}
	res, err := answer(context.Background(), turntest.NewScript(reply).Turn, "What time is it?")
	fmt.Println(res.Text(), res.Last.Finish, res.Stats.Cost, err)
	// Output: It is length $0.005 <nil>
}

func ExampleReply_Spending() {
	model := turntest.NewScript(turntest.Say("Noon.").Spending(1000, 20))
	res, err := answer(context.Background(), model.Turn, "What time is it?")
	fmt.Println(res.Stats.InputTokens, res.Stats.OutputTokens, err)
	// Output: 1000 20 <nil>
}

func ExampleReply_Costing() {
	model := turntest.NewScript(turntest.Say("Noon.").Spending(1000, 20).Costing(turn.Cent / 4))
	res, err := answer(context.Background(), model.Turn, "What time is it?")
	fmt.Println(res.Stats.Cost, res.Stats.Unpriced, err)
	// Output: $0.0025 0 <nil>
}

// What the model was told of its calls.
func ExampleRequest_Result() {
	model := turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "calendar"}), turntest.Say("I have none."))
	_, err := answer(context.Background(), model.Turn, "What day is it?")
	fmt.Println(model.Asked()[1].Result("a"), err)
	// Output: There is no tool named "calendar". The tools are: clock. <nil>
}

// A model that is slower than its run. What it had said by then is not lost.
func ExampleReply_Taking() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	res, err := answer(ctx, turntest.NewScript(turntest.Say("Let me th").Taking(time.Hour)).Turn, "What time is it?")
	fmt.Println(res.StopReason, res.Partial.Message.Content, errors.Is(err, context.DeadlineExceeded))
	// Output: deadline Let me th true
}

// A test of a TurnFn of one's own, which go test would call TestModel.
func ExampleRun() {
	_ = func(t *testing.T) {
		turntest.Run(t, func(t *testing.T) turn.TurnFn {
			return func(ctx context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
				return turn.ModelTurnResult{Message: turn.Assistant("hello")}, ctx.Err()
			}
		})
	}
}
