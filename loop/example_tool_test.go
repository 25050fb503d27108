package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// A tool without a type for its arguments. What it returns beside an error is told
// to the model too.
func ExampleTool() {
	read := loop.Tool{
		Name:        "read",
		Description: "Read a file.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
		Kind:        trajectory.KindRead,
		ReplaySafe:  true, // reading twice does no harm
		Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
			var in struct{ Path string }
			if err := json.Unmarshal([]byte(c.Arguments), &in); err != nil {
				return loop.Output{}, err
			}
			if in.Path != "go.mod" {
				return loop.Text("There is a go.mod."), errors.New("no such file: " + in.Path)
			}
			return loop.Output{Text: "module m", Paths: []string{in.Path}}, nil
		},
	}
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("What is it called?")}, loop.Options{
		Tools: []loop.Tool{read},
		Turn: turntest.NewScript(
			turntest.Say("", turn.Call{ID: "a", Name: "read", Arguments: `{"path":"go.sum"}`}, turn.Call{ID: "b", Name: "read", Arguments: `{"path":"go.mod"}`}),
			turntest.Say("m")).Turn,
	})
	fmt.Println(turn.Text(res.Messages[2]))
	fmt.Println(turn.Text(res.Messages[3]), err)
	// Output:
	// Error: no such file: go.sum
	//
	// Its output until then:
	// There is a go.mod.
	// module m <nil>
}

// What a server is told of a tool.
func ExampleTool_Definition() {
	clock := loop.Tool{Name: "clock", Description: "Tells the time.", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Text("12:00"), nil }}
	data, err := json.Marshal(clock.Definition())
	fmt.Println(string(data), err)
	// Output: {"type":"function","function":{"name":"clock","description":"Tells the time.","parameters":{"type":"object","properties":{}}}} <nil>
}

func ExampleText() {
	fmt.Println(loop.Text("12:00").Text)
	// Output: 12:00
}

// A sub-agent is a tool: a model calls it with a task, and reads its last word.
// What it spent stands beside what the run itself spent.
func ExampleNewSubAgent() {
	scout := loop.NewSubAgent(
		loop.Tool{Name: "scout", Description: "Looks something up for you."},
		"You look things up. Answer in one sentence.",
		loop.Options{
			Turn:          turntest.NewScript(turntest.Say("It is in b.go.").Spending(300, 10)).Turn,
			MaxIterations: 20,
		})
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Where is main?")}, loop.Options{
		Tools: []loop.Tool{scout},
		Turn: turntest.NewScript(
			turntest.Say("", turn.Call{ID: "a", Name: "scout", Arguments: `{"task":"Find main."}`}).Spending(100, 8),
			turntest.Say("In b.go.").Spending(130, 5)).Turn,
	})
	fmt.Println(turn.Text(res.Messages[2]), err)
	fmt.Println(res.Stats.InputTokens, "+", res.Children.InputTokens, "=", res.Total().InputTokens)
	// Output:
	// It is in b.go. <nil>
	// 230 + 300 = 530
}

// A tool of one's own can start a run too: given the context of its call, the run
// is a child of it.
func ExampleRunToolLoop_child() {
	plan := loop.Tool{Name: "plan", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		res, err := loop.RunToolLoop(ctx, []turn.TranscriptMessage{turn.User("How?")},
			loop.Options{Turn: turntest.NewScript(turntest.Say("Step by step.").Spending(40, 4)).Turn})
		return loop.Text(res.Text()), err
	}}
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Do it.")}, loop.Options{
		Tools: []loop.Tool{plan},
		Turn:  turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "plan"}), turntest.Say("Done.")).Turn,
	})
	fmt.Println(turn.Text(res.Messages[2]), res.Children.Turns, res.Children.InputTokens, err)
	// Output: Step by step. 1 40 <nil>
}
