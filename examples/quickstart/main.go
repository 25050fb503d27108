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

	"github.com/pawl-dev/pawl/examples/quickstart/standin"
	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/turn"
)

const system = `You are a careful programmer who works in one directory through tools.
Look before you change anything, keep a plan with update_plan, make small edits, and run the tests after each.
Do not change tests to make them pass. When the work is done, say in a few sentences what you did.`

const brokenTask = "The tests of this Go module fail. Find out why, fix the code until `go test ./...` passes, and leave the tests as they are."

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		time.Sleep(time.Second) // whoever runs this may pass the first one on twice
		stop()                  // a second Ctrl-C ends the process at once
	})
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout))
}

// config is what the command line says.
type config struct {
	dir     string
	task    string
	turns   int
	timeout time.Duration
}

func parseFlags(args []string, out io.Writer) (config, error) {
	var c config
	f := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&c.dir, "dir", "", "the `directory` to work in; a small broken Go module if left out")
	f.IntVar(&c.turns, "turns", 100, "stop after this many model turns")
	f.DurationVar(&c.timeout, "timeout", 15*time.Minute, "stop after this time")
	f.Usage = func() {
		fmt.Fprintln(out, "usage: quickstart [flags] [task]")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return c, err
	}
	c.task = strings.Join(f.Args(), " ")
	return c, nil
}

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, getenv func(string) string, out io.Writer) int {
	c, err := parseFlags(args, out)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	h, err := newHost(c, getenv, out)
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
		return 1
	}
	return 0
}

// host is everything that one run of the program needs.
type host struct {
	config
	endpoint
	ws      *workspace
	p       printer
	broken  *brokenModule // nil: the directory is the user's
	closers []func() error
}

func newHost(c config, getenv func(string) string, out io.Writer) (h *host, err error) {
	h = &host{config: c, p: printer{out: out}}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	var real bool
	if h.endpoint, real = fromEnvironment(getenv); !real {
		if c.dir != "" || c.task != "" {
			return h, errors.New("a directory or a task of your own needs a model: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of yours")
		}
		if err := h.standIn(); err != nil {
			return h, err
		}
	}
	if h.task == "" && h.dir != "" {
		return h, errors.New("say what to do: quickstart -dir directory \"task\"")
	}
	env := commandEnv(os.Environ())
	if h.dir == "" {
		if h.broken, err = newBrokenModule(); err != nil {
			return h, err
		}
		h.closers = append(h.closers, h.broken.remove)
		h.dir, env = h.broken.dir, append(env, offline...)
		if h.task == "" {
			h.task = brokenTask
		}
	}
	if h.ws, err = openWorkspace(h.dir, env); err != nil {
		return h, err
	}
	h.closers = append(h.closers, h.ws.Close)
	return h, nil
}

func (h *host) standIn() error {
	s, err := standin.Start(5 * time.Millisecond)
	if err != nil {
		return err
	}
	h.closers = append(h.closers, s.Close)
	h.endpoint = endpoint{url: s.URL, model: standin.Model, standin: true}
	return nil
}

// commandEnv keeps the key of the model from the commands that the model runs.
func commandEnv(environ []string) []string {
	var out []string
	for _, v := range environ {
		if !strings.HasPrefix(v, "OPENAI_API_KEY=") {
			out = append(out, v)
		}
	}
	return out
}

func (h *host) close() {
	for i := len(h.closers) - 1; i >= 0; i-- {
		_ = h.closers[i]()
	}
}

// work runs the agent and reports whether it came to an end of its own.
func (h *host) work(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	res, err := loop.RunToolLoop(ctx, []turn.TranscriptMessage{turn.System(system), turn.User(h.task)}, loop.Options{
		Turn:          newModel(h.endpoint, &h.p),
		Tools:         h.ws.tools(),
		MaxIterations: h.turns,
		Record:        h.p.record,
	})
	h.p.result(res, err)
	return err == nil && res.StopReason == turn.Done
}
