package progress

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/turn"
)

func TestTokensAsAPersonSaysThem(t *testing.T) {
	for n, want := range map[int64]string{
		-5: "0 tokens", 0: "0 tokens", 1: "1 token", 999: "999 tokens", 1_000: "1,000 tokens", 1_049: "about 1,000 tokens", 9_949: "about 9,900 tokens",
		9_950: "about 10,000 tokens", 65_979: "about 66,000 tokens", 66_000: "66,000 tokens", 999_499: "about 999,000 tokens",
		999_500: "1.0 million tokens", 1_000_000: "1.0 million tokens", 10_028_873: "10.0 million tokens", 99_949_999: "99.9 million tokens",
		99_950_000: "100 million tokens", 999_499_999: "999 million tokens", 999_500_000: "1.0 billion tokens", 1_250_000_000_000: "1.3 trillion tokens",
		math.MaxInt64: "9,223,372 trillion tokens",
	} {
		require.Equal(t, want, tokens(n), "%d", n)
	}
}

func TestSaidIsNeverFarOff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, math.MaxInt64).Draw(t, "n")
		for _, unit := range []int64{100, 1_000, 1e5, 1e12} {
			r := roundTo(n, unit)
			require.True(t, r >= 0 && (r >= n && r-n <= unit/2 || r < n && (n-r <= unit/2 || r > math.MaxInt64-unit)), "%d to %d is %d", n, unit, r)
		}
	})
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		part, whole int64
		want        string
	}{
		{0, 10, ""}, {1, 0, ""}, {-1, 5, ""}, {1, 1000, "less than 1%"}, {5, 1000, "less than 1%"}, {10, 1000, "about 1%"}, {25, 1000, "about 3%"}, {2, 100, "about 2%"}, {990, 1000, "about 99%"},
		{996, 1000, "more than 99%"}, {1000, 1000, "all"}, {1001, 1000, "all"},
	} {
		require.Equal(t, c.want, share(c.part, c.whole), "%d of %d", c.part, c.whole)
	}
}

func TestMoney(t *testing.T) {
	for c, want := range map[turn.Cost]string{
		1: "less than 1 cent", turn.Cent: "$0.01", 15 * turn.Cent / 10: "$0.02", 123*turn.Dollar + turn.Cent: "$123.01",
		1_234_567 * turn.Dollar: "$1,234,567.00",
	} {
		require.Equal(t, want, money(c))
	}
	for c, want := range map[turn.Cost]string{
		1: "at least a fraction of a cent", turn.Cent: "at least $0.01", 35 * turn.Cent / 10: "at least $0.03", 2*turn.Cent - 1: "at least $0.01", math.MaxInt64: "at least $92,233,720.36",
	} {
		require.Equal(t, want, atLeast(c))
	}
}

func TestList(t *testing.T) {
	require.Equal(t, "", list(nil))
	require.Equal(t, "a", list([]string{"a"}))
	require.Equal(t, "a and b", list([]string{"a", "b"}))
	require.Equal(t, "a, b and c", list([]string{"a", "b", "c"}))
}

func TestExcerpt(t *testing.T) {
	require.Equal(t, "a b", excerpt(" a\n\t b\n", 10))
	require.Equal(t, "éé…", excerpt("éééééé", 3))
	require.Equal(t, "ab", excerpt("a\xffb", 10))
}
