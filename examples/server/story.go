package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/pawl-dev/pawl/loop"
)

const (
	customers = 30 // in three groups
	colour    = "Which colour?"
	price     = `Pay {"dollars":40}?`
	declines  = 2 // the customer to whom that is too dear
)

// story plays the customers of three servers, one after the other, on one directory.
type story struct {
	dir    string
	out    io.Writer
	server *child
	told   [customers][]string // what each said, and the server accepted
	failed bool
}

func demo(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "pawl-server-")
	if err != nil {
		return err
	}
	s := &story{dir: dir, out: out}
	if err := s.tell(ctx); err != nil {
		return fmt.Errorf("%w (the files are in %s)", err, dir)
	}
	return os.RemoveAll(dir)
}

func (s *story) printf(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

func (s *story) tell(ctx context.Context) error {
	s.printf("The model here is a few rules, and no language model.")
	for _, part := range []struct {
		title, hang string
		play        func(context.Context) error
	}{
		{"The first server, on which packing takes hours", "pack", s.untilShutdown},
		{"The second server, on which the bank does not answer", "pay", s.untilKilled},
		{"The third server, on a good day", "none", s.untilFinished},
	} {
		s.printf("\n%s", part.title)
		var err error
		if s.server, err = startChild(ctx, s.dir, part.hang); err != nil {
			return err
		}
		if err := part.play(ctx); err != nil {
			return errors.Join(err, s.server.kill())
		}
	}
	if s.failed {
		return errors.New("not all of it holds")
	}
	return nil
}

const all = -1

// each plays all customers of a group at once.
func (s *story) each(group int, play func(i int, id string) error) error {
	var g errgroup.Group
	for i := range customers {
		if group == all || i%3 == group {
			g.Go(func() error { return play(i, customer(i)) })
		}
	}
	return g.Wait()
}

func customer(i int) string { return fmt.Sprintf("customer-%d", i) }

func (s *story) say(ctx context.Context, i int, text string) error {
	s.told[i] = append(s.told[i], text)
	return s.server.say(ctx, customer(i), text)
}

// untilShutdown: everybody orders, and a third say which colour. What is being packed
// pauses itself when the server is told to end.
func (s *story) untilShutdown(ctx context.Context) error {
	err := s.each(all, func(i int, id string) error {
		err := s.say(ctx, i, fmt.Sprintf("Chair number %d", i))
		if err == nil {
			_, err = s.server.until(ctx, id, asks(colour))
		}
		if err == nil && i%3 == 0 {
			err = s.server.answer(ctx, id, colour, loop.Answer("blue"))
		}
		return err
	})
	if err != nil {
		return err
	}
	err = s.each(0, func(i int, id string) error {
		if _, err := s.server.until(ctx, id, isAtWork("pack")); err != nil {
			return err
		}
		return s.say(ctx, i, "Wrap it") // nobody can hear it while the tool runs
	})
	if err != nil {
		return err
	}
	s.ended(s.server.shutDown())
	s.stand("what was being packed paused itself, and is unfinished", map[string]int{"unfinished": 10, "waiting_for_reply": 20})
	return nil
}

// untilKilled: the packing goes on by itself. Two thirds pay, say one thing more, and
// the process dies.
func (s *story) untilKilled(ctx context.Context) error {
	pay := func(i int, id string) error {
		err := s.server.answer(ctx, id, price, loop.Approve())
		if err == nil {
			_, err = s.server.until(ctx, id, func(state) bool { return s.payments()[id] > 0 })
		}
		if err == nil {
			err = s.say(ctx, i, "Ring twice")
		}
		return err
	}
	if err := s.each(0, pay); err != nil {
		return err
	}
	err := s.each(1, func(i int, id string) error {
		if err := s.server.answer(ctx, id, colour, loop.Answer("green")); err != nil {
			return err
		}
		return pay(i, id)
	})
	if err == nil {
		err = s.server.kill()
	}
	if err != nil {
		return err
	}
	s.stand("killed during 20 payments, each with a message that nobody had heard", map[string]int{"unfinished": 20, "waiting_for_reply": 10})
	return nil
}

// untilFinished: the payments are looked up, and the last third is served.
func (s *story) untilFinished(ctx context.Context) error {
	var end [customers]state
	err := s.each(2, func(i int, id string) error {
		verdict := loop.Approve()
		if i == declines {
			verdict = loop.Deny("too dear")
		}
		if err := s.server.answer(ctx, id, colour, loop.Answer("red")); err != nil {
			return err
		}
		return s.server.answer(ctx, id, price, verdict)
	})
	if err == nil {
		err = s.each(all, func(i int, id string) (err error) {
			end[i], err = s.server.until(ctx, id, func(now state) bool { return now.Status == "finished" })
			return err
		})
	}
	if err != nil {
		return err
	}
	s.ended(s.server.shutDown())
	s.stand("every order is finished", map[string]int{"finished": customers})
	s.heard(end[:])
	s.paidOnce()
	return nil
}
