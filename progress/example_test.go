package progress_test

import (
	"fmt"

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

// A watch takes the entries of a run and is asked, as a loop does it, before each
// turn.
func ExampleWatch() {
	watch := progress.NewWatch(progress.WatchOptions{Notice: func(text string) { fmt.Println("notice:", text) }, NoticeAt: 5000})
	run := begin(turn.User("fix the bug"))
	for range 6 {
		run.does(readOf("a.go", "package a"))
	}
	for _, e := range run.events {
		if m, ok := e.Body.(trajectory.Message); ok && m.Turn != nil {
			if cause := watch.ShouldStop(trajectory.State{}); cause != nil {
				fmt.Println(cause)
			}
			for _, m := range watch.Inbox() {
				fmt.Println("to the model:", turn.Text(m))
			}
		}
		_ = watch.Record(e)
	}
	fmt.Println(watch.ShouldStop(trajectory.State{}))
	// Output:
	// to the model: You are repeating yourself: the last 3 turns made the same call and got the same result: read {"path":"a.go"}. Doing it again will give the same. Try another way; if there is none, say what stands in your way and end.
	// notice: Nothing has changed in this run: no file edited, no command that succeeded. It has used 5 requests to m-1 and 5,100 tokens. What it did instead: 4 reads. Of its 4 calls, 3 were the same as one shortly before, with the same result. Unless that is all it was asked to do, this is a run worth stopping.
	// stuck: the same call with the same result, 6 times since turn 1: read {"path":"a.go"}
}
