package stats_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/turn"
)

// reply is a model turn that took a second.
var reply = turn.ModelTurnResult{
	Usage:   turn.Usage{InputTokens: 1000, OutputTokens: 50},
	Timings: turn.Timings{Generation: time.Second},
}

// The totals of a run: what the loop does as it goes, and what a test of a host
// does to know what they should be.
func Example() {
	s := stats.EmptyRunStats()
	s = stats.AccumulateTurn(s, reply)
	s = stats.AccumulateToolCall(s, "read", 30*time.Millisecond)
	s = stats.AccumulateTurn(s, reply)

	data, err := json.Marshal(s)
	fmt.Println(string(data), err)
	// Output: {"turns":2,"toolCalls":1,"inputTokens":2000,"outputTokens":100,"cachedInputTokens":0,"costCents":0,"unpricedCalls":2,"modelTimeMs":2000,"toolTimeMs":30,"outputTokensPerSecond":50,"toolTimeBreakdownMs":{"read":30}} <nil>
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
