package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/examples/quickstart/standin"
	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/progress"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

const system = `You are a careful programmer who works in one directory through tools.
Look before you change anything, keep a plan with update_plan, make small edits, and run the tests after each.
Do not change tests to make them pass. When the work is done, say in a few sentences what you did.`

const brokenTask = "The tests of this Go module fail. Find out why, fix the code until `go test ./...` passes, and leave the tests as they are."

// host is everything that one run of the program needs.
type host struct {
	config
	endpoint
	ws      *workspace
	broken  *brokenModule // nil: the directory is the user's
	watch   *progress.Watch
	past    resume.Resumable // zero for a new session
	session *trajectory.Writer
	p       printer
	closers []func() error
}

func newHost(c config, getenv func(string) string, out io.Writer) (_ *host, err error) {
	h := &host{config: c, p: printer{out: out}}
	defer func() {
		if err != nil {
			h.close()
			if h.broken != nil && c.dir == "" {
				_ = h.broken.remove()
			}
		}
	}()
	if err := h.openDirectory(); err != nil {
		return nil, err
	}
	if err := h.chooseModel(getenv); err != nil {
		return nil, err
	}
	h.watch = progress.NewWatch(progress.WatchOptions{Notice: h.p.notice, NoticeAt: h.noticeAt, Local: h.local()})
	h.p.watch = h.watch
	if h.goOn {
		if err := h.readPast(); err != nil {
			return nil, err
		}
	}
	if len(h.past.Messages) == 0 && h.task == "" {
		if h.broken == nil {
			return nil, errors.New("say what to do: quickstart -dir directory \"task\"")
		}
		h.task = brokenTask
	}
	if err := h.openRecord(); err != nil {
		return nil, err
	}
	return h, nil
}

// openDirectory opens the user's directory, or one with a fresh broken module. A
// broken module that an earlier run left is known by its go.mod.
func (h *host) openDirectory() (err error) {
	if h.dir == "" {
		if h.broken, err = newBrokenModule(); err != nil {
			return err
		}
		h.dir = h.broken.dir
	}
	if h.ws, err = openWorkspace(h.dir, commandEnv(os.Environ())); err != nil {
		return err
	}
	h.closers = append(h.closers, h.ws.Close)
	if h.broken == nil && isBrokenModule(h.ws) {
		h.broken = &brokenModule{h.ws.dir}
	}
	if h.broken != nil {
		h.ws.env = append(h.ws.env, offline...)
	}
	return nil
}

// chooseModel takes the model that the environment names, or else the stand-in, whose
// window is small, so that it is seen what happens when one is full.
func (h *host) chooseModel(getenv func(string) string) error {
	var real bool
	h.endpoint, real = fromEnvironment(getenv)
	window := int64(100_000)
	if !real {
		if h.broken == nil || h.task != "" {
			return errors.New("a directory or a task of your own needs a model: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of yours")
		}
		s, err := standin.Start(5 * time.Millisecond)
		if err != nil {
			return err
		}
		h.closers = append(h.closers, s.Close)
		h.endpoint, window = endpoint{url: s.URL, model: standin.Model, standin: true}, 3_000
	}
	if h.window <= 0 {
		h.window = window
	}
	return nil
}

// commandEnv keeps the key of the model from the commands that the model runs.
func commandEnv(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(v, "OPENAI_API_KEY=") })
}

func (h *host) close() {
	for _, c := range slices.Backward(h.closers) {
		_ = c()
	}
}

// work runs the agent and reports whether it came to an end of its own. A new
// session and one that goes on are the same code.
func (h *host) work(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	res, err := loop.RunToolLoop(ctx, h.messages(), loop.Options{
		Turn:           newModel(h.endpoint, &h.p),
		Tools:          h.ws.tools(),
		Compact:        loop.Summarise(loop.SummaryOptions{Turn: newModel(h.endpoint, nil), Window: h.window}),
		MaxIterations:  h.turns,
		From:           h.past.State,
		Title:          h.task,
		Record:         h.record,
		ShouldStop:     h.watch.ShouldStop,
		Inbox:          h.watch.Inbox,
		OnTurnWouldEnd: loop.PlanNudge(2),
	})
	h.p.result(res, err)
	return err == nil && res.StopReason == turn.Done
}

func (h *host) messages() []turn.TranscriptMessage {
	messages := h.past.Messages
	if len(messages) == 0 {
		messages = append(messages, turn.System(system))
	}
	if say := h.say(); say != "" {
		messages = append(messages, turn.User(say))
	}
	return messages
}

// record writes an entry down before anyone is told of it.
func (h *host) record(e trajectory.Event) error {
	if err := h.session.Append(e); err != nil {
		return err
	}
	return errors.Join(h.p.record(e), h.watch.Record(e))
}
