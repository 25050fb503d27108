package progress

import (
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// turnFacts is what is known of one turn: a reply, the calls it made, and what
// the model was told after them.
type turnFacts struct {
	number int
	reply  bool   // false before the first reply
	text   string // of a reply without calls
	due    int    // calls of the reply
	calls  []callFacts
	told   []callFacts // messages that came after; only print and seen are used
	waited bool        // the turn was one of waiting, for a time or a process
}

// callFacts is one call that ended.
type callFacts struct {
	turn.Call
	print      print // of tool, arguments or identity, status and result
	ok, failed bool  // neither: it did not run, or nobody knows
	mayChange  bool
	waits      bool // a poll, or a command that sleeps: it may well be the same again
	denied     bool
	problem    string    // what a failure said
	problems   []wording // the ways to say that; see wordings
	// seen: one of the recent turns had the same call with the same result.
	// repeated: and nothing can have changed since.
	seen, repeated bool
}

func newCallFacts(b *trajectory.CallEnd, n nature) callFacts {
	c := callFacts{Call: b.Call, mayChange: mayChange(n)}
	c.waits = n.identity == "" && (n.polls || n.kind == trajectory.KindExecute && sleeps(b.Arguments))
	result := turn.Text(b.Message)
	switch b.Status {
	case trajectory.OK:
		c.ok = true
	case trajectory.Failed, trajectory.BadArguments, trajectory.UnknownTool, trajectory.Refused:
		c.failed, c.problem = true, result
		result = withoutTimes(result)
		if n.identity != "" { // the arguments are no part of what the call is
			same := c.wordings()
			result = same[len(same)-1].text
		}
	case trajectory.Denied:
		c.denied = true
	}
	identity := start.num('i').text(n.identity)
	if n.identity == "" {
		identity = ofArguments(b.Arguments)
	}
	c.print = start.text(b.Name).num(uint64(identity)).text(string(b.Status)).text(result)
	return c
}

// wordings are worked out when somebody asks: a summary never does.
func (c *callFacts) wordings() []wording {
	if c.failed && c.problems == nil {
		c.problems = wordings(c.Name, c.problem, c.Arguments)
	}
	return c.problems
}

func newTurn(number int, reply turn.TranscriptMessage) turnFacts {
	t := turnFacts{number: number, reply: true}
	if reply.OfAssistant != nil {
		t.due = len(reply.OfAssistant.ToolCalls)
	}
	if t.due == 0 {
		t.text = strings.Join(strings.Fields(turn.Text(reply)), " ")
	} else {
		t.calls = make([]callFacts, 0, t.due)
	}
	return t
}

func (t *turnFacts) add(c callFacts) {
	t.calls = append(t.calls, c)
	t.waited = t.waited || c.waits
}

// hear takes a message that the model was given. What a watch said itself is no
// news.
func (t *turnFacts) hear(m turn.TranscriptMessage, r *recent) {
	text := turn.Text(m)
	if ownWords(text) {
		return
	}
	c := callFacts{print: start.num('m').text(text)}
	_, c.seen = r.has(c.print)
	t.told = append(t.told, c)
}

// complete reports whether nothing of the turn is outstanding.
func (t *turnFacts) complete() bool { return t.reply && len(t.calls) >= t.due }

// mayBeLast reports whether the run ends with this turn unless somebody says more.
func (t *turnFacts) mayBeLast() bool {
	return t.reply && t.due == 0 && len(t.calls) == 0 && len(t.told) == 0
}

// newChange reports whether the turn did something that may have changed anything
// and that none of the recent turns did. The same edit again, or one there and
// back, is a repetition.
func (t *turnFacts) newChange() bool {
	for i := range t.calls {
		if c := &t.calls[i]; c.ok && c.mayChange && !c.seen {
			return true
		}
	}
	return false
}

// newResult reports whether a call gave what none of the recent turns had.
func (t *turnFacts) newResult() bool {
	for i := range t.calls {
		if t.calls[i].ok && !t.calls[i].seen {
			return true
		}
	}
	return false
}

// newWords reports whether the model was told what it had not been told lately. A
// nudge that says the same each time is none.
func (t *turnFacts) newWords() bool {
	for i := range t.told {
		if !t.told[i].seen {
			return true
		}
	}
	return false
}

// print is one fingerprint of the text, or of all calls in any order and each
// once: many calls of one turn are no repetition.
func (t *turnFacts) print() print {
	if len(t.calls) == 0 {
		return start.num('t').text(t.text)
	}
	prints := make([]print, len(t.calls))
	for i := range t.calls {
		prints[i] = t.calls[i].print
	}
	slices.Sort(prints)
	sum := start.num('c')
	for _, p := range slices.Compact(prints) {
		sum = sum.num(uint64(p))
	}
	return sum
}
