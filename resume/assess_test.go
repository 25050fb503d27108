package resume

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

type scriptCase struct {
	name, script        string
	verdict             Verdict
	because, suggestion string
	action, said        string
}

var endings = []scriptCase{
	{"finished", `
		user   What is 2+2?
		model  Four.
		stop   done`,
		Finished, "The run ended with a reply, and nothing is left open.", "", "", "Four."},
	{"finished with a plan that is done", `
		user   Fix it.
		plan   +read, ~ask, +fix
		model  Fixed.
		stop   done`,
		Finished, "The run ended with a reply, and nothing is left open.", "", "", "Fixed."},
	{"finished, the end not recorded", `
		user   What is 2+2?
		model  Four.`,
		Finished, "The session ends with a reply, and nothing is left open.", "", "", "Four."},
	{"finished with a stale plan", `
		user   Fix it.
		plan   +read, >fix, -test
		turns  11
		model  All done.
		stop   done`,
		Finished, "The run ended with a reply, and nothing is left open. Its plan still lists 2 steps that are not done, but had not changed for 12 turns.", "", "Read `x`.", "All done."},
	{"a plan ten turns old is not stale", `
		user   Fix it.
		plan   +read, >fix, -test
		turns  9
		model  All done.
		stop   done`,
		StoppedShort, "2 of 3 planned steps are not done; the next is “fix”.", "Carry on with the plan; the next step is “fix”.", "Read `x`.", "All done."},
	{"an old plan of a run that did not end done is believed", `
		user   Fix it.
		plan   +read, -fix
		turns  20
		stop   iteration_limit`,
		StoppedShort, "1 of 2 planned steps is not done; the next is “fix”. The model never answered the last tool result. The run used up its turns while the model was still calling tools.", "Carry on with the plan; the next step is “fix”.", "Read `x`.", ""},
	{"plan open", `
		user   Fix it.
		plan   +read, -write, >fix, ~ask
		model  I have fixed half of it.
		stop   done`,
		StoppedShort, "2 of 3 planned steps are not done; the next is “fix”.", "Carry on with the plan; the next step is “fix”.", "", "I have fixed half of it."},
	{"tool result unanswered", `
		user   Look.
		calls  a=read:look {"path":"main.go"}
		start  a
		end    a ok package main`,
		StoppedShort, "The model never answered the last tool result.", "Carry on where you left off.", "Read `main.go`.", ""},
	{"call cut while running", `
		user   Deploy.
		calls  a=execute:run {"command":"make deploy"}
		start  a`,
		StoppedShort, "`run` was running when the session stopped, and what it did is unknown.", "Check first what `run` did before the session stopped, then carry on.", "Was running `make deploy` when it stopped.", ""},
	{"call cut while running, with a plan", `
		user   Deploy.
		plan   +build, >deploy
		calls  a=execute:run {"command":["make","deploy"]}
		start  a`,
		StoppedShort, "1 of 2 planned steps is not done; the next is “deploy”. `run` was running when the session stopped, and what it did is unknown.", "Check first what `run` did before the session stopped, then carry on with the plan; the next step is “deploy”.", "Was running `make deploy` when it stopped.", ""},
	{"a batch cut while running", `
		user   Send them.
		calls  a=other:mail {"to":"a"} ; b=other:post {"to":"b"} ; c=read:look {"path":"c"}
		start  a
		start  b
		start  c
		end    a ok sent`,
		StoppedShort, "`post` was running when the session stopped, and what it did is unknown. The model called `look`, which had no result yet.", "Check first what `post` did before the session stopped, then carry on.", "Was calling `post` with `{\"to\":\"b\"}` when it stopped.", ""},
	{"several cut while running", `
		user   Send them.
		calls  a=other:mail {} ; b=other:post {} ; c=other:mail {}
		start  a
		start  b
		start  c`,
		StoppedShort, "`mail` (2 calls) and `post` were running when the session stopped, and what they did is unknown.", "Check first what `mail` (2 calls) and `post` did before the session stopped, then carry on.", "Was calling `mail` when it stopped.", ""},
	{"a read cut while running has no effects", `
		user   Look.
		calls  a=read:look {"path":"main.go"}
		start  a`,
		StoppedShort, "The model called `look`, which had no result yet.", "Carry on where you left off.", "Was reading `main.go` when it stopped.", ""},
	{"call never started", `
		user   Deploy.
		calls  a=execute:run {"command":"make"} ; b=execute:run2 {"command":"make"}`,
		StoppedShort, "Calls of `run` and `run2` had not begun.", "Carry on where you left off.", "", ""},
	{"a batch of which one call ran and the rest had not begun", `
		user   Send them.
		calls  a=other:mail {"to":"a"} ; b=other:mail {"to":"b"} ; c=read:look {"path":"c"} ; d=read:look {"path":"d"} ; e=other:post {}
		start  a
		start  c`,
		StoppedShort, "`mail` was running when the session stopped, and what it did is unknown. The model called `look`, which had no result yet. Calls of `mail`, `look` and `post` had not begun.", "Check first what `mail` did before the session stopped, then carry on.", "Was calling `mail` with `{\"to\":\"a\"}` when it stopped.", ""},
	{"user message unanswered", `
		user   Hello?`,
		StoppedShort, "The last message has no reply.", "Answer the last message.", "", ""},
	{"second request unanswered", `
		user   What is 2+2?
		model  Four.
		stop   done
		user   And 3+3?`,
		StoppedShort, "The last message has no reply.", "Answer the last message.", "", "Four."},
	{"a nudge unanswered", `
		user   Fix it.
		model  Done.
		nudge  Are you sure?`,
		StoppedShort, "The last message has no reply.", "Answer the last message.", "", "Done."},
	{"interrupted by the user", `
		user   Fix it.
		calls  a=edit:write {"path":"a.go"}
		start  a
		end    a ok written
		stop   aborted the user pressed ctrl-c`,
		StoppedShort, "The model never answered the last tool result. The run was stopped: “the user pressed ctrl-c”.", "Carry on where you left off.", "Edited `a.go`.", ""},
	{"cancelled without a word", `
		user   Fix it.
		stop   aborted context canceled`,
		StoppedShort, "The run was interrupted. The last message has no reply.", "Answer the last message.", "", ""},
	{"stopped by a budget", `
		user   Fix it.
		turns  1
		stop   aborted the budget is spent: 1200 of 1000 tokens`,
		StoppedShort, "The model never answered the last tool result. The run was stopped: “the budget is spent: 1200 of 1000 tokens”.", "Carry on where you left off.", "Read `x`.", ""},
	{"stopped because it was stuck", `
		user   Fix it.
		turns  6
		stop   aborted stuck: the same call with the same result, 6 times since turn 1: look {"path":"x"}`,
		StoppedShort, "The model never answered the last tool result. The run was stopped: “stuck: the same call with the same result, 6 times since turn 1: look {\"path\":\"x\"}”.", "Carry on where you left off.", "Read `x`.", ""},
	{"interrupted while a tool was running", `
		user   Deploy.
		calls  a=execute:run {"command":"make deploy"} ; b=edit:write {"path":"b"}
		start  a
		end    a cut_off cut
		end    b not_started no
		stop   aborted`,
		StoppedShort, "`run` was running when the session stopped, and what it did is unknown. The model never answered the last tool result. The run was interrupted.", "Check first what `run` did before the session stopped, then carry on.", "Ran `make deploy`, which was cut off.", ""},
	{"a doubt that was settled in a later turn", `
		user   Deploy.
		calls  a=execute:run {"command":"make deploy"}
		start  a
		again
		end    a unknown check first
		model  It did go out.
		stop   done`,
		Finished, "The run ended with a reply, and nothing is left open.", "", "Ran `make deploy`, and its outcome is unknown.", "It did go out."},
	{"error of the model", `
		user   Fix it.
		fail   model model: 503 overloaded`,
		StoppedShort, "The run ended with an error of the model: “503 overloaded”. The last message has no reply.", "Answer the last message.", "", ""},
	{"ended by a tool", `
		user   Fix it.
		calls  a=execute:run {"command":"go test ./..."}
		start  a
		end    a failed disk full
		fail   tool disk full`,
		StoppedShort, "The model never answered the last tool result. The run was ended by a tool: “disk full”.", "Carry on where you left off.", "Ran `go test ./...`, which failed.", ""},
	{"could not be recorded", `
		user   Fix it.
		fail   recorder no space left`,
		StoppedShort, "The run ended because it could not be recorded: “no space left”. The last message has no reply.", "Answer the last message.", "", ""},
	{"a failure of a later kind", `
		user   Fix it.
		fail   quota spent`,
		StoppedShort, "The run ended with an error: “spent”. The last message has no reply.", "Answer the last message.", "", ""},
	{"iteration limit", `
		user   Look around.
		turns  3
		stop   iteration_limit`,
		StoppedShort, "The model never answered the last tool result. The run used up its turns while the model was still calling tools.", "Carry on where you left off.", "Read `x`.", ""},
	{"killed after the last word at a limit", `
		user   Look around.
		turns  1
		nudge  Say what is left.
		word   I have looked at x.`,
		StoppedShort, "The run had reached a limit.", "Carry on where you left off.", "Read `x`.", "I have looked at x."},
	{"a last word at a limit", `
		user   Look around.
		turns  1
		nudge  Say what is left.
		word   I have looked at x.
		stop   iteration_limit`,
		StoppedShort, "The run used up its turns while the model was still calling tools.", "Carry on where you left off.", "Read `x`.", "I have looked at x."},
	{"deadline", `
		user   Look around.
		turns  1
		stop   deadline`,
		StoppedShort, "The model never answered the last tool result. The run ran out of time.", "Carry on where you left off.", "Read `x`.", ""},
	{"a failed run, then a good one", `
		user   Fix it.
		fail   model 503
		again
		model  Fixed.
		stop   done`,
		Finished, "The run ended with a reply, and nothing is left open.", "", "", "Fixed."},
	{"torn inside a reply", `
		user   What is 2+2?
		torn   {"t":"message","seq":3,"message":{"role":"assistant","content":"Fo`,
		StoppedShort, "The last message has no reply. The file breaks off in the middle of an entry.", "Answer the last message.", "", ""},
	{"torn after the end", `
		user   What is 2+2?
		model  Four.
		stop   done
		torn   {"t":"run.start","seq":5,"mess`,
		Finished, "The run ended with a reply, and nothing is left open. The file breaks off in the middle of an entry.", "", "", "Four."},
	{"torn and carried on, only the line feed is missing", `
		user   What is 2+2?
		torn   {"t":"mess
		torn   \n{"t":"title","seq":3,"title":"Sums"}`,
		StoppedShort, "The last message has no reply.", "Answer the last message.", "", ""},
	{"torn at the very beginning", `
		torn   {"t":"sess`,
		Finished, "Nothing has been asked yet. The file breaks off in the middle of an entry.", "", "", ""},
	{"reply cut off", `
		user   Tell me all.
		cut    In the beginning
		stop   done`,
		StoppedShort, "The last reply was cut off at the output limit.", "Your last reply did not come through; carry on from there.", "", "In the beginning"},
	{"reply filtered", `
		user     Tell me all.
		filtered I
		stop     done`,
		StoppedShort, "The last reply was stopped by a content filter.", "Your last reply did not come through; carry on from there.", "", "I"},
	{"reply empty", `
		user   Well?
		model
		stop   done`,
		StoppedShort, "The last reply is empty.", "Your last reply did not come through; carry on from there.", "", ""},
	{"the plan is the only action", `
		user   Fix it.
		calls  a=think:update_plan {"steps":[]}
		start  a
		end    a ok noted
		model  Fixed.
		stop   done`,
		Finished, "The run ended with a reply, and nothing is left open.", "", "Updated the plan.", "Fixed."},
	{"the plan hides no action", `
		user   Fix it.
		calls  a=edit:write {"file_path":"a.go"} ; b=think:update_plan {"steps":[]}
		start  a
		end    a failed denied
		start  b
		end    b ok noted
		model  I could not.
		stop   done`,
		Finished, "The run ended with a reply, and nothing is left open.", "", "Edited `a.go`, which failed.", "I could not."},
}

