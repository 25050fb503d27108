package resume

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// A sign is a function of the session that gives a sentence, or "" when it is absent.

func outstanding(p PastSession, open []plan.Step) string {
	_, all := p.State.Plan.Counts()
	are := "are"
	if len(open) == 1 {
		are = "is"
	}
	return fmt.Sprintf("%d of %d planned steps %s not done; the next is %s.", len(open), all, are, quoted(next(open)))
}

// doubt is what nobody knows the effects of: so many calls of a tool, of the run itself
// or in a sub-agent.
type doubt struct {
	tool, agent string
	calls       int
}

func (d doubt) String() string {
	s := code(d.tool)
	if d.agent != "" {
		s += " in " + code(d.agent)
	}
	if d.calls > 1 {
		s += fmt.Sprintf(" (%d calls)", d.calls)
	}
	return s
}

// unsure are the calls with effects that nobody knows and that somebody should
// check. A read that was cut off has none, and one that is safe to repeat is.
func unsure(p PastSession) []doubt {
	var doubts []doubt
	add := func(tool, agent string) {
		i := slices.IndexFunc(doubts, func(d doubt) bool { return d.tool == tool && d.agent == agent })
		if i < 0 {
			i, doubts = len(doubts), append(doubts, doubt{tool: tool, agent: agent})
		}
		doubts[i].calls++
	}
	for _, a := range p.Unsure {
		if a.hasEffects() {
			add(a.Name, a.agentTool)
		}
	}
	if p.Unsure == nil { // put together by hand
		eachAtWork(p.State.Open, "", add)
	}
	return doubts
}

// eachAtWork names the calls that were at work, in a child run those that it made.
func eachAtWork(open []trajectory.OpenCall, agent string, name func(tool, agent string)) {
	for _, c := range open {
		switch {
		case c.Child != nil:
			eachAtWork(c.Child.State.Open, c.Name, name)
		case c.Started && !c.Waiting() || c.Imported:
			name(c.Name, agent)
		}
	}
}

func running(p PastSession) string {
	doubts := unsure(p)
	if len(doubts) == 1 && doubts[0].calls == 1 {
		return doubts[0].String() + " was running when the session stopped, and what it did is unknown."
	}
	return plural(texts(doubts), "%s were running when the session stopped, and what they did is unknown.",
		"%s were running when the session stopped, and what they did is unknown.")
}

func texts(doubts []doubt) []string {
	var s []string
	for _, d := range doubts {
		s = append(s, d.String())
	}
	return s
}

// shutDown reports whether the session waits for nothing but its next start.
func shutDown(p PastSession) bool {
	return p.LastRun != nil && p.LastRun.Shutdown && !slices.ContainsFunc(p.State.Waiting(), func(c trajectory.OpenCall) bool { return !stopped(p, c) })
}

// stopped says of a call that waits whether it paused only because its process was shut
// down: it was due at once.
func stopped(p PastSession, c trajectory.OpenCall) bool {
	return p.LastRun != nil && p.LastRun.Shutdown && c.Suspension.For == trajectory.ForTime && !c.Suspension.Until.After(p.LastAt)
}

// unanswered are the other open calls: a read that was running, and what had not
// begun, also where another call of the same tool was running.
func unanswered(p PastSession) string {
	if open := turn.OpenCalls(p.Messages); len(open) > 0 && len(p.State.Open) == 0 {
		return "The model called " + code(open[0].Name) + ", and there is no result."
	}
	doubts := unsure(p)
	doubtful := func(tool string) bool {
		return slices.ContainsFunc(doubts, func(d doubt) bool { return d.tool == tool && d.agent == "" })
	}
	var reads, later []string
	for _, c := range p.State.Open {
		switch name := code(c.Name); {
		case c.Waiting() && !stopped(p, c) || c.Imported:
		case !c.Started && !slices.Contains(later, name):
			later = append(later, name)
		case c.Started && !doubtful(c.Name) && !slices.Contains(reads, name):
			reads = append(reads, name)
		}
	}
	return join(plural(reads, "The model called %s, which had no result yet.", "The model called %s, which had no results yet."),
		plural(later, "A call of %s had not begun.", "Calls of %s had not begun."))
}

// plural puts names into the sentence for one or for several; "" is for none.
func plural(names []string, one, several string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(one, names[0])
	}
	return fmt.Sprintf(several, list(names))
}

func unansweredResult(p PastSession) string {
	if p.Messages[len(p.Messages)-1].OfTool == nil || len(turn.OpenCalls(p.Messages)) > 0 {
		return ""
	}
	return "The model never answered the last tool result."
}

// ending says how the run ended, where that was not by itself.
func ending(p PastSession) string {
	if p.LastRun == nil && p.State.LastWord {
		return "The run had reached a limit."
	}
	if p.LastRun == nil {
		return ""
	}
	cause, interrupted := "", "The run was interrupted."
	if p.LastRun.Cause != "" {
		cause = ": " + quoted(strings.TrimPrefix(p.LastRun.Cause, "model: "))
		if p.LastRun.Cause != context.Canceled.Error() { // which says nothing more
			interrupted = "The run was stopped" + cause + "." // by a person, a budget, a watch
		}
	}
	switch p.LastRun.Reason {
	case turn.Done, turn.WaitingForReply, turn.ResumingLater:
		return ""
	case turn.IterationLimit:
		return "The run used up its turns while the model was still calling tools."
	case turn.Deadline:
		return "The run ran out of time."
	case turn.Aborted:
		return interrupted
	}
	switch p.LastRun.Failure {
	case "timed_out":
		return "The run ran out of time."
	case "cancelled":
		return interrupted
	case "model":
		return "The run ended with an error of the model" + cause + "."
	case "tool":
		return "The run was ended by a tool" + cause + "."
	case "recorder":
		return "The run ended because it could not be recorded" + cause + "."
	}
	return "The run ended with an error" + cause + "."
}

func unansweredRequest(p PastSession) string {
	last := p.Messages[len(p.Messages)-1]
	if last.OfAssistant != nil || last.OfTool != nil {
		return ""
	}
	return "The last message has no reply."
}

// noReply is a last reply that is less than one.
func noReply(p PastSession) string {
	last := p.Messages[len(p.Messages)-1]
	if last.OfAssistant == nil || len(last.OfAssistant.ToolCalls) > 0 {
		return ""
	}
	if t := p.LastTurn; t != nil {
		switch {
		case turn.IsCut(t.Finish):
			return "The last reply was cut off at the output limit."
		case t.Finish == "content_filter":
			return "The last reply was stopped by a content filter."
		}
	}
	if turn.IsEmpty(last) {
		return "The last reply is empty."
	}
	return ""
}

func torn(p PastSession) string {
	if !p.brokenOff {
		return ""
	}
	return "The file breaks off in the middle of an entry."
}

// shared warns of work that may have been done and is not in what was read.
func shared(p PastSession) string {
	for _, problem := range p.Problems {
		if problem.Fault == trajectory.Collision {
			return "Two programs wrote to the file at once, and what one of them did is left out."
		}
	}
	return ""
}
