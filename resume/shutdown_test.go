package resume_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// A shutdown reads as one thing, whether what was at work paused for it or was cut off.
// What waits for a person, or for a time yet to come, waits on.
func TestAssessOfAPauseThatIsDue(t *testing.T) {
	ended := time.Date(2026, 3, 5, 7, 30, 0, 0, time.UTC)
	pause := func(wait trajectory.Wait, until time.Time) *trajectory.Suspension {
		return &trajectory.Suspension{For: wait, Question: "why", Until: until}
	}
	down := &trajectory.RunEnd{Reason: turn.Aborted, Failure: "cancelled", Cause: "the process is shutting down", Shutdown: true}
	for name, c := range map[string]struct {
		waits               *trajectory.Suspension
		end                 *trajectory.RunEnd
		verdict             resume.Verdict
		because, suggestion string
	}{
		"due at once":                 {pause(trajectory.ForTime, time.Time{}), down, resume.StoppedShort, "The model called `build`, which had no result yet. The run was stopped: “the process is shutting down”.", "Carry on where you left off."},
		"due by the end":              {pause(trajectory.ForTime, ended), down, resume.StoppedShort, "The model called `build`, which had no result yet. The run was stopped: “the process is shutting down”.", "Carry on where you left off."},
		"due later":                   {pause(trajectory.ForTime, ended.Add(time.Hour)), down, resume.ResumingLater, "It paused until 2026-03-05 08:30 UTC: “why”. The run was stopped: “the process is shutting down”.", "Start it again after 2026-03-05 08:30 UTC; nothing has to be said."},
		"for a person":                {pause(trajectory.ForReply, time.Time{}), down, resume.WaitingForReply, "It asked “why” and waits for the answer. The run was stopped: “the process is shutting down”.", "Answer “why”."},
		"due by the end, no shutdown": {pause(trajectory.ForTime, ended), &trajectory.RunEnd{Reason: turn.ResumingLater}, resume.ResumingLater, "It paused: “why”.", "Start it again; nothing has to be said."},
	} {
		call := turn.Call{ID: "a", Name: "build", Arguments: "{}"}
		u := resume.Assess(resume.PastSession{
			Messages: turn.Transcript{turn.User("Build."), turn.ReplayForm(turn.Assistant("", call))},
			State:    trajectory.State{Open: []trajectory.OpenCall{{Call: call, Turn: 1, Started: true, Suspension: c.waits}}},
			LastRun:  c.end, LastAt: ended,
		})
		require.Equal(t, c.verdict, u.Verdict, name)
		require.Equal(t, c.because, u.Because, name)
		require.Equal(t, c.suggestion, u.Suggestion, name)
	}
}

// A question does not hide what was stopped beside it, and needs no answer to go on.
func TestAssessOfAQuestionBesideStoppedWork(t *testing.T) {
	ask, work := turn.Call{ID: "a", Name: "ask", Arguments: "{}"}, turn.Call{ID: "b", Name: "agent", Arguments: "{}"}
	u := resume.Assess(resume.PastSession{
		Messages: turn.Transcript{turn.User("Build."), turn.ReplayForm(turn.Assistant("", ask, work))},
		State: trajectory.State{Open: []trajectory.OpenCall{
			{Call: ask, Turn: 1, Started: true, Suspension: &trajectory.Suspension{For: trajectory.ForReply, Question: "Which one?"}},
			{Call: work, Turn: 1, Started: true, Suspension: &trajectory.Suspension{For: trajectory.ForTime, Question: "the process is shutting down"}},
		}},
		LastRun: &trajectory.RunEnd{Reason: turn.Aborted, Failure: "cancelled", Cause: "the process is shutting down", Shutdown: true},
	})
	require.Equal(t, resume.WaitingForReply, u.Verdict)
	require.Equal(t, "It asked “Which one?” and waits for the answer. The model called `agent`, which had no result yet. The run was stopped: “the process is shutting down”.", u.Because)
	require.Equal(t, "Answer “Which one?”. The rest goes on without that when it is started again.", u.Suggestion)
}