func TestEndings(t *testing.T) {
	for _, c := range slices.Concat(endings, pauses) {
		t.Run(c.name, func(t *testing.T) {
			u := Assess(pastOf(t, c.script))
			require.Equal(t, c.because, u.Because)
			require.Equal(t, c.suggestion, u.Suggestion)
			require.Equal(t, c.verdict, u.Verdict)
			require.Equal(t, c.verdict == StoppedShort, u.LooksUnfinished)
			require.Equal(t, c.action, u.LastAction)
			require.Equal(t, c.said, u.LastSaid)
			require.Equal(t, c.verdict == Finished, u.Suggestion == "")
		})
	}
}

func TestStepsAreThoseNotDoneInOrder(t *testing.T) {
	u := Assess(pastOf(t, "user x\nplan +a, -b, ~c, >d\nmodel y\nstop done"))
	require.Equal(t, []plan.Step{{Text: "b", State: plan.Pending}, {Text: "d", State: plan.InProgress}}, u.Steps)
}

// Nothing is known but the messages: a history from elsewhere.
func TestAssessWithoutARecord(t *testing.T) {
	call := turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a", Name: "send", Arguments: `{"to":"x"}`}))
	for name, c := range map[string]struct {
		past    PastSession
		verdict Verdict
		because string
		action  string
	}{
		"nothing":      {PastSession{}, Finished, "Nothing has been asked yet.", ""},
		"a reply":      {PastSession{Messages: turn.Transcript{turn.User("x"), turn.ReplayForm(turn.Assistant("y"))}}, Finished, "The session ends with a reply, and nothing is left open.", ""},
		"a result":     {PastSession{Messages: turn.Transcript{turn.User("x"), call, turn.ToolResult("a", "ok")}}, StoppedShort, "The model never answered the last tool result.", "Called `send` with `{\"to\":\"x\"}`."},
		"an open call": {PastSession{Messages: turn.Transcript{turn.User("x"), call}}, StoppedShort, "The model called `send`, and there is no result.", ""},
		"imported": {PastSession{Messages: turn.Transcript{turn.User("x"), call}, State: trajectory.State{Open: []trajectory.OpenCall{{Call: turn.Call{ID: "a", Name: "send"}, Imported: true}}}},
			StoppedShort, "`send` was running when the session stopped, and what it did is unknown.", ""},
		"an orphan": {PastSession{Messages: turn.Transcript{turn.ToolResult("z", "ok")}}, StoppedShort, "The model never answered the last tool result.", ""},
		"a plan":    {PastSession{Messages: turn.Transcript{turn.User("x"), turn.ReplayForm(turn.Assistant("y"))}, State: trajectory.State{Plan: &plan.Plan{Steps: []plan.Step{{Text: "a"}}}}}, StoppedShort, "1 of 1 planned steps is not done; the next is “a”.", ""},
	} {
		u := Assess(c.past)
		require.Equal(t, c.because, u.Because, name)
		require.Equal(t, c.verdict, u.Verdict, name)
		require.Equal(t, c.action, u.LastAction, name)
	}
}

