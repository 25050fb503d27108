package progress_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/progress"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// What a recorded run achieved. A test of a host calls it with what its recorder
// got; the third argument is a host's own count of sub-agents, where it has one.
func ExampleSummariseProgress() {
	edit := loop.Tool{Name: "edit", Kind: trajectory.KindEdit, Run: func(context.Context, loop.Call) (loop.Output, error) {
		return loop.Output{Text: "edited", Paths: []string{"a.go"}}, nil
	}}
	var events []trajectory.Event
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Fix it.")}, loop.Options{
		Tools:  []loop.Tool{edit},
		Turn:   turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "edit"}, turn.Call{ID: "b", Name: "edit"}), turntest.Say("Fixed.")).Turn,
		Record: func(e trajectory.Event) error { events = append(events, e); return nil },
	})
	p := progress.SummariseProgress(events, res.Plan, 0)
	fmt.Println(p.Edits, "edits of", p.Files, "file,", progress.IsGettingSomewhere(p), err)
	// Output: 2 edits of 1 file, true <nil>
}

// Reading is looking for progress, and is none.
func ExampleIsGettingSomewhere() {
	fmt.Println(progress.IsGettingSomewhere(progress.RunProgress{Reads: 61}))
	fmt.Println(progress.IsGettingSomewhere(progress.RunProgress{Reads: 61, Commands: 1}))
	// Output:
	// false
	// true
}

// What a run spent, in the figures that a notice speaks of.
func ExampleSpend() {
	s := trajectory.State{
		Stats:    stats.RunStats{Turns: 3, InputTokens: 9000, OutputTokens: 400, CachedInputTokens: 7000, Cost: turn.Dollar / 10},
		Children: stats.RunStats{Turns: 2, InputTokens: 5000, OutputTokens: 100},
	}
	spent := progress.Spend(s, "large-1")
	fmt.Println(spent.Requests, "requests,", spent.Tokens, "tokens, and", spent.DelegatedTokens, "of sub-agents,", spent.Cost)
	// Output: 3 requests, 9400 tokens, and 5100 of sub-agents, $0.1
}

func ExampleDescribeProgress() {
	fmt.Println(progress.DescribeProgress(progress.RunProgress{Files: 14, Commands: 23, Reads: 61, StepsDone: 3, StepsTotal: 7, Agents: 1}))
	fmt.Println(progress.DescribeProgress(progress.RunProgress{Edits: 2, StepsDone: 7, StepsTotal: 7}))
	fmt.Println(progress.DescribeProgress(progress.RunProgress{StepsDone: 1, StepsTotal: 1}))
	fmt.Println(progress.DescribeProgress(progress.RunProgress{Reads: 61})) // nothing was
	// Output:
	// 14 files changed, 23 commands run, 3 of 7 steps finished, 1 sub-agent started
	// 2 edits made, all 7 steps finished
	// the only step finished
	//
}

func ExampleLongRunNotice() {
	spend := progress.RunSpend{Requests: 152, Tokens: 10_028_873, PromptTokens: 9_905_312, CompletionTokens: 123_561}

	fmt.Println(progress.LongRunNotice(spend, progress.RunProgress{Files: 11, Edits: 19, Commands: 34}, progress.NoticeOptions{}))
	fmt.Println(progress.LongRunNotice(spend, progress.RunProgress{Reads: 140}, progress.NoticeOptions{}))
	// Output:
	// Done so far: 11 files changed and 34 commands run. It took 152 requests and 10.0 million tokens. That is about 66,000 tokens a request, because each request reads the whole conversation again. About 1% of the tokens were newly written.
	// Nothing has changed in this run: no file edited, no command that succeeded. It has used 152 requests and 10.0 million tokens. What it did instead: 140 reads. Unless that is all it was asked to do, this is a run worth stopping.
}

