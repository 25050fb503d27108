package progress

import (
	"fmt"

	"github.com/pawl-dev/pawl/trajectory"
)

// Repetition is what it is that a run repeats.
type Repetition string

const (
	// SameCall: turn after turn the same calls came to the same results.
	SameCall Repetition = "the same call with the same result"
	// Cycle: two to four turns came round again, with the same results.
	Cycle Repetition = "the same few turns with the same results"
	// SameError: one tool failed in the same way, whatever it was given. Two errors are
	// the same when they differ only in times, durations and addresses in memory, and in
	// texts and numbers that each call was given as the same argument.
	SameError Repetition = "the same error under varying arguments"
	// SameText: the model said the same again instead of going on.
	SameText Repetition = "the same text"
)

// StuckError says that a run only repeats itself. It is what [Watch.ShouldStop]
// returns, and so the cause of a run that it stopped.
type StuckError struct {
	What Repetition
	// Tools are the tools concerned, in the order of the cycle; none for a text.
	Tools []string
	// Detail is the call, the error or the text that came again, cut to a line.
	Detail string
	// Times is how often it was seen, at most once per turn; a cycle counts once
	// each time it came round. Turns is how many turns that took, those between two
	// failures aside.
	Times, Turns int
	// Since is the turn in which it was first seen; 1 is the run's first.
	Since int
}

// Error says what repeats, and how often.
func (e *StuckError) Error() string {
	return fmt.Sprintf("stuck: %s, %d times since turn %d: %s", e.What, e.Times, e.Since, e.Detail)
}

// defaultStuckAt is how many turns a run may spend on a repetition before it
// counts as stuck.
const defaultStuckAt = 6

// lasts reports whether a repetition took that many turns. A cycle must also have
// come round often enough to be one.
func (e *StuckError) lasts(turns, rounds int) bool {
	return e != nil && e.Turns >= turns && (e.Times == e.Turns || e.Times >= rounds)
}

// stuck and repeating are the two upper steps of the ladder: the model is told
// half way to the stop.
func (e *StuckError) stuck(at int) bool     { return e.lasts(at, 3) }
func (e *StuckError) repeating(at int) bool { return e.lasts(max(2, (at+1)/2), 2) }

// DetectStuck returns a *[StuckError] that says what the run of these events repeats
// at its end, if that took at least the given number of turns, and nil if it did not.
// 0 is the default, 6; the least is 2. A cycle must have come round three times.
//
// The events are those of one run, its child runs included. Where they are those of
// a child run alone, it is that run which is judged.
//
// Calls are compared with their results, as JSON: a result that changes, and an
// edit that was not made before, begin the count again. So does a tool that polls,
// a command that sleeps, and a call that paused the run until a time.
func DetectStuck(events []trajectory.Event, turns int) error {
	var t tally
	var d detector
	each(events, func(e *trajectory.Event) { d.observe(&t, e) })
	if turns == 0 {
		turns = defaultStuckAt
	}
	d.armed = true // the question is about the events given, wherever they end
	if e := d.now(&t); e.stuck(max(turns, 2)) {
		return e
	}
	return nil
}
