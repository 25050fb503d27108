// Package stats adds up what a run spent. Every function is a pure fold: it takes
// totals and one more thing, and returns new totals; its arguments, maps
// included, are unchanged.
//
//	s := stats.AccumulateToolCall(stats.EmptyRunStats(), "read", 30*time.Millisecond)
//	s = stats.AccumulateToolCall(s, "test", 2*time.Second)
//	fmt.Println(s.ToolCalls, s.ToolTime) // 2 2.03s
//
// # What the figures mean
//
// The same folds make the totals of a live run, of a replayed session and of a run
// with its children, so the three agree; trajectory.Fold is the one over the entries
// of a record. Sums are exact: money is an integer, and rates are computed from the
// totals and never stored. A negative or absurd figure from a provider counts as
// nothing, and a sum that would overflow stays at the largest value, so no total ever
// goes down.
//
// An unknown price never reads as zero: [RunStats] counts the calls that nobody
// priced, and its Cost is then a floor. A model call that is no turn of the
// agent's, such as a summary, is an [AuxiliarySpend]: it costs, and is no turn.
//
// # In a test
//
// The totals that a host's test expects are made by the same folds, over the replies
// that its scripted model gave (package turntest). Durations are exact in a bubble of
// testing/synctest:
//
//	want := stats.EmptyRunStats()
//	for _, reply := range replies {
//		want = stats.AccumulateTurn(want, reply.Result)
//	}
//	want = stats.AccumulateToolCall(want, "read", time.Second)
//	require.Equal(t, want, res.Stats)
//
// What child runs spent is added up the same way and compared with res.Children; the
// two together, by [AccumulateRun], are res.Total(), where no call was left open.
package stats

import (
	"encoding/json"
	"maps"
	"math"
	"time"

	"github.com/pawl-dev/pawl/turn"
)

// RunStats is what a run spent. Model time and tool time are apart, since the
// wall clock of a task mixes a provider's speed with that of the tools.
type RunStats struct {
	// Turns counts model turns of the run itself; auxiliary calls are none.
	Turns int64
	// ToolCalls counts calls that were dispatched, each once, however often it was
	// suspended or begun again. Not counted are those that never ran: an unknown
	// tool, bad arguments, a call of a reply that was cut, one whose approval
	// was denied or is awaited, one that a stop or a spent budget kept from starting.
	ToolCalls int64
	// InputTokens and OutputTokens count cached and reasoning tokens too.
	InputTokens, OutputTokens int64
	// CachedInputTokens is a floor: a call that does not report it adds nothing.
	CachedInputTokens int64
	// Cost is a floor: a call without a price adds nothing, but counts in Unpriced.
	Cost turn.Cost
	// Unpriced counts the model calls without a price, so that an unknown price
	// never reads as zero.
	Unpriced int64
	// ModelTime is the sum over model calls. Of a roll-up it may exceed wall clock,
	// when children ran side by side: cost sums, latency does not.
	ModelTime time.Duration
	// ToolTime is the sum over dispatched calls, ToolTimeBreakdown the same by tool
	// name. A nil map is an empty one.
	ToolTime          time.Duration
	ToolTimeBreakdown map[string]time.Duration
}

// AuxiliarySpend is a model call that is no turn of the agent's: a compaction, a
// title, a turn that failed after it had spent.
type AuxiliarySpend struct {
	turn.Usage
	// ModelTime is the wall time of the call; zero when it was not measured.
	ModelTime time.Duration
}

// IsZero reports whether nothing was spent, as far as anybody knows.
func (s AuxiliarySpend) IsZero() bool { return s.Usage.IsZero() && s.ModelTime == 0 }

// IsZero reports whether nothing was done and nothing was spent.
func (s RunStats) IsZero() bool {
	return s.Turns == 0 && s.ToolCalls == 0 && s.InputTokens == 0 && s.OutputTokens == 0 && s.CachedInputTokens == 0 &&
		s.Cost == 0 && s.Unpriced == 0 && s.ModelTime == 0 && s.ToolTime == 0 && len(s.ToolTimeBreakdown) == 0
}

// EmptyRunStats is the totals of a run that has done nothing, and the identity of
// [AccumulateRun].
func EmptyRunStats() RunStats { return RunStats{} }

// AccumulateTurn adds one completed model turn.
func AccumulateTurn(s RunStats, t turn.ModelTurnResult) RunStats {
	s.Turns = add(s.Turns, 1)
	return s.addModelCall(t.Usage, t.Timings.Generation)
}

// AccumulateAuxiliarySpend adds a model call that is no turn: tokens, cost and
// model time, and never a turn.
func AccumulateAuxiliarySpend(s RunStats, a AuxiliarySpend) RunStats {
	return s.addModelCall(a.Usage, a.ModelTime)
}

func (s RunStats) addModelCall(u turn.Usage, d time.Duration) RunStats {
	s.InputTokens = add(s.InputTokens, u.InputTokens)
	s.OutputTokens = add(s.OutputTokens, u.OutputTokens)
	if u.CachedInputTokens != nil {
		s.CachedInputTokens = add(s.CachedInputTokens, min(*u.CachedInputTokens, max(u.InputTokens, 0)))
	}
	if u.Cost != nil {
		s.Cost = add(s.Cost, *u.Cost)
	} else {
		s.Unpriced = add(s.Unpriced, 1)
	}
	s.ModelTime = add(s.ModelTime, d)
	return s
}

