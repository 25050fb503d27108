package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// CompactFn makes a transcript smaller. It is asked before each model turn, and
// returns the zero Compaction to leave things as they are; and again when the
// model said that the transcript no longer fits ([turn.ErrContextOverflow]).
// [Summarise] and [Prune] make one.
//
// Beside an error, or in a compaction that cannot be used, the Spend counts all
// the same, and the reason is recorded as [trajectory.Compact.Failed]. Before a
// turn the run goes on regardless; after three failures in a row it is asked again
// only when the transcript no longer fits. An [*InvalidError] ends the run: it says
// that the CompactFn was set up in a way that can never work. It must return soon
// after ctx is done, and bound itself what it waits for.
type CompactFn func(ctx context.Context, in Compacting) (Compaction, error)

// Compacting is what a [CompactFn] decides from.
type Compacting struct {
	// Messages is the transcript, without open calls. It must not be written to.
	Messages turn.Transcript
	State    trajectory.State
	// Overflow says that the model refused the transcript, Try how often room was
	// made or looked for since, 0 to 2: each try should cut deeper.
	Overflow bool
	Try      int
}

// Compaction puts Head in place of the first Drop messages. What comes of it has
// to pair, be smaller than before, and hold no open call.
type Compaction struct {
	Head  turn.Transcript
	Drop  int
	Spend stats.AuxiliarySpend // of the model calls it took; zero for none
}

const (
	compactFailures = 3 // in a row, before it is not asked any more without need
	compactTries    = 3 // in a row, for one transcript that does not fit
)

// compactBefore offers the transcript for compaction before a model turn. Its
// failure is not the run's.
func (r *run) compactBefore() *ending {
	if r.o.Compact == nil || r.compactFailed >= compactFailures {
		return nil
	}
	_, err := r.compact(Compacting{})
	var invalid *InvalidError
	switch {
	case errors.As(err, &invalid):
		return failed(err)
	case r.ctx.Err() != nil || r.recorderErr != nil:
		return r.stopping()
	case err != nil:
		r.compactFailed++
	default:
		r.compactFailed = 0
	}
	return r.spent() // a summary may have been what spent the rest
}

// compactAfter makes room when the model refused the transcript, cutting deeper
// until something goes. It reports whether to ask the model again.
func (r *run) compactAfter(overflow error) (again bool, _ *ending) {
	if r.o.Compact == nil {
		return false, nil
	}
	for r.compactTries < compactTries {
		r.compactTries++
		smaller, err := r.compact(Compacting{Overflow: true, Try: r.compactTries - 1})
		switch {
		case r.ctx.Err() != nil:
			return false, r.stopping()
		case r.recorderErr != nil:
			return false, failed(&ModelError{overflow})
		case smaller:
			r.compactFailed = 0
			return true, r.spent()
		case err != nil:
			overflow = fmt.Errorf("%w; and compacting: %w", overflow, err)
		}
		if end := r.spent(); end != nil {
			return false, end
		}
	}
	return false, failed(&ModelError{overflow})
}

// compact applies what the hook returns, if it is any good. What it spent counts
// in any case.
func (r *run) compact(in Compacting) (smaller bool, err error) {
	in.Messages, in.State = r.fold.Messages(), r.fold.State()
	start := r.now()
	c, err := r.o.Compact(r.ctx, in)
	if !c.Spend.IsZero() && c.Spend.ModelTime <= 0 {
		c.Spend.ModelTime = r.since(start)
	}
	body := trajectory.Compact{Head: c.Head, Drop: c.Drop, Of: len(in.Messages), Spend: c.Spend}
	if err == nil && c.Drop == 0 && len(c.Head) == 0 {
		return false, r.spend(c.Spend)
	}
	if err == nil {
		err = usable(in.Messages, c)
	}
	if err != nil {
		body = trajectory.Compact{Spend: c.Spend, Failed: err.Error()}
	}
	if recorder := emit(r, body); recorder != nil {
		return false, errors.Join(recorder, r.spend(c.Spend))
	}
	return err == nil, err
}

// spend counts a model call that was no turn.
func (r *run) spend(s stats.AuxiliarySpend) error {
	if s.IsZero() {
		return nil
	}
	return emit(r, trajectory.Spend{AuxiliarySpend: s})
}

// usable keeps a compaction that would break the transcript, or free nothing and
// so be asked for again and again, out of it.
func usable(messages turn.Transcript, c Compaction) error {
	if c.Drop < 0 || c.Drop > len(messages) {
		return fmt.Errorf("the compaction drops %d messages of %d", c.Drop, len(messages))
	}
	after := append(c.Head[:len(c.Head):len(c.Head)], messages[c.Drop:]...)
	if len(after) == 0 {
		return errors.New("the compaction leaves no message")
	}
	if err := turn.Check(after); err != nil {
		return fmt.Errorf("the compaction breaks the transcript: %w", err)
	}
	if open := turn.OpenCalls(after); len(open) > 0 {
		return fmt.Errorf("the compaction leaves call %q open", open[0].ID)
	}
	if bytesOf(c.Head) >= bytesOf(messages[:c.Drop]) {
		return errors.New("the compaction frees nothing")
	}
	return nil
}

// bytesOf is the size of messages, about as they go on the wire. Plain texts, which
// are most of it, are not encoded for that.
func bytesOf(messages turn.Transcript) int {
	const around = 40 // role, keys, punctuation
	n := 0
	var data []byte
	for _, m := range messages {
		switch {
		case m.OfTool != nil && m.OfTool.Content.OfString.Valid():
			n += around + len(m.OfTool.ToolCallID) + len(m.OfTool.Content.OfString.Value)
			continue
		case m.OfUser != nil && m.OfUser.Content.OfString.Valid():
			n += around + len(m.OfUser.Content.OfString.Value)
			continue
		}
		var err error
		if data, err = turn.AppendMessage(data[:0], m); err != nil {
			continue // it has no size that anybody sends
		}
		n += len(data)
	}
	return n
}
