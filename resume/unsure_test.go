package resume_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// What a sub-agent was doing is as doubtful after a shutdown, where it has paused, as
// after a kill, where it has not; and no longer once it has seen what became of it.
func TestUnsureOfASubAgent(t *testing.T) {
	for name, killed := range map[string]bool{"killed": true, "shut down": false} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			var session, cut bytes.Buffer
			w := trajectory.NewWriter(&session, trajectory.Header{}, trajectory.Tail{})
			pay := loop.Tool{Name: "pay", Kind: trajectory.KindExecute, Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
				cut.Write(session.Bytes())
				cancel(loop.ErrShutdown)
				<-ctx.Done()
				return loop.Output{}, ctx.Err()
			}}
			child := loop.Options{Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "p", Name: "pay"})).Turn, Tools: []loop.Tool{pay}, Record: w.Append}
			_, err := loop.RunToolLoop(ctx, turn.Transcript{turn.User("Go.")}, loop.Options{
				Turn: leads, Tools: []loop.Tool{loop.NewSubAgent(loop.Tool{Name: "agent"}, "", child)}, Record: w.Append})
			require.NoError(t, err)

			file := session.Bytes()
			if killed {
				file = cut.Bytes()
			}
			past, err := resume.Read(bytes.NewReader(file), nil)
			require.NoError(t, err)
			require.Len(t, past.Unsure, 1)
			require.Equal(t, "pay", past.Unsure[0].Name)
			require.Equal(t, trajectory.KindExecute, past.Unsure[0].Kind)
			require.Contains(t, resume.Assess(past).Because, "`pay` in `agent` was running when the session stopped")
			require.Equal(t, "1.a", past.Unsure[0].Agent)
			require.Equal(t, resume.StoppedShort, resume.Assess(past).Verdict)
			require.Contains(t, resume.Assess(past).LastAction, "Was calling `agent`")

			out := bytes.NewBuffer(file)
			child.Record = trajectory.NewWriter(out, trajectory.Header{}, past.Tail).Append
			child.Turn = turntest.NewScript(turntest.Say("I look.", turn.Call{ID: "q", Name: "ask"})).Turn
			child.Tools = append(child.Tools, loop.Tool{Name: "ask", Run: func(context.Context, loop.Call) (loop.Output, error) {
				return loop.Output{}, loop.WaitForReply("Was it paid?")
			}})
			res, err := loop.RunToolLoop(context.Background(), past.Messages, loop.Options{From: past.State, Record: child.Record,
				Turn: leads, Tools: []loop.Tool{loop.NewSubAgent(loop.Tool{Name: "agent"}, "", child)}})
			require.NoError(t, err)
			require.Equal(t, turn.WaitingForReply, res.StopReason)
			past, err = resume.Read(bytes.NewReader(out.Bytes()), nil)
			require.NoError(t, err)
			require.Empty(t, past.Unsure, "the sub-agent's model knows of it")
		})
	}
}
