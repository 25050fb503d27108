package progress_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/progress"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// Two sub-agents at work at once, with a watch for each: the tool's Run makes it
// anew. One repeats itself and is stopped, which the lead is told.
func ExampleWatch_subAgents() {
	read := loop.Tool{Name: "read", Kind: trajectory.KindRead, Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Text("text"), nil }}
	agent := loop.NewSubAgent(loop.Tool{Name: "research"}, "", loop.Options{Turn: turntest.NewScript().Turn, Tools: []loop.Tool{read}})
	agent.Run = func(ctx context.Context, call loop.Call) (loop.Output, error) {
		model := turntest.NewScript(turntest.Say("It is blue."))
		if call.ID == "b" {
			again := turntest.Say("", turn.Call{ID: "r", Name: "read", Arguments: `{"path":"a"}`})
			model = turntest.NewScript(slices.Repeat([]turntest.Reply{again}, 9)...)
		}
		watch := progress.NewWatch(progress.WatchOptions{})
		return loop.NewSubAgent(loop.Tool{Name: "research"}, "Answer one question.", loop.Options{Turn: model.Turn, Tools: []loop.Tool{read},
			Record: watch.Record, ShouldStop: watch.ShouldStop, Inbox: watch.Inbox}).Run(ctx, call)
	}
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Which colour, and why?")}, loop.Options{
		Tools: []loop.Tool{agent},
		Turn: turntest.NewScript(turntest.Say("",
			turn.Call{ID: "a", Name: "research", Arguments: `{"task":"Which colour?"}`},
			turn.Call{ID: "b", Name: "research", Arguments: `{"task":"Why?"}`}), turntest.Say("It is blue, nobody knows why.")).Turn,
	})
	fmt.Println(turn.Text(res.Messages[2]))
	told, _, _ := strings.Cut(turn.Text(res.Messages[3]), "\n") // and what it had called until then
	fmt.Println(told)
	fmt.Println(res.Text(), err)
	// Output:
	// It is blue.
	// Error: the sub-agent stopped before it was done (aborted): stuck: the same call with the same result, 6 times since turn 1: read {"path":"a"}
	// It is blue, nobody knows why. <nil>
}
