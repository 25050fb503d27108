package turn_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/turn"
)

// anyInt64 leans to the ends of the range and to round numbers.
func anyInt64() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1_000_000_000_000, 1_000_000_000_000),
		rapid.SampledFrom([]int64{0, 1, -1, 999_999_999, 1_000_000_000, 10_000_000_000, math.MaxInt64, math.MinInt64, math.MinInt64 + 1}))
}

func genUsage() *rapid.Generator[turn.Usage] {
	return rapid.Custom(func(t *rapid.T) turn.Usage {
		u := turn.Usage{InputTokens: anyInt64().Draw(t, "input"), OutputTokens: anyInt64().Draw(t, "output")}
		if rapid.Bool().Draw(t, "cached known") {
			n := anyInt64().Draw(t, "cached")
			u.CachedInputTokens = &n
		}
		if rapid.Bool().Draw(t, "priced") {
			c := turn.Cost(anyInt64().Draw(t, "cost"))
			u.Cost = &c
		}
		return u
	})
}

func genTimings() *rapid.Generator[turn.Timings] {
	return rapid.Custom(func(t *rapid.T) turn.Timings {
		out := turn.Timings{Generation: time.Duration(anyInt64().Draw(t, "generation"))}
		if rapid.Bool().Draw(t, "streamed") {
			d := time.Duration(anyInt64().Draw(t, "ttft"))
			out.TTFT = &d
		}
		return out
	})
}

func TestFiguresSurviveJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type figures struct {
			Cost    turn.Cost
			Time    turn.Milliseconds
			Usage   turn.Usage
			Timings turn.Timings
		}
		in := figures{turn.Cost(anyInt64().Draw(t, "cost")), turn.Milliseconds(anyInt64().Draw(t, "time")),
			genUsage().Draw(t, "usage"), genTimings().Draw(t, "timings")}
		data, err := json.Marshal(in)
		require.NoError(t, err)
		var out figures
		require.NoError(t, json.Unmarshal(data, &out))
		require.Equal(t, in, out)

		again, err := turn.ParseCents(in.Cost.Cents())
		require.NoError(t, err)
		require.Equal(t, in.Cost, again)
	})
}

// A reader that knows nothing of our unit sees the same amount.
func TestCentsAreTheAmount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := anyInt64().Draw(t, "amount")
		cents, ok := new(big.Rat).SetString(turn.Cost(n).Cents())
		require.True(t, ok)
		require.Zero(t, new(big.Rat).SetFrac64(n, int64(turn.Cent)).Cmp(cents))
		dollars, ok := new(big.Rat).SetString(strings.Replace(turn.Cost(n).String(), "$", "", 1))
		require.True(t, ok)
		require.Zero(t, new(big.Rat).SetFrac64(n, int64(turn.Dollar)).Cmp(dollars))
	})
}

func TestCostText(t *testing.T) {
	for c, want := range map[turn.Cost][2]string{
		0:                           {"0", "$0"},
		1:                           {"0.000000001", "$0.00000000001"},
		-1:                          {"-0.000000001", "-$0.00000000001"},
		turn.Cent:                   {"1", "$0.01"},
		turn.Cent / 80:              {"0.0125", "$0.000125"},
		-3 * turn.Dollar:            {"-300", "-$3"},
		turn.Dollar + turn.Cent/2:   {"100.5", "$1.005"},
		math.MaxInt64:               {"9223372036.854775807", "$92233720.36854775807"},
		math.MinInt64:               {"-9223372036.854775808", "-$92233720.36854775808"},
		123*turn.Dollar + turn.Cent: {"12301", "$123.01"},
	} {
		require.Equal(t, want, [2]string{c.Cents(), c.String()})
	}
}

