package stats_test

import (
	"encoding/json"
	"maps"
	"math"
	"math/big"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/turn"
)

// figure is what a provider may report: mostly sane, now and then absurd.
func figure() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(0, 100_000), rapid.Int64Range(0, math.MaxInt64), rapid.Int64(),
		rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64}))
}

func optional[T any](t *rapid.T, name string, g *rapid.Generator[T]) *T {
	if rapid.Bool().Draw(t, name+" known") {
		v := g.Draw(t, name)
		return &v
	}
	return nil
}

func genUsage() *rapid.Generator[turn.Usage] {
	return rapid.Custom(func(t *rapid.T) turn.Usage {
		u := turn.Usage{InputTokens: figure().Draw(t, "input"), OutputTokens: figure().Draw(t, "output"), CachedInputTokens: optional(t, "cached", figure())}
		if c := optional(t, "cost", figure()); c != nil {
			u.Cost = (*turn.Cost)(c)
		}
		return u
	})
}

func genTurn() *rapid.Generator[turn.ModelTurnResult] {
	return rapid.Custom(func(t *rapid.T) turn.ModelTurnResult {
		return turn.ModelTurnResult{Usage: genUsage().Draw(t, "usage"), Timings: turn.Timings{Generation: time.Duration(figure().Draw(t, "generation"))}}
	})
}

var names = []string{"", "read", "run", "<&>\u2028", "é"}

// step is one fold of the package, with random arguments.
func step(t *rapid.T, s stats.RunStats) stats.RunStats {
	switch rapid.IntRange(0, 3).Draw(t, "fold") {
	case 0:
		return stats.AccumulateTurn(s, genTurn().Draw(t, "turn"))
	case 1:
		return stats.AccumulateAuxiliarySpend(s, stats.AuxiliarySpend{Usage: genUsage().Draw(t, "usage"), ModelTime: time.Duration(figure().Draw(t, "time"))})
	case 2:
		return stats.AccumulateToolCall(s, rapid.SampledFrom(names).Draw(t, "tool"), time.Duration(figure().Draw(t, "time")))
	default:
		return stats.AccumulateRun(s, genStats().Draw(t, "child"))
	}
}

// genStats is any total that the folds can make, and more.
func genStats() *rapid.Generator[stats.RunStats] {
	total := rapid.Map(figure(), func(n int64) int64 { return max(n, 0) })
	return rapid.Custom(func(t *rapid.T) stats.RunStats {
		draw := func(name string) int64 { return total.Draw(t, name) }
		s := stats.RunStats{Turns: draw("turns"), ToolCalls: draw("calls"), InputTokens: draw("input"), OutputTokens: draw("output"),
			CachedInputTokens: draw("cached"), Cost: turn.Cost(draw("cost")), Unpriced: draw("unpriced"),
			ModelTime: time.Duration(draw("model time")), ToolTime: time.Duration(draw("tool time"))}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(t, "tools") {
			if s.ToolTimeBreakdown == nil {
				s.ToolTimeBreakdown = map[string]time.Duration{}
			}
			s.ToolTimeBreakdown[name] = time.Duration(draw(name))
		}
		return s
	})
}

// totals are all figures of s by name.
func totals(s stats.RunStats) map[string]int64 {
	out := map[string]int64{"turns": s.Turns, "calls": s.ToolCalls, "input": s.InputTokens, "output": s.OutputTokens, "cached": s.CachedInputTokens,
		"cost": int64(s.Cost), "unpriced": s.Unpriced, "model time": int64(s.ModelTime), "tool time": int64(s.ToolTime)}
	for name, d := range s.ToolTimeBreakdown {
		out["tool "+name] = int64(d)
	}
	return out
}

