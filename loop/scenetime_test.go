package loop_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// event reads the lines of limits and of things that happen to a run.
func (r *sceneReader) event(word, rest string) (err error) {
	switch word {
	case "max-iterations":
		r.maxIterations, err = strconv.Atoi(rest)
	case "max-parallel":
		r.maxParallel, err = strconv.Atoi(rest)
	case "grace":
		r.grace, err = time.ParseDuration(rest)
	case "later":
		r.later, err = time.ParseDuration(rest)
	case "batch":
		return r.readBatch(rest)
	case "cancel":
		return r.readEnd(rest, "at ", &r.cancelAt)
	case "shutdown":
		r.shutdown = true
		return r.readEnd(rest, "at ", &r.cancelAt)
	case "deadline":
		return r.readEnd(rest, "", &r.deadline)
	case "stop":
		return r.readStop(rest)
	case "inbox":
		at, text := cut(strings.TrimPrefix(rest, "at "))
		t := timedText{text: text}
		t.at, err = time.ParseDuration(at)
		r.inbox = append(r.inbox, t)
	case "record":
		r.recordFails, err = strconv.Atoi(strings.TrimPrefix(rest, "fails at "))
	case "killed":
		n, _ := cut(strings.TrimPrefix(rest, "after "))
		if r.killed, err = strconv.Atoi(n); err == nil && r.killed < 1 {
			err = errors.New("a process that recorded nothing left nothing")
		}
	default:
		return r.readLong(word, rest)
	}
	return err
}

func (r *sceneReader) readEnd(rest, before string, into *time.Duration) (err error) {
	rest, r.because, _ = strings.Cut(strings.TrimPrefix(rest, before), " because ")
	if *into, err = time.ParseDuration(rest); err == nil && *into < 0 {
		err = errors.New("lies in the past")
	}
	return err
}

func (r *sceneReader) readStop(rest string) error {
	rest, r.stopCause, _ = strings.Cut(strings.TrimPrefix(rest, "after "), " because ")
	if r.stopCause == "" {
		return errors.New("a host says why it stops")
	}
	if rest == "at once" {
		return nil
	}
	n, what := cut(rest)
	count, err := strconv.Atoi(n)
	switch {
	case err != nil:
		return err
	case strings.HasPrefix(what, "turn"):
		r.stopTurns = count
	case strings.HasPrefix(what, "call"):
		r.stopN = count
	default:
		return fmt.Errorf("stop after %q of what?", rest)
	}
	return nil
}

func (r *sceneReader) readBatch(rest string) (err error) {
	r.batch, rest = cut(rest)
	switch r.batch {
	case "in-order", "reversed":
		return nil
	case "stops":
		n, text := cut(strings.TrimPrefix(rest, "after "))
		r.batchError = text
		r.batchAfter, err = strconv.Atoi(n)
		return err
	}
	return fmt.Errorf("a batch does not run %q", r.batch)
}
