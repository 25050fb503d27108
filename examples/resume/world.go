package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
)

const (
	effectsFile = "effects.txt"
	manual      = "manual.txt"
	manualText  = "Turn the wheel. It will not turn back.\n"
	waiting     = "waits for an answer" // what the parent listens for
)

// world is what the agent acts on. Each tool writes a line to the effects for each
// time that it ran, and the model one for each time that it was asked: what really
// happened, whatever a session says of it.
type world struct {
	root    *os.Root
	effects *os.File
	hang    bool // what the tools depend on does not answer today
	out     io.Writer
}

func openWorld(dir string, hang bool, out io.Writer) (*world, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(effectsFile, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &world{root, f, hang, out}, nil
}

func (w *world) close() error { return errors.Join(w.effects.Close(), w.root.Close()) }

// effect is one write, so lines of calls that run side by side stay whole.
func (w *world) effect(format string, args ...any) error {
	_, err := fmt.Fprintf(w.effects, format+"\n", args...)
	return err
}

// answer is where a tool would wait for somebody else.
func (w *world) answer(ctx context.Context, tool string) error {
	if !w.hang {
		return nil
	}
	fmt.Fprintf(w.out, "  %s %s\n", tool, waiting)
	<-ctx.Done()
	return context.Cause(ctx)
}

// tools say of themselves what a repeat would do. Only counting is safe to repeat.
func (w *world) tools() []loop.Tool {
	return []loop.Tool{
		loop.NewTool(loop.Tool{Name: "write_notes", Kind: trajectory.KindEdit, Description: "Write the release notes."}, w.writeNotes),
		loop.NewTool(loop.Tool{Name: "send_mail", Kind: trajectory.KindOther, Description: "Send a mail."}, w.sendMail),
		loop.NewTool(loop.Tool{Name: "count_words", Kind: trajectory.KindRead, ReplaySafe: true, Description: "Count the words of a file."}, w.countWords),
		loop.NewTool(loop.Tool{Name: "publish", Kind: trajectory.KindOther, Description: "Publish a version."}, w.publish),
		loop.NewTool(loop.Tool{Name: "read_outbox", Kind: trajectory.KindRead, ReplaySafe: true, Description: "List the mails that were sent."}, w.readOutbox),
		loop.PlanTool(),
	}
}

type notesInput struct {
	Text string `json:"text"`
}

func (w *world) writeNotes(_ context.Context, in notesInput) (loop.Output, error) {
	const file = "notes.md"
	if err := w.effect("write_notes"); err != nil {
		return loop.Output{}, err
	}
	return loop.Output{Text: "The notes are in " + file + ".", Paths: []string{file}}, w.root.WriteFile(file, []byte(in.Text), 0o644)
}

type mailInput struct {
	To      string `json:"to"`
	Subject string `json:"subject"`
}

// sendMail is the case that nobody can decide afterwards from the session alone:
// the mail is out, and the process dies before it hears of it.
func (w *world) sendMail(ctx context.Context, in mailInput) (string, error) {
	if err := w.effect("send_mail %s %q", in.To, in.Subject); err != nil {
		return "", err
	}
	return "The mail is sent.", w.answer(ctx, "send_mail")
}

type wordsInput struct {
	Path string `json:"path"`
}

func (w *world) countWords(ctx context.Context, in wordsInput) (string, error) {
	if err := w.effect("count_words"); err != nil {
		return "", err
	}
	text, err := w.root.ReadFile(in.Path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d words", len(bytes.Fields(text))), w.answer(ctx, "count_words")
}

type publishInput struct {
	Version string `json:"version"`
}

func (w *world) publish(_ context.Context, in publishInput) (string, error) {
	return in.Version + " is published.", w.effect("publish %s", in.Version)
}

func (w *world) readOutbox(context.Context, struct{}) (string, error) {
	text, err := w.root.ReadFile(effectsFile)
	if err != nil {
		return "", err
	}
	sent := ""
	for line := range strings.Lines(string(text)) {
		if mail, ok := strings.CutPrefix(line, "send_mail "); ok {
			sent += mail
		}
	}
	if sent == "" {
		return "No mail was sent.", nil
	}
	return strings.TrimSpace(sent), nil
}
