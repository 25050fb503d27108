// Subagents is an agent that leads two others. It asks both at once: one measures
// the rooms, one chooses the paint and has to ask its user which sort. The question
// surfaces in the lead's own run, is answered there, and both carry on where they
// were.
//
//	go run ./examples/subagents
//	go run ./examples/subagents -answer silk
//
// It needs no key and no network: rules (model.go) play all three models. They are
// no language models; team.go, which is the part to copy, does not know it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

func main() {
	answer := flag.String("answer", "matt", "what the user `says` to the question: matt or silk")
	flag.Parse()
	if _, err := run(context.Background(), *answer, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run leads the team to the end, and answers whatever it asks on the way.
func run(ctx context.Context, answer string, out io.Writer) (loop.Result, error) {
	log := &logbook{out: out}
	o := lead(log.record)
	messages := []turn.TranscriptMessage{
		turn.System("You lead a surveyor and a buyer. Give them whole tasks, and both at once."),
		turn.User("What does it cost to paint the living room and the hall, in two coats?"),
	}
	for {
		res, err := loop.RunToolLoop(ctx, messages, o)
		if err != nil || res.StopReason != turn.WaitingForReply {
			if err == nil {
				fmt.Fprintf(out, "\n%s\n\n", res.Text())
				spent(out, res)
			}
			return res, err
		}
		// Here a real host would store res and end: another process goes on from it.
		messages, o.From, o.Replies = res.Messages, res.State, map[string]loop.Reply{}
		for _, w := range res.Asking() {
			fmt.Fprintf(out, "\n? %s asks: %s\n! %s\n\n", w.Name, w.Suspension.Question, answer)
			o.Replies[w.ID] = loop.Answer(answer)
		}
	}
}

// logbook prints what happens, in all runs. Its record is safe for concurrent use,
// as a recorder has to be that several runs share.
type logbook struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *logbook) record(e trajectory.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	say := func(format string, args ...any) error {
		indent := ""
		if e.Agent != "" {
			indent = strings.Repeat("    ", 1+strings.Count(e.Agent, "/"))
		}
		_, err := fmt.Fprintf(l.out, indent+format+"\n", args...)
		return err
	}
	switch b := e.Body.(type) {
	case trajectory.CallStart:
		if b.Again {
			return say("%s goes on", b.Name)
		}
		return say("%s %s", b.Name, b.Arguments)
	case trajectory.CallEnd:
		return say("%s: %s", b.Name, turn.Text(b.Message))
	case trajectory.Suspend:
		return say("%s waits", b.Name)
	}
	return nil
}

// spent says what the run spent itself, what its sub-agents did, and both together.
func spent(out io.Writer, res loop.Result) {
	fmt.Fprintf(out, "%-9s %5s %5s %9s %9s  %s\n", "", "turns", "calls", "tokens in", "out", "cost")
	for _, row := range []struct {
		name string
		stats.RunStats
	}{{"lead", res.Stats}, {"agents", res.Children}, {"together", res.Total()}} {
		fmt.Fprintf(out, "%-9s %5d %5d %9d %9d  %s\n", row.name, row.Turns, row.ToolCalls, row.InputTokens, row.OutputTokens, row.Cost)
	}
}
