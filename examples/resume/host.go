package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

const (
	sessionFile = "session" + resume.Extension
	task        = "Send out release 1.4: write its notes, mail the team, count the words of the manual, and publish."
)

// carryOn is a start of the agent, the first one and every later one. It does not
// ask which of them it is: of a session that does not exist yet everything is
// zero, and a zero state begins a new run.
func carryOn(ctx context.Context, w *world, out io.Writer) error {
	past, err := resume.ReadResumable(w.root.Name(), sessionFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	describe(out, past)
	messages := past.Messages
	if len(messages) == 0 {
		messages = turn.Transcript{turn.System("You send out releases."), turn.User(task)}
	}

	// Appended to and never truncated; what was written stays as it is. The Writer
	// syncs the file before each call that may have effects.
	f, err := w.root.OpenFile(sessionFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	session := trajectory.NewWriter(f, trajectory.Header{}, past.Tail)

	res, err := loop.RunToolLoop(ctx, messages, loop.Options{
		Turn:        w.model,
		Tools:       w.tools(),
		MaxParallel: 2,
		From:        past.State,
		Title:       "Release 1.4",
		Record: func(e trajectory.Event) error {
			if err := session.Append(e); err != nil {
				return err
			}
			show(out, e)
			return nil
		},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "stopped: %s, after %s\n", res.StopReason, spent(res.State))
	if res.StopReason != turn.Done {
		return fmt.Errorf("the run stopped: %s", res.StopReason)
	}
	return nil
}

// describe says what a session was doing.
func describe(out io.Writer, past resume.Resumable) {
	if len(past.Messages) == 0 {
		fmt.Fprintln(out, "a new session")
		return
	}
	a := past.Assessment
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(out, "%-12s %s\n", name, text)
		}
	}
	row("session", past.Title)
	row("verdict", string(a.Verdict))
	row("because", a.Because)
	row("last action", a.LastAction)
	row("last said", a.LastSaid)
	for _, c := range past.State.Open {
		known := "never began"
		if c.Started {
			known = "was running"
		}
		row("open", fmt.Sprintf("%s, which %s", c.Name, known))
	}
	for _, s := range a.Steps {
		row("step", s.Text)
	}
	for _, p := range past.Problems {
		row("damage", p.Error())
	}
	row("so far", spent(past.State))
	row("suggestion", a.Suggestion)
}

func spent(s trajectory.State) string {
	total := s.Total()
	return fmt.Sprintf("%d turns, %d tool calls, %d tokens in, %d out", total.Turns, total.ToolCalls, total.InputTokens, total.OutputTokens)
}

// show prints an entry that is on its way into the session.
func show(out io.Writer, e trajectory.Event) {
	switch b := e.Body.(type) {
	case trajectory.Message:
		fmt.Fprintf(out, "%s: %s\n", turn.Role(b.Message), turn.Text(b.Message))
	case trajectory.CallStart:
		again := ""
		if b.Again {
			again = "again "
		}
		fmt.Fprintf(out, "  %sstarts %s %s\n", again, b.Name, b.Arguments)
	case trajectory.CallEnd:
		fmt.Fprintf(out, "  %s: %s: %s\n", b.Name, b.Status, turn.Text(b.Message))
	}
}
