package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// NewSubAgent makes a tool of a run of its own: t names and describes it, system
// is the child's system prompt, o are its model, tools and limits. Without a
// Schema the tool takes {"task": "…"}, which is the child's user message; with
// one, the arguments are, as they stand.
//
// What the child spends counts towards the parent's Result.Children, however it
// ends, and towards the budgets of all runs above it while it spends. Its entries
// carry the call's name; o.Record is usually the parent's, which then has to be
// safe for concurrent use.
//
// When a call of the child waits, the parent's call waits for the same thing, and
// is replied to in the parent: the reply goes on to the child, which carries on
// where it was. Of several that wait the first is asked first.
func NewSubAgent(t Tool, system string, o Options) Tool {
	task := len(t.Schema) == 0
	if t.err = checkChild(o); t.err != nil {
		return t
	}
	if task {
		t.check = checkTask
		t.Schema = json.RawMessage(`{"type":"object","properties":{"task":{"type":"string","description":"what to do, with everything the agent has to know"}},"required":["task"],"additionalProperties":false}`)
	}
	t.Run = func(ctx context.Context, call Call) (Output, error) {
		messages, o, err := childInput(call, task, system, o)
		if err != nil {
			return Output{}, err
		}
		res, err := RunToolLoop(ctx, messages, o)
		return childOutput(res, err)
	}
	return t
}

// checkChild finds what no call of the child could do anything about, so that the
// parent's run says so before it begins.
func checkChild(o Options) error {
	r := run{o: o}
	if o.Turn == nil {
		return errors.New("the sub-agent has no model")
	}
	if err := r.advertise(); err != nil {
		return fmt.Errorf("the sub-agent's %s: %w", err.Field, err.Err)
	}
	return o.Budget.validate()
}

func checkTask(arguments string) error {
	var in struct{ Task *string }
	if err := json.Unmarshal([]byte(arguments), &in); err != nil {
		return err
	}
	if in.Task == nil || strings.TrimSpace(*in.Task) == "" {
		return errors.New("property task: it is missing or empty")
	}
	return nil
}

// childInput begins a child, or carries on with one that waited.
func childInput(call Call, task bool, system string, o Options) (turn.Transcript, Options, error) {
	if call.Resume == nil {
		text := call.Arguments
		if task {
			var in struct{ Task string }
			if err := json.Unmarshal([]byte(call.Arguments), &in); err != nil {
				return nil, o, err
			}
			text = in.Task
		}
		messages := turn.Transcript{turn.User(text)}
		if system != "" {
			messages = turn.Transcript{turn.System(system), turn.User(text)}
		}
		return messages, o, nil
	}
	var was Result
	if err := json.Unmarshal(call.Resume.Saved, &was); err != nil {
		return nil, o, fmt.Errorf("the saved child run: %w", err)
	}
	o.From = was.State
	o.Replies = nil
	if waiting := firstWaiting(was); call.Resume.Reply != nil && waiting != nil {
		reply := *call.Resume.Reply
		reply.Ticket = "" // it named the parent's pause
		o.Replies = map[string]Reply{waiting.ID: reply}
	}
	return was.Messages, o, nil
}

// childOutput is what the parent's model hears of a child.
func childOutput(res Result, err error) (Output, error) {
	text := res.Text()
	if err != nil {
		return Text(text), fmt.Errorf("the sub-agent failed: %w", err)
	}
	switch res.StopReason {
	case turn.Done:
		if text == "" {
			text = "(the sub-agent ended without a word)"
		}
		return Text(text), nil
	case turn.WaitingForReply, turn.ResumingLater:
		s := *firstWaiting(res).Suspension
		s.Forwards = true
		return Output{}, (&Pause{suspension: s}).Saving(res)
	}
	if res.Cause != nil {
		return Text(text), fmt.Errorf("the sub-agent stopped before it was done (%s): %w", res.StopReason, res.Cause)
	}
	return Text(text), fmt.Errorf("the sub-agent stopped before it was done (%s)", res.StopReason)
}

// firstWaiting is the call of a paused run that is asked about first: a person's
// reply before a time, and of several times the earliest.
func firstWaiting(res Result) *trajectory.OpenCall {
	var first *trajectory.OpenCall
	for _, c := range res.Waiting() {
		switch {
		case c.Suspension.For != trajectory.ForTime:
			return &c
		case first == nil || c.Suspension.Until.Before(first.Suspension.Until):
			first = &c
		}
	}
	return first
}
