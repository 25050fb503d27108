package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// A run that is recorded and stopped by its host, with all that a host reads of
// what is left.
func ExampleRunToolLoop() {
	model := turntest.NewScript( // says these things in turn
		turntest.Say("I'll look.", turn.Call{ID: "1", Name: "list"}),
		turntest.Say("And look again.", turn.Call{ID: "2", Name: "list"}),
	).Turn
	list := loop.Tool{Name: "list", Kind: trajectory.KindRead, Run: func(context.Context, loop.Call) (loop.Output, error) {
		return loop.Text("a.go b.go"), nil
	}}
	var record []string
	res, err := loop.RunToolLoop(context.Background(),
		[]turn.TranscriptMessage{turn.User("Which files are here?")},
		loop.Options{
			Turn: model, Tools: []loop.Tool{list},
			Record: func(e trajectory.Event) error { record = append(record, e.Body.Type()); return nil },
			ShouldStop: func(s trajectory.State) error {
				if s.Stats.Turns > 1 {
					return errors.New("two turns are enough")
				}
				return nil
			},
		})
	fmt.Println(res.StopReason, "because", res.Cause, err)
	fmt.Println(res.Stats.Turns, "turns,", res.Stats.ToolCalls, "call,", len(res.Added), "messages more")
	fmt.Println(turn.Text(res.Messages[len(res.Messages)-1]))
	fmt.Println(record)
	// Output:
	// aborted because two turns are enough <nil>
	// 2 turns, 1 call, 4 messages more
	// This call was not started: the run was stopped first. It had no effects.
	// [run.start message call.start call.end message call.end run.end]
}

// A typed tool: the schema comes from the struct, and the model is told what is
// wrong with arguments that do not fit it.
func ExampleNewTool() {
	type input struct {
		City string `json:"city" jsonschema:"where, in English"`
		Days int    `json:"days,omitempty"`
	}
	weather := loop.NewTool(loop.Tool{Name: "weather", Description: "Forecast the weather.", ReplaySafe: true},
		func(_ context.Context, in input) (map[string]string, error) {
			return map[string]string{in.City: "sunny"}, nil
		})
	fmt.Println(string(weather.Schema))

	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Will it rain?")}, loop.Options{
		Tools: []loop.Tool{weather},
		Turn: turntest.NewScript(
			turntest.Say("", turn.Call{ID: "1", Name: "weather", Arguments: `{"town":"Oslo"}`}),
			turntest.Say("", turn.Call{ID: "2", Name: "weather", Arguments: `{"city":"Oslo"}`}),
			turntest.Say("No."),
		).Turn})
	fmt.Println(turn.Text(res.Messages[2]))
	fmt.Println(turn.Text(res.Messages[4]), res.Stats.ToolCalls, err)
	// Output:
	// {"type":"object","properties":{"city":{"type":"string","description":"where, in English"},"days":{"type":"integer"}},"required":["city"],"additionalProperties":false}
	// This call did not run: its arguments are not valid: missing: ["city"]; unknown: ["town"]; the properties are ["city" "days"]. You sent: {"town":"Oslo"}
	// {"Oslo":"sunny"} 1 <nil>
}

// An error made by Fatal ends the run; any other is told to the model.
func ExampleFatal() {
	query := loop.Tool{Name: "query", Run: func(context.Context, loop.Call) (loop.Output, error) {
		return loop.Output{}, loop.Fatal(fmt.Errorf("the database: %w", fs.ErrNotExist))
	}}
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("How many users?")},
		loop.Options{Tools: []loop.Tool{query}, Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "1", Name: "query"})).Turn})
	fmt.Println(err)
	fmt.Println(errors.Is(err, fs.ErrNotExist), loop.ClassifyRunFailure(err), res.Stats.Turns)
	// Output:
	// tool query (call 1): the database: file does not exist
	// true tool 1
}

// A typed tool asks which call it is: to log it, or as a key under which a
// server takes the same request only once.
func ExampleCallFrom() {
	type input struct {
		Amount int `json:"amount"`
	}
	pay := loop.NewTool(loop.Tool{Name: "pay"}, func(ctx context.Context, in input) (string, error) {
		call, _ := loop.CallFrom(ctx)
		return fmt.Sprintf("paid %d with the key %d/%s", in.Amount, call.Turn, call.ID), nil
	})
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Pay.")},
		loop.Options{Tools: []loop.Tool{pay}, Turn: turntest.NewScript(
			turntest.Say("", turn.Call{ID: "x7", Name: "pay", Arguments: `{"amount":5}`}), turntest.Say("Paid.")).Turn})
	fmt.Println(turn.Text(res.Messages[2]), err)
	// Output: paid 5 with the key 1/x7 <nil>
}

// The plan tool lets the model keep a plan that the host can show.
func ExamplePlanTool() {
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Fix the build.")},
		loop.Options{Tools: []loop.Tool{loop.PlanTool()}, Turn: turntest.NewScript(
			turntest.Say("", turn.Call{ID: "1", Name: plan.ToolName,
				Arguments: `{"steps":[{"text":"find the fault","state":"done"},{"text":"mend it","state":"in_progress"}]}`}),
			turntest.Say("I know what is wrong.")).Turn})
	done, all := res.Plan.Counts()
	fmt.Println(turn.Text(res.Messages[2]), err)
	fmt.Println(done, "of", all, "done, then:", res.Plan.Outstanding()[0].Text)
	// Output:
	// Plan updated: 1 of 2 done. <nil>
	// 1 of 2 done, then: mend it
}

// Do is the whole of one call, and its outcome is plain data: this is all that a
// worker on another machine has to do.
func ExampleTool_Do() {
	slow := loop.Tool{Name: "slow", Timeout: time.Millisecond, Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
		<-ctx.Done()
		return loop.Text("half of it"), ctx.Err()
	}}
	out := slow.Do(context.Background(), loop.Call{Call: turn.Call{ID: "1", Name: "slow", Arguments: "{}"}, Turn: 3})
	out.Duration = 0 // it differs from time to time
	data, err := json.Marshal(out)
	fmt.Println(string(data), err)
	// Output: {"text":"half of it","status":"failed","error":"timed out after 1ms","durationNs":0} <nil>
}

// A batch of the host's own, as a durable engine has it: schedule every call in
// order, then wait for every call in order.
func ExampleBatchFn() {
	tools := map[string]loop.Tool{"read": {Name: "read", Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
		return loop.Text("text of " + c.Arguments), nil
	}}}
	engine := func(ctx context.Context, calls []loop.Call) ([]loop.Outcome, error) {
		futures := make([]chan loop.Outcome, len(calls))
		for i, c := range calls {
			futures[i] = make(chan loop.Outcome, 1)
			go func() { futures[i] <- tools[c.Name].Do(ctx, c) }() // the engine's activity
		}
		outs := make([]loop.Outcome, len(calls))
		for i, f := range futures {
			outs[i] = <-f
		}
		return outs, nil
	}
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Read both.")},
		loop.Options{Tools: []loop.Tool{tools["read"]}, Batch: engine, Turn: turntest.NewScript(
			turntest.Say("", turn.Call{ID: "1", Name: "read", Arguments: `{"n":1}`}, turn.Call{ID: "2", Name: "read", Arguments: `{"n":2}`}),
			turntest.Say("Read.")).Turn})
	fmt.Println(turn.Text(res.Messages[2]), "and", turn.Text(res.Messages[3]), err)
	// Output: text of {"n":1} and text of {"n":2} <nil>
}
