package loop_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// line is one fact of a run, for people.
type line struct {
	at    time.Duration
	turn  int
	call  string // the id, of a line about a call
	what  string
	agent string
}

func (r *telling) say(l line) {
	r.root.saying.Lock()
	defer r.root.saying.Unlock()
	r.root.sayLocked(l)
}

func (r *telling) sayLocked(l line) {
	l.at = time.Since(r.start)
	r.lines = append(r.lines, l)
}

func (r *telling) sayEntry(e trajectory.Event) {
	l := line{agent: e.Agent}
	what := func(format string, args ...any) { l.what = strings.TrimRight(fmt.Sprintf(format, args...), " ") }
	switch b := e.Body.(type) {
	case trajectory.RunStart:
		what("start    %s", count(len(b.Messages), "message"))
		if b.Continued {
			l.what += ", continued"
		}
	case trajectory.RunEnd:
		what("stop     %s", b.Reason)
		if b.Failure != "" {
			l.what = strings.TrimSpace(fmt.Sprintf("%-14s %s: %s", l.what, b.Failure, b.Cause))
		}
	case trajectory.Message:
		if b.Turn == nil {
			what("message  %s %s", turn.Role(b.Message), turn.Text(b.Message))
		} else if n := len(turn.Calls(b.Message)); n > 0 {
			what("reply    %s", count(n, "call"))
		} else {
			what("reply    %s", b.Turn.Finish)
		}
	case trajectory.CallStart:
		l.turn, l.call = b.Turn, b.ID
		what("call     %s %s%s", b.ID, b.Name, startNote(b))
	case trajectory.CallEnd:
		l.turn, l.call = b.Turn, b.ID
		what("result   %s %s%s", b.ID, b.Status, endNote(b))
	case trajectory.Suspend:
		l.turn, l.call = b.Turn, b.ID
		what("suspend  %s %s", b.ID, waits(b.Suspension))
	case trajectory.PlanChange:
		done, all := b.Plan.Counts()
		what("plan     %d of %d done", done, all)
	case trajectory.Compact:
		what("compact  %d messages into %d, %d in, %d out", b.Drop, len(b.Head), b.Spend.InputTokens, b.Spend.OutputTokens)
		if b.Failed != "" {
			what("compact  fails: %s, %d in, %d out", b.Failed, b.Spend.InputTokens, b.Spend.OutputTokens)
		}
	case trajectory.Spend:
		what("spend    %d in, %d out", b.InputTokens, b.OutputTokens)
	default:
		what("%s", b.Type())
	}
	r.sayLocked(l)
}

func startNote(b trajectory.CallStart) (note string) {
	if b.Approved {
		note = ", approved"
	} else if b.Reply != nil {
		note = strings.TrimRight(", "+string(b.Reply.Kind)+" "+b.Reply.Text, " ")
	}
	if b.Polls {
		note += ", polls"
	}
	return note
}

func endNote(b trajectory.CallEnd) string {
	if b.Stack != "" {
		return ", with a stack"
	}
	return ""
}

func waits(s trajectory.Suspension) string {
	note := fmt.Sprintf("waits for %s: %s", s.For, s.Question)
	if s.Child != nil {
		return note + ", for a child run"
	}
	if s.Saved != nil {
		note += ", saved " + string(s.Saved)
	}
	return note
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// printEvents prints a line a fact: when, in which turn, what. What happens to
// several calls, or in several child runs, in the same instant has no order, so
// those are sorted: calls by id, and child runs by name, between what began them
// and what they came to.
func printEvents(lines []line) string {
	byCall := func(a, b line) int { return cmp.Compare(a.call, b.call) }
	groups(lines, func(a, b line) bool { return a.at == b.at && a.concurrent() && b.concurrent() }, func(group []line) {
		if !slices.ContainsFunc(group, func(l line) bool { return l.agent != "" }) {
			slices.SortStableFunc(group, byCall)
			return
		}
		slices.SortStableFunc(group, func(a, b line) int {
			return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.agent, b.agent))
		})
		groups(group, func(a, b line) bool {
			return a.agent == b.agent && a.rank() == b.rank() && a.call != "" && b.call != ""
		},
			func(calls []line) { slices.SortStableFunc(calls, byCall) })
	})
	var b strings.Builder
	for _, l := range lines {
		number := " "
		if l.turn > 0 {
			number = fmt.Sprint(l.turn)
		}
		what := oneLine(l.what)
		if l.agent != "" {
			what = "  " + l.agent + "  " + what
		}
		fmt.Fprintf(&b, "%8s  %s  %s\n", l.at, number, what)
	}
	return b.String()
}

// concurrent: other lines of the same instant may stand in any order to it.
func (l line) concurrent() bool { return l.call != "" || l.agent != "" }

// rank puts a call's start before its child runs, and its end behind them.
func (l line) rank() int {
	switch {
	case l.agent != "":
		return 1
	case strings.HasPrefix(l.what, "call "):
		return 0
	}
	return 2
}

