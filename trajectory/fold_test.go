package trajectory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// The entries of the tests, written as they are read aloud.

func entry(b trajectory.Body) trajectory.Event { return trajectory.Event{Body: b} }

func child(agent string, b trajectory.Body) trajectory.Event {
	return trajectory.Event{Agent: agent, Body: b}
}

func begin(messages ...turn.TranscriptMessage) trajectory.Event {
	return entry(trajectory.RunStart{Messages: messages})
}

func ended(reason turn.StopReason) trajectory.Event { return entry(trajectory.RunEnd{Reason: reason}) }

func calling(ids ...string) turn.TranscriptMessage {
	calls := make([]turn.Call, len(ids))
	for i, id := range ids {
		calls[i] = turn.Call{ID: id, Name: "tool_" + id, Arguments: "{}"}
	}
	return turn.ReplayForm(turn.Assistant("", calls...))
}

func said(text string) turn.TranscriptMessage { return turn.ReplayForm(turn.Assistant(text)) }

func replied(m turn.TranscriptMessage) trajectory.Event {
	return entry(trajectory.Message{Message: m, Turn: &trajectory.Turn{
		Usage: turn.Usage{InputTokens: 100, OutputTokens: 10}, Timings: turn.Timings{Generation: time.Second}}})
}

func arrived(m turn.TranscriptMessage) trajectory.Event {
	return entry(trajectory.Message{Message: m})
}

func call(id string) turn.Call { return turn.Call{ID: id, Name: "tool_" + id, Arguments: "{}"} }

func started(turn int, id string) trajectory.Event {
	return entry(trajectory.CallStart{Call: call(id), Turn: turn})
}

func finished(in int, id string) trajectory.Event {
	return entry(trajectory.CallEnd{Call: call(id), Turn: in, Status: trajectory.OK, Duration: time.Millisecond, Message: turn.ToolResult(id, "did "+id)})
}

// refused is the end of a call that never started.
func refused(in int, id string) trajectory.Event {
	return entry(trajectory.CallEnd{Call: call(id), Turn: in, Status: trajectory.NotStarted, Message: turn.ToolResult(id, "not "+id)})
}

func suspended(turn int, id string, wait trajectory.Wait) trajectory.Event {
	return entry(trajectory.Suspend{Call: call(id), Turn: turn, Suspension: trajectory.Suspension{For: wait}, Duration: time.Millisecond})
}

func foldFrom(messages []turn.TranscriptMessage, s trajectory.State) *trajectory.Fold {
	f := new(trajectory.Fold)
	f.Resume(messages, s)
	return f
}

func resumed(turn int, id string, kind trajectory.ReplyKind) trajectory.Event {
	return entry(trajectory.CallStart{Call: call(id), Turn: turn, Approved: kind == trajectory.ReplyApprove, Reply: &trajectory.Reply{Kind: kind}})
}

// told is a transcript in short: the roles' first letters, calls in brackets,
// results by their text.
func told(messages []turn.TranscriptMessage) string {
	words := make([]string, len(messages))
	for i, m := range messages {
		words[i] = turn.Role(m)[:1]
		if calls := turn.Calls(m); calls != nil {
			ids := make([]string, len(calls))
			for j, c := range calls {
				ids[j] = c.ID
			}
			words[i] += "(" + strings.Join(ids, ",") + ")"
		}
		if m.OfTool != nil {
			words[i] = "[" + strings.Replace(turn.Text(m), trajectory.LostResult, "lost "+m.OfTool.ToolCallID, 1) + "]"
		}
	}
	return strings.Join(words, " ")
}

