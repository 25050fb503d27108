package progress

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pawl-dev/pawl/turn"
)

// grouped is a number with a comma between thousands.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// count is a number of things, exact: "1 request", "1,520 requests".
func count[T ~int | ~int64](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(int64(n)) + " " + many
}

// said is a number as a person would say it, and whether that is the number
// itself: two or three figures, and words from a million on.
func said(n int64) (words string, exact bool) {
	n = max(n, 0)
	switch {
	case n < 1_000:
		return grouped(n), true
	case n < 9_950:
		r := roundTo(n, 100)
		return grouped(r), r == n
	case n < 999_500:
		r := roundTo(n, 1_000)
		return grouped(r), r == n
	}
	for _, scale := range []struct {
		one  int64
		name string
	}{{1e6, "million"}, {1e9, "billion"}, {1e12, "trillion"}} {
		switch {
		case n < 99*scale.one+scale.one*19/20:
			tenths := roundTo(n, scale.one/10) / (scale.one / 10)
			return fmt.Sprintf("%d.%d %s", tenths/10, tenths%10, scale.name), tenths*(scale.one/10) == n
		case n < 999*scale.one+scale.one/2 || scale.one == 1e12:
			whole := roundTo(n, scale.one) / scale.one
			return grouped(whole) + " " + scale.name, whole*scale.one == n
		}
	}
	return grouped(n), true
}

// roundTo is n to the nearest multiple of unit. It cannot overflow.
func roundTo(n, unit int64) int64 {
	down := n / unit * unit
	if n-down >= unit-unit/2 && down <= math.MaxInt64-unit {
		return down + unit
	}
	return down
}

// tokens says an amount of tokens. From a million on the words themselves say
// that the number is rounded.
func tokens(n int64) string {
	words, exact := said(n)
	if !exact && n < 999_500 {
		words = "about " + words
	}
	if n == 1 {
		return words + " token"
	}
	return words + " tokens"
}

// share is a part of a whole as a person would say it; "" when there is no such
// part. It says 100% only of the whole itself, and 0% never.
func share(part, whole int64) string {
	if part <= 0 || whole <= 0 {
		return ""
	}
	switch percent := float64(part) / float64(whole) * 100; {
	case part >= whole:
		return "all"
	case percent < 1:
		return "less than 1%"
	case percent > 99:
		return "more than 99%"
	default:
		return fmt.Sprintf("about %.0f%%", math.Round(percent))
	}
}

// money is an amount to the cent.
func money(c turn.Cost) string {
	if c < turn.Cent {
		return "less than 1 cent"
	}
	cents := roundTo(int64(c), int64(turn.Cent)) / int64(turn.Cent)
	return fmt.Sprintf("$%s.%02d", grouped(cents/100), cents%100)
}

// atLeast is a floor, so nothing is rounded up.
func atLeast(c turn.Cost) string {
	if c < turn.Cent {
		return "at least a fraction of a cent"
	}
	return "at least " + money(c-c%turn.Cent)
}

// list joins phrases as in a sentence.
func list(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// excerpt is the beginning of a text on one line, cut between characters.
func excerpt(s string, most int) string {
	if len(s) > 8*most {
		s = s[:8*most] // white space is taken out below, and a result may be huge
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return strings.TrimSpace(string(runes[:most-1])) + "…"
}
