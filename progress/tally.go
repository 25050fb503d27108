package progress

import (
	"strings"

	"github.com/pawl-dev/pawl/trajectory"
)

// tally is the fold of a run's entries into counts. A call's start and end meet
// in it in whichever order they come, and a call is compared with those of earlier
// turns only, so the order inside a turn changes nothing. The zero value is a run
// without entries.
type tally struct {
	counts  RunProgress // of all but agents of the open batch and calls in early
	changes int         // everything that may have changed something and was no repeat

	cwd       folder
	files     map[string]int // by path: the run that touched it last
	run       int            // counts run.start
	filesHere int            // files of this run

	turn   turnFacts
	closed turnFacts // the one before
	recent recent
	starts map[callKey]nature
	early  map[callKey]trajectory.CallEnd // ends whose start has not come
	agents map[string]*delegated          // by the name of the open call's agent
}

type callKey struct {
	turn int
	id   string
}

// delegated is how many child runs one call has: by their own entries, by the call's.
type delegated struct{ started, said int }

// add takes the next entry. It returns the turn that the entry ended, if it did,
// which is good until the next.
func (t *tally) add(e *trajectory.Event) (closed *turnFacts) {
	if e.Agent != "" {
		t.addChild(e)
		return nil
	}
	switch b := e.Body.(type) {
	case trajectory.RunStart:
		t.run++
		t.filesHere = 0
		t.cwd = newFolder(b.Cwd)
		if t.turn.complete() {
			closed = t.closeTurn()
			t.turn = turnFacts{number: t.turn.number}
		}
	case trajectory.Message:
		if b.Turn == nil {
			t.turn.hear(b.Message, &t.recent)
			return nil
		}
		closed = t.closeTurn()
		number := t.turn.number
		if !b.Turn.Auxiliary {
			number = max(number+1, b.Turn.Number)
		}
		t.turn = newTurn(number, b.Message)
	case trajectory.CallStart:
		t.start(&b)
	case trajectory.Suspend:
		t.turn.waited = t.turn.waited || b.For == trajectory.ForTime
		t.saysOfAgents(b.Turn, b.ID, b.Agents)
	case trajectory.CallEnd:
		t.end(&b)
	case trajectory.PlanChange:
		done, all := b.Plan.Counts()
		t.changes += max(done-t.counts.StepsDone, 0)
		t.counts.StepsDone, t.counts.StepsTotal = done, all
	}
	return closed
}

func (t *tally) start(b *trajectory.CallStart) {
	key, n := callKey{b.Turn, b.ID}, natureOf(b)
	t.turn.number = max(t.turn.number, b.Turn)
	if end, ok := t.early[key]; ok {
		delete(t.early, key)
		t.count(&end, n)
		return
	}
	if t.starts == nil {
		t.starts = map[callKey]nature{}
	}
	t.starts[key] = n
}

func (t *tally) end(b *trajectory.CallEnd) {
	t.turn.number = max(t.turn.number, b.Turn)
	t.saysOfAgents(b.Turn, b.ID, b.Agents)
	if b.Status != trajectory.OK && b.Status != trajectory.Failed {
		// Such a call did not run, or nobody knows what became of it: it takes no
		// start from a call of the same id that did.
		t.count(b, natureByName(b.Name, b.Arguments))
		return
	}
	key := callKey{b.Turn, b.ID}
	if n, ok := t.starts[key]; ok {
		delete(t.starts, key)
		t.count(b, n)
		return
	}
	if t.early == nil {
		t.early = map[callKey]trajectory.CallEnd{}
	}
	t.early[key] = *b
}