func TestFoldsArePure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, child := genStats().Draw(t, "stats"), genStats().Draw(t, "child")
		before, childBefore := s, child
		before.ToolTimeBreakdown, childBefore.ToolTimeBreakdown = maps.Clone(s.ToolTimeBreakdown), maps.Clone(child.ToolTimeBreakdown)
		reply := genTurn().Draw(t, "turn")
		usage := reply.Usage

		sum := stats.AccumulateRun(s, child)
		sum = stats.AccumulateTurn(sum, reply)
		sum = stats.AccumulateAuxiliarySpend(sum, stats.AuxiliarySpend{Usage: usage})
		sum = stats.AccumulateToolCall(sum, "read", 5)
		sum.ToolTimeBreakdown["new"] = 7 // a fold's map is the caller's
		require.Equal(t, before, s)
		require.Equal(t, childBefore, child)
		require.Equal(t, reply, turn.ModelTurnResult{Usage: usage, Timings: reply.Timings})
	})
}

func TestAccumulateRunIsAssociativeAndCommutative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := genStats().Draw(t, "a"), genStats().Draw(t, "b"), genStats().Draw(t, "c")
		require.Equal(t, stats.AccumulateRun(a, b), stats.AccumulateRun(b, a))
		require.Equal(t, stats.AccumulateRun(stats.AccumulateRun(a, b), c), stats.AccumulateRun(a, stats.AccumulateRun(b, c)))
		require.Equal(t, a, stats.AccumulateRun(a, stats.EmptyRunStats()))
		require.Equal(t, a, stats.AccumulateRun(stats.EmptyRunStats(), a))
	})
}

// The order of everything that happened does not matter: a live run, its parts
// rolled up and its entries replayed in another order give the same totals.
func TestTotalsDoNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := make([]stats.RunStats, rapid.IntRange(0, 6).Draw(t, "parts"))
		for i := range parts {
			parts[i] = step(t, stats.EmptyRunStats())
		}
		sum := func(parts []stats.RunStats) stats.RunStats {
			s := stats.EmptyRunStats()
			for _, p := range parts {
				s = stats.AccumulateRun(s, p)
			}
			return s
		}
		want := sum(parts)
		if len(parts) > 0 {
			require.Equal(t, want, sum(rapid.Permutation(parts).Draw(t, "order")))
		}
		cut := rapid.IntRange(0, len(parts)).Draw(t, "cut")
		require.Equal(t, want, stats.AccumulateRun(sum(parts[:cut]), sum(parts[cut:])))
	})
}

func TestTotalsNeverGoDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := stats.EmptyRunStats()
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			next := step(t, s)
			after := totals(next)
			for name, n := range totals(s) {
				require.GreaterOrEqual(t, after[name], n, name)
			}
			for name, n := range after {
				require.GreaterOrEqual(t, n, int64(0), name)
			}
			s = next
		}
	})
}

// Each total is the sum of the sane figures, added up as big numbers, or the
// largest value where that does not fit.
func TestTurnsAddUpExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[string]*big.Int{}
		add := func(name string, n int64) {
			if want[name] == nil {
				want[name] = new(big.Int)
			}
			want[name].Add(want[name], big.NewInt(max(n, 0)))
		}
		s := stats.EmptyRunStats()
		for range rapid.IntRange(1, 10).Draw(t, "model calls") {
			reply := genTurn().Draw(t, "turn")
			if rapid.Bool().Draw(t, "auxiliary") {
				s = stats.AccumulateAuxiliarySpend(s, stats.AuxiliarySpend{Usage: reply.Usage, ModelTime: reply.Timings.Generation})
			} else {
				s = stats.AccumulateTurn(s, reply)
				add("turns", 1)
			}
			u := reply.Usage
			add("input", u.InputTokens)
			add("output", u.OutputTokens)
			add("model time", int64(reply.Timings.Generation))
			if u.CachedInputTokens != nil {
				add("cached", min(*u.CachedInputTokens, u.InputTokens))
			}
			if u.Cost != nil {
				add("cost", int64(*u.Cost))
			} else {
				add("unpriced", 1)
			}
		}
		for name, got := range totals(s) {
			exact := want[name]
			if exact == nil {
				exact = new(big.Int)
			}
			if !exact.IsInt64() {
				exact = big.NewInt(math.MaxInt64)
			}
			require.Equal(t, exact.Int64(), got, name)
		}
	})
}

func TestAuxiliarySpendIsNoTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, reply := genStats().Draw(t, "stats"), genTurn().Draw(t, "turn")
		aux := stats.AccumulateAuxiliarySpend(s, stats.AuxiliarySpend{Usage: reply.Usage, ModelTime: reply.Timings.Generation})
		require.Equal(t, s.Turns, aux.Turns)
		require.Equal(t, s.ToolCalls, aux.ToolCalls)
		require.Equal(t, stats.AccumulateTurn(s, reply), stats.AccumulateRun(aux, stats.RunStats{Turns: 1}), "in all else they are the same")
	})
}

func TestToolCalls(t *testing.T) {
	s := stats.AccumulateToolCall(stats.EmptyRunStats(), "read", 30*time.Millisecond)
	s = stats.AccumulateToolCall(s, "read", 20*time.Millisecond)
	s = stats.AccumulateToolCall(s, "run", 0)
	s = stats.AccumulateToolCall(s, "run", -time.Hour)
	require.Equal(t, stats.RunStats{ToolCalls: 4, ToolTime: 50 * time.Millisecond,
		ToolTimeBreakdown: map[string]time.Duration{"read": 50 * time.Millisecond, "run": 0}}, s)
}

func TestCachedIsAFloorAndASubset(t *testing.T) {
	for _, c := range []struct{ input, cached, want int64 }{{10, 4, 4}, {10, 10, 10}, {10, 11, 10}, {10, -1, 0}, {-5, 3, 0}, {0, 3, 0}} {
		s := stats.AccumulateTurn(stats.EmptyRunStats(), turn.ModelTurnResult{Usage: turn.Usage{InputTokens: c.input, CachedInputTokens: &c.cached}})
		require.Equal(t, c.want, s.CachedInputTokens, "%+v", c)
	}
}

func TestAnUnknownPriceIsNoZero(t *testing.T) {
	free, price := turn.Cost(0), 2*turn.Cent
	s := stats.EmptyRunStats()
	for _, cost := range []*turn.Cost{&price, nil, &free, &price, nil} {
		s = stats.AccumulateTurn(s, turn.ModelTurnResult{Usage: turn.Usage{Cost: cost}})
	}
	require.Equal(t, 4*turn.Cent, s.Cost)
	require.Equal(t, int64(2), s.Unpriced)
}

func TestRate(t *testing.T) {
	for _, c := range []struct {
		output int64
		time   time.Duration
		want   float64
		ok     bool
	}{
		{0, 0, 0, false}, {7, 0, 0, false}, {0, time.Second, 0, false}, {-7, time.Second, 0, false}, {7, -time.Second, 0, false},
		{100, 2 * time.Second, 50, true}, {1, 4 * time.Second, 0.25, true}, {7, 1, 7e9, true},
	} {
		rate, ok := stats.RunStats{OutputTokens: c.output, ModelTime: c.time}.OutputTokensPerSecond()
		require.Equal(t, c.want, rate)
		require.Equal(t, c.ok, ok)
	}

	// Of the totals, not the mean of the rates: 10 tokens in 1 s and 1000 in 1 s.
	s := stats.RunStats{OutputTokens: 10, ModelTime: time.Second}
	s = stats.AccumulateRun(s, stats.RunStats{OutputTokens: 10_000, ModelTime: 9 * time.Second})
	rate, _ := s.OutputTokensPerSecond()
	require.Equal(t, 1001.0, rate)

	rapid.Check(t, func(t *rapid.T) {
		s := stats.RunStats{OutputTokens: figure().Draw(t, "output"), ModelTime: time.Duration(figure().Draw(t, "time"))}
		rate, ok := s.OutputTokensPerSecond()
		require.False(t, math.IsNaN(rate) || math.IsInf(rate, 0))
		require.Equal(t, s.OutputTokens > 0 && s.ModelTime > 0, ok)
		if ok {
			require.Equal(t, float64(s.OutputTokens)/s.ModelTime.Seconds(), rate)
		}
	})
}

