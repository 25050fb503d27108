package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

const system = `You work for one user, in one directory, through shell commands.
The user approves or declines each command before it runs. When a command is declined, go by the reason and do not try the same in other words.
Ask with ask_user when a decision is the user's to make. When the work is done, say in a few sentences what you did.`

// host is one start of the program: what the session holds, and what goes on
// with it.
type host struct {
	config
	model   turn.TurnFn
	tools   []loop.Tool
	term    *terminal
	session *session
}

func newHost(c config, getenv func(string) string, in io.Reader, out io.Writer) (*host, error) {
	s, err := openSession(c)
	if err != nil {
		return nil, err
	}
	model, name := newModel(getenv)
	h := &host{config: c, model: model, tools: newTools(s.dir, commandEnv(os.Environ())), term: newTerminal(c.answers, in, out), session: s}
	h.term.intro(s, name)
	return h, nil
}

func (h *host) close() { _ = h.session.file.Close() }

// work runs the agent, and asks the user whatever it waits for. Each reply is
// handed over by itself, since what is recorded need not be asked again when the
// user quits at the next prompt. The run pauses again without a model call while
// anything is open.
func (h *host) work(ctx context.Context) error {
	messages, state := h.session.messages, h.session.state
	replies := h.session.closing
	for {
		if waiting := state.Asking(); len(waiting) > 0 && replies == nil {
			reply, err := h.term.ask(ctx, waiting[0])
			if errors.Is(err, errQuit) {
				h.term.quit(h.session.name)
				return nil
			}
			if err != nil {
				return err
			}
			replies = map[string]loop.Reply{waiting[0].ID: reply}
		}
		res, err := loop.RunToolLoop(ctx, messages, loop.Options{
			Turn: h.model, Tools: h.tools,
			From: state, Replies: replies,
			Record: h.record, Title: h.task, Cwd: h.session.dir,
		})
		messages, state, replies = res.Messages, res.State, nil
		if err != nil {
			return err
		}
		if res.StopReason != turn.WaitingForReply {
			return h.ended(res)
		}
	}
}

func (h *host) ended(res loop.Result) error {
	if res.StopReason == turn.Done {
		h.term.done(res)
		return nil
	}
	h.term.quit(h.session.name)
	if res.Cause != nil {
		return fmt.Errorf("stopped (%s): %w", res.StopReason, res.Cause)
	}
	return fmt.Errorf("stopped (%s)", res.StopReason)
}

func (h *host) record(e trajectory.Event) error {
	if err := h.session.writer.Append(e); err != nil {
		return err
	}
	h.term.show(e)
	return nil
}
