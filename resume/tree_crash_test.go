package resume_test

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// processes are what becomes of the first few: one dies at a byte, is stopped at an
// entry, or has some of what waits replied to. The rest come to their end.
func processes(t *rapid.T) func() (room, entries, replies int) {
	plans := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [3]int {
		replies := rapid.IntRange(1, 3).Draw(t, "replies")
		switch rapid.SampledFrom([]string{"dies", "stops", "ends"}).Draw(t, "it") {
		case "dies":
			return [3]int{rapid.IntRange(0, 6000).Draw(t, "at byte"), -1, replies}
		case "stops":
			return [3]int{-1, rapid.IntRange(0, 40).Draw(t, "at entry"), replies}
		}
		return [3]int{-1, -1, replies}
	}), 0, 8).Draw(t, "processes")
	return func() (int, int, int) {
		if len(plans) == 0 {
			return -1, -1, 2
		}
		p := plans[0]
		plans = plans[1:]
		return p[0], p[1], p[2]
	}
}

// Trees of agents with calls of every sort, whose processes die, shut down and wait:
// where all calls may be repeated, every agent ends with the transcript, and all with
// the totals, of the tree that went straight through. Elsewhere no call has its effect
// twice. What was spent is counted once, and what a run returns is what its file tells.
func TestCrashLawOfTrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anErrand(2).Draw(t, "errand")
		safe := rapid.Bool().Draw(t, "safe")
		straight := newForest(t, safe)
		want := straight.serve(e, func() (int, int, int) { return -1, -1, 99 })
		f := newForest(t, safe)
		f.parallel, f.ownBatch = rapid.IntRange(0, 2).Draw(t, "parallel"), rapid.Bool().Draw(t, "own batch")
		if !safe && rapid.Bool().Draw(t, "a person stops it") {
			f.cause = errStopped
		}
		got := f.serve(e, processes(t))
		require.Equal(t, spendOf(nil, f.session), timeless(got.Total()))
		if !safe {
			for key, times := range f.did {
				require.Equal(t, 1, times, key)
			}
			return
		}
		require.Equal(t, straight.agents(), f.agents())
		require.Equal(t, timeless(want.Stats), timeless(got.Stats))
		require.Equal(t, timeless(want.Children), timeless(got.Children))
	})
}

// A budget of calls holds over all processes, for the whole tree.
func TestBudgetOfTrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newForest(t, rapid.Bool().Draw(t, "safe"))
		f.parallel = rapid.IntRange(0, 2).Draw(t, "parallel")
		f.budget.ToolCalls = int64(rapid.IntRange(1, 12).Draw(t, "budget"))
		got := f.serve(anErrand(2).Draw(t, "errand"), processes(t))
		require.LessOrEqual(t, got.Total().ToolCalls, f.budget.ToolCalls)
		require.Equal(t, spendOf(nil, f.session), timeless(got.Total()))
	})
}

// Whatever lines a session loses between two processes, the next one carries it on.
func TestDamageOfTrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newForest(t, rapid.Bool().Draw(t, "safe"))
		f.parallel = rapid.IntRange(0, 2).Draw(t, "parallel")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		rounds := 6
		f.damage = func(session []byte) []byte {
			lines := bytes.SplitAfter(session, []byte("\n"))
			header := slices.IndexFunc(lines, func(l []byte) bool { return regexp.MustCompile(`^\{"t":"session".*\}\n$`).Match(l) })
			if rounds--; rounds < 0 || header < 0 || len(lines) < header+4 { // without a header it is no session
				return session
			}
			for range r.IntN(3) {
				lines[header+2+r.IntN(len(lines)-header-2)] = [][]byte{nil, []byte("garbage\n")}[r.IntN(2)]
			}
			return bytes.Join(lines, nil)
		}
		f.serve(anErrand(2).Draw(t, "errand"), processes(t))
	})
}
