package resume

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// script writes a session from lines such as
//
//	user    a run begins with a message
//	nudge   a message that joins it
//	plan    +done >in progress -pending ~dropped
//	model   a reply
//	cut     a reply that was cut off
//	calls   a=execute:run {"command":"x"} ; b=read:look {"path":"p"}
//	start   a
//	end     a failed the result
//	by      a the result     (of a host itself, with which a run begins)
//	ask     a a question     (also: approve, sleep, due at once)
//	stop    aborted why      (or: fail model why)
//	turns   12               (rounds of one read each)
//	torn    half a line      (\n is a line feed)
//	word    a last word at a limit
//
// Everything happens a second after what came before it.
type script struct {
	t     require.TestingT
	out   bytes.Buffer
	w     *trajectory.Writer
	at    time.Time
	turn  int
	calls map[string]turn.Call
	kinds map[string]trajectory.Kind
	began bool
}

func sessionOf(t require.TestingT, lines string) []byte {
	s := &script{t: t, at: time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)}
	s.w = trajectory.NewWriter(&s.out, trajectory.Header{}, trajectory.Tail{})
	for _, l := range strings.Split(strings.TrimSpace(lines), "\n") {
		if word, rest, _ := strings.Cut(strings.TrimSpace(l), " "); word != "" {
			s.line(word, strings.TrimSpace(rest))
		}
	}
	return s.out.Bytes()
}

func (s *script) add(b trajectory.Body) {
	s.at = s.at.Add(time.Second)
	require.NoError(s.t, s.w.Append(trajectory.Event{At: s.at, Body: b}))
}

func (s *script) reply(text, finish string, calls ...turn.Call) {
	s.turn++
	s.add(trajectory.Message{Message: turn.ReplayForm(turn.Assistant(text, calls...)), Turn: &trajectory.Turn{Usage: turn.Usage{InputTokens: 10, OutputTokens: 1}, Finish: finish, Model: "m", Number: s.turn}})
}

func (s *script) call(id string) turn.Call {
	c, ok := s.calls[id]
	require.True(s.t, ok, "no call %s", id)
	return c
}

func (s *script) line(word, rest string) {
	id, more, _ := strings.Cut(rest, " ")
	switch word {
	case "user":
		s.add(trajectory.RunStart{Continued: s.began, Messages: turn.Transcript{turn.User(rest)}})
		s.began = true
	case "again":
		s.add(trajectory.RunStart{Continued: true})
	case "by": // a host answers the call itself
		s.add(trajectory.RunStart{Continued: true, Messages: turn.Transcript{turn.ToolResult(id, more)}})
	case "nudge":
		s.add(trajectory.Message{Message: turn.User(rest)})
	case "model":
		s.reply(rest, "stop")
	case "word":
		s.add(trajectory.Message{Message: turn.ReplayForm(turn.Assistant(rest)), Turn: &trajectory.Turn{Finish: "stop", Auxiliary: true}})
	case "cut":
		s.reply(rest, turn.FinishLength)
	case "filtered":
		s.reply(rest, "content_filter")
	case "calls":
		s.makeCalls(rest)
	case "start":
		s.add(trajectory.CallStart{Call: s.call(rest), Turn: s.turn, Kind: s.kinds[rest]})
	case "end":
		status, text, _ := strings.Cut(more, " ")
		s.add(trajectory.CallEnd{Call: s.call(id), Turn: s.turn, Status: trajectory.Status(status), Message: turn.ToolResult(id, text)})
	case "ask", "approve", "sleep", "due":
		suspension := trajectory.Suspension{For: map[string]trajectory.Wait{"ask": trajectory.ForReply, "approve": trajectory.ForApproval, "sleep": trajectory.ForTime, "due": trajectory.ForTime}[word], Question: more}
		if word == "sleep" {
			suspension.Until = time.Date(2026, 3, 5, 7, 30, 0, 0, time.UTC)
		}
		s.add(trajectory.Suspend{Call: s.call(id), Turn: s.turn, Suspension: suspension})
	case "plan":
		s.plan(rest)
	case "stop":
		s.add(trajectory.RunEnd{Reason: turn.StopReason(id), Cause: more})
	case "fail":
		s.add(trajectory.RunEnd{Failure: id, Cause: more})
	case "turns":
		var n int
		_, err := fmt.Sscan(rest, &n)
		require.NoError(s.t, err)
		for range n {
			s.makeCalls(`r=read:look {"path":"x"}`)
			s.line("start", "r")
			s.line("end", "r ok text")
		}
	case "title":
		s.add(trajectory.Title{Title: rest})
	case "torn":
		s.out.WriteString(strings.ReplaceAll(rest, `\n`, "\n"))
	default:
		require.Fail(s.t, "unknown word", word)
	}
}

func (s *script) makeCalls(rest string) {
	s.calls, s.kinds = make(map[string]turn.Call), make(map[string]trajectory.Kind)
	var list []turn.Call
	for _, part := range strings.Split(rest, " ; ") {
		head, arguments, _ := strings.Cut(part, " ")
		id, tool, _ := strings.Cut(head, "=")
		kind, name, _ := strings.Cut(tool, ":")
		c := turn.Call{ID: id, Name: name, Arguments: arguments}
		s.calls[id], s.kinds[id] = c, trajectory.Kind(kind)
		list = append(list, c)
	}
	s.reply("", "tool_calls", list...)
}

func (s *script) plan(rest string) {
	var p plan.Plan
	states := map[byte]plan.State{'+': plan.Done, '>': plan.InProgress, '-': plan.Pending, '~': plan.Dropped}
	for _, step := range strings.Split(rest, ", ") {
		p.Steps = append(p.Steps, plan.Step{Text: step[1:], State: states[step[0]]})
	}
	s.add(trajectory.PlanChange{Plan: p})
}

func pastOf(t testing.TB, lines string) PastSession {
	p, err := read(bytes.NewReader(sessionOf(t, lines)), nil)
	require.NoError(t, err)
	for _, problem := range p.Problems {
		require.Equal(t, trajectory.Torn, problem.Fault, "%v", problem)
	}
	return p
}
