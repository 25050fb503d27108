package loop_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// waitFor is a tool that waits for what comes from done, and may do so again.
func waitFor(done <-chan string) loop.Tool {
	return loop.Tool{Name: "wait", ReplaySafe: true, Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		select {
		case text := <-done:
			return loop.Text(text), nil
		case <-ctx.Done():
			return loop.Output{}, ctx.Err()
		}
	}}
}

// A server goes down while two calls run. The one that may be repeated stays open,
// and runs again in the next process; the other is cut off, and the model is told.
func ExampleRunToolLoop_shutdown() {
	ctx, cancel := context.WithCancelCause(context.Background())
	push := loop.Tool{Name: "push", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		cancel(loop.ErrShutdown) // as a signal handler would
		<-ctx.Done()
		return loop.Output{}, ctx.Err()
	}}
	done := make(chan string, 1)
	model := turntest.NewScript(
		turntest.Say("", turn.Call{ID: "a", Name: "wait"}, turn.Call{ID: "b", Name: "push"}),
		turntest.Say("The build passed. I will check the push."))
	o := loop.Options{Turn: model.Turn, Tools: []loop.Tool{waitFor(done), push}}
	res, err := loop.RunToolLoop(ctx, []turn.TranscriptMessage{turn.User("Release it.")}, o)
	fmt.Println(res.StopReason, "-", res.Cause, err)
	stored, _ := json.Marshal(res)

	var past loop.Result // in the next process
	if err := json.Unmarshal(stored, &past); err != nil {
		fmt.Println(err)
	}
	done <- "the build passed"
	o.From = past.State
	res, err = loop.RunToolLoop(context.Background(), past.Messages, o)
	for _, m := range res.Messages[2:] {
		fmt.Println(turn.CallID(m), turn.Text(m))
	}
	fmt.Println(res.StopReason, err)
	// Output:
	// aborted - the process is shutting down <nil>
	// a the build passed
	// b The run was stopped while this call was running. Its effects are unknown: check before repeating it.
	//  The build passed. I will check the push.
	// done <nil>
}