// AccumulateToolCall adds one dispatched tool call. A duration of zero adds the
// call alone.
func AccumulateToolCall(s RunStats, name string, d time.Duration) RunStats {
	s.ToolCalls = add(s.ToolCalls, 1)
	return AccumulateRun(s, RunStats{ToolTime: d, ToolTimeBreakdown: map[string]time.Duration{name: d}})
}

// AccumulateRun adds the totals of another run: the roll-up of a run that started
// child runs. It is associative and commutative.
func AccumulateRun(s, run RunStats) RunStats {
	s.Turns = add(s.Turns, run.Turns)
	s.ToolCalls = add(s.ToolCalls, run.ToolCalls)
	s.InputTokens = add(s.InputTokens, run.InputTokens)
	s.OutputTokens = add(s.OutputTokens, run.OutputTokens)
	s.CachedInputTokens = add(s.CachedInputTokens, run.CachedInputTokens)
	s.Cost = add(s.Cost, run.Cost)
	s.Unpriced = add(s.Unpriced, run.Unpriced)
	s.ModelTime = add(s.ModelTime, run.ModelTime)
	s.ToolTime = add(s.ToolTime, run.ToolTime)
	if len(run.ToolTimeBreakdown) > 0 {
		sum := make(map[string]time.Duration, len(s.ToolTimeBreakdown)+1)
		maps.Copy(sum, s.ToolTimeBreakdown)
		for name, d := range run.ToolTimeBreakdown {
			sum[name] = add(sum[name], d)
		}
		s.ToolTimeBreakdown = sum
	}
	return s
}

// OutputTokensPerSecond is the rate over the whole: total output over total model
// time, never an average of rates. It is not ok without output or model time.
func (s RunStats) OutputTokensPerSecond() (rate float64, ok bool) {
	if s.OutputTokens <= 0 || s.ModelTime <= 0 {
		return 0, false
	}
	return float64(s.OutputTokens) / s.ModelTime.Seconds(), true
}

// add is a sum that counts a negative term as nothing and cannot wrap. On
// non-negative numbers it is associative and commutative.
func add[T ~int64](total, term T) T {
	total, term = max(total, 0), max(term, 0)
	if total > math.MaxInt64-term {
		return math.MaxInt64
	}
	return total + term
}

type runStatsJSON struct {
	Turns             int64                        `json:"turns"`
	ToolCalls         int64                        `json:"toolCalls"`
	InputTokens       int64                        `json:"inputTokens"`
	OutputTokens      int64                        `json:"outputTokens"`
	CachedInputTokens int64                        `json:"cachedInputTokens"`
	Cost              turn.Cost                    `json:"costCents"`
	Unpriced          int64                        `json:"unpricedCalls"`
	ModelTime         turn.Milliseconds            `json:"modelTimeMs"`
	ToolTime          turn.Milliseconds            `json:"toolTimeMs"`
	Rate              *float64                     `json:"outputTokensPerSecond"`
	Breakdown         map[string]turn.Milliseconds `json:"toolTimeBreakdownMs"`
}

// MarshalJSON writes durations as decimal milliseconds, exact to the nanosecond,
// and the rate as null where there is none.
func (s RunStats) MarshalJSON() ([]byte, error) {
	j := runStatsJSON{s.Turns, s.ToolCalls, s.InputTokens, s.OutputTokens, s.CachedInputTokens, s.Cost, s.Unpriced,
		turn.Milliseconds(s.ModelTime), turn.Milliseconds(s.ToolTime), nil, make(map[string]turn.Milliseconds, len(s.ToolTimeBreakdown))}
	if rate, ok := s.OutputTokensPerSecond(); ok {
		j.Rate = &rate
	}
	for name, d := range s.ToolTimeBreakdown {
		j.Breakdown[name] = turn.Milliseconds(d)
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote. The rate is not read: it follows
// from the totals.
func (s *RunStats) UnmarshalJSON(data []byte) error {
	var j runStatsJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*s = RunStats{j.Turns, j.ToolCalls, j.InputTokens, j.OutputTokens, j.CachedInputTokens, j.Cost, j.Unpriced,
		time.Duration(j.ModelTime), time.Duration(j.ToolTime), nil}
	if len(j.Breakdown) > 0 {
		s.ToolTimeBreakdown = make(map[string]time.Duration, len(j.Breakdown))
		for name, d := range j.Breakdown {
			s.ToolTimeBreakdown[name] = time.Duration(d)
		}
	}
	return nil
}

type auxiliaryJSON struct {
	turn.Usage
	ModelTime turn.Milliseconds `json:"modelTimeMs"`
}

// MarshalJSON writes the usage's fields beside modelTimeMs.
func (a AuxiliarySpend) MarshalJSON() ([]byte, error) {
	return json.Marshal(auxiliaryJSON{a.Usage, turn.Milliseconds(a.ModelTime)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (a *AuxiliarySpend) UnmarshalJSON(data []byte) error {
	var j auxiliaryJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*a = AuxiliarySpend{j.Usage, time.Duration(j.ModelTime)}
	return nil
}