// known is the open calls in short.
func known(s trajectory.State) string {
	var words []string
	for _, c := range s.Open {
		word := fmt.Sprintf("%d.%s", c.Turn, c.ID)
		for i, is := range []bool{c.Started, c.Imported, c.Cut, c.Waiting()} {
			if is {
				word += []string{"!", "?", "✂", "…"}[i]
			}
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestFold(t *testing.T) {
	cut := entry(trajectory.Message{Message: calling("x"), Turn: &trajectory.Turn{Finish: "length"}})
	for name, c := range map[string]struct {
		events     []trajectory.Event
		transcript string
		open       string
		iterations int
		ended      bool
		errs       string
	}{
		"nothing":               {nil, "", "", 0, false, ""},
		"a question":            {[]trajectory.Event{begin(turn.System("s"), turn.User("u"))}, "s u", "", 0, false, ""},
		"an answer":             {[]trajectory.Event{begin(turn.User("u")), replied(said("a")), ended(turn.Done)}, "u a", "", 1, true, ""},
		"a batch":               {[]trajectory.Event{begin(turn.User("u")), replied(calling("x", "y")), started(1, "x"), started(1, "y"), finished(1, "x"), finished(1, "y"), replied(said("a"))}, "u a(x,y) [did x] [did y] a", "", 2, false, ""},
		"ends out of order":     {[]trajectory.Event{begin(turn.User("u")), replied(calling("x", "y", "z")), finished(1, "z"), finished(1, "x"), finished(1, "y")}, "u a(x,y,z) [did x] [did y] [did z]", "", 1, false, ""},
		"half a batch":          {[]trajectory.Event{begin(turn.User("u")), replied(calling("x", "y", "z")), started(1, "x"), started(1, "y"), finished(1, "y")}, "u a(x,y,z) [did y]", "1.x! 1.z", 1, false, ""},
		"an id again":           {[]trajectory.Event{replied(calling("x")), finished(1, "x"), replied(calling("x")), started(2, "x")}, "a(x) [did x] a(x)", "2.x!", 2, false, ""},
		"a cut reply":           {[]trajectory.Event{cut}, "a(x)", "1.x✂", 1, false, ""},
		"an Inbox message":      {[]trajectory.Event{begin(turn.User("u")), replied(said("a")), arrived(turn.User("v"))}, "u a u", "", 1, false, ""},
		"compaction":            {[]trajectory.Event{begin(turn.System("s"), turn.User("u")), replied(calling("x")), finished(1, "x"), entry(trajectory.Compact{Head: turn.Transcript{turn.System("s"), turn.User("summary")}, Drop: 4}), replied(said("a"))}, "s u a", "", 2, false, ""},
		"entries of no account": {[]trajectory.Event{entry(trajectory.Title{Title: "t"}), entry(trajectory.Custom{Name: "x.a.b"})}, "", "", 0, false, ""},

		"suspended for a reply": {[]trajectory.Event{replied(calling("x", "y")), started(1, "x"), suspended(1, "x", trajectory.ForReply), finished(1, "y"), ended(turn.WaitingForReply)}, "a(x,y) [did y]", "1.x!…", 1, false, ""},
		"resumed with a reply":  {[]trajectory.Event{replied(calling("x", "y")), started(1, "x"), suspended(1, "x", trajectory.ForReply), finished(1, "y"), ended(turn.WaitingForReply), begin(), resumed(1, "x", trajectory.ReplyAnswer)}, "a(x,y) [did y]", "1.x!", 1, false, ""},
		"resumed and ended":     {[]trajectory.Event{replied(calling("x", "y")), started(1, "x"), suspended(1, "x", trajectory.ForReply), finished(1, "y"), ended(turn.WaitingForReply), begin(), resumed(1, "x", trajectory.ReplyAnswer), finished(1, "x")}, "a(x,y) [did x] [did y]", "", 1, false, ""},
		"suspended again":       {[]trajectory.Event{replied(calling("x")), started(1, "x"), suspended(1, "x", trajectory.ForReply), resumed(1, "x", trajectory.ReplyAnswer), suspended(1, "x", trajectory.ForTime), ended(turn.ResumingLater)}, "a(x)", "1.x!…", 1, false, ""},
		"waits for approval":    {[]trajectory.Event{replied(calling("x")), suspended(1, "x", trajectory.ForApproval)}, "a(x)", "1.x…", 1, false, ""},

		"calls of unknown origin": {[]trajectory.Event{begin(turn.User("u"), calling("x", "y"), turn.ToolResult("y", "did y"))}, "u a(x,y) [did y]", "0.x?", 0, false, ""},
		"and they end":            {[]trajectory.Event{begin(turn.User("u"), calling("x", "y"), turn.ToolResult("y", "did y")), finished(0, "x"), replied(said("a"))}, "u a(x,y) [did x] [did y] a", "", 1, false, ""},
		"imported out of order":   {[]trajectory.Event{begin(calling("x", "y"), turn.ToolResult("y", "did y"), turn.ToolResult("x", "did x"))}, "a(x,y) [did x] [did y]", "", 0, false, ""},

		"a run after a run":    {[]trajectory.Event{begin(turn.User("u")), replied(said("a")), ended(turn.Done), begin(turn.User("v")), replied(said("b"))}, "u a u a", "", 1, false, ""},
		"a run after a kill":   {[]trajectory.Event{begin(turn.User("u")), replied(calling("x")), finished(1, "x"), begin(), replied(said("b"))}, "u a(x) [did x] a", "", 2, false, ""},
		"a run after a pause":  {[]trajectory.Event{replied(calling("x")), suspended(1, "x", trajectory.ForReply), ended(turn.WaitingForReply), begin(), finished(1, "x"), replied(said("b"))}, "a(x) [did x] a", "", 2, false, ""},
		"a run after an error": {[]trajectory.Event{begin(turn.User("u")), replied(calling("x")), finished(1, "x"), ended(""), begin()}, "u a(x) [did x]", "", 0, false, ""},

		// What does not fit is reported, and what there is stays sound.
		"a result lost":             {[]trajectory.Event{replied(calling("x", "y")), finished(1, "y"), replied(said("a"))}, "a(x,y) [lost x] [did y] a", "", 2, false, `a message while call "x" has no result`},
		"all results lost":          {[]trajectory.Event{replied(calling("x", "y")), arrived(turn.User("u"))}, "a(x,y) [lost x] [lost y] u", "", 1, false, `a message while call "x" has no result`},
		"an end of no call":         {[]trajectory.Event{begin(turn.User("u")), finished(0, "x")}, "u", "", 0, false, `call "x" ended, which is no open call`},
		"an end of another turn":    {[]trajectory.Event{replied(calling("x")), finished(2, "x")}, "a(x)", "1.x", 1, false, `call "x" ended, which is no open call`},
		"a second end":              {[]trajectory.Event{replied(calling("x")), finished(1, "x"), finished(1, "x")}, "a(x) [did x]", "", 1, false, `call "x" ended, which is no open call`},
		"a start of no call":        {[]trajectory.Event{started(1, "x")}, "", "", 0, false, `call "x" started, which is no open call`},
		"a pause of no call":        {[]trajectory.Event{suspended(1, "x", trajectory.ForReply)}, "", "", 0, false, `call "x" suspended, which is no open call`},
		"a result of no call":       {[]trajectory.Event{begin(turn.User("u"), turn.ToolResult("x", "did x"))}, "u", "", 0, false, `a result for "x", which is no open call`},
		"a message without a role":  {[]trajectory.Event{begin(turn.User("u"), turn.TranscriptMessage{}, turn.User("v"))}, "u u", "", 0, false, "a message without a role"},
		"an id twice":               {[]trajectory.Event{begin(turn.User("u"), twice()), replied(said("a"))}, "u a", "", 1, false, `a message that calls "x" twice`},
		"an end without its result": {[]trajectory.Event{replied(calling("x")), started(1, "x"), entry(trajectory.CallEnd{Call: call("x"), Turn: 1, Status: trajectory.OK})}, "a(x) [lost x]", "", 1, false, "that is not its result"},
		"an end with another's":     {[]trajectory.Event{replied(calling("x", "y")), entry(trajectory.CallEnd{Call: call("x"), Turn: 1, Message: turn.ToolResult("y", "did y")})}, "a(x,y) [lost x]", "1.y", 1, false, "that is not its result"},

		"compaction of too much":          {[]trajectory.Event{begin(turn.User("u")), entry(trajectory.Compact{Drop: 2})}, "u", "", 0, false, "a compaction of 2 messages, of 1"},
		"compaction of less than nothing": {[]trajectory.Event{begin(turn.User("u")), entry(trajectory.Compact{Drop: -1})}, "u", "", 0, false, "a compaction of -1 messages, of 1"},
		"compaction over open calls":      {[]trajectory.Event{replied(calling("x")), entry(trajectory.Compact{Drop: 1})}, "a(x)", "1.x", 1, false, "a compaction while calls are open"},
		"compaction inside a batch":       {[]trajectory.Event{replied(calling("x")), finished(1, "x"), entry(trajectory.Compact{Head: turn.Transcript{turn.User("summary")}, Drop: 1})}, "a(x) [did x]", "", 1, false, "breaks the transcript: message 1: orphan result"},
		"compaction that opens a call":    {[]trajectory.Event{begin(turn.User("u")), entry(trajectory.Compact{Head: turn.Transcript{calling("x")}, Drop: 1})}, "u", "", 0, false, "ends with open calls"},
	} {
		t.Run(name, func(t *testing.T) {
			var f trajectory.Fold
			var errs []string
			for _, e := range c.events {
				if err := f.Add(e); err != nil {
					errs = append(errs, err.Error())
				}
				require.NoError(t, turn.Check(f.Messages()))
			}
			s := f.State()
			require.Equal(t, c.transcript, told(f.Messages()))
			require.Equal(t, c.open, known(s))
			require.Equal(t, c.iterations, s.Iterations)
			require.Equal(t, c.ended, s.Ended)
			if c.errs == "" {
				require.Empty(t, errs)
			} else {
				require.Len(t, errs, 1)
				require.ErrorContains(t, fmt.Errorf("%s", errs[0]), c.errs)
			}
		})
	}
}

// twice is a message that only a damaged record holds.
func twice() turn.TranscriptMessage {
	m, err := turn.ParseMessage([]byte(`{"role":"assistant","tool_calls":[{"id":"x"},{"id":"y"},{"id":"x"}]}`))
	if err != nil {
		panic(err)
	}
	return m
}

func add(t *testing.T, f *trajectory.Fold, events ...trajectory.Event) {
	t.Helper()
	for _, e := range events {
		require.NoError(t, f.Add(e))
	}
}

func TestFoldCounts(t *testing.T) {
	cost := 3 * turn.Cent
	var f trajectory.Fold
	add(t, &f, begin(turn.User("u")), replied(calling("x", "y", "z", "w")),
		started(1, "x"), started(1, "y"), finished(1, "y"), refused(1, "z"),
		suspended(1, "w", trajectory.ForApproval), refused(1, "w"),
		suspended(1, "x", trajectory.ForReply), resumed(1, "x", trajectory.ReplyAnswer), finished(1, "x"),
		entry(trajectory.Spend{AuxiliarySpend: stats.AuxiliarySpend{Usage: turn.Usage{InputTokens: 7, Cost: &cost}, ModelTime: time.Minute}}),
		entry(trajectory.Compact{Head: turn.Transcript{turn.User("summary")}, Drop: 6, Spend: stats.AuxiliarySpend{Usage: turn.Usage{OutputTokens: 5}}}),
		entry(trajectory.Compact{Drop: 0}))
	require.Equal(t, stats.RunStats{
		Turns: 1, ToolCalls: 2, InputTokens: 107, OutputTokens: 15, Cost: cost, Unpriced: 2, ModelTime: time.Minute + time.Second,
		ToolTime:          3 * time.Millisecond,
		ToolTimeBreakdown: map[string]time.Duration{"tool_x": 2 * time.Millisecond, "tool_y": time.Millisecond},
	}, f.State().Stats, "what never ran adds nothing, what was resumed counts once")
	require.Zero(t, f.State().LastUsage, "what a turn reported is wrong after a compaction")
}

func TestFoldKeepsThePlan(t *testing.T) {
	var f trajectory.Fold
	require.Nil(t, f.State().Plan)
	steps := []plan.Step{{Text: "one", State: plan.Pending}}
	add(t, &f, entry(trajectory.PlanChange{Plan: plan.Plan{Steps: steps}}))
	first := f.State()
	steps[0].Text = "changed by the tool"
	require.Equal(t, "one", f.State().Plan.Steps[0].Text)
	add(t, &f, entry(trajectory.PlanChange{Plan: plan.Plan{}}))
	require.Empty(t, f.State().Plan.Steps)
	require.NotNil(t, f.State().Plan)
	require.Equal(t, "one", first.Plan.Steps[0].Text)
}

// While a call is open, what its child runs spend is known from their entries;
// when it ends, its own entry says it, and is the one that counts.
func TestFoldOfChildRuns(t *testing.T) {
	usage := &trajectory.Turn{Usage: turn.Usage{InputTokens: 50, OutputTokens: 5}, Timings: turn.Timings{Generation: time.Second}}
	childEvents := []trajectory.Body{
		trajectory.RunStart{Messages: turn.Transcript{turn.User("do")}},
		trajectory.Message{Message: calling("q", "r", "s"), Turn: usage},
		trajectory.CallStart{Call: call("q"), Turn: 1},
		trajectory.CallEnd{Call: call("q"), Turn: 1, Status: trajectory.OK, Duration: 2 * time.Millisecond, Message: turn.ToolResult("q", "")},
		trajectory.CallEnd{Call: call("r"), Turn: 1, Status: trajectory.UnknownTool, Message: turn.ToolResult("r", "")},
		trajectory.Suspend{Call: call("s"), Turn: 1, Suspension: trajectory.Suspension{For: trajectory.ForApproval}},
		trajectory.CallStart{Call: call("s"), Turn: 1, Approved: true, Reply: &trajectory.Reply{Kind: trajectory.ReplyApprove}},
		trajectory.Suspend{Call: call("s"), Turn: 1, Suspension: trajectory.Suspension{For: trajectory.ForReply}, Duration: time.Millisecond},
		trajectory.CallStart{Call: call("s"), Turn: 1, Again: true, Reply: &trajectory.Reply{Kind: trajectory.ReplyAnswer}},
		trajectory.CallEnd{Call: call("s"), Turn: 1, Status: trajectory.OK, Duration: time.Millisecond, Message: turn.ToolResult("s", "")},
		trajectory.Spend{AuxiliarySpend: stats.AuxiliarySpend{Usage: turn.Usage{InputTokens: 9}}},
		trajectory.Compact{Head: turn.Transcript{turn.User("summary")}, Drop: 5, Spend: stats.AuxiliarySpend{Usage: turn.Usage{InputTokens: 1}}},
		trajectory.Compact{},
		trajectory.PlanChange{},
		trajectory.RunEnd{Reason: turn.Done},
	}
	var own trajectory.Fold // the child's
	var f trajectory.Fold
	add(t, &f, begin(turn.User("u")), replied(calling("x", "y/1")), started(1, "x"), started(1, "y/1"))
	counts := func(b trajectory.Body) {
		var counted stats.RunStats
		if c := f.State().Open[0].Children; c != nil {
			counted = *c
		}
		require.Equal(t, own.Spent(), counted, "of the child and of its own child, as their own folds count: %s", b.Type())
	}
	for _, b := range childEvents {
		if end, ok := b.(trajectory.CallEnd); ok && end.ID == "q" {
			var grandchild trajectory.Fold
			for _, below := range childEvents {
				add(t, &grandchild, entry(below))
				add(t, &own, child("1.q", below))
				add(t, &f, child("1.x/1.q", below))
				counts(below)
			}
			end.Children = stats.AccumulateRun(grandchild.Spent(), stats.RunStats{Turns: 1, InputTokens: 7}) // and one that ran elsewhere
			b = end
		}
		add(t, &own, entry(b))
		add(t, &f, child("1.x", b), child("2.x", b), child("1.z", b))
		counts(b)
	}
	add(t, &f, child("1.y%2F1", trajectory.RunStart{}), child("1.y%2F1", trajectory.RunStart{Continued: true}), child("1.y%2F1", trajectory.RunStart{}))
	s := f.State()
	inside := own.Spent()
	require.Equal(t, []int{1, 2}, []int{s.Open[0].Agents, s.Open[1].Agents}, "children only, and each once")
	require.Zero(t, s.Children)
	require.Equal(t, stats.AccumulateRun(s.Stats, inside), s.Total())
	require.Equal(t, "u a(x,y/1)", told(f.Messages()), "a child's messages are not ours")

	spent := stats.RunStats{Turns: 3, InputTokens: 1000}
	add(t, &f, entry(trajectory.CallEnd{Call: call("x"), Turn: 1, Status: trajectory.OK, Message: turn.ToolResult("x", "did x"), Children: spent, Agents: 1}))
	s = f.State()
	require.Equal(t, spent, s.Children)
	require.Equal(t, stats.AccumulateRun(s.Stats, spent), s.Total())
	add(t, &f, child("1.x", childEvents[1]))
	require.Equal(t, s, f.State(), "what comes late counts no more")

	require.Equal(t, s.Total(), f.Spent())
	require.Equal(t, stats.EmptyRunStats(), foldFrom(f.Messages(), s).Spent())
}

// A child that waits for its own child has spent what that spent: it counts before
// the call ends, and once.
func TestSpentWhileAChildWaits(t *testing.T) {
	spent := stats.RunStats{Turns: 2, InputTokens: 20, ToolTimeBreakdown: map[string]time.Duration{"look": 5}}
	more := stats.AccumulateRun(spent, stats.RunStats{Turns: 1, ToolTimeBreakdown: map[string]time.Duration{"look": 2, "x": 1}})
	var f trajectory.Fold
	add(t, &f, replied(calling("x")), started(1, "x"),
		entry(trajectory.Suspend{Call: call("x"), Turn: 1, Suspension: trajectory.Suspension{For: trajectory.ForReply}, Children: spent}))
	require.EqualValues(t, 3, f.Spent().Turns)
	later := foldFrom(f.Messages(), f.State())
	add(t, later, entry(trajectory.CallStart{Call: call("x"), Turn: 1, Again: true}),
		entry(trajectory.CallEnd{Call: call("x"), Turn: 1, Status: trajectory.OK, Message: turn.ToolResult("x", ""), Children: more}))
	require.EqualValues(t, 1, later.Spent().Turns)
	require.Zero(t, later.Spent().InputTokens)
	require.Equal(t, time.Duration(2), later.Spent().ToolTimeBreakdown["look"])
}

func TestSuspensionCarriesChildren(t *testing.T) {
	spent := stats.RunStats{Turns: 2, InputTokens: 20}
	var f trajectory.Fold
	add(t, &f, replied(calling("x")), started(1, "x"), child("1.x", trajectory.RunStart{}),
		child("1.x", trajectory.Message{Message: said("a"), Turn: &trajectory.Turn{Usage: turn.Usage{InputTokens: 20}}}),
		entry(trajectory.Suspend{Call: call("x"), Turn: 1, Suspension: trajectory.Suspension{For: trajectory.ForReply}, Children: spent, Agents: 1}))
	require.Equal(t, spent, *f.State().Open[0].Children)
	require.Equal(t, 1, f.State().Open[0].Agents)
	require.Equal(t, int64(3), f.State().Total().Turns)
}

func TestChildrenOfALostCallAreCounted(t *testing.T) {
	spent := child("1.x", trajectory.Message{Message: said("a"), Turn: &trajectory.Turn{Usage: turn.Usage{InputTokens: 20}}})
	for name, next := range map[string]trajectory.Event{
		"a message in its place":   arrived(turn.User("u")),
		"a result without its end": arrived(turn.ToolResult("x", "did x")),
	} {
		var f trajectory.Fold
		add(t, &f, replied(calling("x")), started(1, "x"), spent)
		before := f.State().Total()
		_ = f.Add(next)
		require.Empty(t, f.State().Open, name)
		require.Equal(t, before, f.State().Total(), name)
	}
}

func TestAFoldTakesAnyState(t *testing.T) {
	messages := []turn.TranscriptMessage{turn.User("u"), calling("x", "y"), turn.ToolResult("y", "did y")}
	for _, recorded := range []int{-1, 0, 1, 2, 3, 4, 1 << 40} {
		f := new(trajectory.Fold)
		f.Resume(messages, trajectory.State{Recorded: recorded, Open: []trajectory.OpenCall{{Call: call("z")}, {}}})
		require.Equal(t, min(max(recorded, 0), 3), f.State().Recorded)
		require.NoError(t, turn.Check(f.Messages()))
	}
	f := new(trajectory.Fold)
	f.Resume(messages[:2], trajectory.State{Recorded: 2})
	add(t, f, finished(0, "y"), finished(0, "x"))
	require.Equal(t, "u a(x,y) [did x] [did y]", told(f.Messages()))
	require.Equal(t, "u a(x,y) [did y]", told(messages), "the caller's slice is not written to")
}

func TestTotalAndWaiting(t *testing.T) {
	s := trajectory.State{
		Stats: stats.RunStats{Turns: 1}, Children: stats.RunStats{Turns: 10},
		Open: []trajectory.OpenCall{
			{Call: call("x"), Children: &stats.RunStats{Turns: 100}},
			{Call: call("y"), Suspension: &trajectory.Suspension{}, Children: &stats.RunStats{Turns: 1000}},
			{Call: call("z"), Suspension: &trajectory.Suspension{}, Reply: &trajectory.Reply{}},
		},
	}
	require.Equal(t, int64(1111), s.Total().Turns)
	require.Equal(t, s.Open[1:2], s.Waiting())
	require.Nil(t, trajectory.State{}.Waiting())
}

// The loop adds an entry for all that happens. One that nobody records costs nothing.
func TestAddLeavesEntriesOffTheHeap(t *testing.T) {
	var f trajectory.Fold
	add(t, &f, replied(calling("x")))
	start := trajectory.CallStart{Call: call("x"), Turn: 1}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_ = f.Add(trajectory.Event{Body: start})
		_ = f.Add(trajectory.Event{Body: trajectory.RunEnd{Reason: turn.Done, Cause: start.ID}})
	}))
}
