package progress_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/progress"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

func TestSummariseProgress(t *testing.T) {
	poll := act{tool: "watch_job", kind: trajectory.KindExecute, polls: true}
	for _, c := range []struct {
		name string
		s    *story
		want progress.RunProgress
	}{
		{"nothing", &story{}, progress.RunProgress{}},
		{"one of each kind", begin().does(
			readOf("a", "1"), editOf("a", "2"), command("ls", "a"),
			act{tool: "x", kind: trajectory.KindDelete, paths: []string{"b"}}, act{tool: "x", kind: trajectory.KindMove, paths: []string{"c", "d"}},
			act{tool: "x", kind: trajectory.KindSearch}, act{tool: "x", kind: trajectory.KindFetch},
			act{tool: "x", kind: trajectory.KindThink}, act{tool: "x", kind: trajectory.KindOther}),
			progress.RunProgress{Edits: 3, Files: 4, Commands: 1, Reads: 2, Fetches: 1, Others: 1}},
		{"only what succeeded", begin().does(readOf("a", "no such file").fails(), editOf("a", "2").fails(), command("ls", "exit 1").fails(),
			act{tool: "x", kind: trajectory.KindExecute, status: trajectory.CutOff},
			act{tool: "bash", status: trajectory.Denied}, act{tool: "bash", status: trajectory.NotStarted}, act{tool: "bash", status: trajectory.Unknown}),
			progress.RunProgress{FailedOthers: 1, FailedEdits: 1, FailedCommands: 1}},
		{"a call that could not run has failed", begin().does(act{tool: "bash", status: trajectory.BadArguments}, act{tool: "no_such", status: trajectory.UnknownTool}),
			progress.RunProgress{FailedCommands: 1, FailedOthers: 1}},
		{"of a call that could not run the name tells the kind", begin().does(act{tool: "write", status: trajectory.UnknownTool},
			act{tool: "frob", status: trajectory.BadArguments}, act{tool: "read", status: trajectory.Refused}),
			progress.RunProgress{FailedEdits: 1, FailedOthers: 2}},
		{"a poll that fails is a poll", begin().does(poll.fails(), act{tool: "bash_output", status: trajectory.BadArguments}), progress.RunProgress{Polls: 2}},
		{"polling is no command", begin().does(poll).does(poll), progress.RunProgress{Polls: 2}},
		{"kinds by name", begin().does(act{tool: "Bash"}, act{tool: "mcp__files__readFile"}, act{tool: "functions.apply_patch"}, act{tool: "MultiEdit"},
			act{tool: "bash_output"}, act{tool: "write_stdin"}, act{tool: "grep"}, act{tool: "create_ticket"}, act{tool: "update_plan"}, act{tool: "WebFetch"}),
			progress.RunProgress{Commands: 1, Reads: 2, Edits: 2, Polls: 2, Others: 1, Fetches: 1}},
		{"a declared kind goes before the name", begin().does(act{tool: "bash", kind: trajectory.KindRead}), progress.RunProgress{Reads: 1}},
		{"an editor that views", begin().does(act{tool: "str_replace_based_edit_tool", arguments: `{"command":"view","path":"a"}`},
			act{tool: "str_replace_based_edit_tool", arguments: `{"command":"create","path":"a"}`}), progress.RunProgress{Reads: 1, Edits: 1}},
		{"the same file, edited twice", begin().does(editOf("a", "1")).does(editOf("./a", "2")).does(editOf("/code/a", "3")),
			progress.RunProgress{Edits: 3, Files: 1}},
		{"the latest plan; a dropped step counts in neither", begin().plans(plan.Pending, plan.Pending).plans(plan.Done, plan.Dropped, plan.InProgress),
			progress.RunProgress{StepsDone: 1, StepsTotal: 2}},
		{"the same again, with the same result", begin().does(readOf("a", "1")).does(readOf("a", "1"), readOf("b", "1")).does(readOf("b", "1")).does(readOf("b", "2")),
			progress.RunProgress{Reads: 5, Repeats: 2}},
		{"an edit in between", begin().does(readOf("a", "1")).does(editOf("b", "2")).does(readOf("a", "1")), progress.RunProgress{Reads: 2, Edits: 1, Files: 1}},
		{"a shell that writes in between", begin().does(command("make", "ok")).does(command("sed -i s/a/b/ x", "")).does(command("make", "ok")), progress.RunProgress{Commands: 3}},
		{"twice in one turn is no repetition", begin().does(readOf("a", "1"), readOf("a", "1")), progress.RunProgress{Reads: 2}},
	} {
		require.Equal(t, c.want, progress.SummariseProgress(c.s.events, nil, 0), c.name)
	}
}

