package progress

import (
	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/trajectory"
)

// RunProgress is what a run has achieved. Only calls that succeeded count, save
// where a field says otherwise.
type RunProgress struct {
	// Edits counts calls that edit, delete or move; Files the distinct paths that
	// those touched, which is closer to what a person counts.
	Edits int `json:"edits"`
	Files int `json:"files"`
	// Commands counts calls that execute. Polling a process is no command.
	Commands int `json:"commands"`
	// Reads counts calls that read or search.
	Reads int `json:"reads"`
	// StepsDone and StepsTotal are the plan's. A dropped step counts in neither.
	StepsDone  int `json:"stepsDone"`
	StepsTotal int `json:"stepsTotal"`
	// Agents counts the child runs that were started: delegated work is work.
	Agents int `json:"agents"`

	// What a run did beside that, for a notice to tell. Polls counts calls of
	// polling tools, failed ones too, Others those of tools whose kind is unknown or
	// "other".
	Fetches int `json:"fetches"`
	Polls   int `json:"polls"`
	Others  int `json:"others"`
	// FailedCommands, FailedEdits and FailedOthers count the calls that failed in their
	// tool, and those that never ran: there is no such tool, the arguments were not
	// valid, or the reply that made the call was cut. Of a call that never ran only the
	// name tells the kind, so one of a tool "write" that does not exist is a failed edit.
	// FailedOthers are all but commands, edits and polls, so failed reads too. A call that
	// a person denied, or that the end of the run cut off, counts nowhere.
	FailedCommands int `json:"failedCommands"`
	FailedEdits    int `json:"failedEdits"`
	FailedOthers   int `json:"failedOthers"`
	// Repeats counts those of all these calls, polls aside, that were the same as
	// one of the four turns before, with the same result, while nothing new was
	// edited or run.
	Repeats int `json:"repeats"`
}

// SummariseProgress is the progress that a run's events show. A nil plan means the
// last one in the events; agents is a host's own count of child runs, and the
// larger of that and what the events show is taken. It keeps nothing of events.
//
// The events are those of one run, its child runs included. Where they are those of
// a child run alone, it is that run which is summarised.
func SummariseProgress(events []trajectory.Event, p *plan.Plan, agents int) RunProgress {
	var t tally
	each(events, func(e *trajectory.Event) { t.add(e) })
	s := t.progress()
	if p != nil {
		s.StepsDone, s.StepsTotal = p.Counts()
	}
	s.Agents = max(s.Agents, agents)
	return s
}

// IsGettingSomewhere reports whether anything has changed: an edit, a command, a
// finished step, delegated work. Reading is no progress; it is looking for some.
func IsGettingSomewhere(p RunProgress) bool {
	return p.Edits > 0 || p.Commands > 0 || p.StepsDone > 0 || p.Agents > 0
}

// calls counts every call that Repeats could count.
func (p RunProgress) calls() int {
	return p.Edits + p.Commands + p.Reads + p.Fetches + p.Others + p.FailedCommands + p.FailedEdits + p.FailedOthers
}

// inCircles reports whether at least half of the calls were the same again, and
// more of them than a run has that looks twice.
func (p RunProgress) inCircles() bool {
	return p.Repeats >= defaultStuckAt && 2*p.Repeats >= p.calls()
}

// since is what p has beyond an earlier summary. The plan's length stays.
func (p RunProgress) since(before RunProgress) RunProgress {
	less := func(a *int, b int) { *a = max(*a-b, 0) }
	less(&p.Edits, before.Edits)
	less(&p.Commands, before.Commands)
	less(&p.Reads, before.Reads)
	less(&p.StepsDone, before.StepsDone)
	less(&p.Agents, before.Agents)
	less(&p.Fetches, before.Fetches)
	less(&p.Polls, before.Polls)
	less(&p.Others, before.Others)
	less(&p.FailedCommands, before.FailedCommands)
	less(&p.FailedEdits, before.FailedEdits)
	less(&p.FailedOthers, before.FailedOthers)
	less(&p.Repeats, before.Repeats)
	return p
}