func TestASessionOfTwoWritersSaysSo(t *testing.T) {
	begin := trajectory.RunStart{Messages: turn.Transcript{turn.User("Send it.")}}
	reply := func(text string) trajectory.Message {
		return trajectory.Message{Message: turn.ReplayForm(turn.Assistant(text)), Turn: &trajectory.Turn{Finish: "stop"}}
	}
	var out bytes.Buffer
	require.NoError(t, trajectory.NewWriter(&out, trajectory.Header{}, trajectory.Tail{}).Append(trajectory.Event{Body: begin}))
	first := trajectory.NewWriter(&out, trajectory.Header{}, trajectory.Tail{Seq: 2})
	second := trajectory.NewWriter(&out, trajectory.Header{}, trajectory.Tail{Seq: 2})
	require.NoError(t, first.Append(trajectory.Event{Body: reply("Sent.")}))
	require.NoError(t, first.Append(trajectory.Event{Body: trajectory.RunEnd{Reason: turn.Done}}))
	past, err := read(bytes.NewReader(out.Bytes()), nil)
	require.NoError(t, err)
	require.Equal(t, "The run ended with a reply, and nothing is left open.", Assess(past).Because)
	require.NoError(t, second.Append(trajectory.Event{Body: reply("Sent too.")}))
	past, err = read(&out, nil)
	require.NoError(t, err)
	require.Equal(t, "The run ended with a reply, and nothing is left open. Two programs wrote to the file at once, and what one of them did is left out.", Assess(past).Because)
}