func TestAgentsCountOnce(t *testing.T) {
	s := begin().does(act{tool: "delegate", agents: 2})
	require.Equal(t, progress.RunProgress{Agents: 2}, progress.SummariseProgress(s.events, nil, 0))
	require.Equal(t, 5, progress.SummariseProgress(s.events, nil, 5).Agents, "a host's own count")
	require.Equal(t, 2, progress.SummariseProgress(s.events, nil, 1).Agents)

	// The child's own entries, before the call that started it ends.
	s = begin()
	s.reply("", turn.Call{ID: "c0", Name: "delegate", Arguments: "{}"})
	s.put(trajectory.CallStart{Call: turn.Call{ID: "c0", Name: "delegate"}, Turn: 1})
	s.child(0, trajectory.RunStart{})
	s.child(0, trajectory.CallStart{Call: turn.Call{ID: "x", Name: "edit"}, Turn: 1, Kind: trajectory.KindEdit})
	s.child(0, trajectory.CallEnd{Call: turn.Call{ID: "x", Name: "edit"}, Turn: 1, Status: trajectory.OK, Paths: []string{"a"}})
	s.child(0, trajectory.RunStart{Continued: true})
	require.Equal(t, progress.RunProgress{Agents: 1}, progress.SummariseProgress(s.events, nil, 0))
	s.put(trajectory.CallEnd{Call: turn.Call{ID: "c0", Name: "delegate"}, Turn: 1, Status: trajectory.Failed, Agents: 1})
	require.Equal(t, progress.RunProgress{Agents: 1, FailedOthers: 1}, progress.SummariseProgress(s.events, nil, 0))
}

// A sub-agent may be called "write". What it wrote is its own run's.
func TestDelegatedWorkHasNoKindByName(t *testing.T) {
	for _, name := range []string{"write", "bash", "read", "web_search", "think", "wait", "research"} {
		s := begin().does(act{tool: name, agents: 1, paths: []string{"a"}})
		require.Equal(t, progress.RunProgress{Agents: 1}, progress.SummariseProgress(s.events, nil, 0), name)
		s = begin().does(act{tool: name, agents: 1, status: trajectory.Failed})
		require.Equal(t, progress.RunProgress{Agents: 1, FailedOthers: 1}, progress.SummariseProgress(s.events, nil, 0), name)
		end := s.events[len(s.events)-1] // its start was lost
		require.Equal(t, progress.RunProgress{Agents: 1, FailedOthers: 1}, progress.SummariseProgress([]trajectory.Event{end}, nil, 0), name)
	}
	s := begin().does(act{tool: "write", kind: trajectory.KindExecute, agents: 1}, act{tool: "wait", polls: true, agents: 1})
	require.Equal(t, progress.RunProgress{Agents: 2, Commands: 1, Polls: 1}, progress.SummariseProgress(s.events, nil, 0), "what is declared stands")
}

func TestGivenPlanGoesFirst(t *testing.T) {
	s := begin().plans(plan.Done)
	p := plan.Plan{Steps: []plan.Step{{Text: "a", State: plan.Done}, {Text: "b", State: plan.Done}, {Text: "c"}}}
	got := progress.SummariseProgress(s.events, &p, 0)
	require.Equal(t, progress.RunProgress{StepsDone: 2, StepsTotal: 3}, got)
	require.Zero(t, progress.SummariseProgress(s.events, &plan.Plan{}, 0).StepsDone)
}

func TestIsGettingSomewhere(t *testing.T) {
	for _, p := range []progress.RunProgress{{Edits: 1}, {Commands: 1}, {StepsDone: 1, StepsTotal: 3}, {Agents: 1}} {
		require.True(t, progress.IsGettingSomewhere(p), "%+v", p)
	}
	for _, p := range []progress.RunProgress{{}, {Reads: 100, Fetches: 3, Polls: 9, FailedCommands: 4, FailedEdits: 4, FailedOthers: 4, Others: 2, StepsTotal: 9}} {
		require.False(t, progress.IsGettingSomewhere(p), "%+v", p)
	}
}

func TestPathsAreCountedOnce(t *testing.T) {
	for _, c := range []struct {
		name, cwd string
		paths     string
		files     int
	}{
		{"relative", "/code", "a.go|./a.go|/code/a.go|sub/../a.go|.//a.go|file:///code/a.go", 1},
		{"separators", "/code", `sub/a.go|sub\a.go|.\sub\a.go|/code/sub/a.go`, 1},
		{"a URI with an escape", "/code", "file:///code/my%20file|my file", 1},
		{"outside", "/code", "../a.go|/a.go|/code/../a.go", 1},
		{"a name that begins like the folder", "/code", "/codeshop/a.go|a.go", 2},
		{"case matters", "/code", "a.go|A.go", 2},
		{"the folder itself", "/code", ".|/code|./|/code/", 1},
		{"at the root", "/", "/a|a|./a", 1},
		{"a trailing slash", "/code/", "/code/a|a", 1},
		{"no folder known", "", "a|./a|b/../a|/a", 2},
		{"a relative folder says nothing", "x", "a|./a", 1},
		{"a drive", `C:\Code`, `a.go|C:\Code\a.go|c:/code/a.go|C:\code\.\A.GO|\code\a.go|\\?\C:\Code\a.go|file:///C:/Code/a.go`, 1},
		{"another drive", `C:\Code`, `D:\Code\a.go|a.go|d:/code/A.go`, 2},
		{"a share", `\\host\share\w`, `\\host\share\w\a|a|//HOST/share/w/a|\\?\UNC\host\share\w\a`, 1},
		{"a drive without a known folder", "", `C:\a|c:/a`, 1},
		{"nothing", "/code", "", 0},
	} {
		s := &story{}
		s.put(trajectory.RunStart{Cwd: c.cwd})
		for _, p := range strings.Split(c.paths, "|") {
			s.does(act{tool: "edit", kind: trajectory.KindEdit, paths: []string{p}})
		}
		require.Equal(t, c.files, progress.SummariseProgress(s.events, nil, 0).Files, c.name)
	}
}

