package resume_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// byQuestion are the replies to what a sub-agent asks: its parent's call waits for
// one of its calls after the other.
var byQuestion = map[string]loop.Reply{
	`Pay {"n":1}?`:  loop.Approve(),
	"For how many?": loop.Answer("for eight"),
	"Inside?":       loop.Answer("inside"),
	`Pay {"n":2}?`:  loop.Deny("too dear"),
}

// delegated puts the shop's run below as many sub-agents as it has levels.
func (s *shop) delegated(o loop.Options) loop.Options {
	for range s.levels {
		child := o
		child.From, child.Replies = trajectory.State{}, nil
		o.Turn, o.Tools = leads, []loop.Tool{loop.NewSubAgent(loop.Tool{Name: "agent"}, "", child)}
	}
	return o
}

// leads has an agent do it, and passes on what that said.
func leads(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	reply := turn.Assistant("", turn.Call{ID: "a", Name: "agent", Arguments: `{"task":"Serve."}`})
	if last := messages[len(messages)-1]; last.OfTool != nil {
		reply = turn.Assistant("They said: " + turn.Text(last))
	}
	return turn.ModelTurnResult{Message: reply, Usage: turn.Usage{InputTokens: 9, OutputTokens: 2}}, nil
}

// innermost is the run that makes the calls, as the file tells of it.
func (s *shop) innermost() loop.Result {
	agent := strings.TrimSuffix(strings.Repeat("1.a/", s.levels), "/")
	var f trajectory.Fold
	_, err := resume.ReadPast(filepath.Dir(s.name), filepath.Base(s.name), func(e trajectory.Event) error {
		if e.Agent == agent {
			return f.Add(trajectory.Event{Body: e.Body})
		}
		return nil
	})
	require.NoError(s.t, err)
	return loop.Result{State: f.State(), Messages: f.Messages()}
}

// A sub-agent, and one below it, are cut off by the same deaths as a run of their
// own, and carry on as well: their transcript, their questions and what was spent
// are those of a run that never died. Where an agent's call had started and no entry
// of the agent followed, nobody knows whether it began.
func TestCrashLawBelowSubAgents(t *testing.T) {
	for levels := 1; levels <= 2; levels++ {
		straight := newShop(t, t.TempDir())
		straight.levels = levels
		want := straight.serve(func() { require.Fail(t, "nobody dies here") })
		require.True(t, strings.HasSuffix(want.Text(), "Served."))
		require.Equal(t, map[string]int{"look": 1, "menu": 1, "pay": 1, "table": 1, "oven": 1}, straight.did)
		inner := straight.innermost()
		require.Empty(t, turn.OpenCalls(inner.Messages))
		dir, unknown := t.TempDir(), 0
		file := straight.file()
		for _, n := range cuts(file, 997) {
			if levels > 1 && n%997 != 0 && file[n-1] != '\n' {
				continue // a torn line costs the same at any depth
			}
			s := newShop(t, dir)
			require.NoError(t, os.RemoveAll(s.name))
			s.levels, s.room = levels, n
			got := s.serve(func() {})
			if !strings.HasSuffix(got.Text(), "Served.") {
				unknown++
				require.Contains(t, got.Text(), "the outcome of this call is unknown", "cut at %d", n)
				require.Empty(t, s.did, "cut at %d", n)
				continue
			}
			require.Equal(t, lines(t, want.Messages), lines(t, got.Messages), "cut at %d", n)
			require.Equal(t, timeless(want.Stats), timeless(got.Stats), "cut at %d", n)
			is := s.innermost()
			at, total := timeless(want.Total()), timeless(got.Total())
			at.InputTokens, total.InputTokens = 0, 0 // the inner transcript's length, where a call is unknown
			require.Equal(t, at, total, "cut at %d", n)
			s.compareRuns(n, inner, is)
		}
		require.NotZero(t, unknown)
		require.Less(t, unknown, 20)
	}
}
