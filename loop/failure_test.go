package loop_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

func TestClassifyRunFailure(t *testing.T) {
	for _, c := range []struct {
		err  error
		want loop.Failure
	}{
		{nil, ""},
		{context.Canceled, loop.FailureCancelled},
		{context.DeadlineExceeded, loop.FailureCancelled}, // not the run's own
		{errors.New("the user pressed stop"), loop.FailureCancelled},
		{&loop.RunTimeoutError{}, loop.FailureTimedOut},
		{fmt.Errorf("in a host: %w", &loop.RunTimeoutError{}), loop.FailureTimedOut},
		{&loop.ModelError{Err: context.DeadlineExceeded}, loop.FailureModel},
		{&loop.ModelError{Err: fs.ErrNotExist}, loop.FailureModel},
		{&loop.ToolError{Tool: "db", Err: context.Canceled}, loop.FailureTool},
		{&loop.RecorderError{Entry: "message", Err: fs.ErrClosed}, loop.FailureRecorder},
		{&loop.InvalidError{Field: "Turn", Err: errors.New("no")}, loop.FailureInvalid},
		{errors.Join(&loop.RunTimeoutError{}, &loop.RecorderError{}), loop.FailureRecorder},
		{fmt.Errorf("%w; %w", &loop.ModelError{Err: fs.ErrClosed}, &loop.RecorderError{}), loop.FailureRecorder},
		{errors.Join(fs.ErrClosed, &loop.ToolError{Err: fs.ErrClosed}), loop.FailureTool},
		// what another run came to is not this run's failure
		{&loop.ModelError{Err: fmt.Errorf("the router: %w", &loop.RunTimeoutError{})}, loop.FailureModel},
		{&loop.ModelError{Err: &loop.RecorderError{}}, loop.FailureModel},
		{&loop.ToolError{Err: &loop.RunTimeoutError{}}, loop.FailureTool},
		{fmt.Errorf("a host: %w", &loop.ToolError{Err: &loop.ModelError{Err: fs.ErrClosed}}), loop.FailureTool},
		{&loop.ToolError{Err: &loop.InvalidError{Field: "messages", Err: errors.New("no")}}, loop.FailureTool},
		{fmt.Errorf("no class: %w", error(nil)), loop.FailureCancelled},
	} {
		require.Equal(t, c.want, loop.ClassifyRunFailure(c.err), "%v", c.err)
	}
}

