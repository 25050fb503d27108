package loop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// TestConservation tells random worlds and checks after every run that nothing was
// lost, doubled, reordered or left behind.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt)
		var err error
		synctest.Test(t, func(t *testing.T) {
			err = w.tell()
			time.Sleep(1000 * time.Hour) // tools that were left behind end
		})
		require.NoError(rt, err)
	})
}

// TestContinuedFromJSON carries each run on twice: from the values that it
// returned and from their JSON. Questions, results and entries must be equal.
func TestContinuedFromJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt)
		var told [2]*player
		var results [2][]string
		for i := range told {
			synctest.Test(t, func(t *testing.T) {
				told[i] = newPlayer(w)
				results[i] = told[i].all(i == 1)
			})
		}
		require.Equal(rt, told[0].questions, told[1].questions)
		require.Equal(rt, results[0], results[1])
	})
}

func newPlayer(w world) *player {
	w.Inbox = slices.Clone(w.Inbox)
	return &player{world: w, running: map[string]int{}, left: map[string]bool{}}
}

// all tells the whole world and returns what each run returned.
func (p *player) all(asJSON bool) (results []string) {
	messages, state := p.first()
	for i := -1; i < len(p.Later); i++ {
		e := episode{CancelAt: p.CancelAt}
		replies := map[string]loop.Reply(nil)
		if i >= 0 {
			e = p.Later[i]
			time.Sleep(e.After)
			replies = e.replies(state)
		}
		if asJSON {
			messages, state = stored(messages, state)
		}
		res, err := p.start(messages, state, replies, e.CancelAt)
		results = append(results, fmt.Sprint(string(mustJSON(res)), err))
		messages, state = res.Messages, res.State
	}
	time.Sleep(1000 * time.Hour)
	return results
}

func (p *player) first() (turn.Transcript, trajectory.State) {
	return turn.Transcript{turn.System("Be brief."), turn.User("Go.")}, trajectory.State{}
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

func stored(messages turn.Transcript, s trajectory.State) (m turn.Transcript, out trajectory.State) {
	if err := errors.Join(json.Unmarshal(mustJSON(messages), &m), json.Unmarshal(mustJSON(s), &out)); err != nil {
		panic(err)
	}
	return m, out
}

// start is one run.
func (p *player) start(messages turn.Transcript, s trajectory.State, replies map[string]loop.Reply, cancelAt time.Duration) (loop.Result, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if cancelAt > 0 {
		timer := time.AfterFunc(cancelAt, func() { cancel(errors.New("stopped by hand")) })
		defer timer.Stop()
	}
	if p.Deadline > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, p.Deadline)
		defer stop()
	}
	p.started = time.Now()
	o := p.options(p.tools())
	o.From, o.Replies = s, replies
	return loop.RunToolLoop(ctx, messages, o)
}

func (e episode) replies(s trajectory.State) map[string]loop.Reply {
	replies := map[string]loop.Reply{}
	for i, c := range s.Waiting() {
		switch kind := e.Kinds[i%len(e.Kinds)]; {
		case kind == 2:
			replies[c.ID] = loop.Deny("no")
		case kind == 0 || c.Suspension.For == trajectory.ForTime:
		case c.Suspension.For == trajectory.ForApproval:
			replies[c.ID] = loop.Approve()
		default:
			replies[c.ID] = loop.Answer("this one")
		}
	}
	return replies
}

// tell runs the world and checks it. It returns the first thing that is wrong.
func (w world) tell() error {
	p := newPlayer(w)
	messages, state := p.first()
	var results []told
	for i := -1; i < len(p.Later); i++ {
		e := episode{CancelAt: p.CancelAt}
		var replies map[string]loop.Reply
		if i >= 0 {
			e = p.Later[i]
			time.Sleep(e.After)
			if e.Killed > 0 && !p.failed {
				p.entries = p.entries[:max(1, len(p.entries)*e.Killed/100)]
				f, err := refold(p.entries)
				if err != nil {
					return err
				}
				messages, state = stored(f.Messages(), f.State())
			}
			replies = e.replies(state)
		}
		res, err := p.startChecked(messages, state, replies, e.CancelAt)
		if err != nil {
			return fmt.Errorf("run %d: %w", i+2, err)
		}
		results = append(results, told{res, string(mustJSON(res))})
		messages, state = res.Messages, res.State
		if p.failed { // the record and the result no longer agree
			break
		}
	}
	time.Sleep(1000 * time.Hour)
	for _, r := range results {
		if r.said != string(mustJSON(r.result)) {
			return errors.New("a late result reached something returned")
		}
	}
	return nil
}

// startChecked is one run and all that must hold after it. The messages are given
// with room behind them, which must stay as it was.
func (p *player) startChecked(messages turn.Transcript, s trajectory.State, replies map[string]loop.Reply, cancelAt time.Duration) (loop.Result, error) {
	sentinel := turn.User("behind the slice")
	base := make(turn.Transcript, len(messages), len(messages)+16)
	copy(base, messages)
	for i := range base[len(base):cap(base)] {
		base[:cap(base)][len(base)+i] = sentinel
	}
	before, state := string(mustJSON(base[:cap(base)])), string(mustJSON(s))
	synctest.Wait() // what was left behind may just be ending
	p.mu.Lock()
	past, runs, alive := len(p.entries), p.runs, goroutines()-p.live()
	p.mu.Unlock()
	res, err := p.start(base, s, replies, cancelAt)
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := goroutines() - p.live(); n != alive {
		return res, fmt.Errorf("%d goroutines, %d before", n, alive)
	}
	if after := string(mustJSON(base[:cap(base)])); after != before || string(mustJSON(s)) != state {
		return res, fmt.Errorf("what the caller gave has changed: %s, was %s", after, before)
	}
	if p.again {
		return res, errors.New("the recorder was called again after it had failed")
	}
	for _, check := range []func() error{
		func() error { return p.answeredOnce(res, s) },
		func() error { return p.checkEntries(res, err, past, runs) },
		func() error { return p.checkAbandoned(res) },
		func() error { return checkOutcome(res, err) },
		func() error {
			if p.compacted {
				return nil
			}
			return checkAdded(res, messages)
		},
	} {
		if fault := check(); fault != nil {
			return res, fmt.Errorf("%w\nerror %v\nresult %s", fault, err, mustJSON(res))
		}
	}
	return res, nil
}

