package resume

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// Verdict is how a session stands.
type Verdict string

const (
	Finished        Verdict = "finished"          // nothing is left to do, also where nothing was asked yet
	StoppedShort    Verdict = "unfinished"        // its work stopped rather than ended, by a shutdown too
	WaitingForReply Verdict = "waiting_for_reply" // nothing happens until a person acts
	ResumingLater   Verdict = "resuming_later"    // it paused on purpose until a time
)

// Unfinished is what the evidence says of a session.
type Unfinished struct {
	// Steps are the steps of the plan that are not done, in planned order.
	Steps []plan.Step
	// LastAction is the last thing that the session did, as a sentence; "" when it did
	// nothing.
	LastAction string
	// LastSaid is the last thing that the model said, short enough to show.
	LastSaid string
	// LooksUnfinished is Verdict == StoppedShort. A session that waits is neither
	// finished nor broken.
	LooksUnfinished bool
	Verdict         Verdict
	// Because says why, in sentences for a person.
	Because string
	// Suggestion is what to send to carry on, a message that addresses the model;
	// where the session waits it says instead what the person has to do. "" when it
	// looks finished. It is for a host to offer and never sent by itself. Whether a
	// message is needed at all is what [PastSession.NeedsMessage] says. Of a session put
	// together by hand none is accepted while calls are open: it is run as it is.
	Suggestion string
}

// staleTurns is after how many turns without a change a plan is no longer believed.
const staleTurns = 10

// Assess reads the record for signs that the work stopped rather than ended. A
// recorded pause comes first, whatever else was going on: no message is accepted
// while a call waits. What paused only because its process was shut down is no such
// pause. Then the signs count in this order, and Because names
// all there are: a planned step that is not done; a call or a result that the model
// never spoke to; how the run ended; a request without a reply; a reply that is none.
//
// A plan decides nothing, and is only mentioned, when the run ended done and the
// plan had not changed for more than ten turns.
//
// A session put together by hand can be assessed too: Messages and State.Plan alone
// say much.
func Assess(p PastSession) Unfinished {
	u := assess(p)
	u.Because = join(u.Because, shared(p))
	return u
}

func assess(p PastSession) Unfinished {
	u := Unfinished{Verdict: Finished, LastAction: lastAction(p), LastSaid: lastSaid(p.Messages)}
	if p.State.Plan != nil {
		u.Steps = p.State.Plan.Outstanding()
	}
	if len(p.Messages) == 0 {
		u.Because = join("Nothing has been asked yet.", torn(p))
		return u
	}
	if verdict, because, suggestion := pause(p); verdict != "" {
		u.Verdict, u.Because, u.Suggestion = verdict, join(because, running(p), unanswered(p), ending(p)), suggestion
		if verdict == WaitingForReply && goesOn(p) {
			u.Suggestion = join(suggestion, "The rest goes on without that when it is started again.")
		}
		return u
	}
	stale := isStale(p, u.Steps)
	var because []string
	if len(u.Steps) > 0 && !stale {
		because = append(because, outstanding(p, u.Steps))
	}
	found := []string{running(p), unanswered(p), unansweredResult(p), ending(p), unansweredRequest(p), noReply(p)}
	because = append(because, slices.DeleteFunc(found, func(s string) bool { return s == "" })...)
	if len(because) > 0 {
		u.Verdict, u.LooksUnfinished = StoppedShort, true
		u.Suggestion = suggestion(p, u.Steps, stale)
	} else {
		because = []string{"The run ended with a reply, and nothing is left open."}
		if p.LastRun == nil {
			because = []string{"The session ends with a reply, and nothing is left open."}
		}
	}
	if stale {
		because = append(because, fmt.Sprintf("Its plan still lists %s, but had not changed for %d turns.", steps(len(u.Steps)), sincePlan(p)))
	}
	u.Because = join(append(because, torn(p))...)
	return u
}

func join(sentences ...string) string {
	return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), " ")
}

