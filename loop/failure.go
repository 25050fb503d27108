package loop

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// InvalidError says what cannot be run, before anything has happened.
type InvalidError struct {
	// Field is what is wrong: "Turn", "Tools[1] (read)", "messages", "Replies[call_2]".
	Field string
	Err   error
}

// Error names the field and what is wrong with it.
func (e *InvalidError) Error() string { return "loop: " + e.Field + ": " + e.Err.Error() }

// Unwrap is what is wrong, without the field.
func (e *InvalidError) Unwrap() error { return e.Err }

// ModelError is an error of the TurnFn. What it returned beside the error is
// Result.Partial.
type ModelError struct{ Err error }

// Error is the TurnFn's, with "model: " before it.
func (e *ModelError) Error() string {
	const mark = "model: "
	return mark + strings.TrimPrefix(e.Err.Error(), mark)
}

// Unwrap is the TurnFn's error.
func (e *ModelError) Unwrap() error { return e.Err }

// ToolError is an error that a tool made with [Fatal], or a [BatchFn] returned.
type ToolError struct {
	Tool, CallID string // "" when no single call is meant
	Err          error
}

// Error names the tool and the call.
func (e *ToolError) Error() string {
	if e.Tool == "" {
		return "tools: " + e.Err.Error()
	}
	return fmt.Sprintf("tool %s (call %s): %v", e.Tool, e.CallID, e.Err)
}

// Unwrap is the tool's error, or the batch's.
func (e *ToolError) Unwrap() error { return e.Err }

// RecorderError is an error of Options.Record.
type RecorderError struct {
	Entry string // the type of the entry that was not recorded
	Err   error
}

// Error names the entry that is missing in the record.
func (e *RecorderError) Error() string {
	text := e.Err.Error()
	if strings.Contains(text, e.Entry) { // a trajectory.Writer names it too
		return "recorder: " + text
	}
	return "recording " + e.Entry + ": " + text
}

// Unwrap is the recorder's error.
func (e *RecorderError) Unwrap() error { return e.Err }

// RunTimeoutError says that the context's deadline expired. It matches
// context.DeadlineExceeded, and the Result beside it is complete.
type RunTimeoutError struct {
	// Elapsed is how long the run had until the deadline, without the grace of its tools;
	// by a clock of the host's (Options.Now) how long it took.
	Elapsed time.Duration
}

// Error says how long the run had.
func (e *RunTimeoutError) Error() string {
	return fmt.Sprintf("the run's deadline expired after %s", e.Elapsed)
}

// Is matches context.DeadlineExceeded.
func (e *RunTimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Fatal makes an error of a tool end the run. It is nil for a nil error.
func Fatal(err error) error {
	if err == nil {
		return nil
	}
	return &fatalError{err}
}

type fatalError struct{ err error }

func (e *fatalError) Error() string { return e.err.Error() }
func (e *fatalError) Unwrap() error { return e.err }

// Failure is the class of what ended a run.
type Failure string

const (
	FailureTimedOut  Failure = "timed_out" // the run's own deadline, and nothing else
	FailureCancelled Failure = "cancelled" // somebody asked for it, or a budget
	FailureModel     Failure = "model"
	FailureTool      Failure = "tool"
	FailureRecorder  Failure = "recorder"
	FailureInvalid   Failure = "invalid"
)

// ClassifyRunFailure maps an error of [RunToolLoop], or a Result's Cause, onto one
// small vocabulary; "" for nil. A spent budget, an error of ShouldStop and a host's
// own cause of cancelling are all cancelled; Result.Cause tells them apart, by
// errors.As with a *[BudgetError] and the like. A TurnFn's own timeout, while the run
// still had time, is the model's failure; so is whatever became of another run that a
// TurnFn or a tool made. Of two errors joined the recorder's counts.
func ClassifyRunFailure(err error) Failure {
	if err == nil {
		return ""
	}
	if class := classOf(err); class != "" {
		return class
	}
	return FailureCancelled
}

// classOf is the class of the outermost error that has one. What that one wraps may
// be another run's: errors.As would find a child's deadline in a tool's error.
func classOf(err error) Failure {
	switch err.(type) {
	case *RecorderError:
		return FailureRecorder
	case *RunTimeoutError:
		return FailureTimedOut
	case *InvalidError:
		return FailureInvalid
	case *ToolError:
		return FailureTool
	case *ModelError:
		return FailureModel
	}
	class := Failure("")
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			class = classOf(inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if c := classOf(inner); class == "" || c == FailureRecorder {
				class = c
			}
		}
	}
	return class
}