func TestRunStatsJSON(t *testing.T) {
	s := stats.RunStats{Turns: 2, ToolCalls: 3, InputTokens: 1000, OutputTokens: 50, CachedInputTokens: 400, Cost: turn.Cent / 8, Unpriced: 1,
		ModelTime: 2500 * time.Millisecond, ToolTime: 1500*time.Microsecond + 1, ToolTimeBreakdown: map[string]time.Duration{"run": 1, "read": 1500 * time.Microsecond}}
	data, err := json.Marshal(s)
	require.NoError(t, err)
	require.Equal(t, `{"turns":2,"toolCalls":3,"inputTokens":1000,"outputTokens":50,"cachedInputTokens":400,"costCents":0.125,"unpricedCalls":1,`+
		`"modelTimeMs":2500,"toolTimeMs":1.500001,"outputTokensPerSecond":20,"toolTimeBreakdownMs":{"read":1.5,"run":0.000001}}`, string(data))

	data, err = json.Marshal(stats.EmptyRunStats())
	require.NoError(t, err)
	require.Equal(t, `{"turns":0,"toolCalls":0,"inputTokens":0,"outputTokens":0,"cachedInputTokens":0,"costCents":0,"unpricedCalls":0,`+
		`"modelTimeMs":0,"toolTimeMs":0,"outputTokensPerSecond":null,"toolTimeBreakdownMs":{}}`, string(data))

	var out stats.RunStats
	require.NoError(t, json.Unmarshal([]byte(`{"outputTokens":5,"modelTimeMs":1000,"outputTokensPerSecond":99}`), &out))
	rate, _ := out.OutputTokensPerSecond()
	require.Equal(t, 5.0, rate, "the rate follows from the totals, whatever was stored")

	kept := out
	for _, text := range []string{`[]`, `{"turns":"1"}`, `{"turns":1e30}`, `{"costCents":null}`, `{"modelTimeMs":"1"}`, `{"toolTimeBreakdownMs":{"a":1e400}}`, `{"turns":1.5}`} {
		require.Error(t, json.Unmarshal([]byte(text), &out), text)
		require.Equal(t, kept, out)
	}
}

func TestStatsSurviveJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type both struct {
			Stats stats.RunStats
			Spend stats.AuxiliarySpend
		}
		in := both{genStats().Draw(t, "stats"), stats.AuxiliarySpend{Usage: genUsage().Draw(t, "usage"), ModelTime: time.Duration(figure().Draw(t, "time"))}}
		data, err := json.Marshal(in)
		require.NoError(t, err)
		var out both
		require.NoError(t, json.Unmarshal(data, &out))
		require.Equal(t, in, out)

		// One who reads the JSON alone finds the same rate.
		rate, ok := in.Stats.OutputTokensPerSecond()
		stored := gjson.GetBytes(data, "Stats.outputTokensPerSecond")
		require.Equal(t, ok, stored.Type == gjson.Number)
		if ok {
			read, err := strconv.ParseFloat(stored.Raw, 64)
			require.NoError(t, err)
			require.Equal(t, rate, read)
		}
	})
}

func TestAuxiliarySpendJSON(t *testing.T) {
	cost := turn.Cost(0)
	data, err := json.Marshal(stats.AuxiliarySpend{Usage: turn.Usage{InputTokens: 9, Cost: &cost}, ModelTime: time.Second})
	require.NoError(t, err)
	require.Equal(t, `{"inputTokens":9,"outputTokens":0,"cachedInputTokens":null,"costCents":0,"modelTimeMs":1000}`, string(data))
	require.Error(t, json.Unmarshal([]byte(`{"modelTimeMs":"x"}`), new(stats.AuxiliarySpend)))
}
