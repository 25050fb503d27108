package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/turn"
)

// effects are what really happened, counted.
type effects struct {
	times   map[string]int // that each tool ran, by name; "model" is the model
	in, out int64          // the tokens of the model
}

func readEffects(dir string) (effects, error) {
	text, err := os.ReadFile(filepath.Join(dir, effectsFile))
	e := effects{times: make(map[string]int)}
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		e.times[name]++
		if name == "model" {
			var in, out int64
			if _, err := fmt.Sscan(rest, &in, &out); err != nil {
				return e, fmt.Errorf("%s: %q: %w", effectsFile, line, err)
			}
			e.in, e.out = e.in+in, e.out+out
		}
	}
	return e, err
}

func (s *story) check(what string, holds bool, got ...any) {
	if holds {
		s.printf("  ok  %s\n", what)
		return
	}
	s.failed = true
	s.printf("  NO  %s: %v\n", what, got)
}

// wasKilledInTheMiddle makes sure that the story began as it was meant to.
func (s *story) wasKilledInTheMiddle(k seen) {
	var open []string
	for _, c := range k.past.State.Open {
		state := "never began"
		if c.Started {
			state = "running"
		}
		open = append(open, c.ID+" "+state)
	}
	s.check("when it was killed one of four calls had finished, two ran, and one had not begun",
		slices.Equal(open, []string{"mail running", "words running", "publish never began"}), open)
	a := k.past.Assessment
	s.check("the session says that it is unfinished, and to look before anything is done twice",
		a.Verdict == resume.StoppedShort && strings.HasPrefix(a.Suggestion, "Check first what `send_mail` did"), a)
}

// wasFinished compares the finished session with the killed one, and both with
// what really happened.
func (s *story) wasFinished(k, f seen) {
	s.check("the second process finished the work", f.past.Assessment.Verdict == resume.Finished && len(f.past.Problems) == 0, f.past.Assessment, f.past.Problems)
	for _, name := range []string{"write_notes", "send_mail", "publish"} {
		s.check(name+" ran once", f.effects.times[name] == 1, f.effects.times[name])
	}
	s.check("count_words ran twice, since its tool says that this does no harm", f.effects.times["count_words"] == 2, f.effects.times["count_words"])
	messages := f.past.Messages
	err := turn.Check(messages)
	s.check("the transcript is valid, and every call has one result, in call order",
		err == nil && len(turn.OpenCalls(messages)) == 0 && slices.Equal(called(messages), answered(messages)), err, called(messages), answered(messages))
	s.check("every message of the killed process stands in it byte for byte", keeps(messages, k.past.Messages))
	now, then := f.past.State.Total(), k.past.State.Total()
	s.check(fmt.Sprintf("the totals went on: %s, then %s", spent(k.past.State), spent(f.past.State)),
		now.Turns > then.Turns && then.Turns == int64(k.effects.times["model"]) && then.InputTokens == k.effects.in && then.OutputTokens == k.effects.out, then, k.effects)
	calls := int64(len(called(messages)))
	s.check("they are what the model and the tools counted by themselves",
		now.Turns == int64(f.effects.times["model"]) && now.InputTokens == f.effects.in && now.OutputTokens == f.effects.out && now.ToolCalls == calls, now, f.effects, calls)
}

func (s *story) foundNothingToDo(f, again seen) {
	s.check("the third process asked no model and ran no tool", reflect.DeepEqual(f.effects, again.effects), f.effects, again.effects)
	s.check("and left transcript and totals as they were", sameBytes(f.past.Messages, again.past.Messages) &&
		reflect.DeepEqual(f.past.State.Total(), again.past.State.Total()), spent(again.past.State))
}

// called are the ids of all calls in order, answered those of all results.
func called(messages turn.Transcript) (ids []string) {
	for _, m := range messages {
		for _, c := range turn.Calls(m) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

func answered(messages turn.Transcript) (ids []string) {
	for _, m := range messages {
		if m.OfTool != nil {
			ids = append(ids, turn.CallID(m))
		}
	}
	return ids
}

// keeps reports whether all of some stand in a transcript, in their order. The
// results of the calls that were open stand between them.
func keeps(all, some turn.Transcript) bool {
	for _, m := range all {
		if len(some) > 0 && sameBytes(turn.Transcript{m}, some[:1]) {
			some = some[1:]
		}
	}
	return len(some) == 0
}

func sameBytes(a, b turn.Transcript) bool {
	x, errX := a.MarshalJSON()
	y, errY := b.MarshalJSON()
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
