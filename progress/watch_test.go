package progress_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/progress"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// driven feeds a watch as a loop does: entries, and before each reply the two
// questions. It returns the first cause to stop, and the messages handed out.
//
//lint:ignore ST1008 the two stand in the order in which they are asked for
func driven(w *progress.Watch, events []trajectory.Event) (stop error, messages []turn.TranscriptMessage) {
	for _, e := range events {
		if m, ok := e.Body.(trajectory.Message); ok && m.Turn != nil && e.Agent == "" {
			if stop = w.ShouldStop(trajectory.State{}); stop != nil {
				return stop, messages
			}
			for _, m := range w.Inbox() {
				messages = append(messages, m)
				_ = w.Record(trajectory.Event{Body: trajectory.Message{Message: m}})
			}
		}
		_ = w.Record(e)
	}
	return w.ShouldStop(trajectory.State{}), messages
}

// costly is a run whose turns cost so many tokens each.
func costly(perTurn int64) *story {
	s := begin(turn.User("go"))
	s.usage = turn.Usage{InputTokens: perTurn - 100, OutputTokens: 100}
	return s
}

func TestNoticesOncePerOrderOfMagnitude(t *testing.T) {
	for _, c := range []struct {
		name string
		more func(s *story, i int)
		want []string // beginnings
	}{
		{"a run that works", func(s *story, i int) { s.does(editOf(fmt.Sprint(i), "x")) }, []string{"Done so far: ", "Done so far: ", "Done so far: "}},
		{"a run that reads", func(s *story, i int) { s.does(readOf(fmt.Sprint(i), "x")) },
			[]string{"Nothing has changed in this run: ", "Nothing has changed in this run: ", "Nothing has changed in this run: "}},
		{"a run that worked once", func(s *story, i int) {
			if i < 20 {
				s.does(editOf(fmt.Sprint(i), "x"))
			} else {
				s.does(readOf(fmt.Sprint(i), "x"))
			}
		}, []string{"Done so far: ", "Nothing has changed in this run for the last 9.0 million tokens. ", "Nothing has changed in this run for the last 99.0 million tokens. "}},
		{"a run that worked once, then with tools that say nothing of themselves", func(s *story, i int) {
			if i == 0 {
				s.does(editOf("a", "x"))
			} else {
				s.does(act{tool: "create_ticket", arguments: fmt.Sprintf(`{"n":%d}`, i)})
			}
		}, []string{"Done so far: ", "Done so far: ", "Done so far: "}},
		{"a run that runs the same", func(s *story, _ int) { s.does(command("ls", "a")) }, []string{"This run is going in circles. ", "This run is going in circles. ", "This run is going in circles. "}},
	} {
		s := costly(50_000)
		for i := range 2400 {
			c.more(s, i)
		}
		var got []string
		w := progress.NewWatch(progress.WatchOptions{Notice: func(n string) { got = append(got, n) }, StuckAt: -1})
		stop, _ := driven(w, s.events)
		require.NoError(t, stop)
		require.Len(t, got, len(c.want), c.name)
		for i := range got {
			require.True(t, strings.HasPrefix(got[i], c.want[i]), "%s: %s", c.name, got[i])
		}
		require.Contains(t, got[0], "20 requests to m-1 and 1.0 million tokens")
		require.Contains(t, got[2], "2,000 requests to m-1 and 100 million tokens")
	}
}

func TestNoticeThresholds(t *testing.T) {
	for _, c := range []struct {
		at   int64
		want int
	}{{0, 1}, {-1, 0}, {1, 7}, {999_999, 1}, {2_100_000, 0}, {1 << 62, 0}} {
		s := costly(2_000_000).does(editOf("a", "x"))
		n := 0
		w := progress.NewWatch(progress.WatchOptions{NoticeAt: c.at, Notice: func(string) { n++ }})
		_, _ = driven(w, s.events)
		require.Equal(t, min(c.want, 1), n, "at %d: one notice for all that one turn passed", c.at)
	}
	// Tokens of child runs bring a notice too, before and after their call ends.
	s := begin()
	s.reply("", turn.Call{ID: "c0", Name: "delegate", Arguments: "{}"})
	s.child(0, trajectory.RunStart{})
	s.child(0, trajectory.Message{Message: turn.ReplayForm(turn.Assistant("x")), Turn: &trajectory.Turn{Usage: turn.Usage{InputTokens: 1_500_000}}})
	var got []string
	w := progress.NewWatch(progress.WatchOptions{Notice: func(n string) { got = append(got, n) }})
	_, _ = driven(w, s.events)
	require.Len(t, got, 1)
	require.Contains(t, got[0], "1 sub-agent started")
	require.Contains(t, got[0], "Its sub-agents used another 1.5 million tokens.")
	_ = w.Record(trajectory.Event{Body: trajectory.CallEnd{Call: turn.Call{ID: "c0", Name: "delegate"}, Turn: 1, Status: trajectory.OK, Agents: 1,
		Children: stats.RunStats{Turns: 1, InputTokens: 1_500_000}}})
	require.Equal(t, int64(1_500_000), w.Spend().DelegatedTokens)
	require.Equal(t, got[0], w.Notice())
	_, _ = driven(w, (&story{turn: 1}).says("done").events)
	require.Equal(t, int64(1_500_000), w.Spend().DelegatedTokens)
	require.Len(t, got, 1)
}

