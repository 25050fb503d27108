package progress_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/progress"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// Each of these goes on for long, and none of them is stuck.
func TestNotStuck(t *testing.T) {
	poll := act{tool: "job", kind: trajectory.KindExecute, polls: true, arguments: `{"id":7}`, result: "running"}
	for _, c := range []struct {
		name string
		more func(s *story, i int)
	}{
		{"a polling loop", func(s *story, _ int) { s.does(poll) }},
		{"a polling loop by a well-known name", func(s *story, _ int) { s.does(act{tool: "bash_output", arguments: `{"id":"1"}`}) }},
		{"a poll and a sleep in turn", func(s *story, i int) {
			if i%2 == 0 {
				s.does(poll)
			} else {
				s.does(command("sleep 5", ""))
			}
		}},
		{"a poll beside the same read", func(s *story, _ int) { s.does(poll, readOf("a", "1")) }},
		{"a shell that polls", func(s *story, _ int) { s.does(command("sleep 30; gh run view 7", "in progress")) }},
		{"a poll that nobody declared, whose result changes", func(s *story, i int) { s.does(command("tail log", fmt.Sprintf("line %d", i))) }},
		{"a build that fails differently each time", func(s *story, i int) { s.does(command("make", fmt.Sprintf("undefined: f%d", i)).fails()) }},
		{"similar edits", func(s *story, i int) { s.does(editOf("a", fmt.Sprint(i))) }},
		{"an edit before each of the same failing tests", func(s *story, i int) {
			s.does(editOf("a", fmt.Sprint(i)), command("make test", "1 failed").fails())
		}},
		{"an edit, then the same failing tests", func(s *story, i int) {
			if i%2 == 0 {
				s.does(editOf("a", fmt.Sprint(i)))
			} else {
				s.does(command("make test", "1 failed").fails())
			}
		}},
		{"a long read-only review", func(s *story, i int) { s.does(readOf(fmt.Sprint(i), fmt.Sprint("text ", i))) }},
		{"a review that says the same before each read", func(s *story, i int) {
			s.does(readOf(fmt.Sprint(i), "text"))
		}},
		{"a search that finds nothing, in many places", func(s *story, i int) {
			s.does(act{tool: "grep", arguments: fmt.Sprintf(`{"q":"%d"}`, i), result: "no matches"})
		}},
		{"one of many fetches fails each time", func(s *story, i int) {
			s.does(act{tool: "fetch", arguments: fmt.Sprintf(`{"url":"u%d"}`, i), result: "timeout", status: trajectory.Failed},
				act{tool: "fetch", arguments: fmt.Sprintf(`{"url":"v%d"}`, i), result: fmt.Sprint("page ", i)})
		}},
		{"waiting for a time", func(s *story, _ int) {
			s.reply("", turn.Call{ID: "c0", Name: "remind", Arguments: "{}"})
			s.put(trajectory.CallStart{Call: turn.Call{ID: "c0", Name: "remind"}, Turn: s.turn})
			s.put(trajectory.Suspend{Call: turn.Call{ID: "c0", Name: "remind"}, Turn: s.turn, Suspension: trajectory.Suspension{For: trajectory.ForTime}})
			s.put(trajectory.CallEnd{Call: turn.Call{ID: "c0", Name: "remind"}, Turn: s.turn, Status: trajectory.OK, Message: turn.ToolResult("c0", "it is time")})
		}},
		{"a person who says something new each time", func(s *story, i int) { s.does(readOf("a", "1")).told(fmt.Sprint("try ", i)) }},
		{"a new question each time, the same answer", func(s *story, _ int) {
			s.says("Done.").put(trajectory.RunEnd{Reason: turn.Done})
			s.run(turn.User("thanks"))
		}},
		{"a cycle of five", func(s *story, i int) { s.does(readOf(fmt.Sprint(i%5), "x")) }},
		{"an identity that changes", func(s *story, i int) {
			s.does(act{tool: "x", arguments: `{}`, identity: fmt.Sprint("job ", i), result: "same"})
		}},
		{"the run is cut off each time", func(s *story, _ int) { s.does(act{tool: "x", status: trajectory.CutOff, result: "cut off"}).run() }},
	} {
		s := begin(turn.User("go"))
		for i := range 30 {
			c.more(s, i)
		}
		require.NoError(t, progress.DetectStuck(s.events, 3), c.name)
		require.Nil(t, watched(s.events), c.name)
	}
}