// goroutines are those of the bubble: others, the runtime's own, come and go.
func goroutines() int {
	stacks := make([]byte, 1<<18)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte(", synctest bubble "))
}

// live is how many tools are running. The same call may be, twice: once left
// behind, and once again after its process died.
func (p *player) live() (n int) {
	for _, times := range p.running {
		n += times
	}
	return n
}

// answeredOnce: each call has one result, in call order, or is open and waits.
// Where the recorder failed before the run did anything, a call that was open
// before it is open still.
func (p *player) answeredOnce(res loop.Result, before trajectory.State) error {
	may := res.Waiting()
	if p.failed && res.Stats.Turns == before.Stats.Turns {
		may = append(may, before.Open...)
	}
	if err := turn.Check(res.Messages); err != nil {
		return err
	}
	for i, m := range res.Messages {
		rest := res.Messages[i+1:]
		for _, c := range turn.Calls(m) {
			if len(rest) > 0 && rest[0].OfTool != nil && rest[0].OfTool.ToolCallID == c.ID {
				rest = rest[1:]
				continue
			}
			if !slices.ContainsFunc(may, func(w trajectory.OpenCall) bool { return w.Call == c }) {
				return fmt.Errorf("call %q has no result at its place", c.ID)
			}
		}
	}
	if open := len(turn.OpenCalls(res.Messages)); open != len(res.Open) {
		return fmt.Errorf("%d calls are open, the state has %d", open, len(res.Open))
	}
	return nil
}

// refold rebuilds a run from its entries, checking the transcript at each.
func refold(entries []trajectory.Event) (*trajectory.Fold, error) {
	f := new(trajectory.Fold)
	for i, e := range entries {
		if err := errors.Join(f.Add(e), turn.Check(f.Messages())); err != nil {
			return f, fmt.Errorf("entry %d (%s): %w", i+1, e.Body.Type(), err)
		}
	}
	return f, nil
}

func (p *player) checkEntries(res loop.Result, err error, past, runs int) error {
	f, fault := refold(p.entries)
	if fault != nil {
		return fault
	}
	ends, starts := 0, 0
	for _, e := range p.entries[past:] {
		if e.Agent != "" {
			continue
		}
		switch e.Body.(type) {
		case trajectory.RunEnd:
			ends++
		case trajectory.CallStart:
			starts++
		}
	}
	if n := p.runs - runs; n != starts {
		return fmt.Errorf("%d tools ran, %d calls were recorded as started", n, starts)
	}
	if p.failed {
		if ends != 0 || loop.ClassifyRunFailure(err) != loop.FailureRecorder {
			return fmt.Errorf("%d ends are recorded after the recorder failed with %v", ends, err)
		}
		return nil
	}
	if _, last := p.entries[len(p.entries)-1].Body.(trajectory.RunEnd); ends != 1 || !last {
		return fmt.Errorf("%d entries say how the run ended; the last does: %v", ends, last)
	}
	if live, replayed := string(mustJSON(res.State)), string(mustJSON(f.State())); live != replayed {
		return fmt.Errorf("live and replayed state differ:\n%s\n%s", live, replayed)
	}
	if !reflect.DeepEqual(mustJSON(res.Messages), mustJSON(f.Messages())) {
		return fmt.Errorf("live and replayed messages differ:\n%s\n%s", mustJSON(res.Messages), mustJSON(f.Messages()))
	}
	return nil
}

func (p *player) checkAbandoned(res loop.Result) error {
	for key := range p.running {
		found := slices.ContainsFunc(res.Abandoned, func(c turn.Call) bool { return c.ID == key })
		if !found && !p.left[key] {
			return fmt.Errorf("call %s still runs and is not named", key)
		}
		p.left[key] = true
	}
	return nil
}

// checkOutcome: the reason, the error and the cause say the same.
func checkOutcome(res loop.Result, err error) error {
	failure := loop.ClassifyRunFailure(err)
	switch res.StopReason {
	case "":
		if err == nil || failure == loop.FailureTimedOut {
			return fmt.Errorf("no reason, and the error is %v", err)
		}
	case turn.Deadline:
		if failure != loop.FailureTimedOut || res.Cause == nil {
			return fmt.Errorf("deadline, and the error is %v", err)
		}
	case turn.Aborted:
		if err != nil || res.Cause == nil {
			return fmt.Errorf("aborted by %v, and the error is %v", res.Cause, err)
		}
	default:
		waits := res.StopReason == turn.WaitingForReply || res.StopReason == turn.ResumingLater
		if err != nil || res.Cause != nil || waits != (len(res.Waiting()) > 0) {
			return fmt.Errorf("%s, with the error %v, the cause %v and %d calls that wait", res.StopReason, err, res.Cause, len(res.Waiting()))
		}
	}
	return nil
}

// checkAdded: what was given and what was added are the whole.
func checkAdded(res loop.Result, given turn.Transcript) error {
	if len(given)+len(res.Added) != len(res.Messages) {
		return fmt.Errorf("%d given and %d added are not %d", len(given), len(res.Added), len(res.Messages))
	}
	return nil
}
