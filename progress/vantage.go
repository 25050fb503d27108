package progress

import (
	"strings"

	"github.com/pawl-dev/pawl/trajectory"
)

// from is an entry as the run of that agent sees it: its own entries carry no
// agent, those of its child runs the call that started them. ok is false for an
// entry of any other run.
func from(agent string, e *trajectory.Event) (seen *trajectory.Event, ok bool) {
	switch {
	case agent == "":
		return e, true
	case e.Agent == agent:
		return &trajectory.Event{At: e.At, Body: e.Body}, true
	}
	below, ok := strings.CutPrefix(e.Agent, agent+"/")
	if !ok {
		return nil, false
	}
	return &trajectory.Event{At: e.At, Agent: below, Body: e.Body}, true
}

// related reports whether one of the two runs is the other or above it.
func related(a, b string) bool {
	above := func(a, b string) bool { return a == "" || a == b || strings.HasPrefix(b, a+"/") }
	return above(a, b) || above(b, a)
}

// outermost is the agent of the run that entries are of: the one that was started by
// no other run in them, and the first of several. That need not be the run of the
// first entry, since a damaged session may begin in the middle of a child run.
func outermost(events []trajectory.Event) string {
	agent, depth := "", -1
	for i := range events {
		if events[i].Agent == "" {
			return ""
		}
		if d := strings.Count(events[i].Agent, "/"); depth < 0 || d < depth {
			agent, depth = events[i].Agent, d
		}
	}
	return agent
}

// each hands on the entries of the outermost run and of those below it, as that run
// sees them.
func each(events []trajectory.Event, add func(*trajectory.Event)) {
	agent := outermost(events)
	for i := range events {
		if e, ok := from(agent, &events[i]); ok {
			add(e)
		}
	}
}