// A run ends in a way of its own for each thing that can end it, and says so in
// its reason, its error, its cause and the entry that ends its record.
func TestHowRunsEnd(t *testing.T) {
	pressed := errors.New("the user pressed stop")
	wait := func(ctx context.Context, d time.Duration) error { return sleep(ctx, d) }
	call := turntest.Say("", turn.Call{ID: "a", Name: "work"})
	failing := func(err error) turn.TurnFn { return turntest.NewScript(turntest.Fail(err)).Turn }
	tool := func(err error) loop.Tool {
		return loop.Tool{Name: "work", Timeout: time.Second, Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
			if err != nil {
				return loop.Output{}, err
			}
			return loop.Output{}, wait(ctx, time.Minute)
		}}
	}
	for name, c := range map[string]struct {
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		o       loop.Options
		reason  turn.StopReason
		failure loop.Failure // of the error
		cause   error        // that Result.Cause is
		is      error        // that the error is
		ends    string       // the class in the record
	}{
		"done": {o: loop.Options{Turn: turntest.NewScript(turntest.Say("Hi.")).Turn}, reason: turn.Done},
		"a tool's own timeout ends no run": {
			o:      loop.Options{Turn: turntest.NewScript(call, turntest.Say("Slow.")).Turn, Tools: []loop.Tool{tool(nil)}},
			reason: turn.Done,
		},
		"a model's own timeout is the model's": {
			o: loop.Options{Turn: func(ctx context.Context, _ []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				return turn.ModelTurnResult{}, wait(ctx, time.Hour)
			}},
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, time.Minute)
			},
			failure: loop.FailureModel, is: context.DeadlineExceeded, ends: "model",
		},
		"a model that says cancelled while the run is not": {
			o: loop.Options{Turn: failing(context.Canceled)}, failure: loop.FailureModel, is: context.Canceled, ends: "model",
		},
		"a fatal tool": {
			o:       loop.Options{Turn: turntest.NewScript(call).Turn, Tools: []loop.Tool{tool(loop.Fatal(fmt.Errorf("opening: %w", fs.ErrNotExist)))}},
			failure: loop.FailureTool, is: fs.ErrNotExist, ends: "tool",
		},
		"a fatal tool, wrapped": {
			o:       loop.Options{Turn: turntest.NewScript(call).Turn, Tools: []loop.Tool{tool(fmt.Errorf("in a tool: %w", loop.Fatal(fs.ErrNotExist)))}},
			failure: loop.FailureTool, is: fs.ErrNotExist, ends: "tool",
		},
		"cancelled": {
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, c := context.WithCancel(ctx)
				c()
				return ctx, c
			},
			o:      loop.Options{Turn: turntest.NewScript().Turn},
			reason: turn.Aborted, cause: context.Canceled, ends: "cancelled",
		},
		"cancelled for a cause": {
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, c := context.WithCancelCause(ctx)
				c(pressed)
				return ctx, func() {}
			},
			o:      loop.Options{Turn: turntest.NewScript().Turn},
			reason: turn.Aborted, cause: pressed, ends: "cancelled",
		},
		"cancelled for a cause that is a deadline": {
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, c := context.WithCancelCause(ctx)
				c(context.DeadlineExceeded)
				return ctx, func() {}
			},
			o:      loop.Options{Turn: turntest.NewScript().Turn},
			reason: turn.Aborted, cause: context.DeadlineExceeded, ends: "cancelled",
		},
		"out of time": {
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, time.Millisecond)
			},
			o:      loop.Options{Turn: turntest.NewScript(call).Turn, Tools: []loop.Tool{tool(nil)}},
			reason: turn.Deadline, failure: loop.FailureTimedOut, is: context.DeadlineExceeded, cause: context.DeadlineExceeded, ends: "timed_out",
		},
		"out of time, for a cause": {
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeoutCause(ctx, time.Millisecond, pressed)
			},
			o:      loop.Options{Turn: turntest.NewScript(call).Turn, Tools: []loop.Tool{tool(nil)}},
			reason: turn.Deadline, failure: loop.FailureTimedOut, is: context.DeadlineExceeded, cause: pressed, ends: "timed_out",
		},
		"stopped by the host": {
			o:      loop.Options{Turn: turntest.NewScript().Turn, ShouldStop: func(trajectory.State) error { return pressed }},
			reason: turn.Aborted, cause: pressed, ends: "cancelled",
		},
		"a batch that fails": {
			o: loop.Options{Turn: turntest.NewScript(call).Turn, Tools: []loop.Tool{tool(nil)},
				Batch: func(context.Context, []loop.Call) ([]loop.Outcome, error) { return nil, fs.ErrClosed }},
			failure: loop.FailureTool, is: fs.ErrClosed, ends: "tool",
		},
		"a hook's message that cannot be": {
			o:       loop.Options{Turn: turntest.NewScript().Turn, Inbox: func() []turn.TranscriptMessage { return []turn.TranscriptMessage{turn.ToolResult("x", "")} }},
			failure: loop.FailureInvalid, ends: "invalid",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.ctx != nil {
					var cancel context.CancelFunc
					ctx, cancel = c.ctx(ctx)
					defer cancel()
				}
				var last trajectory.Event
				c.o.Record = func(e trajectory.Event) error { last = e; return nil }
				res, err := loop.RunToolLoop(ctx, []turn.TranscriptMessage{turn.User("Go.")}, c.o)
				require.Equal(t, c.reason, res.StopReason)
				require.Equal(t, c.failure, loop.ClassifyRunFailure(err))
				if c.is != nil {
					require.ErrorIs(t, err, c.is)
				}
				if c.cause == nil {
					require.NoError(t, res.Cause)
				} else {
					require.ErrorIs(t, res.Cause, c.cause)
				}
				end := last.Body.(trajectory.RunEnd)
				require.Equal(t, c.ends, end.Failure)
				require.Equal(t, c.reason, end.Reason)
				if c.reason == turn.Deadline && c.cause == context.DeadlineExceeded {
					require.Equal(t, loop.FailureTimedOut, loop.ClassifyRunFailure(res.Cause))
				}
			})
		})
	}
}

