package stats_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// reply is a model turn that took a second.
var reply = turn.ModelTurnResult{
	Usage:   turn.Usage{InputTokens: 1000, OutputTokens: 50},
	Timings: turn.Timings{Generation: time.Second},
}

// The totals of a run, as the loop adds them up while it goes.
func Example() {
	s := stats.EmptyRunStats()
	s = stats.AccumulateTurn(s, reply)
	s = stats.AccumulateToolCall(s, "read", 30*time.Millisecond)
	s = stats.AccumulateTurn(s, reply)

	data, err := json.Marshal(s)
	fmt.Println(string(data), err)
	// Output: {"turns":2,"toolCalls":1,"inputTokens":2000,"outputTokens":100,"cachedInputTokens":0,"costCents":0,"unpricedCalls":2,"modelTimeMs":2000,"toolTimeMs":30,"outputTokensPerSecond":50,"toolTimeBreakdownMs":{"read":30}} <nil>
}

// A test of a host makes the totals that it expects with the folds, over the replies
// that its models gave. How long a call took is in its entry; in a bubble of
// testing/synctest the test knows it beforehand.
func Example_test() {
	lead := []turntest.Reply{
		turntest.Say("", turn.Call{ID: "a", Name: "ask", Arguments: `{"task":"How many?"}`}).Spending(900, 30).Taking(time.Millisecond),
		turntest.Say("Seven.").Spending(950, 4).Taking(time.Millisecond),
	}
	agent := turntest.Say("7").Spending(200, 1).Taking(time.Millisecond)
	var took time.Duration
	res, err := loop.RunToolLoop(context.Background(), []turn.TranscriptMessage{turn.User("Count them.")}, loop.Options{
		Turn:  turntest.NewScript(lead...).Turn,
		Tools: []loop.Tool{loop.NewSubAgent(loop.Tool{Name: "ask"}, "", loop.Options{Turn: turntest.NewScript(agent).Turn})},
		Record: func(e trajectory.Event) error {
			if end, ok := e.Body.(trajectory.CallEnd); ok {
				took = end.Duration
			}
			return nil
		},
	})

	own := stats.EmptyRunStats()
	for _, reply := range lead {
		own = stats.AccumulateTurn(own, reply.Result)
	}
	own = stats.AccumulateToolCall(own, "ask", took)
	children := stats.AccumulateTurn(stats.EmptyRunStats(), agent.Result)
	fmt.Println(reflect.DeepEqual(own, res.Stats), reflect.DeepEqual(children, res.Children))
	all := stats.AccumulateRun(own, children)
	fmt.Println(reflect.DeepEqual(all, res.Total()), all.Turns, "turns,", all.InputTokens, "tokens in", err)
	// Output:
	// true true
	// true 3 turns, 2050 tokens in <nil>
}

func ExampleAccumulateTurn() {
	price := turn.Cent / 4
	priced := reply
	priced.Usage.Cost = &price

	s := stats.AccumulateTurn(stats.EmptyRunStats(), priced)
	s = stats.AccumulateTurn(s, reply) // nobody knows what this one cost
	fmt.Println(s.Turns, s.InputTokens, s.OutputTokens, s.ModelTime)
	fmt.Println("at least", s.Cost, "and", s.Unpriced, "call without a price")
	// Output:
	// 2 2000 100 2s
	// at least $0.0025 and 1 call without a price
}

// A call that is no turn of the agent's: a title, a compaction.
func ExampleAccumulateAuxiliarySpend() {
	s := stats.AccumulateTurn(stats.EmptyRunStats(), reply)
	s = stats.AccumulateAuxiliarySpend(s, stats.AuxiliarySpend{Usage: turn.Usage{InputTokens: 200, OutputTokens: 8}, ModelTime: 100 * time.Millisecond})
	fmt.Println(s.Turns, "turn,", s.InputTokens, "tokens in,", s.ModelTime)
	// Output: 1 turn, 1200 tokens in, 1.1s
}

func ExampleAccumulateToolCall() {
	s := stats.AccumulateToolCall(stats.EmptyRunStats(), "read", 20*time.Millisecond)
	s = stats.AccumulateToolCall(s, "test", 2*time.Second)
	s = stats.AccumulateToolCall(s, "read", 10*time.Millisecond)
	fmt.Println(s.ToolCalls, s.ToolTime, s.ToolTimeBreakdown)
	// Output: 3 2.03s map[read:30ms test:2s]
}

// A run with its children. The order does not matter, and nothing given changes.
func ExampleAccumulateRun() {
	own := stats.AccumulateTurn(stats.EmptyRunStats(), reply)
	child := stats.AccumulateTurn(stats.AccumulateTurn(stats.EmptyRunStats(), reply), reply)
	fmt.Println(stats.AccumulateRun(own, child).Turns, own.Turns, child.Turns)
	// Output: 3 1 2
}

func ExampleEmptyRunStats() {
	_, ok := stats.EmptyRunStats().OutputTokensPerSecond()
	fmt.Println(stats.EmptyRunStats().Turns, ok)
	// Output: 0 false
}

// The rate comes from the totals: an average of rates would let a short turn weigh
// as much as a long one.
func ExampleRunStats_OutputTokensPerSecond() {
	s := stats.RunStats{OutputTokens: 300, ModelTime: 4 * time.Second}
	fmt.Println(s.OutputTokensPerSecond())
	// Output: 75 true
}

func ExampleRunStats_IsZero() {
	fmt.Println(stats.EmptyRunStats().IsZero(), stats.RunStats{Turns: 1}.IsZero())
	// Output: true false
}

// A model call that failed at once spent nothing, as far as anybody knows.
func ExampleAuxiliarySpend_IsZero() {
	fmt.Println(stats.AuxiliarySpend{}.IsZero(), stats.AuxiliarySpend{ModelTime: time.Second}.IsZero())
	// Output: true false
}