// A session is read back and carried on. Wherever the first run was cut, the
// watch of the second says nothing that the first had said, and all that it had not.
func TestNoticesOverAResume(t *testing.T) {
	whole := costly(300_000)
	for i := range 40 {
		whole.does(editOf(fmt.Sprint(i), "x"))
	}
	for cut := range len(whole.events) {
		var got []string
		o := progress.WatchOptions{Notice: func(n string) { got = append(got, n) }}
		first := progress.NewWatch(o)
		_, _ = driven(first, whole.events[:cut])
		before := len(got)
		second := progress.NewWatch(o)
		for _, e := range whole.events[:cut] {
			_ = second.Record(e)
		}
		require.Len(t, got, before, "reading the past raises nothing")
		_ = second.Record(trajectory.Event{Body: trajectory.RunStart{Continued: true}})
		_, _ = driven(second, whole.events[cut:])
		require.Len(t, got, 2, "cut at %d", cut)
	}
}

func TestLadder(t *testing.T) {
	s := begin(turn.User("go"))
	for range 20 {
		s.does(readOf("a", "text"))
	}
	w := progress.NewWatch(progress.WatchOptions{})
	stop, told := driven(w, s.events)
	var stuck *progress.StuckError
	require.ErrorAs(t, stop, &stuck)
	require.Equal(t, &progress.StuckError{What: progress.SameCall, Tools: []string{"read"}, Detail: `read {"path":"a"}`, Times: 6, Turns: 6, Since: 1}, stuck)
	require.Len(t, told, 1)
	require.Equal(t, "user", turn.Role(told[0]))
	require.Contains(t, turn.Text(told[0]), "the last 3 turns made the same call")

	// A model that listens and later falls into it again is told again.
	s = begin(turn.User("go"))
	for i := range 12 {
		s.does(readOf("a", "text"))
		if i%4 == 3 {
			s.does(editOf("a", fmt.Sprint(i)))
		}
	}
	stop, told = driven(progress.NewWatch(progress.WatchOptions{}), s.events)
	require.NoError(t, stop)
	require.Len(t, told, 3)

	// Neither step, when switched off.
	stop, told = driven(progress.NewWatch(progress.WatchOptions{StuckAt: -1}), begin().times(50, func(int) {}).events)
	require.NoError(t, stop)
	require.Empty(t, told)
	s = begin(turn.User("go"))
	for range 3 {
		s.does(readOf("a", "text"))
	}
	stop, _ = driven(progress.NewWatch(progress.WatchOptions{StuckAt: 1}), s.events)
	require.ErrorAs(t, stop, &stuck)
	require.Equal(t, 2, stuck.Turns)
}

// The message must not be what keeps a run going that is about to end.
func TestNoMessageAfterALastReply(t *testing.T) {
	s := begin(turn.User("go")).says("Done.").told("The plan is not finished.").says("Done.").told("The plan is not finished.").says("Done.")
	w := progress.NewWatch(progress.WatchOptions{})
	_, told := driven(w, s.events)
	require.Empty(t, told)
	require.Empty(t, w.Inbox())
	_ = w.Record(trajectory.Event{Body: trajectory.Message{Message: turn.User("The plan is not finished.")}})
	require.Len(t, w.Inbox(), 1, "the run goes on")
}

func TestMessageIsHandedOutOnce(t *testing.T) {
	s := begin(turn.User("go"))
	for range 3 {
		s.does(readOf("a", "text"))
	}
	w := progress.NewWatch(progress.WatchOptions{})
	for _, e := range s.events {
		_ = w.Record(e)
	}
	first := w.Inbox()
	require.Len(t, first, 1)
	require.Empty(t, w.Inbox())
	// The run ended before it could be delivered: the next one has it.
	_ = w.Record(trajectory.Event{Body: trajectory.RunStart{Continued: true}})
	require.Empty(t, w.Inbox(), "not before there is something new to say it of")
	s = &story{turn: 3}
	s.does(readOf("a", "text"))
	for _, e := range s.events {
		_ = w.Record(e)
	}
	require.Len(t, w.Inbox(), 1)
}

