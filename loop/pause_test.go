package loop_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// desk is a host that keeps its run as JSON between the replies.
type desk struct {
	t   *testing.T
	o   loop.Options
	res loop.Result
}

func (d *desk) run(messages ...turn.TranscriptMessage) error {
	res, err := loop.RunToolLoop(d.t.Context(), append(d.res.Messages[:len(d.res.Messages):len(d.res.Messages)], messages...), d.o)
	if err == nil {
		d.res = throughJSON(d.t, res)
	}
	return err
}

func (d *desk) reply(id string, r loop.Reply, messages ...turn.TranscriptMessage) error {
	d.o.From, d.o.Replies = d.res.State, map[string]loop.Reply{id: throughJSON(d.t, r)}
	return d.run(messages...)
}

func (d *desk) waiting() trajectory.OpenCall {
	require.Len(d.t, d.res.Waiting(), 1)
	return d.res.Waiting()[0]
}

func withTicket(r loop.Reply, ticket string) loop.Reply {
	r.Ticket = ticket
	return r
}

func refused(t *testing.T, err error, says string) {
	t.Helper()
	var invalid *loop.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.ErrorContains(t, err, says)
}

// A server uses the id of a call again in its next turn. An approval that is
// delivered twice must not approve what nobody was shown.
func TestALateApprovalAndAnIDThatCameAgain(t *testing.T) {
	var paid []string
	d := &desk{t: t, o: loop.Options{
		Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "call_0", Name: "pay", Arguments: `{"n":1}`}),
			turntest.Say("", turn.Call{ID: "call_0", Name: "pay", Arguments: `{"n":999}`}), turntest.Say("Paid.")).Turn,
		Tools: []loop.Tool{{Name: "pay", Approval: func(loop.Call) string { return "May I?" },
			Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
				paid = append(paid, c.Arguments)
				return loop.Text("paid"), nil
			}}},
	}}
	require.NoError(t, d.run(turn.User("Pay.")))
	approval := withTicket(loop.Approve(), d.waiting().Ticket())
	require.NoError(t, d.reply("call_0", approval))
	require.Equal(t, `{"n":999}`, d.waiting().Arguments)
	refused(t, d.reply("call_0", approval), `loop: Replies[call_0]: the reply is to pause "1.1.call_0", and call "call_0" (pay) is in pause "2.1.call_0"`)
	require.Equal(t, []string{`{"n":1}`}, paid)
	require.NoError(t, d.reply("call_0", withTicket(loop.Deny("too dear"), d.waiting().Ticket())))
	require.Equal(t, turn.Done, d.res.StopReason)
	require.Equal(t, []string{`{"n":1}`}, paid)
}

func TestALateAnswerAndAToolThatAsksAgain(t *testing.T) {
	d := &desk{t: t, o: loop.Options{
		Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "book", Arguments: `{}`}), turntest.Say("Booked.")).Turn,
		Tools: []loop.Tool{{Name: "book", Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
			said := ""
			if c.Resume != nil {
				said = c.Resume.Reply.Text
			}
			if said == "sure" {
				return loop.Text("booked"), nil
			}
			return loop.Output{}, loop.WaitForReply("Are you sure?").Saving(said)
		}}},
	}}
	require.NoError(t, d.run(turn.User("Book.")))
	first := withTicket(loop.Answer("well"), d.waiting().Ticket())
	require.NoError(t, d.reply("a", first))
	require.Equal(t, 2, d.waiting().Pauses)
	refused(t, d.reply("a", first), "is in pause")
	require.NoError(t, d.reply("a", withTicket(loop.Answer("sure"), d.waiting().Ticket())))
	require.Equal(t, turn.Done, d.res.StopReason)
	refused(t, d.reply("a", first), "no call of that id is open")
}

// family is a parent whose sub-agent removes a file, which needs an approval, and
// then asks a question.
func family(t *testing.T, removed *int) *desk {
	call := func(id, name string) turn.Call { return turn.Call{ID: id, Name: name, Arguments: `{}`} }
	child := loop.Options{
		Turn: func(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
			reply := turn.Assistant("", call("x", "rm"))
			switch last := messages[len(messages)-1]; len(messages) {
			case 1:
			case 3:
				reply = turn.Assistant("", call("x", "ask"))
			default:
				reply = turn.Assistant(turn.Text(messages[2]) + " / " + turn.Text(last))
			}
			return turn.ModelTurnResult{Message: reply}, nil
		},
		Tools: []loop.Tool{
			{Name: "rm", Approval: func(loop.Call) string { return "Remove?" }, Run: func(context.Context, loop.Call) (loop.Output, error) {
				*removed++
				return loop.Text("removed"), nil
			}},
			{Name: "ask", Run: func(context.Context, loop.Call) (loop.Output, error) {
				return loop.Output{}, loop.WaitForReply("And now?")
			}},
		},
	}
	d := &desk{t: t, o: loop.Options{
		Turn:  turntest.NewScript(turntest.Say("", turn.Call{ID: "p", Name: "delegate", Arguments: `{"task":"Clean up."}`}), turntest.Say("All done.")).Turn,
		Tools: []loop.Tool{loop.NewSubAgent(loop.Tool{Name: "delegate"}, "", child)},
	}}
	require.NoError(t, d.run(turn.User("Go.")))
	require.Equal(t, turn.WaitingForReply, d.res.StopReason)
	require.Equal(t, "Remove?", d.waiting().Suspension.Question)
	require.Equal(t, trajectory.ForApproval, d.waiting().Suspension.For)
	return d
}

