package progress_test

import (
	"context"
	"fmt"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/progress"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// fix is what a loop recorded of a run that read a file, edited it and tested it.
func fix() []trajectory.Event {
	return begin(turn.User("fix the bug")).
		does(readOf("a.go", "package a")).
		does(editOf("a.go", "x"), editOf("./a.go", "y")).
		does(command("go test ./...", "ok")).events
}

func ExampleSummariseProgress() {
	p := progress.SummariseProgress(fix(), nil, 0)
	fmt.Println(p.Edits, p.Files, p.Commands, p.Reads)
	fmt.Println(progress.IsGettingSomewhere(p))
	// Output:
	// 2 1 1 1
	// true
}

func ExampleDescribeProgress() {
	fmt.Println(progress.DescribeProgress(progress.SummariseProgress(fix(), nil, 0)))
	fmt.Println(progress.DescribeProgress(progress.RunProgress{Files: 14, Commands: 23, Reads: 61, StepsDone: 3, StepsTotal: 7, Agents: 1}))
	// Output:
	// 1 file changed, 1 command run
	// 14 files changed, 23 commands run, 3 of 7 steps finished, 1 sub-agent started
}

func ExampleLongRunNotice() {
	spend := progress.RunSpend{Requests: 152, Tokens: 10_028_873, PromptTokens: 9_905_312, CompletionTokens: 123_561}

	fmt.Println(progress.LongRunNotice(spend, progress.RunProgress{Files: 11, Edits: 19, Commands: 34}, progress.NoticeOptions{}))
	fmt.Println(progress.LongRunNotice(spend, progress.RunProgress{Reads: 140}, progress.NoticeOptions{}))
	// Output:
	// Done so far: 11 files changed and 34 commands run. It took 152 requests and 10.0 million tokens. That is about 66,000 tokens a request, because each request reads the whole conversation again. About 1% of the tokens were newly written.
	// Nothing has changed in this run: no file edited, no command that succeeded. It has used 152 requests and 10.0 million tokens. What it did instead: 140 reads. Unless that is all it was asked to do, this is a run worth stopping.
}

func ExampleDetectStuck() {
	run := begin(turn.User("fix the bug"))
	for range 6 {
		run.does(command("make", "no rule to make target").fails())
	}
	fmt.Println(progress.DetectStuck(run.events, 0))
	// Output:
	// stuck: the same call with the same result, 6 times since turn 1: bash {"command":"make"}
}

// A watch beside a run that only reads the same file. The model is told after
// three turns, and the run is stopped after six.
func ExampleWatch() {
	watch := progress.NewWatch(progress.WatchOptions{
		Notice:   func(text string) { fmt.Println("notice:", text) },
		NoticeAt: 5000,
	})
	model := calling(func(n int) (turn.Call, bool) {
		return turn.Call{ID: fmt.Sprint(n), Name: "read", Arguments: `{"path":"a.go"}`}, true
	})
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("fix the bug")}, loop.Options{
		Turn: model, Tools: []loop.Tool{readTool},
		Record: watch.Record, ShouldStop: watch.ShouldStop, Inbox: watch.Inbox,
	})
	fmt.Println(res.StopReason, err)
	fmt.Println(res.Cause)
	_, all := watch.Progress()
	fmt.Println(all.Reads, "reads,", all.Repeats, "of them again")
	// Output:
	// notice: Nothing has changed in this run: no file edited, no command that succeeded. It has used 5 requests to m-1 and about 5,100 tokens. What it did instead: 4 reads. Of its 4 calls, 3 were the same as one shortly before, with the same result. Unless that is all it was asked to do, this is a run worth stopping.
	// aborted <nil>
	// stuck: the same call with the same result, 6 times since turn 1: read {"path":"a.go"}
	// 6 reads, 5 of them again
}