// The state of a watch follows from the entries: cut anywhere and read back, it
// tells and stops where the uncut one does.
func TestLadderOverAResume(t *testing.T) {
	s := begin(turn.User("go"))
	for range 3 {
		s.does(readOf("a", "text"))
	}
	w := progress.NewWatch(progress.WatchOptions{})
	_, _ = driven(w, s.events)
	s.told(turn.Text(w.Inbox()[0]))
	for range 3 {
		s.does(readOf("a", "text"))
	}
	for cut := 1; cut < len(s.events); cut++ {
		w := progress.NewWatch(progress.WatchOptions{})
		for _, e := range s.events[:cut] {
			_ = w.Record(e)
		}
		_ = w.Record(trajectory.Event{Body: trajectory.RunStart{Continued: true}})
		rest := &story{turn: s.turn, events: s.events[cut:]}
		stop, _ := driven(w, rest.events)
		var stuck *progress.StuckError
		require.ErrorAs(t, stop, &stuck, "cut at %d", cut)
		require.Equal(t, 6, stuck.Turns, "cut at %d", cut)
	}
}

// A run that was stopped can be continued: it is stopped by what it does next.
func TestStoppedRunCanGoOn(t *testing.T) {
	stuckRun := func() (*story, *progress.Watch) {
		s := begin(turn.User("go"))
		for range 6 {
			s.does(readOf("a", "text"))
		}
		w := progress.NewWatch(progress.WatchOptions{})
		stop, _ := driven(w, s.events)
		require.Error(t, stop)
		return &story{turn: s.turn, usage: s.usage}, w
	}
	s, w := stuckRun()
	stop, _ := driven(w, s.run().does(readOf("b", "other")).events)
	require.NoError(t, stop)

	s, w = stuckRun()
	stop, _ = driven(w, s.run().does(readOf("a", "text")).events)
	require.Error(t, stop)

	// With a new word from a person the count begins again.
	s, w = stuckRun()
	s.run(turn.User("then read b"))
	for range 5 {
		s.does(readOf("a", "text"))
	}
	stop, _ = driven(w, s.events)
	require.NoError(t, stop)
	stop, _ = driven(w, (&story{turn: s.turn}).does(readOf("a", "text")).events)
	require.Error(t, stop)
}

func TestSinceResumeAndSinceStart(t *testing.T) {
	s := begin(turn.User("go")).does(editOf("a", "1"), editOf("b", "1"), command("ls", "")).plans("done", "done", "pending")
	w := progress.NewWatch(progress.WatchOptions{})
	for _, e := range s.events {
		_ = w.Record(e)
	}
	resumed, all := w.Progress()
	require.Equal(t, progress.RunProgress{Edits: 2, Files: 2, Commands: 1, StepsDone: 2, StepsTotal: 3}, all)
	require.Equal(t, all, resumed)

	_ = w.Record(trajectory.Event{Body: trajectory.RunStart{Continued: true, Cwd: "/code"}})
	resumed, _ = w.Progress()
	require.False(t, progress.IsGettingSomewhere(resumed))
	s = (&story{turn: 1}).does(editOf("./b", "2"), editOf("c", "1"), readOf("d", "")).does(editOf("b", "3")).plans("done", "done", "done")
	for _, e := range s.events {
		_ = w.Record(e)
	}
	resumed, all = w.Progress()
	require.Equal(t, progress.RunProgress{Edits: 5, Files: 3, Commands: 1, Reads: 1, StepsDone: 3, StepsTotal: 3}, all)
	require.Equal(t, progress.RunProgress{Edits: 3, Files: 2, Reads: 1, StepsDone: 1, StepsTotal: 3}, resumed)
}

func TestWatchIsSafeForConcurrentUse(t *testing.T) {
	var mu sync.Mutex
	var notices int
	var w *progress.Watch
	w = progress.NewWatch(progress.WatchOptions{NoticeAt: 1000, Notice: func(string) {
		mu.Lock()
		notices++
		mu.Unlock()
		w.Progress() // a host may ask from inside
	}})
	require.NoError(t, w.ShouldStop(trajectory.State{}))
	require.NoError(t, w.Record(trajectory.Event{Body: trajectory.RunStart{}})) // the run above begins first
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			s := costly(1000).does(editOf("a", fmt.Sprint(g))).does(readOf("b", "x"))
			for _, e := range s.events {
				if g > 0 {
					e.Agent = fmt.Sprintf("1.c%d", g)
				}
				_ = w.Record(e)
				_ = w.ShouldStop(trajectory.State{})
				w.Inbox()
				w.Spend()
			}
		})
	}
	wg.Wait()
	require.GreaterOrEqual(t, notices, 1)
	_, all := w.Progress()
	require.Equal(t, 1, all.Edits)
	require.Equal(t, 7, all.Agents)
}

func TestStuckErrorIsTyped(t *testing.T) {
	var err error = &progress.StuckError{What: progress.SameText, Detail: `"x"`, Times: 6, Turns: 6, Since: 2}
	var stuck *progress.StuckError
	require.True(t, errors.As(fmt.Errorf("the run: %w", err), &stuck))
	require.EqualError(t, err, `stuck: the same text, 6 times since turn 2: "x"`)
}
