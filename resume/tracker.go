package resume

import (
	"strings"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// tracker gathers what a fold does not keep.
type tracker struct {
	past    *PastSession
	fold    trajectory.Fold
	running map[string]Action   // of the latest batch and of its child runs, by agent and id
	cut     map[string][]Action // calls of those child runs that were cut off since their latest reply, by agent
	waiting map[string]Action   // of the batch, those that are suspended, by id
	turns   int
	named   bool   // a title entry was read
	title   string // of the latest run that has one
	request string // the first user message
}

func (t *tracker) see(e trajectory.Event) {
	p := t.past
	if e.At.After(p.LastAt) {
		p.LastAt = e.At
	}
	if e.Agent != "" {
		t.below(e)
		return
	}
	switch b := e.Body.(type) {
	case trajectory.RunStart:
		p.LastRun = nil
		if b.Title != "" {
			t.title = b.Title
		}
		for _, m := range b.Messages {
			t.given(m)
		}
	case trajectory.RunEnd:
		p.LastRun = &b
	case trajectory.Message:
		t.given(b.Message)
		if b.Turn != nil {
			p.LastTurn, p.Unsure = b.Turn, nil
			clear(t.running)
			clear(t.cut)
			clear(t.waiting)
			if !b.Turn.Auxiliary {
				t.turns++
			}
		}
	case trajectory.CallStart:
		delete(t.waiting, b.ID)
		a := Action{Call: b.Call, Kind: b.Kind, ReplaySafe: b.ReplaySafe}
		t.running[place("", b.ID)] = a
		t.acted(a)
	case trajectory.Suspend:
		a := t.running[place("", b.ID)]
		delete(t.running, place("", b.ID))
		a.Call, a.Waits, a.Asked = b.Call, b.For, b.Question
		t.waiting[b.ID] = a
		t.acted(a)
	case trajectory.CallEnd:
		t.ended(b)
	case trajectory.PlanChange:
		p.PlanTurn = t.turns
	case trajectory.Title:
		p.Title, t.named = b.Title, true
	}
}

// place names a call, also one that a child run made.
func place(agent, id string) string { return agent + "\n" + id }

// below notes which calls of child runs are at work, and which were stopped at it.
func (t *tracker) below(e trajectory.Event) {
	switch b := e.Body.(type) {
	case trajectory.Message:
		if b.Turn != nil {
			delete(t.cut, e.Agent)
		}
	case trajectory.CallStart:
		t.running[place(e.Agent, b.ID)] = Action{Call: b.Call, Agent: e.Agent, Kind: b.Kind, ReplaySafe: b.ReplaySafe}
	case trajectory.Suspend:
		delete(t.running, place(e.Agent, b.ID))
	case trajectory.CallEnd:
		if a, ran := t.running[place(e.Agent, b.ID)]; ran && unsureOf(b.Status) {
			a.Status, a.Paths = b.Status, b.Paths
			t.cut[e.Agent] = append(t.cut[e.Agent], a)
		}
		delete(t.running, place(e.Agent, b.ID))
	}
}

// unsureOf reports whether nobody knows what a call did that ended so.
func unsureOf(s trajectory.Status) bool { return s == trajectory.CutOff || s == trajectory.Unknown }

func (t *tracker) ended(b trajectory.CallEnd) {
	a, ran := t.running[place("", b.ID)]
	waited, asked := t.waiting[b.ID]
	if asked {
		a = waited
	} else if !ran {
		return
	}
	delete(t.running, place("", b.ID))
	delete(t.waiting, b.ID)
	a.Status, a.Paths = b.Status, b.Paths
	t.acted(a)
	if unsureOf(a.Status) {
		t.past.Unsure = append(t.past.Unsure, a)
	}
}

func (t *tracker) acted(a Action) {
	if a.Name == plan.ToolName && t.past.LastAction != nil && t.past.LastAction.Name != plan.ToolName {
		return
	}
	t.past.LastAction = &a
}

// given takes a message that no model wrote. A result among them is what a host
// itself answered a call that waited.
func (t *tracker) given(m turn.TranscriptMessage) {
	if m.OfTool != nil {
		if a, ok := t.waiting[m.OfTool.ToolCallID]; ok {
			delete(t.waiting, a.ID)
			a.Status = trajectory.OK
			t.acted(a)
		}
	}
	if t.request == "" && m.OfUser != nil {
		t.request = brief(turn.Text(m), titleLength)
	}
}

func (t *tracker) finish() {
	p := t.past
	p.Messages, p.State = t.fold.Messages(), t.fold.State()
	t.unsure("", "", p.State.Open)
	t.atWork()
	for _, title := range []string{t.title, p.Header.Title, t.request} {
		if !t.named && p.Title == "" {
			p.Title = title
		}
	}
}

// unsure notes the calls that were at work. Of a child run that goes on, it is those
// that the child had made, and those that it was stopped at.
func (t *tracker) unsure(agent, tool string, open []trajectory.OpenCall) {
	note := func(a Action) {
		a.agentTool = tool
		t.past.Unsure = append(t.past.Unsure, a)
	}
	for _, a := range t.cut[agent] {
		note(a)
	}
	for _, c := range open {
		a, ran := t.running[place(agent, c.ID)]
		child := c.Child
		if c.Waiting() {
			child = c.Suspension.Child
		}
		switch {
		case child != nil:
			t.unsure(strings.TrimPrefix(agent+"/"+trajectory.AgentName(c.Turn, c.ID), "/"), c.Name, child.State.Open)
		case ran:
			note(a)
		case c.Imported:
			note(Action{Call: c.Call, Agent: agent})
		}
	}
}

// atWork makes the last action one that the session was stopped at, if there is one, and
// rather one with effects: another call of its batch may have ended later.
func (t *tracker) atWork() {
	p, pauses := t.past, !shutDown(*t.past)
	if p.LastAction == nil || p.LastAction.Waits != "" && pauses {
		return
	}
	var stopped []Action
	for _, a := range p.Unsure {
		if a.Agent == "" {
			stopped = append(stopped, a)
		}
	}
	for _, c := range p.State.Open {
		a, ran := t.running[place("", c.ID)]
		if c.Waiting() && !pauses { // else it does not run
			a, ran = t.waiting[c.ID]
			a.Waits, a.Asked = "", ""
		}
		if ran {
			stopped = append(stopped, a)
		}
	}
	for _, withEffects := range []bool{false, true} {
		for _, a := range stopped {
			if a.hasEffects() == withEffects {
				t.acted(a)
			}
		}
	}
}
