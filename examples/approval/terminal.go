package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// errQuit says that the user left at a prompt.
var errQuit = errors.New("quit")

// terminal shows the run and asks the user.
type terminal struct {
	out   io.Writer
	in    io.Reader
	live  bool // somebody types
	begin sync.Once
	lines chan string
}

func newTerminal(answers string, in io.Reader, out io.Writer) *terminal {
	t := &terminal{in: in, out: out, lines: make(chan string, 64)}
	if answers != "" {
		t.in = strings.NewReader(strings.ReplaceAll(answers, ",", "\n"))
	} else if f, ok := in.(*os.File); ok {
		info, err := f.Stat()
		t.live = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return t
}

// read hands over each line. It ends with the input, or with the process: a read
// of a terminal cannot be called off.
func (t *terminal) read() {
	defer close(t.lines)
	r := bufio.NewReader(t.in)
	for {
		line, err := r.ReadString('\n')
		if line = strings.TrimSpace(line); err == nil || line != "" {
			t.lines <- line
		}
		if err != nil {
			return
		}
	}
}

// line is the next thing that the user says. What was typed before the question
// was shown is no reply to it.
func (t *terminal) line(ctx context.Context, prompt string) (string, error) {
	t.begin.Do(func() { go t.read() })
	for t.live {
		select {
		case _, ok := <-t.lines:
			if !ok {
				return "", errQuit
			}
			continue
		default:
		}
		break
	}
	t.printf("%s", prompt)
	select {
	case <-ctx.Done():
		return "", errQuit
	case line, ok := <-t.lines:
		if !t.live && ok {
			t.printf("%s\n", line)
		}
		if !ok || line == "q" || line == "quit" {
			return "", errQuit
		}
		return line, nil
	}
}

// ask gets a reply to what a call waits for.
func (t *terminal) ask(ctx context.Context, w trajectory.OpenCall) (loop.Reply, error) {
	s := w.Suspension
	prompt, parse := "answer, or q to quit > ", answer
	if s.For == trajectory.ForApproval {
		prompt, parse = "y, n, n and why, or q to quit > ", verdict
	}
	t.printf("\n  ?  %s\n", indent(visible(s.Question)))
	for {
		line, err := t.line(ctx, "     "+prompt)
		if err != nil {
			return loop.Reply{}, err
		}
		if r, ok := parse(line); ok {
			return r, nil
		}
	}
}

func answer(line string) (loop.Reply, bool) { return loop.Answer(line), line != "" }

// verdict takes a clear yes or no, and guesses at nothing else.
func verdict(line string) (loop.Reply, bool) {
	word, why, _ := strings.Cut(line, " ")
	switch strings.ToLower(strings.Trim(word, ",:;")) {
	case "y", "yes":
		return loop.Approve(), why == ""
	case "n", "no":
		return loop.Deny(strings.TrimSpace(why)), true
	}
	return loop.Reply{}, false
}

func (t *terminal) printf(format string, args ...any) { fmt.Fprintf(t.out, format, args...) }

func (t *terminal) intro(s *session, model string) {
	t.printf("Session    %s\nDirectory  %s\nModel      %s\n", s.name, s.dir, model)
	if s.because != "" {
		t.printf("Carries on %s\n", s.because)
	}
}

// show tells of an entry once it is recorded.
func (t *terminal) show(e trajectory.Event) {
	switch b := e.Body.(type) {
	case trajectory.Message:
		if text := turn.Text(b.Message); b.Turn != nil && text != "" {
			t.printf("\n%s\n", visible(text))
		}
	case trajectory.CallStart:
		if b.Kind == trajectory.KindExecute {
			var in commandInput
			_ = json.Unmarshal([]byte(b.Arguments), &in) // checked before it was approved
			t.printf("\n  $  %s\n", indent(visible(in.Command)))
		}
	case trajectory.CallEnd:
		if b.Name == "run_command" || b.Status != trajectory.OK {
			t.printf("     %s\n", indent(visible(clip(turn.Text(b.Message)))))
		}
	}
}

func (t *terminal) quit(session string) {
	if strings.ContainsAny(session, " '\"\\$`") {
		session = quote(session)
	}
	t.printf("\nNothing is lost. Carry on with\n  go run ./examples/approval -session %s\n", session)
}

func (t *terminal) done(res loop.Result) {
	s := res.Total()
	if res.Last.Message.Content == "" {
		t.printf("\n%s\n", visible(res.Text())) // it ended in an earlier run
	}
	t.printf("\nDone, with %d turns and %d calls in all.\n", s.Turns, s.ToolCalls)
}

// visible shows what a terminal would obey instead: a command must look like what
// it is when somebody approves it.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' || unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// indent keeps the lines of a text from looking like anything of ours.
func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n   | ") }

const shown = 2000 // bytes of an output

func clip(s string) string {
	s = strings.TrimRight(s, "\n")
	if len(s) <= shown {
		return s
	}
	return strings.ToValidUTF8(s[:shown], "") + fmt.Sprintf("\n… %d bytes more", len(s)-shown)
}
