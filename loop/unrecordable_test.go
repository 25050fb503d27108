package loop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// What a tool gives that no session file can hold is the call's failure, and neither
// the run's nor the recorder's: the model is told, and the run goes on.
func TestOutputThatCannotBeRecorded(t *testing.T) {
	never := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	events := func(c trajectory.Custom) loop.Output {
		return loop.Output{Text: "did it", Events: []trajectory.Custom{{Name: "x.shop.sold"}, c}}
	}
	long := json.RawMessage(`"` + strings.Repeat("x", trajectory.DefaultMaxLine) + `"`)
	const output = "\n\nIts output until then:\ndid it"
	for _, c := range []struct {
		want string
		sold int // the event that can be recorded is
		tool func() (loop.Output, error)
	}{
		{"Error: event 2 of the tool cannot be recorded: the name \"sold\" is not of the form x.<vendor>.<name>" + output, 1,
			func() (loop.Output, error) { return events(trajectory.Custom{Name: "sold"}), nil }},
		{"Error: event 2 of the tool cannot be recorded: the data of \"x.shop.sold\": invalid JSON at byte 1: unexpected end of JSON input" + output, 1,
			func() (loop.Output, error) {
				return events(trajectory.Custom{Name: "x.shop.sold", Data: json.RawMessage(`{`)}), nil
			}},
		{"Error: event 2 of the tool cannot be recorded: the name \"\" is not of the form x.<vendor>.<name>" + output, 1,
			func() (loop.Output, error) { return events(trajectory.Custom{}), loop.WaitForReply("Which?") }},
		{"Error: event 2 of the tool cannot be recorded: the data of \"x.shop.sold\": the JSON is nested deeper than 500" + output, 1,
			func() (loop.Output, error) {
				return events(trajectory.Custom{Name: "x.shop.sold", Data: deep(500)}), nil
			}},
		{"Error: event 2 of the tool cannot be recorded: the data of \"x.shop.sold\": it has 67108866 bytes, more than 66060288" + output, 1,
			func() (loop.Output, error) {
				return events(trajectory.Custom{Name: "x.shop.sold", Data: long}), nil
			}},
		{"Error: the pause cannot be recorded: it has 67108910 bytes, more than 66060288", 0,
			func() (loop.Output, error) { return loop.Output{}, loop.WaitForReply("Which?").Saving(long) }},
		{"Error: the pause cannot be recorded: the JSON is nested deeper than 500", 0,
			func() (loop.Output, error) { return loop.Output{}, loop.WaitForReply("Which?").Saving(deep(499)) }},
		{"Error: the time to resume at: Time.MarshalJSON: year outside of range [0,9999]", 0,
			func() (loop.Output, error) { return loop.Output{}, loop.ResumeLater(never, "at the end of days") }},
		{"Error: the time to resume at: Time.MarshalJSON: year outside of range [0,9999]", 0,
			func() (loop.Output, error) {
				return loop.Output{}, loop.ResumeLater(never, "at the end of days").Saving(1)
			}},
	} {
		var file bytes.Buffer
		sold := 0
		w := trajectory.NewWriter(&file, trajectory.Header{}, trajectory.Tail{})
		res, err := loop.RunToolLoop(t.Context(), turn.Transcript{turn.User("Go.")}, loop.Options{
			Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "f"}), turntest.Say("done")).Turn,
			Record: func(e trajectory.Event) error {
				if _, ok := e.Body.(trajectory.Custom); ok {
					sold++
				}
				return w.Append(e)
			},
			Tools: []loop.Tool{{Name: "f", Run: func(context.Context, loop.Call) (loop.Output, error) { return c.tool() }}},
		})
		require.NoError(t, err)
		require.Equal(t, turn.Done, res.StopReason)
		require.Equal(t, c.want, turn.Text(res.Messages[2]))
		require.Contains(t, file.String(), `"status":"failed"`)
		require.Equal(t, c.sold, sold)
		_, err = json.Marshal(res)
		require.NoError(t, err)
	}
}

// deep is a list in a list, and so on.
func deep(n int) json.RawMessage {
	return json.RawMessage(strings.Repeat("[", n) + strings.Repeat("]", n))
}

// The pause of a sub-agent stands in that of its parent's call, and so deeper in the
// record with each level. Where it no longer fits its call fails, not the run.
func TestPauseOfASubAgentThatCannotBeRecorded(t *testing.T) {
	reasons := map[turn.StopReason]int{}
	for depth := 480; depth <= 500; depth++ {
		var file bytes.Buffer
		record := trajectory.NewWriter(&file, trajectory.Header{}, trajectory.Tail{}).Append
		o := loop.Options{Record: record, Tools: []loop.Tool{{Name: "f", Run: func(context.Context, loop.Call) (loop.Output, error) {
			return loop.Output{}, loop.WaitForReply("Which?").Saving(deep(depth))
		}}}}
		for range 3 {
			o.Turn = turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "f", Arguments: `{"task":"Go."}`}), turntest.Say("done")).Turn
			o = loop.Options{Record: record, Tools: []loop.Tool{loop.NewSubAgent(loop.Tool{Name: "f"}, "", o)}}
		}
		o.Turn = turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "f", Arguments: `{"task":"Go."}`}), turntest.Say("done")).Turn
		res, err := loop.RunToolLoop(t.Context(), turn.Transcript{turn.User("Go.")}, o)
		require.NoError(t, err, depth)
		reasons[res.StopReason]++
		for _, err := range trajectory.NewReader(&file).Entries() {
			require.NoError(t, err, depth)
		}
	}
	require.Len(t, reasons, 2)
}
