package resume_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// work begins the session that is recorded in dir, or goes on where it was left. The
// agent is made once its recorder is there: its sub-agents record to it too.
func work(ctx context.Context, dir, request string, agent func(record func(trajectory.Event) error) loop.Options) (loop.Result, error) {
	past, err := resume.ReadResumable(dir, "session.jsonl")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return loop.Result{}, err
	}
	messages := past.Messages
	if len(messages) == 0 { // the first start
		messages = append(messages, turn.User(request))
	} else {
		fmt.Println(past.Assessment.Verdict, "-", past.Assessment.Because)
	}
	f, err := os.OpenFile(filepath.Join(dir, "session.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return loop.Result{}, err
	}
	defer f.Close()
	session := trajectory.NewWriter(f, trajectory.Header{}, past.Tail)
	o := agent(session.Append)
	o.From, o.Record = past.State, session.Append
	return loop.RunToolLoop(ctx, messages, o)
}

// A recorded session in one piece. The first start fails after a tool ran, the
// second goes on and calls it no more, and a third finds nothing left to do.
func Example() {
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	deploy := loop.Tool{Name: "deploy", Run: func(context.Context, loop.Call) (loop.Output, error) {
		fmt.Println("deploying")
		return loop.Text("version 7 is live"), nil
	}}
	model := turntest.NewScript(
		turntest.Say("", turn.Call{ID: "a", Name: "deploy"}),
		turntest.Fail(errors.New("503 overloaded")),
		turntest.Say("It is deployed."),
	)
	for range 3 {
		res, err := work(context.Background(), dir, "Deploy it.", func(func(trajectory.Event) error) loop.Options {
			return loop.Options{Turn: model.Turn, Tools: []loop.Tool{deploy}}
		})
		fmt.Printf("%q %v\n", res.Text(), err)
	}
	// Output:
	// deploying
	// "" model: 503 overloaded
	// unfinished - The model never answered the last tool result. The run ended with an error of the model: “503 overloaded”.
	// "It is deployed." <nil>
	// finished - The run ended with a reply, and nothing is left open.
	// "It is deployed." <nil>
}

// A sub-agent that records to its parent's session goes on where it was, as its parent
// does. Here the process ends in the middle of the sub-agent's second call.
func Example_subAgent() {
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx, shutDown := context.WithCancelCause(context.Background())
	read := loop.Tool{Name: "read", ReplaySafe: true, Run: func(ctx context.Context, call loop.Call) (loop.Output, error) {
		fmt.Println("reading", call.Arguments)
		if call.Turn == 2 {
			shutDown(loop.ErrShutdown)
		}
		return loop.Text("…"), ctx.Err()
	}}
	lead := turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "scout", Arguments: `{"task":"Read both."}`}), turntest.Say("Both say the same."))
	scout := turntest.NewScript(
		turntest.Say("", turn.Call{ID: "a", Name: "read", Arguments: `{"file":"one"}`}),
		turntest.Say("", turn.Call{ID: "b", Name: "read", Arguments: `{"file":"two"}`}),
		turntest.Say("They are the same."),
	)
	agent := func(record func(trajectory.Event) error) loop.Options {
		tool := loop.NewSubAgent(loop.Tool{Name: "scout"}, "You read.", loop.Options{Turn: scout.Turn, Tools: []loop.Tool{read}, Record: record})
		return loop.Options{Turn: lead.Turn, Tools: []loop.Tool{tool}}
	}
	for _, ctx := range []context.Context{ctx, context.Background()} {
		res, err := work(ctx, dir, "Compare them.", agent)
		fmt.Printf("%s %q %v\n", res.StopReason, res.Text(), err)
	}
	// Output:
	// reading {"file":"one"}
	// reading {"file":"two"}
	// aborted "" <nil>
	// unfinished - The model called `scout`, which had no result yet. The run was stopped: “the process is shutting down”.
	// reading {"file":"two"}
	// done "Both say the same." <nil>
}

// After a restart a host goes on by itself with what its own end interrupted, and with
// nothing that somebody stopped.
func ExamplePastSession_Interrupted() {
	asked := turn.Transcript{turn.User("Clean up.")}
	for _, end := range []*trajectory.RunEnd{nil, {Reason: turn.Aborted, Shutdown: true}, {Reason: turn.Aborted, Cause: "stopped by the user"}, {Reason: turn.IterationLimit}} {
		past := resume.PastSession{Messages: asked, LastRun: end}
		fmt.Println(past.Interrupted())
	}
	// Output:
	// true
	// true
	// false
	// false
}

// What a host does with a session, from the verdict and NeedsMessage alone.
func ExamplePastSession_NeedsMessage() {
	what := func(past resume.PastSession) string {
		u := resume.Assess(past)
		switch {
		case u.Verdict == resume.WaitingForReply:
			return "ask the user, and pass on the reply: " + u.Suggestion
		case u.Verdict == resume.ResumingLater:
			return "run it when it is time: " + u.Suggestion
		case !past.NeedsMessage():
			return "run it as it is"
		case u.Verdict == resume.Finished:
			return "wait for a new request"
		}
		return "append a message and run it: " + u.Suggestion
	}
	call := turn.Call{ID: "a", Name: "remove", Arguments: "{}"}
	asked := turn.Transcript{turn.User("Clean up."), turn.ReplayForm(turn.Assistant("", call))}
	waits := trajectory.OpenCall{Call: call, Suspension: &trajectory.Suspension{For: trajectory.ForApproval, Question: "Remove it?"}}
	done := append(asked[:2:2], turn.ToolResult("a", "removed"), turn.ReplayForm(turn.Assistant("It is clean.")))

	fmt.Println(what(resume.PastSession{Messages: done}))
	fmt.Println(what(resume.PastSession{Messages: done, LastTurn: &trajectory.Turn{Finish: turn.FinishLength}}))
	fmt.Println(what(resume.PastSession{Messages: done[:3]}))
	fmt.Println(what(resume.PastSession{Messages: asked, State: trajectory.State{Open: []trajectory.OpenCall{waits}}}))
	// Output:
	// wait for a new request
	// append a message and run it: Your last reply did not come through; carry on from there.
	// run it as it is
	// ask the user, and pass on the reply: Approve or deny “Remove it?”.
}