func TestSpend(t *testing.T) {
	cached := int64(900)
	price := 3 * turn.Cent
	var own stats.RunStats
	for range 2 {
		own = stats.AccumulateTurn(own, turn.ModelTurnResult{Usage: turn.Usage{InputTokens: 1000, OutputTokens: 10, CachedInputTokens: &cached, Cost: &price}})
	}
	child := stats.AccumulateTurn(stats.RunStats{}, turn.ModelTurnResult{Usage: turn.Usage{InputTokens: 70, OutputTokens: 7}})
	s := trajectory.State{Stats: own, Children: child, Open: []trajectory.OpenCall{{Children: &child}, {}}}
	cost := 6 * turn.Cent
	require.Equal(t, progress.RunSpend{Requests: 2, Tokens: 2020, PromptTokens: 2000, CompletionTokens: 20, CachedTokens: 1800,
		DelegatedTokens: 154, Model: "m", Cost: &cost, Unpriced: true}, progress.Spend(s, "m"))
	require.Nil(t, progress.Spend(trajectory.State{}, "").Cost, "an unknown price is not zero")
}

// While a call with child runs is open, suspended, resumed and over, the watch and
// the state of the run agree on what was spent.
func TestSpendOverASuspendedCall(t *testing.T) {
	call := turn.Call{ID: "c0", Name: "delegate", Arguments: "{}"}
	childTurn := trajectory.Message{Message: turn.ReplayForm(turn.Assistant("x")), Turn: &trajectory.Turn{Usage: turn.Usage{InputTokens: 70, OutputTokens: 7}}}
	once := stats.AccumulateTurn(stats.RunStats{}, turn.ModelTurnResult{Usage: childTurn.Turn.Usage})
	twice := stats.AccumulateRun(once, once)

	s := begin(turn.User("go"))
	s.reply("", call)
	s.put(trajectory.CallStart{Call: call, Turn: 1})
	s.child(0, trajectory.RunStart{}).child(0, childTurn)
	s.put(trajectory.Suspend{Call: call, Turn: 1, Children: once, Agents: 1, Suspension: trajectory.Suspension{For: trajectory.ForReply}})
	s.run()
	s.put(trajectory.CallStart{Call: call, Turn: 1, Reply: &trajectory.Reply{Kind: trajectory.ReplyAnswer}})
	s.child(0, trajectory.RunStart{Continued: true}).child(0, childTurn)
	s.put(trajectory.CallEnd{Call: call, Turn: 1, Status: trajectory.OK, Children: twice, Agents: 1, Message: turn.ToolResult("c0", "ok")})
	s.says("done")

	w := spendAgrees(t, s.events)
	_, all := w.Progress()
	require.Equal(t, progress.RunProgress{Agents: 1}, all)
	require.EqualValues(t, 154, w.Spend().DelegatedTokens)
}

// What a model says at a limit is spend, and no turn: neither its own nor a child's.
func TestSpendOfALastWord(t *testing.T) {
	lastWord := trajectory.Message{Message: turn.ReplayForm(turn.Assistant("half of it")),
		Turn: &trajectory.Turn{Usage: turn.Usage{InputTokens: 70, OutputTokens: 7}, Auxiliary: true}}
	call := turn.Call{ID: "c0", Name: "delegate", Arguments: "{}"}
	s := begin(turn.User("go"))
	s.reply("", call)
	s.put(trajectory.CallStart{Call: call, Turn: 1})
	s.child(0, trajectory.RunStart{}).child(0, lastWord)
	s.put(trajectory.CallEnd{Call: call, Turn: 1, Status: trajectory.OK, Agents: 1, Message: turn.ToolResult("c0", "ok"),
		Children: stats.AccumulateAuxiliarySpend(stats.RunStats{}, stats.AuxiliarySpend{Usage: lastWord.Turn.Usage})})
	s.put(lastWord)

	w := spendAgrees(t, s.events)
	require.EqualValues(t, 1, w.Spend().Requests)
}