// Each of these is stuck: the golden file has what is said of it.
func TestStuck(t *testing.T) {
	keyOrder := []string{`{"path":"a","n":1}`, `{ "n": 1.0, "path": "a" }`, `"{\"n\":1,\"path\":\"a\"}"`}
	var b strings.Builder
	for _, c := range []struct {
		name  string
		what  progress.Repetition
		turns int // until it is stuck
		more  func(s *story, i int)
	}{
		{"the same read", progress.SameCall, 6, func(s *story, _ int) { s.does(readOf("a", "text")) }},
		{"the same failing command", progress.SameCall, 6, func(s *story, _ int) { s.does(command("make", "exit 2").fails()) }},
		{"the same failing command, which says how long it took", progress.SameCall, 6, func(s *story, i int) {
			s.does(command("make", fmt.Sprintf("FAIL x 0.%03ds at 12:00:%02d", 12+i, i)).fails())
		}},
		{"the same command", progress.SameCall, 6, func(s *story, _ int) { s.does(command("ls", "a b")) }},
		{"the same edit", progress.SameCall, 6, func(s *story, _ int) { s.does(editOf("a", "x")) }},
		{"the same arguments in other words", progress.SameCall, 6, func(s *story, i int) {
			s.does(act{tool: "read", arguments: keyOrder[i%3], result: "text"})
		}},
		{"the same arguments, which are no JSON", progress.SameCall, 6, func(s *story, _ int) {
			s.does(act{tool: "read", arguments: `{"path":`, status: trajectory.BadArguments, result: "invalid JSON"})
		}},
		{"the same identity", progress.SameCall, 6, func(s *story, i int) {
			s.does(act{tool: "job", arguments: fmt.Sprintf(`{"cursor":%d}`, i), polls: true, identity: "job 7", result: "running"})
		}},
		{"the same two calls, in either order", progress.SameCall, 6, func(s *story, i int) {
			if i%2 == 0 {
				s.does(readOf("a", "1"), readOf("b", "2"))
			} else {
				s.does(readOf("b", "2"), readOf("a", "1"), readOf("a", "1"))
			}
		}},
		{"a call that a person denies each time", progress.SameCall, 6, func(s *story, _ int) {
			s.does(act{tool: "rm", arguments: `{"path":"/"}`, status: trajectory.Denied, result: "no"})
		}},
		{"A B A B", progress.Cycle, 6, func(s *story, i int) { s.does(readOf([]string{"a", "b"}[i%2], "text")) }},
		{"a cycle of four", progress.Cycle, 12, func(s *story, i int) { s.does(readOf([]string{"a", "b", "a", "c"}[i%4], "text")) }},
		{"an edit there and back", progress.Cycle, 7, func(s *story, i int) { s.does(editOf("a", []string{"x", "y"}[i%2])) }},
		{"one tool that fails under new arguments", progress.SameError, 6, func(s *story, i int) {
			s.does(act{tool: "edit", arguments: fmt.Sprintf(`{"path":"f%d.go","old":"%d"}`, i, i), result: "the old text was not found", status: trajectory.Failed})
		}},
		{"an error that names its argument", progress.SameError, 6, func(s *story, i int) {
			s.does(readOf(fmt.Sprintf("dir/f%d.go", i), fmt.Sprintf("open dir/f%d.go: no such file", i)).fails())
		}},
		{"an error that names a number and a short text", progress.SameError, 6, func(s *story, i int) {
			s.does(act{tool: "edit", arguments: fmt.Sprintf(`{"line":%d,"old":"q%d"}`, i, i), result: fmt.Sprintf("line %d: \"q%d\" is not there", i, i), status: trajectory.Failed})
		}},
		{"one tool that fails, the same read between", progress.SameError, 12, func(s *story, i int) {
			if i%2 == 0 {
				s.does(readOf("a", "text"))
			} else {
				s.does(act{tool: "edit", arguments: fmt.Sprintf(`{"old":%d}`, i), status: trajectory.Failed, result: "The old text was not found."})
			}
		}},
		{"a tool that does not exist", progress.SameError, 6, func(s *story, i int) {
			s.does(act{tool: "browse_web", arguments: fmt.Sprintf(`{"q":%d}`, i), status: trajectory.UnknownTool, result: "there is no such tool"})
		}},
		{"the same question and no answer to it", progress.SameText, 6, func(s *story, i int) {
			s.says([]string{"Shall I?", "May I?"}[i%2]).told("Go on.")
		}},
		{"the same text again and again", progress.SameText, 6, func(s *story, _ int) { s.says("I will  fix it now.").told("Then do.") }},
		{"no text at all", progress.SameText, 6, func(s *story, _ int) { s.says("") }},
	} {
		s := begin(turn.User("go"))
		for i := range c.turns - 1 {
			c.more(s, i)
		}
		require.NoError(t, progress.DetectStuck(s.events, 0), c.name)
		require.Nil(t, watched(s.events), c.name)
		c.more(s, c.turns-1)
		stuck := detected(s.events, 0)
		require.NotNil(t, stuck, c.name)
		require.Equal(t, c.what, stuck.What, c.name)
		require.GreaterOrEqual(t, stuck.Turns, 6, c.name)
		require.Equal(t, stuck, watched(s.events), c.name)
		told := tellsAt(s.events)
		fmt.Fprintf(&b, "-- %s --\n%v\n%v\n%s\n\n", c.name, stuck, stuck.Tools, told)
	}
	golden(t, "stuck.txt", b.String())
}

