// Approval is a terminal program whose agent asks before each command and can ask
// its user a question. It can be quit at any prompt, and carried on later, in
// another process, from its session file.
//
//	go run ./examples/approval -session s.jsonl "Start a notes file."
//	go run ./examples/approval -session s.jsonl
//
// The first line begins, the second one carries on: what had run does not run
// again, and the question that was open is asked again. Both are the same code.
//
// Without a key what plays the model is a small set of rules (standin.go), which
// is no language model. OPENAI_API_KEY, OPENAI_BASE_URL and PAWL_MODEL name a
// real one. Commands really run, with your rights, once you approve them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		time.Sleep(time.Second) // whoever runs this may pass the first one on twice
		stop()                  // a second Ctrl-C ends the process at once
	})
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout))
}

// config is what the command line says.
type config struct {
	dir, session, task string
	answers            string
	close              bool
}

func parseFlags(args []string, out io.Writer) (config, error) {
	var c config
	f := flag.NewFlagSet("approval", flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&c.dir, "dir", "", "run commands in this `directory`; if left out, the one that the session began in, or a new one")
	f.StringVar(&c.session, "session", "", "keep the session in this `file`, and carry on with what it holds; a new one if left out")
	f.StringVar(&c.answers, "answers", "", "reply with these `lines`, parted by commas, instead of reading the terminal")
	f.BoolVar(&c.close, "close", false, "close what the session waits for without a reply, so that a new task can begin")
	f.Usage = func() {
		fmt.Fprintln(out, "usage: approval [flags] [task]")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return c, err
	}
	c.task = strings.Join(f.Args(), " ")
	return c, nil
}

// run is main without the process: it returns the exit code. A session that was
// quit at a prompt is no failure; one that stopped for any other reason is.
func run(ctx context.Context, args []string, getenv func(string) string, in io.Reader, out io.Writer) int {
	c, err := parseFlags(args, out)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2 // the flag set has said it
	}
	h, err := newHost(c, getenv, in, out)
	if err != nil {
		fmt.Fprintln(out, "approval:", err)
		return 2
	}
	defer h.close()
	if err := h.work(ctx); err != nil {
		fmt.Fprintln(out, "approval:", err)
		return 1
	}
	return 0
}
