package progress_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/progress"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// watchedAgent is a sub-agent with a watch for each of its calls. A watch judges the run
// that its entries are of, so it is given the child's as if that stood at the top.
func watchedAgent(t loop.Tool, system string, o loop.Options) loop.Tool {
	agent := loop.NewSubAgent(t, system, o)
	agent.Run = func(ctx context.Context, call loop.Call) (loop.Output, error) {
		own, watch := o, progress.NewWatch(progress.WatchOptions{})
		own.ShouldStop, own.Inbox = watch.ShouldStop, watch.Inbox
		own.Record = func(e trajectory.Event) error {
			err := o.Record(e)
			e.Agent = ""
			return errors.Join(err, watch.Record(e))
		}
		return loop.NewSubAgent(t, system, own).Run(ctx, call)
	}
	return agent
}

// One sub-agent goes round in circles, and is stopped. The lead hears why.
func ExampleWatch_subAgent() {
	read := loop.Tool{Name: "read", Kind: trajectory.KindRead, Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Text("text"), nil }}
	again := turntest.Say("", turn.Call{ID: "a", Name: "read", Arguments: `{"path":"a.go"}`})
	record := func(trajectory.Event) error { return nil } // a session's Append
	agent := watchedAgent(loop.Tool{Name: "fix", Description: "Fixes a file."}, "You fix files.", loop.Options{
		Turn: turntest.NewScript(slices.Repeat([]turntest.Reply{again}, 10)...).Turn, Tools: []loop.Tool{read}, Record: record,
	})
	model := turntest.NewScript(
		turntest.Say("", turn.Call{ID: "a", Name: "fix", Arguments: `{"task":"Fix a.go."}`}),
		turntest.Say("It could not be fixed."))
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Fix a.go.")},
		loop.Options{Turn: model.Turn, Tools: []loop.Tool{agent}, Record: record})
	fmt.Println(model.Asked()[1].Result("a"))
	fmt.Println(res.Text(), res.Children.Turns, "turns of the sub-agent", err)
	// Output:
	// Error: the sub-agent stopped before it was done (aborted): stuck: the same call with the same result, 6 times since turn 1: read {"path":"a.go"}
	// It could not be fixed. 6 turns of the sub-agent <nil>
}
