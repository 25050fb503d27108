package trajectory

import (
	"fmt"
	"slices"
)

// order puts entries back into the order of their numbers. In a sound file each is
// one higher than the last and passes straight through.
type order struct {
	last int64            // the number handed on last
	line int64            // the furthest line handed on
	held []record         // waiting for a number below theirs, ascending
	sums map[int64]uint64 // of the latest lines, to tell a repeated line from a collision
}

const (
	// heldEntries is how far apart two swapped lines may stand.
	heldEntries = 64
	// knownSums is how far behind a repeated line may stand and be known as one.
	knownSums = 1 << 16
)

// add takes the next line and its checksum, and reports one whose number is taken.
func (o *order) add(r record, sum uint64) *Problem {
	at, taken := slices.BinarySearchFunc(o.held, r.Seq, func(h record, seq int64) int {
		return int(max(-1, min(1, h.Seq-seq)))
	})
	if r.Seq <= o.last || taken {
		if known, ok := o.sums[r.Seq]; ok && known == sum {
			return r.problem(Repeated, fmt.Errorf("entry %d stands a second time", r.Seq))
		}
		return r.problem(Collision, fmt.Errorf("there is another entry %d: two programs wrote to this session", r.Seq))
	}
	if o.sums == nil {
		o.sums = make(map[int64]uint64)
	}
	o.sums[r.Seq] = sum
	delete(o.sums, r.Seq-knownSums)
	o.held = slices.Insert(o.held, at, r)
	return nil
}

// next is the entry that is due; at the end of the file, and when too many wait,
// the lowest that there is. The problem is of its place, or of what is missing
// before it.
func (o *order) next(end bool) (r record, problem *Problem, ok bool) {
	if len(o.held) == 0 {
		return record{}, nil, false
	}
	r = o.held[0]
	if r.Seq != o.last+1 {
		if !end && len(o.held) <= heldEntries {
			return record{}, nil, false
		}
		problem = r.problem(Missing, missingEntries(o.last+1, r.Seq-1))
	} else if r.Line < o.line {
		problem = r.problem(Misplaced, fmt.Errorf("entry %d stands before entry %d", r.Seq, o.last))
	}
	o.held = slices.Delete(o.held, 0, 1)
	o.last, o.line = r.Seq, max(o.line, r.Line)
	return r, problem, true
}

func missingEntries(from, to int64) error {
	if from == to {
		return fmt.Errorf("entry %d is missing", from)
	}
	return fmt.Errorf("entries %d to %d are missing", from, to)
}

func (r record) problem(f Fault, err error) *Problem { return &Problem{f, r.Line, r.Offset, err} }
