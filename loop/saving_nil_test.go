package loop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// A tool that saves nothing but wants the reply is run again with it, also when
// the state was stored, or read from the record, in between.
func TestSavingNilRunsTheToolAgain(t *testing.T) {
	run := func(from trajectory.State, messages turn.Transcript, record func(trajectory.Event) error, replies map[string]loop.Reply) loop.Result {
		ask := loop.Tool{Name: "ask", Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
			if c.Resume == nil {
				return loop.Output{}, loop.WaitForReply("Which?").Saving(nil)
			}
			return loop.Text("heard " + c.Resume.Reply.Text), nil
		}}
		say := []turntest.Reply{turntest.Say("", turn.Call{ID: "a", Name: "ask"})}
		if replies != nil {
			say = []turntest.Reply{turntest.Say("Good.")}
		}
		res, err := loop.RunToolLoop(t.Context(), messages, loop.Options{Turn: turntest.NewScript(say...).Turn,
			Tools: []loop.Tool{ask}, From: from, Record: record, Replies: replies})
		require.NoError(t, err)
		return res
	}
	var file bytes.Buffer
	first := run(trajectory.State{}, turn.Transcript{turn.User("Ask.")}, trajectory.NewWriter(&file, trajectory.Header{}, trajectory.Tail{}).Append, nil)

	var stored trajectory.State
	data, err := json.Marshal(first.State)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &stored))
	var fold trajectory.Fold
	for e, err := range trajectory.NewReader(&file).Entries() {
		require.NoError(t, err)
		require.NoError(t, fold.Add(e.Event))
	}
	for name, from := range map[string]trajectory.State{"as it is": first.State, "stored": stored, "read": fold.State()} {
		res := run(from, first.Messages, nil, map[string]loop.Reply{"a": loop.Answer("this")})
		require.Equal(t, "heard this", turn.Text(res.Messages[2]), name)
	}
}