// Whether a run only repeats itself follows from what it recorded.
func ExampleDetectStuck() {
	build := loop.Tool{Name: "build", Run: func(context.Context, loop.Call) (loop.Output, error) {
		return loop.Output{}, errors.New("no rule to make target")
	}}
	again := turntest.Say("", turn.Call{ID: "a", Name: "build", Arguments: `{"target":"all"}`})
	var events []trajectory.Event
	_, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Build it.")}, loop.Options{
		Tools: []loop.Tool{build}, MaxIterations: 6,
		Turn:   turntest.NewScript(slices.Repeat([]turntest.Reply{again}, 6)...).Turn,
		Record: func(e trajectory.Event) error { events = append(events, e); return nil },
	})
	fmt.Println(progress.DetectStuck(events, 0), err)
	fmt.Println(progress.DetectStuck(events, 10)) // nil: not for ten turns
	// Output:
	// stuck: the same call with the same result, 6 times since turn 1: build {"target":"all"} <nil>
	// <nil>
}

// A watch beside a run that only reads the same file. The model is told after
// three turns, and the run is stopped after six.
func ExampleWatch() {
	watch := progress.NewWatch(progress.WatchOptions{
		Notice:   func(text string) { fmt.Println("notice:", text) },
		NoticeAt: 5000,
	})
	read := loop.Tool{Name: "read", Kind: trajectory.KindRead, Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Text("text"), nil }}
	again := turntest.Say("", turn.Call{ID: "a", Name: "read", Arguments: `{"path":"a.go"}`}).Spending(1000, 10)
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Fix the bug.")}, loop.Options{
		Tools:  []loop.Tool{read},
		Turn:   turntest.NewScript(slices.Repeat([]turntest.Reply{again}, 10)...).Turn,
		Record: watch.Record, ShouldStop: watch.ShouldStop, Inbox: watch.Inbox,
	})
	fmt.Println(res.StopReason, err)
	fmt.Println(res.Cause)
	_, all := watch.Progress()
	fmt.Println(all.Reads, "reads,", all.Repeats, "of them again")
	// Output:
	// notice: Nothing has changed in this run: no file edited, no command that succeeded. It has used 5 requests and about 5,100 tokens. What it did instead: 4 reads. Of its 4 calls, 3 were the same as one shortly before, with the same result. Unless that is all it was asked to do, this is a run worth stopping.
	// aborted <nil>
	// stuck: the same call with the same result, 6 times since turn 1: read {"path":"a.go"}
	// 6 reads, 5 of them again
}

// A watch knows what was achieved since the run was last started, and in all. The
// entries of an earlier process can be given to it first.
func ExampleNewWatch() {
	does := func(name string, kind trajectory.Kind) loop.Tool {
		return loop.Tool{Name: name, Kind: kind, Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Text("ok"), nil }}
	}
	watch := progress.NewWatch(progress.WatchOptions{})
	o := loop.Options{
		Tools:  []loop.Tool{does("edit", trajectory.KindEdit), does("test", trajectory.KindExecute)},
		Record: watch.Record, ShouldStop: watch.ShouldStop, Inbox: watch.Inbox,
		Turn: turntest.NewScript(
			turntest.Say("", turn.Call{ID: "a", Name: "edit"}).Spending(1000, 20), turntest.Say("Fixed.").Spending(1100, 20),
			turntest.Say("", turn.Call{ID: "b", Name: "test"}).Spending(1200, 20), turntest.Say("It passes.").Spending(1300, 20)).Turn,
	}
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Fix it.")}, o)
	fmt.Println(res.StopReason, err)
	o.From = res.State
	res, err = loop.RunToolLoop(context.Background(), append(res.Messages, turn.User("And test it.")), o)
	fmt.Println(res.StopReason, err)

	sinceResume, sinceStart := watch.Progress()
	fmt.Println("now:", progress.DescribeProgress(sinceResume))
	fmt.Println("in all:", progress.DescribeProgress(sinceStart), "for", watch.Spend().Tokens, "tokens")
	fmt.Println(watch.Notice()) // whatever it has spent; WatchOptions.Notice is called when it is much
	// Output:
	// done <nil>
	// done <nil>
	// now: 1 command run
	// in all: 1 edit made, 1 command run for 4680 tokens
	// Done so far: 1 edit made and 1 command run. It took 4 requests and about 4,700 tokens. That is about 1,200 tokens a request, because each request reads the whole conversation again. About 2% of the tokens were newly written.
}
