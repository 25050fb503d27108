package progress

// longestCycle is how many turns a cycle may have, and how far back a call counts
// as the same again.
const longestCycle = 4

// recent remembers what happened in the latest turns. The zero value remembers
// nothing.
type recent struct {
	marks map[print]mark
	turns [longestCycle][]print
	next  int // counts turns
	eras  int // counts turns that may have changed what a call gives
}

type mark struct{ turn, era int }

func (r *recent) has(p print) (repeated, seen bool) {
	m, seen := r.marks[p]
	return seen && m.era == r.eras, seen
}

func (r *recent) push(t *turnFacts) {
	if r.marks == nil {
		r.marks = map[print]mark{}
	}
	slot := &r.turns[r.next%longestCycle]
	for _, p := range *slot {
		if r.marks[p].turn == r.next-longestCycle {
			delete(r.marks, p)
		}
	}
	*slot = (*slot)[:0]
	if t.newChange() {
		r.eras++
	}
	for _, list := range [...][]callFacts{t.calls, t.told} {
		for i := range list {
			r.marks[list[i].print] = mark{r.next, r.eras}
			*slot = append(*slot, list[i].print)
		}
	}
	r.next++
}