// pause is the verdict on a session in which a call waits. Others may have been
// running when its process died: they are settled when it goes on, which it cannot
// before the one that waits was replied to.
func pause(p PastSession) (v Verdict, because, suggestion string) {
	waiting := p.State.Waiting()
	if len(waiting) == 0 || shutDown(p) {
		return "", "", ""
	}
	var questions, approvals []string
	for _, c := range waiting {
		question := quoted(c.Suspension.Question)
		if c.Suspension.Child != nil {
			question += " in " + code(c.Name)
		}
		switch c.Suspension.For {
		case trajectory.ForApproval:
			approvals = append(approvals, question)
		case trajectory.ForTime:
		default:
			questions = append(questions, question)
		}
	}
	if len(questions)+len(approvals) == 0 {
		first, _ := p.State.FirstWaiting()
		because, suggestion = pauseUntil(first.Suspension, p.LastAt)
		return ResumingLater, because, suggestion
	}
	var does, do []string
	if len(questions) > 0 {
		does = append(does, "It asked "+list(questions)+" and waits for the answer.")
		do = append(do, "Answer "+list(questions)+".")
	}
	if len(approvals) > 0 {
		does = append(does, "It waits for approval: "+list(approvals)+".")
		do = append(do, "Approve or deny "+list(approvals)+".")
	}
	return WaitingForReply, join(does...), join(do...)
}

// goesOn reports whether a run would find work to do beside the calls that wait for a
// person: a call that had not begun, a sub-agent that was at work.
func goesOn(p PastSession) bool {
	return slices.ContainsFunc(p.State.Open, func(c trajectory.OpenCall) bool {
		if c.Waiting() {
			return stopped(p, c)
		}
		return !c.Imported && (!c.Started || c.Child != nil)
	})
}

// pauseUntil speaks of a time only where it was yet to come when the session ended.
func pauseUntil(s *trajectory.Suspension, ended time.Time) (because, suggestion string) {
	because, suggestion = "It paused", "Start it again"
	if s.Until.After(ended) {
		at := s.Until.UTC().Format("2006-01-02 15:04 MST")
		because, suggestion = because+" until "+at, suggestion+" after "+at
	}
	if s.Question != "" {
		because += ": " + quoted(s.Question)
	}
	return because + ".", suggestion + "; nothing has to be said."
}

func isStale(p PastSession, open []plan.Step) bool {
	return len(open) > 0 && p.LastRun != nil && p.LastRun.Reason == turn.Done && sincePlan(p) > staleTurns
}

func sincePlan(p PastSession) int64 { return p.State.Stats.Turns - int64(p.PlanTurn) }

func steps(n int) string {
	if n == 1 {
		return "1 step that is not done"
	}
	return fmt.Sprintf("%d steps that are not done", n)
}

// next is the step in progress, or the first.
func next(open []plan.Step) string {
	for _, s := range open {
		if s.State == plan.InProgress {
			return s.Text
		}
	}
	return open[0].Text
}

// suggestion never proposes to repeat a call: whoever carries on may not know that
// it has already had effects.
func suggestion(p PastSession, open []plan.Step, stale bool) string {
	goal := ""
	if len(open) > 0 && !stale {
		goal = " with the plan; the next step is " + quoted(next(open))
	}
	if doubts := unsure(p); len(doubts) > 0 {
		return "Check first what " + list(texts(doubts)) + " did before the session stopped, then carry on" + goal + "."
	}
	switch {
	case goal != "":
		return "Carry on" + goal + "."
	case unansweredRequest(p) != "":
		return "Answer the last message."
	case noReply(p) != "":
		return "Your last reply did not come through; carry on from there."
	}
	return "Carry on where you left off."
}

func lastAction(p PastSession) string {
	if p.LastAction != nil {
		return p.LastAction.sentence()
	}
	if p.State.Stats.Turns > 0 {
		return "" // a record, and no call in it ran
	}
	answered := ""
	for _, m := range slices.Backward(p.Messages) {
		if m.OfTool != nil && answered == "" {
			answered = m.OfTool.ToolCallID
		}
		for _, c := range turn.Calls(m) {
			if c.ID == answered {
				return capital(Action{Call: c}.phrase(0)) + "."
			}
		}
	}
	return ""
}

func lastSaid(messages turn.Transcript) string {
	for _, m := range slices.Backward(messages) {
		if m.OfAssistant != nil {
			if said := brief(turn.Text(m), saidLength); said != "" {
				return said
			}
		}
	}
	return ""
}