// count adds one call that ended to the counts and to the turn.
func (t *tally) count(b *trajectory.CallEnd, n nature) {
	n = n.ended(b)
	c := newCallFacts(b, n)
	c.repeated, c.seen = t.recent.has(c.print)
	t.turn.add(c)
	repeat := c.repeated && !n.polls && !c.waits
	if !c.ok && !c.failed {
		return
	}
	if repeat {
		t.counts.Repeats++
	}
	t.counts.add(n, c.ok, b.Agents > 0)
	if !c.ok {
		return
	}
	if !repeat && c.mayChange {
		t.changes++
	}
	if changes(n.kind) {
		for _, p := range b.Paths {
			t.touch(t.cwd.place(p))
		}
	}
}

func (p *RunProgress) add(n nature, ok, delegates bool) {
	switch {
	case n.polls:
		p.Polls++
	case changes(n.kind):
		pick(ok, &p.Edits, &p.FailedEdits)
	case n.kind == trajectory.KindExecute:
		pick(ok, &p.Commands, &p.FailedCommands)
	case !ok:
		p.FailedOthers++
	case n.kind == trajectory.KindRead || n.kind == trajectory.KindSearch:
		p.Reads++
	case n.kind == trajectory.KindFetch:
		p.Fetches++
	case n.kind != trajectory.KindThink && !delegates:
		p.Others++
	}
}

func pick(ok bool, yes, no *int) {
	if ok {
		*yes++
	} else {
		*no++
	}
}

func (t *tally) touch(path string) {
	if path == "" {
		return
	}
	if t.files == nil {
		t.files = map[string]int{}
	}
	run, known := t.files[path]
	if !known {
		t.counts.Files++
	}
	if !known || run != t.run {
		t.filesHere++
		t.files[path] = t.run
	}
}

// closeTurn counts what is left of a turn and makes it one of the recent ones. It
// returns nil when there was no turn.
func (t *tally) closeTurn() *turnFacts {
	if !t.turn.reply && len(t.turn.calls) == 0 && len(t.early) == 0 {
		return nil
	}
	for key, end := range t.early {
		t.count(&end, natureByName(end.Name, end.Arguments))
		delete(t.early, key)
	}
	for name, d := range t.agents {
		t.counts.Agents += max(d.started, d.said)
		delete(t.agents, name)
	}
	clear(t.starts)
	t.closed = t.turn
	t.recent.push(&t.closed)
	return &t.closed
}

// progress is the counts as they stand.
func (t *tally) progress() RunProgress {
	p := t.counts
	var more map[string]bool
	for _, end := range t.early {
		n := natureByName(end.Name, end.Arguments).ended(&end)
		if c := newCallFacts(&end, n); !n.polls && !c.waits {
			if repeated, _ := t.recent.has(c.print); repeated {
				p.Repeats++
			}
		}
		p.add(n, end.Status == trajectory.OK, end.Agents > 0)
		if !changes(n.kind) || end.Status != trajectory.OK {
			continue
		}
		for _, path := range end.Paths {
			path = t.cwd.place(path)
			if _, known := t.files[path]; known || path == "" || more[path] {
				continue
			}
			if more == nil {
				more = map[string]bool{}
			}
			more[path] = true
			p.Files++
		}
	}
	for _, d := range t.agents {
		p.Agents += max(d.started, d.said)
	}
	return p
}

func (t *tally) delegated(name string) *delegated {
	d := t.agents[name]
	if d == nil {
		d = &delegated{}
		if t.agents == nil {
			t.agents = map[string]*delegated{}
		}
		t.agents[name] = d
	}
	return d
}

// addChild counts a child run that begins.
func (t *tally) addChild(e *trajectory.Event) {
	b, ok := e.Body.(trajectory.RunStart)
	if !ok || b.Continued || strings.Contains(e.Agent, "/") {
		return
	}
	d := t.delegated(e.Agent)
	if d.started++; d.started > d.said {
		t.changes++
	}
}

// saysOfAgents takes how many child runs a call itself says that it had.
func (t *tally) saysOfAgents(turn int, id string, agents int) {
	if agents == 0 {
		return
	}
	d := t.delegated(trajectory.AgentName(turn, id))
	t.changes += max(agents-max(d.started, d.said), 0)
	d.said = max(d.said, agents)
}