// A reply that was lost before the plan does not make the plan younger.
func TestStalePlanBehindALostReply(t *testing.T) {
	lines := bytes.SplitAfter(sessionOf(t, "user x\nturns 3\nplan +a, -b\nturns 10\nmodel y\nstop done"), []byte("\n"))
	past, err := read(bytes.NewReader(bytes.Join(slices.Delete(lines, 2, 3), nil)), nil)
	require.NoError(t, err)
	require.Equal(t, int64(13), past.State.Stats.Turns)
	require.Equal(t, Finished, Assess(past).Verdict)
	require.Contains(t, Assess(past).Because, "had not changed for 11 turns")
}

func TestTornBehindOtherDamage(t *testing.T) {
	for _, damage := range []string{`{"t":"title","seq":6,"title":"entry 5 is lost"}` + "\n", strings.Repeat("junk\n", 2*keptProblems)} {
		data := append(sessionOf(t, "user x\nmodel y\nstop done"), damage...)
		past, err := read(bytes.NewReader(append(data, `{"t":"mess`...)), nil)
		require.NoError(t, err)
		require.Equal(t, "The run ended with a reply, and nothing is left open. The file breaks off in the middle of an entry.", Assess(past).Because)
	}
}

func TestBrief(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 5, ""}, {"  a\n\tb  ", 5, "a b"}, {"abcdef", 5, "abcde…"}, {"漢字漢字漢字", 4, "漢字漢字…"}, {"\x1b[2Ja\x00\u009bb", 9, "[2Ja b"},
		{"one two three four", 15, "one two three…"}, {"Ends here. And", 10, "Ends here…"}, {strings.Repeat("é", 1_000_000), 3, "ééé…"},
		{strings.Repeat(" ", 1_000_000) + "x", 3, "…"},
	} {
		got := brief(c.in, c.n)
		require.Equal(t, c.want, got)
		require.True(t, utf8.ValidString(got))
	}
}

