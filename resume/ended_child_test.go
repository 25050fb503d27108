package resume_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// Between the end of a sub-agent and the end of its call the process dies. However the
// sub-agent ended, the next process makes of it what this one would have.
func TestCrashBehindAnEndedSubAgent(t *testing.T) {
	calls := func(n int) turn.TurnFn { // in the first n turns
		return func(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
			r := turn.ModelTurnResult{Message: turn.Assistant("It is so."), Usage: turn.Usage{InputTokens: 5, OutputTokens: 1}}
			if len(messages) < 2*n {
				r.Message = turn.Assistant("I look.", turn.Call{ID: "x", Name: "look"})
			}
			return r, nil
		}
	}
	look := func(err error) []loop.Tool {
		return []loop.Tool{{Name: "look", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Text("seen"), err }}}
	}
	for name, child := range map[string]loop.Options{
		"done":    {Turn: calls(1), Tools: look(nil)},
		"limit":   {Turn: calls(9), Tools: look(nil), MaxIterations: 2},
		"budget":  {Turn: calls(9), Tools: look(nil), Budget: loop.Budget{Tokens: 12}},
		"stopped": {Turn: calls(9), Tools: look(nil), ShouldStop: func(s trajectory.State) error { return map[bool]error{true: errors.New("enough")}[s.Stats.Turns > 1] }},
		"fatal":   {Turn: calls(9), Tools: look(loop.Fatal(errors.New("the disk is gone")))},
		"model failed": {Turn: func(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
			return turn.ModelTurnResult{}, errors.New("bad gateway")
		}},
		"compactor":    {Turn: calls(1), Tools: look(nil), Compact: loop.Summarise(loop.SummaryOptions{})},
		"waits":        {Turn: calls(1), Tools: look(loop.WaitForReply("Where?"))},
		"batch failed": {Turn: calls(1), Tools: look(nil), Batch: func(context.Context, []loop.Call) ([]loop.Outcome, error) { return nil, errors.New("no workers") }},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(session []byte) ([]byte, string) {
				past, err := resume.Read(bytes.NewReader(session), nil)
				require.NoError(t, err)
				out := bytes.NewBuffer(bytes.Clone(session))
				o := loop.Options{Turn: leads, From: past.State, Record: trajectory.NewWriter(out, trajectory.Header{}, past.Tail).Append}
				child := child
				child.Record = o.Record
				o.Tools = []loop.Tool{loop.NewSubAgent(loop.Tool{Name: "agent"}, "", child)}
				messages := past.Messages
				if len(messages) == 0 {
					messages = turn.Transcript{turn.User("Go.")}
				}
				res, err := loop.RunToolLoop(context.Background(), messages, o)
				return out.Bytes(), fmt.Sprintln(res.StopReason, err, loop.ClassifyRunFailure(err), transcript(t, res.Messages), timeless(res.Total()))
			}
			whole, want := run(nil)
			ended := strings.Index(string(whole), `"t":"run.end"`)
			ended += strings.Index(string(whole[ended:]), "\n") + 1
			_, got := run(whole[:ended])
			require.Equal(t, want, got)
		})
	}
}

// A sub-agent whose last reply a damaged record has lost has not said nothing: the model
// is asked again.
func TestEndedSubAgentWithoutItsLastReply(t *testing.T) {
	w := &walker{t: t, steps: 2, did: map[string]int{}, agent: &loop.Tool{Name: "agent"}}
	whole, want := w.run(nil)
	ended := bytes.Index(whole, []byte(`"t":"run.end"`))
	ended += bytes.IndexByte(whole[ended:], '\n') + 1
	lines := bytes.SplitAfter(whole[:ended], []byte("\n"))
	require.Contains(t, string(lines[len(lines)-3]), "All done.") // and behind the last line feed there is nothing
	lines[len(lines)-3] = nil
	w.did = map[string]int{}
	_, got := w.run(bytes.Join(lines, nil))
	require.Equal(t, transcript(t, want.Messages), transcript(t, got.Messages))
	require.Empty(t, w.did)
}
