package loop

import (
	"context"
	"errors"
	"time"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// RunToolLoop runs the loop over a transcript: model turn, tool batch, model
// turn, until the model replies without calls or something stops it.
//
// The messages are not written to, nor is anything in o. The Result is as
// complete as the run came, also beside an error, which is one of *[InvalidError]
// (nothing has happened), *[ModelError], *[ToolError], *[RecorderError] and, for an
// expired deadline, *[RunTimeoutError]; see [ClassifyRunFailure]. Where the recorder
// failed beside another of these, errors.As finds both.
func RunToolLoop(ctx context.Context, messages []turn.TranscriptMessage, o Options) (Result, error) {
	r := run{ctx: ctx, o: o, given: messages[:len(messages):len(messages)]}
	err := r.validate(r.given)
	if err != nil {
		r.res.State, r.res.Messages = o.From, r.given
	} else {
		r.start = r.now()
		r.join()
		err = r.finish(r.loop())
	}
	return r.res, err
}

// run is one call of RunToolLoop. It lives on that call's stack, and no goroutine
// and no hook ever gets hold of it. Options and Result are held by value for that
// reason: what a struct points to would go to the heap with the first message.
type run struct {
	ctx   context.Context
	o     Options
	res   Result
	given turn.Transcript
	fold  trajectory.Fold
	turn  *trajectory.Turn // of the latest reply
	tools []turn.WireToolDefinition
	start time.Time

	scope  *runContext  // what is the same for all batches
	batch  *runContext  // the context of the batch at hand
	parent *callContext // the call whose tool started this run, if one did
	child  int          // its place among that call's runs
	own    place        // this run's place in the budget of the batch at hand, if there is one
	above  []place      // and in the budgets above

	begin   turn.Transcript // messages that the record does not hold yet
	pending turn.Transcript // messages that wait for open calls to be settled

	planned     int   // where in the batch the call stands that gave the latest plan
	recorderErr error // the first failure of Record
	recorded    int   // messages recorded until then
	stopCause   error // what ShouldStop returned, or the budget that is spent

	told [3]bool // the model was told of the budget, by limit

	compactFailed int   // how often in a row compacting failed without need
	compactTries  int   // how often in a row it was needed
	fatal         error // what a tool ended the run with
}

// ending is how a run ends: for a reason, by a failure, or (a deadline) both.
type ending struct {
	reason turn.StopReason
	cause  error
	err    error
}

func failed(err error) *ending { return &ending{err: err} }

// join finds out what this run belongs to, and keeps its limits within those of
// the run above. Its grace is shorter: it has to be over before it is left itself.
func (r *run) join() {
	r.scope = &runContext{Context: r.ctx, grace: limit(r.o.Grace, defaultGrace, 1<<63-1), depth: limit(r.o.MaxDepth, defaultDepth, unlimited)}
	if c, ok := r.ctx.Value(callKey{}).(*callContext); ok {
		r.parent, r.scope.agent = c, c.name()
		r.child = c.began(r.o.From.Recorded > 0)
	}
	if above, ok := r.ctx.Value(runKey{}).(*runContext); ok {
		r.scope.depth, r.scope.grace = min(r.scope.depth, above.depth-1), min(r.scope.grace, above.grace/4*3)
		r.scope.meters = above.meters
		for _, m := range above.meters {
			r.above = append(r.above, m.join())
		}
	}
}

// loop runs, and at a limit lets the model have a last word.
func (r *run) loop() *ending {
	end := r.turns()
	var budget *BudgetError
	limited := end.reason == turn.IterationLimit || errors.As(end.cause, &budget)
	if r.o.FinalTurn && limited && r.ctx.Err() == nil && r.fold.CountOpen() == 0 {
		r.lastWord()
	}
	return end
}

func (r *run) turns() *ending {
	err := emit(r, trajectory.RunStart{Title: r.o.Title, Cwd: r.o.Cwd, Continued: r.o.From.Recorded > 0, Messages: r.begin})
	if err != nil {
		return failed(err)
	}
	if end := r.settle(); end != nil {
		return end
	}
	if end := r.deliver("messages", r.takePending()); end != nil {
		return end
	}
	if end := r.answered(); end != nil {
		return end
	}
	for {
		if end := r.mayAsk(); end != nil {
			return end
		}
		if end := r.deliver("Inbox", r.inbox()); end != nil {
			return end
		}
		if end := r.tellBudget(); end != nil {
			return end
		}
		if end := r.compactBefore(); end != nil {
			return end
		}
		if end := r.ask(); end != nil {
			return end
		}
		if end := r.settle(); end != nil {
			return end
		}
	}
}

// answered ends a run over a transcript that ends in a plain reply: unless a message
// has come in there is nothing to ask the model, so resuming a finished run is
// harmless. A last word at a limit is no such reply: the work goes on where the limit
// allows it now. Nor does a reply end the run where the process died before anybody
// was asked whether it does.
func (r *run) answered() *ending {
	messages := r.fold.Messages()
	last := messages[len(messages)-1]
	switch {
	case asksLastWord(last) || r.fold.State().LastWord:
		if end := r.limited(); end != nil { // still
			return end
		}
		return r.deliver("FinalTurn", turn.Transcript{turn.User(textGoOn)})
	case last.OfAssistant == nil || turn.CountCalls(last) > 0:
		return nil
	case !r.o.From.Ended && r.o.From.Stats.Turns > 0 && len(r.begin) == 0:
		r.res.Last = replyOf(last, r.o.From.LastUsage)
		return r.wouldEnd()
	}
	if messages := r.inbox(); len(messages) > 0 {
		return r.deliver("Inbox", messages)
	}
	return &ending{reason: turn.Done}
}

// replyOf is as much of a recorded reply as the transcript holds.
func replyOf(m turn.TranscriptMessage, usage turn.Usage) (reply turn.ModelTurnResult) {
	if data, err := turn.MessageJSON(m); err == nil {
		_ = reply.Message.UnmarshalJSON(data) // it was a reply once
	}
	reply.Usage = usage
	return reply
}

// mayAsk is what keeps the model from being asked again.
func (r *run) mayAsk() *ending {
	if end := r.stopping(); end != nil {
		return end
	}
	return r.limited()
}

// limited ends a run that has reached a limit.
func (r *run) limited() *ending {
	if r.outOfTurns() {
		return &ending{reason: turn.IterationLimit}
	}
	return r.spent()
}

func (r *run) outOfTurns() bool {
	return r.fold.Iterations() >= limit(r.o.MaxIterations, defaultIterations, unlimited)
}

// spent ends a run whose budget, or that of a run above, is used up.
func (r *run) spent() *ending {
	if over := r.overBudget(); over != nil {
		return &ending{reason: turn.Aborted, cause: over}
	}
	return nil
}

// stopping says why the run has to stop now, if it does.
func (r *run) stopping() *ending {
	if err := r.ctx.Err(); err != nil {
		cause := context.Cause(r.ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			timeout := &RunTimeoutError{Elapsed: r.had()}
			if cause == context.DeadlineExceeded { // it says no more, and less to ClassifyRunFailure
				cause = timeout
			}
			return &ending{turn.Deadline, cause, timeout}
		}
		return &ending{reason: turn.Aborted, cause: cause}
	}
	if r.recorderErr != nil {
		return failed(r.recorderErr)
	}
	if r.stopCause == nil && r.o.ShouldStop != nil {
		r.stopCause = r.o.ShouldStop(r.fold.State())
	}
	if r.stopCause != nil {
		return &ending{reason: turn.Aborted, cause: r.stopCause}
	}
	return nil
}

// had is how long a run had whose deadline expired.
func (r *run) had() time.Duration {
	took := r.since(r.start)
	if deadline, ok := r.ctx.Deadline(); ok && r.o.Now == nil {
		took = min(took, max(deadline.Sub(r.start), 0))
	}
	return took
}

// ask makes one model turn.
func (r *run) ask() *ending {
	for {
		err := r.callModel()
		if err == nil {
			break
		}
		if again, end := r.modelFailed(err); !again || end != nil {
			return end
		}
	}
	r.compactTries = 0
	reply := &r.res.Last
	message := turn.ReplayForm(reply.Message)
	if r.turn == nil || r.o.Record != nil { // a recorder may keep it, the fold does not
		r.turn = new(trajectory.Turn)
	}
	*r.turn = trajectory.Turn{Usage: reply.Usage, Timings: reply.Timings, Finish: reply.Finish, Model: reply.Model, Number: r.fold.Turn() + 1}
	if err := emit(r, trajectory.Message{Message: message, Turn: r.turn}); err != nil {
		return failed(err)
	}
	if turn.CountCalls(message) > 0 {
		return nil
	}
	return r.wouldEnd()
}

// callModel calls the TurnFn and keeps what it returns. It holds a whole reply on
// its stack, so nothing else is called from here.
func (r *run) callModel() error {
	start := r.now()
	reply, err := r.o.Turn(r.ctx, r.fold.Messages(), r.tools[:len(r.tools):len(r.tools)])
	if reply.Timings.Generation <= 0 {
		reply.Timings.Generation = r.since(start)
	}
	if err != nil {
		r.res.Partial = new(turn.ModelTurnResult)
		*r.res.Partial = reply
		return err
	}
	r.res.Last, r.res.Partial = reply, nil
	return nil
}

// modelFailed counts what was spent, tells a failure from a model call that was
// stopped with the run, and makes room where that is what was missing.
func (r *run) modelFailed(err error) (again bool, _ *ending) {
	r.spendPartial()
	if r.ctx.Err() != nil {
		return false, r.stopping()
	}
	if r.recorderErr == nil && errors.Is(err, turn.ErrContextOverflow) {
		if again, end := r.compactAfter(err); again || end != nil {
			return again, end
		}
	}
	return false, failed(&ModelError{err})
}

// spendPartial counts a model call that failed and had spent something by then.
func (r *run) spendPartial() {
	if p := r.res.Partial; !p.Usage.IsZero() {
		_ = r.spend(stats.AuxiliarySpend{Usage: p.Usage, ModelTime: p.Timings.Generation}) // finish reports the recorder
	}
}

// wouldEnd ends the run with a plain reply, unless somebody has more to say and
// the run may go on.
func (r *run) wouldEnd() *ending {
	done := &ending{reason: turn.Done}
	if r.ctx.Err() != nil || r.outOfTurns() || r.overBudget() != nil {
		return done
	}
	if messages := r.inbox(); len(messages) > 0 {
		return r.deliver("Inbox", messages)
	}
	if r.o.OnTurnWouldEnd == nil {
		return done
	}
	messages := r.o.OnTurnWouldEnd(r.fold.State(), r.res.Last)
	if len(messages) == 0 {
		return done
	}
	return r.deliver("OnTurnWouldEnd", messages)
}

func (r *run) now() time.Time {
	if r.o.Now != nil {
		return r.o.Now()
	}
	return time.Now()
}

// since never runs backwards, whatever the clock does.
func (r *run) since(start time.Time) time.Duration { return max(r.now().Sub(start), 0) }