func resultOf(t *testing.T, d *desk) string {
	for _, m := range d.res.Messages {
		if m.OfTool != nil {
			return turn.Text(m)
		}
	}
	require.Fail(t, "there is no result")
	return ""
}

// What a sub-agent waits for is replied to in its parent, and each reply goes to
// the pause that it was meant for, here and there.
func TestASubAgentsPauses(t *testing.T) {
	for name, c := range map[string]struct {
		first   loop.Reply
		result  string
		removed int
	}{
		"approved": {loop.Approve(), "removed / rest", 1},
		"denied":   {loop.Deny("keep it"), "This call was declined by a person and did not run. The reason: keep it / rest", 0},
	} {
		t.Run(name, func(t *testing.T) {
			removed := 0
			d := family(t, &removed)
			refused(t, d.reply("p", loop.Answer("yes")), "waits for an approval")
			first := withTicket(c.first, d.waiting().Ticket())
			require.NoError(t, d.reply("p", first))
			require.Equal(t, "And now?", d.waiting().Suspension.Question)
			refused(t, d.reply("p", first), "is in pause")
			refused(t, d.reply("p", loop.Approve()), "waits for an answer")
			require.NoError(t, d.reply("p", withTicket(loop.Answer("rest"), d.waiting().Ticket())))
			require.Equal(t, turn.Done, d.res.StopReason)
			require.Equal(t, c.result, resultOf(t, d))
			require.Equal(t, c.removed, removed)
			require.Equal(t, []int64{2, 3}, []int64{d.res.Stats.Turns, d.res.Children.Turns})
		})
	}
}

// A denial goes on to the sub-agent, which may ask again. A new message cannot pass
// that question either: it comes back.
func TestASubAgentThatIsDeniedAndAsksAgain(t *testing.T) {
	removed := 0
	d := family(t, &removed)
	require.NoError(t, d.reply("p", loop.Deny("the user went on"), turn.User("Stop.")))
	require.Equal(t, turn.WaitingForReply, d.res.StopReason)
	require.Equal(t, "And now?", d.waiting().Suspension.Question)
	require.Equal(t, bytesOf(t, turn.Transcript{turn.User("Stop.")}), bytesOf(t, d.res.Undelivered))
	require.NoError(t, d.reply("p", loop.Deny("the user went on"), turn.User("Stop.")))
	require.Equal(t, turn.Done, d.res.StopReason)
	require.Equal(t, []string{"user", "assistant", "tool", "user", "assistant"}, roles(d.res.Messages))
	require.Zero(t, removed)
}

func roles(messages turn.Transcript) (out []string) {
	for _, m := range messages {
		out = append(out, turn.Role(m))
	}
	return out
}

// Two processes deliver the same approval at the same moment, over one record.
// What the record holds decides: one of the two is refused there, so its tool does
// not run.
func TestTheSameApprovalAtTheSameMoment(t *testing.T) {
	ran := 0
	d := &desk{t: t, o: loop.Options{
		Turn:  turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "rm", Arguments: `{}`}), turntest.Say("Removed.")).Turn,
		Tools: []loop.Tool{{Name: "rm", Approval: func(loop.Call) string { return "May I?" }, Run: func(context.Context, loop.Call) (loop.Output, error) { ran++; return loop.Text("removed"), nil }}},
	}}
	require.NoError(t, d.run(turn.User("Go.")))
	started := map[string]bool{} // a unique index in the host's store
	d.o.From, d.o.Replies = d.res.State, map[string]loop.Reply{"a": loop.Approve()}
	d.o.Record = func(e trajectory.Event) error {
		if b, ok := e.Body.(trajectory.CallStart); ok {
			key := fmt.Sprintf("%d.%s", b.Turn, b.ID)
			if started[key] {
				return errors.New("it has started")
			}
			started[key] = true
		}
		return nil
	}
	_, err := loop.RunToolLoop(t.Context(), d.res.Messages, d.o)
	require.NoError(t, err)
	res, err := loop.RunToolLoop(t.Context(), d.res.Messages, d.o)
	require.Equal(t, loop.FailureRecorder, loop.ClassifyRunFailure(err))
	require.Equal(t, 1, ran)
	require.Len(t, res.Waiting(), 1, "this one has changed nothing")
}

// Between a pause and its reply the program was replaced, and its tool now asks
// other arguments. The call cannot go on, and the model must not read that it did
// not run.
func TestAPausedCallAndAToolThatChanged(t *testing.T) {
	type before struct {
		N int `json:"n"`
	}
	type after struct {
		N string `json:"n"`
	}
	d := &desk{t: t, o: loop.Options{
		Turn: turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "book", Arguments: `{"n":1}`}), turntest.Say("Hm.")).Turn,
		Tools: []loop.Tool{loop.NewTool(loop.Tool{Name: "book"}, func(context.Context, before) (string, error) {
			return "", loop.WaitForReply("Inside?").Saving(1)
		})},
	}}
	require.NoError(t, d.run(turn.User("Go.")))
	d.o.Tools = []loop.Tool{loop.NewTool(loop.Tool{Name: "book"}, func(context.Context, after) (string, error) { return "booked", nil })}
	require.NoError(t, d.reply("a", loop.Answer("yes")))
	require.Equal(t, turn.Done, d.res.StopReason)
	text := resultOf(t, d)
	require.Contains(t, text, "This call had begun earlier and cannot go on; what it did before that stands. Its arguments are not valid: property n: ")
	require.NotContains(t, text, "did not run")
}
