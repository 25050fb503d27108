package progress_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/progress"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

func drawAct(t *rapid.T) act {
	a := act{
		tool: rapid.SampledFrom([]string{"read", "edit", "bash", "job", "create_ticket", "delegate", "str_replace_editor"}).Draw(t, "tool"),
		kind: rapid.SampledFrom([]trajectory.Kind{"", trajectory.KindRead, trajectory.KindEdit, trajectory.KindExecute, trajectory.KindFetch,
			trajectory.KindThink, trajectory.KindOther}).Draw(t, "kind"),
		status: rapid.SampledFrom([]trajectory.Status{"", "", "", trajectory.Failed, trajectory.Denied, trajectory.BadArguments,
			trajectory.CutOff, trajectory.Unknown}).Draw(t, "status"),
		result:    rapid.SampledFrom([]string{"", "x", "y", "took 3s", "no cde", "line 1", "line 2: no cde"}).Draw(t, "result"),
		arguments: rapid.SampledFrom([]string{`{}`, `{"a":1,"b":"cde"}`, `{"b":"cde","a":1.0}`, `{"command":"view"}`, `{"a":2,"b":["cde"]}`, `no`}).Draw(t, "arguments"),
		polls:     rapid.IntRange(0, 5).Draw(t, "polls") == 0,
		agents:    max(0, rapid.IntRange(-6, 3).Draw(t, "agents")),
	}
	for range rapid.IntRange(0, 2).Draw(t, "paths") {
		a.paths = append(a.paths, rapid.SampledFrom([]string{"a", "./a", "/code/a", "b", `sub\c`, "sub/c"}).Draw(t, "path"))
	}
	if a.agents > 0 {
		a.children = stats.RunStats{Turns: 2, InputTokens: int64(100 * a.agents), OutputTokens: 5}
	}
	return a
}

func drawRun(t *rapid.T) *story {
	s := begin(turn.User("go"))
	for range rapid.IntRange(0, 12).Draw(t, "turns") {
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0:
			s.says(rapid.SampledFrom([]string{"", "ok", "so"}).Draw(t, "text")).told("go on")
		case 1:
			s.run()
		case 2:
			var states []plan.State
			for range rapid.IntRange(0, 3).Draw(t, "steps") {
				states = append(states, rapid.SampledFrom([]plan.State{plan.Pending, plan.Done, plan.Dropped}).Draw(t, "state"))
			}
			s.plans(states...)
		default:
			var acts []act
			for range rapid.IntRange(1, 4).Draw(t, "calls") {
				acts = append(acts, drawAct(t))
			}
			s.does(acts...)
			for i := range acts {
				if rapid.IntRange(0, 3).Draw(t, "child") == 0 {
					s.child(i, trajectory.RunStart{})
					s.child(i, trajectory.Message{Message: turn.ReplayForm(turn.Assistant("x")), Turn: &trajectory.Turn{Usage: turn.Usage{InputTokens: 7}}})
				}
			}
		}
	}
	return s
}

// shuffled mixes the entries of each turn, those of one run and one plan apart.
func shuffled(events []trajectory.Event, r *rand.Rand) []trajectory.Event {
	out := slices.Clone(events)
	from := 0
	mix := func(to int) {
		part := out[from:to]
		r.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
	}
	for i, e := range out {
		m, isMessage := e.Body.(trajectory.Message)
		_, isRun := e.Body.(trajectory.RunStart)
		_, isPlan := e.Body.(trajectory.PlanChange)
		if e.Agent == "" && (isRun || isPlan || isMessage && m.Turn != nil) {
			mix(i)
			from = i + 1
		}
	}
	mix(len(out))
	return out
}

func TestOrderInsideATurnChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawRun(t)
		other := shuffled(s.events, rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed"))))
		require.Equal(t, progress.SummariseProgress(s.events, nil, 0), progress.SummariseProgress(other, nil, 0))
		require.Equal(t, progress.DetectStuck(s.events, 2), progress.DetectStuck(other, 2))
	})
}

func TestAPrefixNeverCountsMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawRun(t)
		// A plan may be replaced by a shorter one, so steps are counted of one plan.
		p := plan.Plan{Steps: []plan.Step{{Text: "a", State: plan.Done}, {Text: "b"}}}
		whole := fields(t, progress.SummariseProgress(s.events, &p, 0))
		for n := range s.events {
			for name, count := range fields(t, progress.SummariseProgress(s.events[:n], &p, 0)) {
				require.LessOrEqual(t, count, whole[name], "%s of the first %d", name, n)
			}
		}
	})
}

func fields(t require.TestingT, p progress.RunProgress) (m map[string]int) {
	data, err := json.Marshal(p)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &m))
	return m
}

// A watch that is asked all the time, one that only reads the record, and the
// pure functions agree.
func TestReplayedEqualsLive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawRun(t)
		live, replayed := progress.NewWatch(progress.WatchOptions{StuckAt: 2}), progress.NewWatch(progress.WatchOptions{StuckAt: 2})
		for _, e := range s.events {
			_ = live.Record(e)
			_ = live.ShouldStop(trajectory.State{})
			_, _ = live.Progress()
		}
		for _, e := range s.events {
			_ = replayed.Record(e)
		}
		liveNow, liveAll := live.Progress()
		now, all := replayed.Progress()
		require.Equal(t, liveNow, now)
		require.Equal(t, liveAll, all)
		require.Equal(t, progress.SummariseProgress(s.events, nil, 0), all)
		require.Equal(t, live.Spend(), replayed.Spend())
		require.Equal(t, live.ShouldStop(trajectory.State{}), replayed.ShouldStop(trajectory.State{}))
		require.Equal(t, live.Inbox(), replayed.Inbox())
	})
}

// What the watch adds up is what the state of the run says.
func TestSpendOfWatchIsThatOfTheState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawRun(t)
		var f trajectory.Fold
		w := progress.NewWatch(progress.WatchOptions{})
		// Entries in the order of a loop: a child's before the end of its call.
		for _, e := range s.events {
			if e.Agent != "" {
				continue
			}
			_ = f.Add(e)
			_ = w.Record(e)
			want := progress.Spend(f.State(), w.Spend().Model)
			require.Equal(t, want, w.Spend())
		}
	})
}

// No text of a model or a tool can break a fingerprint.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{}`, ``, `{"a":[1,2.0,{"b":null}]}`, `"{\"a\":1}"`, `{"a":1,"a":2}`, `{"n":1e400}`, "\xff", `[[[`, `{"a":"\ud800"}`} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, arguments, result string) {
		s := begin()
		for range 2 {
			s.does(act{tool: "x", arguments: arguments, result: result}, act{tool: "y", arguments: arguments, result: result, status: trajectory.Failed})
		}
		stuck := detected(s.events, 2)
		require.NotNil(t, stuck)
		require.NotContains(t, stuck.Error(), "\n")
	})
}

func TestKeyOrderIsNoDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOf(rapid.String(), rapid.OneOf(rapid.Int64().AsAny(), rapid.Float64Range(-1e9, 1e9).AsAny(), rapid.String().AsAny(), rapid.Bool().AsAny(),
			rapid.SliceOf(rapid.Int()).AsAny(), rapid.MapOf(rapid.String(), rapid.Int()).AsAny())).Draw(t, "arguments")
		sorted, err := json.Marshal(m)
		require.NoError(t, err)
		names := rapid.Permutation(keys(m)).Draw(t, "order")
		text := "{ "
		for i, name := range names {
			key, _ := json.Marshal(name)
			value, _ := json.MarshalIndent(m[name], "", "\t")
			if i > 0 {
				text += " , "
			}
			text += fmt.Sprintf("%s : %s", key, value)
		}
		s := begin().does(act{tool: "x", arguments: string(sorted)}).does(act{tool: "x", arguments: text + "}"})
		require.Error(t, progress.DetectStuck(s.events, 2), "%s and %s", sorted, text)
		m["another name"] = 1
		more, _ := json.Marshal(m)
		s = begin().does(act{tool: "x", arguments: string(sorted)}).does(act{tool: "x", arguments: string(more)})
		if len(names) < len(m) {
			require.NoError(t, progress.DetectStuck(s.events, 2))
		}
	})
}

func keys(m map[string]any) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