// detected is what DetectStuck says, nil for nothing.
func detected(events []trajectory.Event, turns int) (stuck *progress.StuckError) {
	errors.As(progress.DetectStuck(events, turns), &stuck)
	return stuck
}

// watched is what a watch stops a run for that came as far as these entries.
func watched(events []trajectory.Event) *progress.StuckError {
	w := progress.NewWatch(progress.WatchOptions{})
	for _, e := range events {
		_ = w.Record(e)
	}
	var stuck *progress.StuckError
	errors.As(w.ShouldStop(trajectory.State{}), &stuck)
	return stuck
}

// tellsAt is what the model is told, by a watch that is asked after each entry.
func tellsAt(events []trajectory.Event) string {
	w := progress.NewWatch(progress.WatchOptions{})
	for i, e := range events {
		_ = w.Record(e)
		if m, ok := e.Body.(trajectory.Message); ok && m.Turn != nil {
			continue // nobody is asked between a reply and what comes of it
		}
		if m := w.Inbox(); m != nil {
			return fmt.Sprintf("after entry %d: %s", i+1, turn.Text(m[0]))
		}
	}
	return "never told"
}

// Two errors of one call are the same when they differ only in when they were
// said, how long something took, where in memory it was, or what it was said of.
func TestSameError(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"FAIL x 0.031s", "FAIL x 12.5s", true},
		{"took 1m30s.", "took 59s.", true},
		{"took 3 seconds", "took 1 second", true},
		{"took 3 ms", "took 4 ms", true},
		{"in 5µs", "in 17ns", true},
		{"12:00:01 no", "7:30:59 no", true},
		{"12:00:01.250 no", "12:00:01 no", true},
		{"2026-01-02T03:04:05Z no", "2027-11-12T13:14:15Z no", true},
		{"at 0xc000123456", "at 0xc000aaaaaa", true},
		{"1 failed", "2 failed", false},
		{"line 31: no", "line 32: no", false},
		{"a.go:31:2: no", "a.go:31:3: no", false},
		{"port 80m80", "port 80m81", false},
		{"x1s", "x2s", false},
		{"version 1.2.3", "version 1.2.4", false},
		{"3 stores", "4 stores", false},
		{"0x1", "0x2", false},
		{"1", "", false},
	} {
		s := begin().does(command("make", c.a).fails()).does(command("make", c.b).fails())
		require.Equal(t, c.same, progress.DetectStuck(s.events, 2) != nil, "%q and %q", c.a, c.b)
		s = begin().does(command("make", c.a)).does(command("make", c.b))
		require.NoError(t, progress.DetectStuck(s.events, 2), "a result that is no error is taken as it is: %q and %q", c.a, c.b)
	}
}
