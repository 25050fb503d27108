package resume_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// drifter is a host whose model and tools do anything, and whose process dies
// anywhere. What it does with a session it decides by the verdict and NeedsMessage.
type drifter struct {
	t       *rapid.T
	r       *rand.Rand
	session []byte
	seen    map[string]int // sessions, by verdict and whether they need a message
}

func (d *drifter) one(in int) bool { return d.r.Intn(in) == 0 }

func (d *drifter) model(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	r := turn.ModelTurnResult{Message: turn.Assistant([]string{"so be it", ""}[d.r.Intn(2)]), Finish: []string{"stop", "length"}[d.r.Intn(2)]}
	if d.one(3) {
		return r, nil
	}
	if d.one(12) {
		return r, errors.New("503")
	}
	var calls []turn.Call
	for i := range 1 + d.r.Intn(3) {
		name := []string{"act", "act", "ask", "book", "later", "pay", "end", "nothing"}[d.r.Intn(8)]
		calls = append(calls, turn.Call{ID: fmt.Sprint(i), Name: name, Arguments: "{}"})
	}
	r.Message, r.Finish = turn.Assistant("", calls...), "tool_calls"
	return r, nil
}

func (d *drifter) tools() []loop.Tool {
	says := func(text string, err error) func(context.Context, loop.Call) (loop.Output, error) {
		return func(context.Context, loop.Call) (loop.Output, error) { return loop.Text(text), err }
	}
	return []loop.Tool{
		{Name: "act", ReplaySafe: d.one(2), Run: says("done", nil)},
		{Name: "ask", Run: says("", loop.WaitForReply("Well?"))},
		{Name: "book", Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
			if c.Resume == nil {
				return loop.Output{}, loop.WaitForReply("Inside?").Saving(1)
			}
			return loop.Text("booked"), nil
		}},
		{Name: "later", Run: says("", loop.ResumeLater(time.Unix(1<<33, 0), "it bakes"))},
		{Name: "pay", Approval: func(loop.Call) string { return "Pay?" }, Run: says("paid", nil)},
		{Name: "end", Run: says("", loop.Fatal(errors.New("no more")))},
	}
}

func (d *drifter) read() resume.Resumable {
	past, err := resume.Read(bytes.NewReader(d.session), nil)
	require.NoError(d.t, err)
	return resume.Resumable{PastSession: past, Assessment: resume.Assess(past)}
}

// try runs the session as it is, or with a message, and keeps nothing of it. It counts
// the questions to the model, and the entries of calls.
func (d *drifter) try(past resume.Resumable, message string) (res loop.Result, asked, calls int, err error) {
	messages := past.Messages[:len(past.Messages):len(past.Messages)]
	if message != "" {
		messages = append(messages, turn.User(message))
	}
	res, err = loop.RunToolLoop(context.Background(), messages, loop.Options{From: past.State, MaxIterations: -1, MaxParallel: 1, Tools: d.tools(),
		Record: func(e trajectory.Event) error {
			switch e.Body.(type) {
			case trajectory.CallStart, trajectory.Suspend, trajectory.CallEnd:
				calls++
			}
			return nil
		},
		Turn: func(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
			asked++
			return turn.ModelTurnResult{Message: turn.Assistant("ok")}, nil
		}})
	return res, asked, calls, err
}

// check holds what is said of the session against what a run over it does.
func (d *drifter) check(past resume.Resumable) {
	var invalid *loop.InvalidError
	u, needs := past.Assessment, past.NeedsMessage()
	d.seen[fmt.Sprint(u.Verdict, " ", needs)]++
	res, asked, calls, err := d.try(past, "")
	switch waits := u.Verdict == resume.WaitingForReply || u.Verdict == resume.ResumingLater; {
	case len(past.Messages) == 0:
		require.True(d.t, needs)
		require.ErrorAs(d.t, err, &invalid)
	case needs:
		require.False(d.t, waits)
		require.Zero(d.t, asked)
		require.Empty(d.t, res.Added)
		require.Equal(d.t, turn.Done, res.StopReason)
	case !waits:
		require.Equal(d.t, resume.StoppedShort, u.Verdict)
		require.NotZero(d.t, asked+calls, u.Because)
	default:
		_, _, _, err = d.try(past, "Well, go on.")
		require.ErrorAs(d.t, err, &invalid, "a session that waits takes no message")
		return
	}
	message := u.Suggestion
	if u.Verdict == resume.Finished {
		message = "And now something else."
	}
	_, asked, _, err = d.try(past, message)
	require.False(d.t, errors.As(err, &invalid), "%s: %v", u.Because, err)
	require.True(d.t, asked > 0 || err != nil || len(past.State.Open) > 0, u.Because)
}

// carryOn is one process: it does what the verdict and NeedsMessage ask for.
func (d *drifter) carryOn(past resume.Resumable) {
	out := bytes.NewBuffer(bytes.Clone(d.session))
	messages := past.Messages
	o := loop.Options{Turn: d.model, Tools: d.tools(), From: past.State, MaxParallel: 1, MaxIterations: 1 + d.r.Intn(4), FinalTurn: d.one(2),
		Record: trajectory.NewWriter(out, trajectory.Header{}, past.Tail).Append, Replies: map[string]loop.Reply{}}
	if past.NeedsMessage() {
		messages = append(messages, turn.User("go on"))
	}
	for _, c := range past.State.Waiting() {
		switch {
		case d.one(4) || c.Suspension.For == trajectory.ForTime:
			o.Replies[c.ID] = loop.Deny("no")
		case c.Suspension.For == trajectory.ForApproval:
			o.Replies[c.ID] = loop.Approve()
		case d.one(2):
			o.Replies[c.ID] = loop.Answer("yes")
		}
	}
	if d.one(6) {
		o.ShouldStop = func(trajectory.State) error { return errors.New("that will do") }
	}
	_, err := loop.RunToolLoop(context.Background(), messages, o)
	var invalid *loop.InvalidError
	require.False(d.t, errors.As(err, &invalid), "%v", err)
	if d.session = out.Bytes(); d.one(2) {
		d.kill()
	}
}

// kill cuts the session behind a line or in the middle of one. The line is drawn and
// not the byte, since how long a line is depends on how long something took.
func (d *drifter) kill() {
	lines := bytes.SplitAfter(d.session, []byte("\n"))
	n := d.r.Intn(len(lines))
	d.session = bytes.Join(lines[:n], nil)
	if d.one(2) {
		d.session = append(d.session, lines[n][:len(lines[n])/2]...)
	}
}

// Whatever a session did and wherever it was killed: what the assessment offers is
// accepted, and NeedsMessage says whether a run over it has anything to do.
func TestWhatToDoWithASession(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		d := &drifter{t: t, r: rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed"))), seen: seen}
		for range 6 {
			past := d.read()
			d.check(past)
			d.carryOn(past)
		}
	})
	for _, stands := range []string{"finished true", "unfinished true", "unfinished false", "waiting_for_reply false", "resuming_later false"} {
		require.NotZero(t, seen[stands], stands)
	}
	require.Len(t, seen, 5, "%v", seen)
}