func TestSentences(t *testing.T) {
	for want, a := range map[string]Action{
		"Ran `go test ./...`, which failed.":       {Call: turn.Call{Name: "bash", Arguments: `{"command":"go test ./..."}`}, Kind: trajectory.KindExecute, Status: trajectory.Failed},
		"Ran “echo `date`”.":                       {Call: turn.Call{Name: "bash", Arguments: "{\"cmd\":\"echo `date`\"}"}, Kind: trajectory.KindExecute, Status: trajectory.OK},
		"Called `bash` with `{\"x\":1}`.":          {Call: turn.Call{Name: "bash", Arguments: `{"x":1}`}, Kind: trajectory.KindExecute, Status: trajectory.OK},
		"Called `bash` with `not json`.":           {Call: turn.Call{Name: "bash", Arguments: `not json`}, Kind: trajectory.KindExecute, Status: trajectory.OK},
		"Edited `a`, `b`, `c` and 2 more.":         {Call: turn.Call{Name: "edit"}, Kind: trajectory.KindEdit, Status: trajectory.OK, Paths: []string{"a", "b", "c", "d", "e"}},
		"Moved `a` and `b`.":                       {Call: turn.Call{Name: "mv", Arguments: `{"paths":["a","b"]}`}, Kind: trajectory.KindMove, Status: trajectory.OK},
		"Searched for `foo.*bar`.":                 {Call: turn.Call{Name: "grep", Arguments: `{"pattern":"foo.*bar","path":"."}`}, Kind: trajectory.KindSearch, Status: trajectory.OK},
		"Was fetching `http://x` when it stopped.": {Call: turn.Call{Name: "get", Arguments: `{"url":"http://x"}`}, Kind: trajectory.KindFetch},
		"Paused.":       {Waits: trajectory.ForTime},
		"Called `now`.": {Call: turn.Call{Name: "now", Arguments: `{}`}, Status: trajectory.OK},
	} {
		require.Equal(t, want, a.sentence())
	}
}