// groups calls do for each stretch of lines that belong together.
func groups(lines []line, together func(a, b line) bool, do func([]line)) {
	for i := 0; i < len(lines); {
		j := i + 1
		for j < len(lines) && together(lines[j-1], lines[j]) {
			j++
		}
		do(lines[i:j])
		i = j
	}
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", "⏎") }

func printTranscript(messages []turn.TranscriptMessage) string {
	var b strings.Builder
	for _, m := range messages {
		text := turn.Text(m)
		if m.OfTool != nil {
			text = strings.TrimRight(m.OfTool.ToolCallID+"  "+text, " ")
		}
		if m.OfAssistant != nil && m.OfAssistant.Refusal.Valid() {
			text += "(refused) " + m.OfAssistant.Refusal.Value
		}
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("%-9s  %s", turn.Role(m), oneLine(text)), " "))
		for _, c := range turn.Calls(m) {
			fmt.Fprintf(&b, "  call     %s %s %s\n", c.ID, c.Name, oneLine(c.Arguments))
		}
	}
	return b.String()
}

func printResult(res loop.Result, err error, ran []string) string {
	var b strings.Builder
	put := func(name, format string, args ...any) {
		if text := fmt.Sprintf(format, args...); text != "" {
			fmt.Fprintf(&b, "%-9s  %s\n", name, oneLine(text))
		}
	}
	put("reason", "%s", res.StopReason)
	if res.Cause != nil {
		put("cause", "%v", res.Cause)
	}
	if err != nil {
		put("error", "%v (%s)", err, loop.ClassifyRunFailure(err))
	}
	put("text", "%s", res.Text())
	put("finish", "%s", res.Last.Finish)
	if res.Partial != nil {
		put("partial", "%s", res.Partial.Message.Content)
	}
	for _, c := range res.Open {
		put("open", "%s %s%s", c.ID, c.Name, openNote(c))
	}
	for _, m := range res.Undelivered {
		put("returned", "%s %s", turn.Role(m), turn.Text(m))
	}
	for _, c := range res.Abandoned {
		put("left", "%s", c.ID)
	}
	slices.Sort(ran)
	put("ran", "%s", strings.Join(ran, " "))
	spent := printStats(res.Stats)
	if res.Iterations != int(res.Stats.Turns) {
		spent += fmt.Sprintf(", iteration %d", res.Iterations)
	}
	put("spent", "%s", spent)
	if all := res.Total(); all.Turns != res.Stats.Turns {
		put("in all", "%s", printStats(all))
	}
	return b.String()
}

func openNote(c trajectory.OpenCall) string {
	switch {
	case c.Waiting():
		return " " + waits(*c.Suspension)
	case c.Started:
		return " started"
	}
	return ""
}

func printStats(s stats.RunStats) string {
	out := count(int(s.Turns), "turn") + ", " + count(int(s.ToolCalls), "call")
	if s.InputTokens+s.OutputTokens > 0 {
		out += fmt.Sprintf(", %d tokens in, %d out", s.InputTokens, s.OutputTokens)
	}
	if s.CachedInputTokens > 0 {
		out += fmt.Sprintf(", %d cached", s.CachedInputTokens)
	}
	if s.ModelTime > 0 {
		out += fmt.Sprintf(", model %s", s.ModelTime)
	}
	for _, name := range slices.Sorted(maps.Keys(s.ToolTimeBreakdown)) {
		out += fmt.Sprintf(", %s %s", name, s.ToolTimeBreakdown[name])
	}
	if s.Cost > 0 {
		out += fmt.Sprintf(", %s, %d without a price", s.Cost, s.Unpriced)
	}
	return out
}

// check is what holds for every run, whatever its script.
func (r *telling) check(res loop.Result, err error) {
	t := r.t
	throughJSON(t, res)
	var invalid *loop.InvalidError
	var recorder *loop.RecorderError
	switch {
	case errors.As(err, &invalid) && r.times == 0:
		require.Empty(t, r.replying.Asked())
		return
	}
	require.NoError(t, turn.Check(res.Messages))
	switch {
	case errors.As(err, &recorder):
		return
	}
	ends := 0
	for _, e := range r.entries[r.past:] {
		if _, ok := e.Body.(trajectory.RunEnd); ok && e.Agent == "" {
			ends++
		}
	}
	require.Equal(t, 1, ends, "entries that say how the run ended")
	require.IsType(t, trajectory.RunEnd{}, r.entries[len(r.entries)-1].Body)
	f := replay(t, r.entries)
	require.Equal(t, bytesOf(t, f.Messages()), bytesOf(t, res.Messages), "replayed and live")
	require.Equal(t, jsonOf(t, f.State()), jsonOf(t, res.State), "replayed and live")
}

// checkLeft: a tool that still runs when the run is over is named in the result.
func (r *telling) checkLeft(res loop.Result) {
	left := []string{}
	for _, c := range res.Abandoned {
		left = append(left, c.ID)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.running)
	slices.Sort(left)
	require.Subset(r.t, left, r.running, "tools that still run are named in the result")
}