func TestFatalOfNothing(t *testing.T) {
	require.NoError(t, loop.Fatal(nil))
}

// A reply that comes in the very moment the deadline expires is not thrown away:
// a plain one is done, one with calls has them answered as not started.
func TestReplyAfterTheDeadline(t *testing.T) {
	for reason, reply := range map[turn.StopReason]turn.AssistantTurnMessage{
		turn.Done:     turn.Assistant("Just in time."),
		turn.Deadline: turn.Assistant("One call.", turn.Call{ID: "a", Name: "work"}),
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			res, err := loop.RunToolLoop(ctx, []turn.TranscriptMessage{turn.User("Go.")}, loop.Options{
				Turn: func(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
					time.Sleep(2 * time.Second)
					return turn.ModelTurnResult{Message: reply}, nil
				},
				Tools: []loop.Tool{{Name: "work", Run: func(context.Context, loop.Call) (loop.Output, error) {
					require.Fail(t, "the call ran")
					return loop.Output{}, nil
				}}},
			})
			require.Equal(t, reason, res.StopReason)
			require.Equal(t, reason == turn.Deadline, err != nil)
			require.EqualValues(t, 1, res.Stats.Turns)
			require.Zero(t, res.Stats.ToolCalls)
			require.Equal(t, reply.Content, res.Text())
			require.Empty(t, turn.OpenCalls(res.Messages))
		})
	}
}

// A rule for approvals that panics has approved nothing: the call does not run.
func TestApprovalRuleThatPanics(t *testing.T) {
	tool := loop.Tool{Name: "rm", Approval: func(loop.Call) string { panic("no rule") },
		Run: func(context.Context, loop.Call) (loop.Output, error) {
			require.Fail(t, "the call ran")
			return loop.Output{}, nil
		}}
	text, status, res := callOnce(t, tool, "{}")
	require.Equal(t, trajectory.Failed, status)
	require.Equal(t, "This call did not run: the rule that says whether a person must approve it panicked: no rule", text)
	require.Zero(t, res.Stats.ToolCalls)
}

// A panic with any value at all is one line for the model.
func TestPanicsOfAllSorts(t *testing.T) {
	for _, value := range []any{"two\nlines", errors.New("an error"), struct{ A int }{7}, (*editIn)(nil), fs.ErrClosed} {
		tool := loop.Tool{Name: "f", Run: func(context.Context, loop.Call) (loop.Output, error) { panic(value) }}
		text, status, res := callOnce(t, tool, "{}")
		require.Equal(t, trajectory.Failed, status)
		require.NotContains(t, text, "\n")
		require.Contains(t, text, "Error: the tool panicked: ")
		require.EqualValues(t, 1, res.Stats.ToolCalls)
	}
	text, _, _ := callOnce(t, loop.Tool{Name: "f", Run: func(context.Context, loop.Call) (loop.Output, error) {
		var m map[string]int
		m["x"] = 1 //lint:ignore SA5000 a tool with a bug is what this is about
		return loop.Output{}, nil
	}}, "{}")
	require.Equal(t, "Error: the tool panicked: assignment to entry in nil map", text)
}
