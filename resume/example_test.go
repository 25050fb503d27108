package resume_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// The first run of a session and every later one are the same code. Here the
// process dies while a tool runs, and the next one carries on.
func ExampleReadResumable() {
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	model := func(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		if len(messages) == 1 {
			return turn.ModelTurnResult{Message: turn.Assistant("", turn.Call{ID: "a", Name: "deploy", Arguments: "{}"})}, nil
		}
		return turn.ModelTurnResult{Message: turn.Assistant("I was told: " + turn.Text(messages[len(messages)-1]))}, nil
	}
	power := errors.New("the power went out")
	deploy := loop.Tool{Name: "deploy", Description: "Deploys.", Run: func(context.Context, loop.Call) (loop.Output, error) { panic(power) }}

	run := func(lastEntry string) error {
		past, err := resume.ReadResumable(dir, "s.jsonl")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		fmt.Println(past.Assessment.Because)
		messages := past.Messages
		if len(messages) == 0 {
			messages = append(messages, turn.User("Deploy it."))
		}
		f, err := os.OpenFile(filepath.Join(dir, "s.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		session := trajectory.NewWriter(f, trajectory.Header{Title: "deploy"}, past.Tail)
		dead := false
		res, err := loop.RunToolLoop(context.Background(), messages, loop.Options{Turn: model, Tools: []loop.Tool{deploy}, From: past.State,
			Record: func(e trajectory.Event) error {
				if dead {
					return power // nothing is written any more
				}
				dead = e.Body.Type() == lastEntry
				return session.Append(e)
			}})
		fmt.Println(res.Text())
		return err
	}
	fmt.Println(run("call.start"))
	fmt.Println(run(""))
	// Output:
	// Nothing has been asked yet.
	//
	// recording call.end: the power went out
	// `deploy` was running when the session stopped, and what it did is unknown.
	// I was told: The run was interrupted and the outcome of this call is unknown. It may have had effects: check before repeating it.
	// <nil>
}

// The messages and a plan are enough for a host that keeps its sessions elsewhere.
func ExampleAssess() {
	u := resume.Assess(resume.PastSession{
		Messages: turn.Transcript{
			turn.User("Rename the package."),
			turn.ReplayForm(turn.Assistant("The files are renamed.")),
		},
		State: trajectory.State{Plan: &plan.Plan{Steps: []plan.Step{
			{Text: "rename the files", State: plan.Done}, {Text: "mend the imports", State: plan.Pending}}}},
	})
	fmt.Println(u.Verdict, u.LooksUnfinished)
	fmt.Println(u.Because)
	fmt.Println(u.Suggestion)
	// Output:
	// unfinished true
	// 1 of 2 planned steps is not done; the next is “mend the imports”.
	// Carry on with the plan; the next step is “mend the imports”.
}

// What was lost to damage is named, and costs nothing else.
func ExampleReadPast() {
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := `{"t":"session","seq":1,"v":1,"title":"a greeting"}
{"t":"run.start","seq":2,"messages":[{"role":"user","content":"Hello"}]}
garbage
{"t":"message","seq":3,"turn":{"in":7,"out":2},"message":{"role":"assis`
	if err := os.WriteFile(filepath.Join(dir, "s.jsonl"), []byte(file), 0o600); err != nil {
		fmt.Println(err)
	}

	var kinds []string
	past, err := resume.ReadPast(dir, "s.jsonl", func(e trajectory.Event) error {
		kinds = append(kinds, e.Body.Type())
		return nil
	})
	fmt.Println(past.Title, len(past.Messages), past.Tail.Torn, kinds, err)
	for _, p := range past.Problems {
		fmt.Println(p)
	}
	_, err = resume.ReadPast(dir, "../s.jsonl")
	fmt.Println(err)
	// Output:
	// a greeting 1 true [run.start] <nil>
	// line 3 (byte 124): unreadable: invalid JSON at byte 1: invalid character 'g' looking for beginning of value: "garbage"
	// line 4 (byte 132): torn: the line is not whole: 71 bytes
	// session "../s.jsonl": the path leads out of the directory
}

func ExampleList() {
	dir, err := os.MkdirTemp("", "sessions")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	f, err := os.Create(filepath.Join(dir, "s.jsonl"))
	if err != nil {
		fmt.Println(err)
		return
	}
	session := trajectory.NewWriter(f, trajectory.Header{Title: "capital cities"}, trajectory.Tail{})
	for _, b := range []trajectory.Body{
		trajectory.RunStart{Messages: turn.Transcript{turn.User("What is the capital of France?")}},
		trajectory.RunEnd{Failure: "model", Cause: "503 overloaded"},
	} {
		if err := session.Append(trajectory.Event{Body: b}); err != nil {
			fmt.Println(err)
		}
	}
	f.Close()

	for l, err := range resume.List(dir) {
		if err != nil {
			fmt.Println(err) // of one file, or of the directory
			continue
		}
		fmt.Println(l.Title, "is", l.Assessment.Verdict)
		fmt.Println(l.Assessment.Because)
		fmt.Println(l.Assessment.Suggestion)
	}
	// Output:
	// capital cities is unfinished
	// The run ended with an error of the model: “503 overloaded”. The last message has no reply.
	// Answer the last message.
}
