package progress_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/progress"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// spender is a host whose model and tools do whatever costs something, one after the
// other, and whose process dies now and then.
type spender struct {
	t     require.TestingT
	r     *rand.Rand
	fold  trajectory.Fold
	watch *progress.Watch
	dead  bool
	seen  map[string]int // what was recorded, by type
	wrong []string       // a child's recorder is called in its tool, from which no test can be ended
}

func (s *spender) one(in int) bool { return s.r.Intn(in) == 0 }

func (s *spender) usage() (u turn.Usage) {
	u = turn.Usage{InputTokens: s.r.Int63n(1000), OutputTokens: s.r.Int63n(50)}
	if s.one(5) { // a price by the call, or no usage at all
		u = turn.Usage{}
	}
	if cost := turn.Cost(s.r.Int63n(1000)); s.one(2) {
		u.Cost = &cost
	}
	if cached := s.r.Int63n(500); s.one(2) {
		u.CachedInputTokens = &cached
	}
	return u
}

func (s *spender) model(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	r := turn.ModelTurnResult{Message: turn.Assistant("so be it"), Usage: s.usage(), Model: "m-1"}
	if s.one(3) {
		return r, nil
	}
	switch s.r.Intn(20) {
	case 0:
		return r, errors.New("503")
	case 1:
		return r, fmt.Errorf("too long: %w", turn.ErrContextOverflow)
	}
	var calls []turn.Call
	for i := range 1 + s.r.Intn(3) {
		name := []string{"agent", "elsewhere", "ask", "later", "act", "nothing"}[s.r.Intn(6)]
		calls = append(calls, turn.Call{ID: fmt.Sprintf("%d/%d", s.r.Intn(5), i), Name: name, Arguments: `{"task":"t"}`})
	}
	r.Message = turn.Assistant("", calls...)
	return r, nil
}

// record is the session and the watch of a process that may die.
func (s *spender) record(e trajectory.Event) error {
	if s.dead = s.dead || s.one(150); s.dead {
		return errors.New("the process died")
	}
	err := errors.Join(s.fold.Add(e), s.watch.Record(e))
	s.seen[e.Body.Type()]++
	if m, ok := e.Body.(trajectory.Message); ok && m.Turn != nil && m.Turn.Auxiliary {
		s.seen["last word"]++
	}
	if want, got := progress.Spend(s.fold.State(), s.watch.Spend().Model), s.watch.Spend(); err != nil || !reflect.DeepEqual(want, got) {
		s.wrong = append(s.wrong, fmt.Sprintf("%s of %q: %v\n%+v\n%+v", e.Body.Type(), e.Agent, err, want, got))
	}
	return nil
}

func (s *spender) compact(_ context.Context, in loop.Compacting) (loop.Compaction, error) {
	c := loop.Compaction{Head: turn.Transcript{turn.User("in short")}, Drop: len(in.Messages), Spend: stats.AuxiliarySpend{Usage: s.usage()}}
	switch s.r.Intn(6) {
	case 0:
		return c, nil
	case 1:
		return c, errors.New("no summary")
	}
	return loop.Compaction{}, nil
}

func (s *spender) options(depth int) loop.Options {
	o := loop.Options{Turn: s.model, MaxIterations: 2, FinalTurn: true, MaxParallel: 1, Record: s.record, Compact: s.compact}
	add := func(name string, run func() (loop.Output, error)) {
		o.Tools = append(o.Tools, loop.Tool{Name: name, ReplaySafe: name == "act", Run: func(context.Context, loop.Call) (loop.Output, error) { return run() }})
	}
	add("act", func() (loop.Output, error) { return loop.Text("ok"), nil })
	add("ask", func() (loop.Output, error) { return loop.Output{}, loop.WaitForReply("Well?") })
	add("later", func() (loop.Output, error) { return loop.Output{}, loop.ResumeLater(time.Time{}, "soon") })
	add("elsewhere", func() (loop.Output, error) {
		return loop.Output{Children: stats.AccumulateAuxiliarySpend(stats.RunStats{}, stats.AuxiliarySpend{Usage: s.usage()})}, nil
	})
	if depth > 0 {
		o.Tools = append(o.Tools, loop.NewSubAgent(loop.Tool{Name: "agent", ReplaySafe: true}, "", s.options(depth-1)))
	}
	return o
}

// carryOn runs the session on, by the record alone.
func (s *spender) carryOn() {
	messages, o := s.fold.Messages(), s.options(2)
	o.From = s.fold.State()
	if len(o.From.Open) == 0 {
		messages = append(messages[:len(messages):len(messages)], turn.User("go on"))
	}
	o.Replies = map[string]loop.Reply{}
	for _, c := range o.From.Waiting() {
		if c.Suspension.For != trajectory.ForTime && !s.one(4) {
			o.Replies[c.ID] = []loop.Reply{loop.Answer("yes"), loop.Deny("no")}[s.r.Intn(2)]
		}
	}
	s.dead = false
	_, err := loop.RunToolLoop(context.Background(), messages, o)
	var invalid *loop.InvalidError
	require.False(s.t, errors.As(err, &invalid), "%v", err)
	require.Empty(s.t, s.wrong)
}

// What a watch has added up is at every moment what the state of the run says, in
// every figure: over compactions, last words, failed model calls, child runs that
// wait, die or ran elsewhere, and processes that died.
func TestSpendIsThatOfTheState(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := &spender{t: t, r: rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed"))), watch: progress.NewWatch(progress.WatchOptions{}), seen: seen}
		for range 6 {
			s.carryOn()
		}
	})
	for _, entry := range []string{"message", "spend", "compact", "suspend", "call.start", "call.end", "run.end", "last word"} {
		require.NotZero(t, seen[entry], entry)
	}
}

// spendAgrees has a watch follow the entries, and checks that it tells of the spend
// what the fold's state tells, after each of them.
func spendAgrees(t require.TestingT, events []trajectory.Event) *progress.Watch {
	var f trajectory.Fold
	w := progress.NewWatch(progress.WatchOptions{})
	for i, e := range events {
		require.NoError(t, f.Add(e))
		require.NoError(t, w.Record(e))
		require.Equal(t, progress.Spend(f.State(), w.Spend().Model), w.Spend(), "entry %d", i)
	}
	return w
}

// A child run that its tool left behind goes on recording. What it spends after the
// call has ended counts nowhere, live or replayed.
func TestSpendOfAChildThatWasLeftBehind(t *testing.T) {
	for _, agents := range []int{0, 1} {
		s := begin(turn.User("go")).does(act{tool: "delegate", agents: agents})
		late := trajectory.Message{Message: turn.ReplayForm(turn.Assistant("x")), Turn: &trajectory.Turn{Usage: turn.Usage{InputTokens: 7}}}
		s.child(0, trajectory.RunStart{}).child(0, late).says("done").says("done")
		s.turn = 1
		s.child(0, late).run(turn.User("more")).child(0, late)
		spendAgrees(t, s.events)
	}
}