func FuzzAssess(f *testing.F) {
	for _, c := range slices.Concat(endings, pauses) {
		f.Add(sessionOf(f, c.script))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, _ := read(bytes.NewReader(data), nil)
		u := Assess(p)
		require.Contains(t, []Verdict{Finished, StoppedShort, WaitingForReply, ResumingLater}, u.Verdict)
		require.NotEmpty(t, u.Because)
		require.Equal(t, u.Verdict == Finished, u.Suggestion == "")
		require.NotContains(t, strings.ToLower(u.Suggestion), "run again")
		for _, s := range []string{u.Because, u.Suggestion, u.LastAction, u.LastSaid} {
			require.True(t, utf8.ValidString(s))
			require.NotContains(t, s, "\n")
		}
		closed := turn.Close(p.Messages, func(turn.Call) string { return "closed" })
		require.NoError(t, turn.Check(closed))
		require.Equal(t, u, Assess(p), "assessing changes nothing")
	})
}

// A sub-agent that was at work goes on by itself, so there is nothing to check first.
func TestAssessOfASubAgentAtWork(t *testing.T) {
	scout := turn.Call{ID: "a", Name: "scout", Arguments: `{"task":"look"}`}
	var file bytes.Buffer
	w := trajectory.NewWriter(&file, trajectory.Header{}, trajectory.Tail{})
	for _, e := range []trajectory.Event{
		{Body: trajectory.RunStart{Messages: turn.Transcript{turn.User("Find it.")}}},
		{Body: trajectory.Message{Message: turn.ReplayForm(turn.Assistant("", scout)), Turn: &trajectory.Turn{}}},
		{Body: trajectory.CallStart{Call: scout, Turn: 1}},
		{Agent: "1.a", Body: trajectory.RunStart{Messages: turn.Transcript{turn.User("look")}}},
	} {
		before, err := Read(bytes.NewReader(file.Bytes()), nil)
		require.NoError(t, err)
		if len(before.State.Open) > 0 && before.State.Open[0].Started {
			require.Contains(t, Assess(before).Because, "what it did is unknown", "it may have begun without a record")
		}
		require.NoError(t, w.Append(e))
	}
	says := func(because, suggestion string) {
		past, err := Read(bytes.NewReader(file.Bytes()), nil)
		require.NoError(t, err)
		byHand := PastSession{Messages: past.Messages, State: past.State}
		for _, p := range []PastSession{past, byHand} {
			u := Assess(p)
			require.Equal(t, StoppedShort, u.Verdict)
			require.Equal(t, because, u.Because)
			require.Equal(t, suggestion, u.Suggestion)
		}
	}
	says("The model called `scout`, which had no result yet.", "Carry on where you left off.")

	// What it had at work itself is another matter.
	post := turn.Call{ID: "a", Name: "post", Arguments: `{}`}
	require.NoError(t, w.Append(trajectory.Event{Agent: "1.a", Body: trajectory.Message{Message: turn.ReplayForm(turn.Assistant("", post)), Turn: &trajectory.Turn{}}}))
	require.NoError(t, w.Append(trajectory.Event{Agent: "1.a", Body: trajectory.CallStart{Call: post, Turn: 1}}))
	says("`post` in `scout` was running when the session stopped, and what it did is unknown. The model called `scout`, which had no result yet.",
		"Check first what `post` in `scout` did before the session stopped, then carry on.")
	require.NoError(t, w.Append(trajectory.Event{Agent: "1.a", Body: trajectory.CallEnd{Call: post, Turn: 1, Status: trajectory.OK, Message: turn.ToolResult("a", "posted")}}))
	says("The model called `scout`, which had no result yet.", "Carry on where you left off.")
}
