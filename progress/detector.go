package progress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// detector counts how often turns came again. The zero value has seen none.
type detector struct {
	turns  [longestCycle]pastTurn
	n      int                   // turns since the count began
	streak [longestCycle + 1]int // by length: turns in a row that equal the one so many before
	since  [longestCycle + 1]int // the turn that the streak first came back to
	errors []failing
	armed  bool // there was a turn since the run was last started
}

type pastTurn struct {
	print  print
	number int
	calls  []callFacts
	text   string
}

// failing is a tool that fails in one way, and in how many turns it did.
type failing struct {
	wording
	tool        string
	times       int
	since, last int
}

// byWeight orders errors so that the one to speak of is last, in whatever order the
// calls of a turn ended: the most frequent, the oldest, the one that was said as it is.
func byWeight(a, b failing) int {
	exact := 0
	switch {
	case a.without && !b.without:
		exact = -1
	case b.without && !a.without:
		exact = 1
	}
	return cmp.Or(a.times-b.times, b.since-a.since, exact, strings.Compare(b.tool, a.tool), strings.Compare(b.text, a.text))
}

// observe takes an entry, through the tally that knows its turn.
func (d *detector) observe(t *tally, e *trajectory.Event) {
	if closed := t.add(e); closed != nil {
		d.commit(closed)
	}
	if b, ok := e.Body.(trajectory.RunStart); ok && e.Agent == "" {
		d.startRun(t, &b)
	}
}

// startRun begins the count again when a person has said something new. Else a
// run that carries on is judged by what it does, not by what it did: without that,
// one that was stopped as stuck could never be continued.
func (d *detector) startRun(t *tally, b *trajectory.RunStart) {
	d.armed = false
	for _, m := range b.Messages {
		if m.OfUser != nil && !ownWords(turn.Text(m)) {
			*d = detector{}
			t.turn.reply = false // nor does what is left of an open turn count
			return
		}
	}
}

// now is what the run repeats, the turn that is not closed yet included if all of
// it is there; nil when it repeats nothing.
func (d *detector) now(t *tally) *StuckError {
	c := *d
	if t.turn.complete() {
		c.errors = slices.Clone(d.errors)
		c.commit(&t.turn)
	}
	if !c.armed {
		return nil
	}
	return c.verdict()
}

// commit takes a turn that is over.
func (d *detector) commit(t *turnFacts) {
	if !t.reply || !t.telling() {
		return
	}
	d.armed = true
	if t.waited {
		*d = detector{armed: true}
		return
	}
	if t.newChange() || t.newWords() {
		*d = detector{armed: true}
	}
	d.commitErrors(t)
	past := pastTurn{t.print(), t.number, t.calls, t.text}
	for length := 1; length <= longestCycle; length++ {
		before := &d.turns[(d.n+longestCycle-length)%longestCycle]
		if length > d.n || before.print != past.print {
			d.streak[length] = 0
			continue
		}
		if d.streak[length] == 0 {
			d.since[length] = before.number
		}
		d.streak[length]++
	}
	d.turns[d.n%longestCycle] = past
	d.n++
}

func (d *detector) commitErrors(t *turnFacts) {
	if t.newResult() {
		d.errors = d.errors[:0]
	}
	for i := range t.calls {
		for _, w := range t.calls[i].wordings() {
			d.fails(t.calls[i].Name, w, t.number)
		}
	}
	d.errors = slices.DeleteFunc(d.errors, func(f failing) bool { return f.last < t.number-longestCycle })
}

func (d *detector) fails(tool string, w wording, turn int) {
	at := slices.IndexFunc(d.errors, func(f failing) bool { return f.of == w.of })
	if at < 0 {
		d.errors = append(d.errors, failing{wording: w, tool: tool, since: turn, last: -1})
		at = len(d.errors) - 1
	}
	if f := &d.errors[at]; f.last != turn {
		f.times, f.last = f.times+1, turn
	}
}

// verdict is the longest repetition; of two that are as long, the simpler.
func (d *detector) verdict() *StuckError {
	var e *StuckError
	for length := 1; length <= longestCycle; length++ {
		turns := length + d.streak[length]
		if turns >= 2*length && (e == nil || turns > e.Turns) {
			e = d.cycle(length, turns)
		}
	}
	if len(d.errors) == 0 {
		return e
	}
	if f := slices.MaxFunc(d.errors, byWeight); f.times > 1 && (e == nil || f.times > e.Turns) {
		e = &StuckError{What: SameError, Tools: []string{f.tool}, Detail: f.tool + ": " + excerpt(f.text, detailLength),
			Times: f.times, Turns: f.times, Since: f.since}
	}
	return e
}

func (d *detector) cycle(length, turns int) *StuckError {
	e := &StuckError{What: SameText, Times: turns / length, Turns: turns, Since: d.since[length]}
	var details []string
	for back := length; back > 0; back-- {
		tools, detail := d.turns[(d.n+2*longestCycle-back)%longestCycle].words()
		e.Tools = append(e.Tools, tools...)
		details = append(details, detail)
	}
	e.Detail = strings.Join(details, ", then ")
	switch {
	case len(e.Tools) == 0:
	case length == 1:
		e.What = SameCall
	default:
		e.What = Cycle
	}
	return e
}

// telling reports whether a turn says anything about repetition: one whose calls
// all met the end of the run does not.
func (t *turnFacts) telling() bool {
	if t.due == 0 && len(t.calls) == 0 {
		return true
	}
	for i := range t.calls {
		if c := &t.calls[i]; c.ok || c.failed || c.denied {
			return true
		}
	}
	return false
}

// words are the tools of a turn and what it did, whatever the order in which its
// calls ended.
func (p *pastTurn) words() (tools []string, detail string) {
	if len(p.calls) == 0 {
		return nil, fmt.Sprintf("%q", excerpt(p.text, detailLength))
	}
	var calls []string
	for i := range p.calls {
		tools = append(tools, p.calls[i].Name)
		calls = append(calls, strings.TrimSpace(p.calls[i].Name+" "+excerpt(p.calls[i].Arguments, detailLength)))
	}
	slices.Sort(tools)
	slices.Sort(calls)
	calls = slices.Compact(calls)
	detail = list(calls[:min(len(calls), 3)])
	if more := len(calls) - 3; more > 0 {
		detail = strings.Join(calls[:3], ", ") + " and " + count(more, "other call", "other calls")
	}
	return slices.Compact(tools), detail
}

const detailLength = 120
