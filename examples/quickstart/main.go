// Quickstart is a whole host of Pawl: an agent that lists, reads, searches and
// edits files, runs commands and keeps a plan.
//
//	go run ./examples/quickstart
//
// needs no key and no network: it makes a small Go module with bugs in a temporary
// directory and lets the agent work until the module's own tests pass. What plays
// the model then is a small rule-based program on a loopback port (package
// standin), which is no language model.
//
//	OPENAI_API_KEY=… go run ./examples/quickstart -dir . "Explain what this code does."
//
// is the same program with a real model, a directory and a task of your own.
// OPENAI_BASE_URL names another server, PAWL_MODEL another model. File tools cannot
// leave the directory. Commands can: they run with your rights.
//
// The run is recorded in the directory, and one that was interrupted or killed goes
// on with -continue.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pawl-dev/pawl/loop"
)

func main() {
	os.Exit(run(untilTold(), os.Args[1:], os.Getenv, os.Stdout))
}

// untilTold is a context for runs. It ends when the process is told to; told again,
// the process ends at once.
func untilTold() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel(loop.ErrShutdown)
		time.Sleep(time.Second) // whoever runs this may pass the first one on twice
		signal.Stop(signals)
	}()
	return ctx
}

// config is what the command line says.
type config struct {
	dir      string
	task     string
	goOn     bool
	turns    int
	timeout  time.Duration
	window   int64
	noticeAt int64
}

func parseFlags(args []string, out io.Writer) (config, error) {
	var c config
	f := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&c.dir, "dir", "", "the `directory` to work in; a small broken Go module if left out")
	f.BoolVar(&c.goOn, "continue", false, "go on with the session that the latest run in the directory left; a task is then one more message")
	f.IntVar(&c.turns, "turns", 100, "stop after this many model turns")
	f.DurationVar(&c.timeout, "timeout", 15*time.Minute, "stop after this time")
	f.Int64Var(&c.window, "window", 0, "the model's context window in `tokens`: at four fifths of it what lies back is summarised; if left out 100,000, and 3,000 for the stand-in")
	f.Int64Var(&c.noticeAt, "notice-at", 0, "say what the run has achieved for what it spent at so many `tokens`, and at each ten times as many; a million if left out")
	f.Usage = func() {
		fmt.Fprintln(out, "usage: quickstart [flags] [task]")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return c, err
	}
	c.task = strings.Join(f.Args(), " ")
	if c.goOn && c.dir == "" {
		return c, errors.New("say where to go on: quickstart -dir directory -continue")
	}
	return c, nil
}

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, getenv func(string) string, out io.Writer) int {
	c, err := parseFlags(args, out)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	var h *host
	if err == nil {
		h, err = newHost(c, getenv, out)
	}
	if err != nil {
		fmt.Fprintln(out, "quickstart:", err)
		return 2
	}
	defer h.close()
	h.p.intro(h)
	ok := h.work(ctx)
	if h.broken != nil {
		ok = h.check(ctx) && ok
	}
	if !ok {
		h.p.printf("\nTo go on: go run ./examples/quickstart -dir %s -continue\n", h.ws.dir)
		return 1
	}
	if h.broken != nil {
		h.closers = slices.Insert(h.closers, 0, h.broken.remove) // after its files are closed
	}
	return 0
}