func TestParseCents(t *testing.T) {
	for text, want := range map[string]turn.Cost{
		"0": 0, "-0": 0, "0.0": 0, "0e99": 0, "1": turn.Cent, "1.50": turn.Cent * 3 / 2, "1E2": turn.Dollar, "1e+2": turn.Dollar,
		"12.5e-3": turn.Cent / 80, "-2.25": -turn.Cent * 9 / 4,
		// half away from zero, at the last digit
		"0.0000000004": 0, "0.0000000005": 1, "-0.0000000005": -1, "0.0000000014999": 1, "0.0000000015": 2, "-0.0000000014": -1,
		"1e-400":                       0,
		"0.1":                          turn.Cent / 10,
		"0.30000000000000004":          turn.Cent * 3 / 10, // what a float made of 0.1 + 0.2
		"9223372036.854775807":         math.MaxInt64,
		"9223372036.8547758074":        math.MaxInt64,
		"-9223372036.854775808":        math.MinInt64,
		"0." + strings.Repeat("3", 99): 333_333_333,
	} {
		got, err := turn.ParseCents(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

var absurdNumbers = []string{
	"", " ", "NaN", "Inf", "-Inf", "+1", "1/3", "0x10", "1_000", "1,5", "12 ", " 12", "$1", "1e", "e1", "--1", "1-1", "1.2.3", "1.", ".5", "01", "-", ".", "1e1e1", "1e1.5",
	"1e400", "-1e400", "1e99999", "1e-99999", "1e999999999999", "1e-999999999999", "9223372036.8547758075", "-9223372036.8547758085", "99999999999",
	`"12"`, "null", "true", "[]", "{}", "١", "1\x00",
	strings.Repeat("9", 1<<20), "0." + strings.Repeat("9", 1<<20),
}

func TestAbsurdNumbersAreErrors(t *testing.T) {
	for _, text := range absurdNumbers {
		name := text[:min(len(text), 20)]
		_, err := turn.ParseCents(text)
		require.Error(t, err, name)
		require.Less(t, len(err.Error()), 200)
		var c turn.Cost
		require.Error(t, c.UnmarshalJSON([]byte(text)), name)
		require.Zero(t, c)
		var m turn.Milliseconds
		if text != "99999999999" && text != "9223372036.8547758075" && text != "-9223372036.8547758085" { // 115 days are no absurd time
			require.Error(t, m.UnmarshalJSON([]byte(text)), name)
		}
	}
}

func TestUsageJSON(t *testing.T) {
	cached, cost := int64(7), turn.Cent/80
	data, err := json.Marshal(turn.Usage{InputTokens: 12, OutputTokens: 3, CachedInputTokens: &cached, Cost: &cost})
	require.NoError(t, err)
	require.Equal(t, `{"inputTokens":12,"outputTokens":3,"cachedInputTokens":7,"costCents":0.0125}`, string(data))

	data, err = json.Marshal(turn.Usage{})
	require.NoError(t, err)
	require.Equal(t, `{"inputTokens":0,"outputTokens":0,"cachedInputTokens":null,"costCents":null}`, string(data))

	for _, text := range []string{string(data), `{}`, `{"cachedInputTokens":null,"costCents":null}`} {
		var u turn.Usage
		require.NoError(t, json.Unmarshal([]byte(text), &u))
		require.True(t, u.IsZero(), "unknown stays unknown, and is no zero: %s", text)
	}
	zero := turn.Cost(0)
	require.False(t, turn.Usage{Cost: &zero}.IsZero(), "free of charge is known")

	for _, text := range []string{`{"costCents":"12"}`, `{"costCents":1e400}`, `{"inputTokens":1.5}`, `{"inputTokens":1e400}`, `{"outputTokens":"3"}`,
		`{"cachedInputTokens":99999999999999999999}`, `{"costCents":{}}`} {
		require.Error(t, json.Unmarshal([]byte(text), new(turn.Usage)), text)
	}
}

func TestTimingsJSON(t *testing.T) {
	ttft := 80*time.Millisecond + 250*time.Microsecond
	data, err := json.Marshal(turn.Timings{TTFT: &ttft, Generation: 1500*time.Millisecond + 1})
	require.NoError(t, err)
	require.Equal(t, `{"ttftMs":80.25,"generationMs":1500.000001}`, string(data))

	data, err = json.Marshal(turn.Timings{})
	require.NoError(t, err)
	require.Equal(t, `{"ttftMs":null,"generationMs":0}`, string(data), "a reply that was not streamed has no first token")
	for _, text := range []string{`{"generationMs":null}`, `{"generationMs":"3"}`, `{"ttftMs":1e400}`, `[]`} {
		require.Error(t, json.Unmarshal([]byte(text), new(turn.Timings)), text)
	}
}
