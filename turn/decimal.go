package turn

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Cost is an exact amount of money in billionths of a US cent, so that a sum does
// not depend on the order of its terms. Its JSON is a decimal number of cents
// that reads back to the same amount.
type Cost int64

// Cent is one US cent, Dollar a hundred of them.
const (
	Cent   Cost = 1_000_000_000
	Dollar      = 100 * Cent
)

const costDigits, milliDigits = 9, 6

// Cents is the amount as a decimal number of cents, exact: "0.0125".
func (c Cost) Cents() string { return formatDecimal(int64(c), costDigits) }

// String is the amount in dollars, exact: "$0.000125".
func (c Cost) String() string {
	s := formatDecimal(int64(c), costDigits+2)
	if rest, negative := strings.CutPrefix(s, "-"); negative {
		return "-$" + rest
	}
	return "$" + s
}

// MarshalJSON writes a decimal number of cents.
func (c Cost) MarshalJSON() ([]byte, error) { return []byte(c.Cents()), nil }

// UnmarshalJSON reads a decimal number of cents, rounded half away from zero
// to a billionth of a cent.
func (c *Cost) UnmarshalJSON(data []byte) error {
	n, err := parseDecimal(string(data), costDigits)
	if err != nil {
		return fmt.Errorf("cost: %w", err)
	}
	*c = Cost(n)
	return nil
}

// ParseCents reads a decimal number of cents, such as a provider reports,
// rounded half away from zero to a billionth of a cent.
func ParseCents(s string) (Cost, error) {
	n, err := parseDecimal(s, costDigits)
	return Cost(n), err
}

// Milliseconds is the JSON form of a duration: decimal milliseconds, exact to
// the nanosecond.
type Milliseconds time.Duration

// MarshalJSON writes decimal milliseconds.
func (m Milliseconds) MarshalJSON() ([]byte, error) {
	return []byte(formatDecimal(int64(m), milliDigits)), nil
}

// UnmarshalJSON reads decimal milliseconds, rounded half away from zero to a
// nanosecond.
func (m *Milliseconds) UnmarshalJSON(data []byte) error {
	n, err := parseDecimal(string(data), milliDigits)
	if err != nil {
		return fmt.Errorf("milliseconds: %w", err)
	}
	*m = Milliseconds(n)
	return nil
}

// formatDecimal writes n × 10^-digits without an exponent and without trailing zeros.
func formatDecimal(n int64, digits int) string {
	sign, u := "", uint64(n)
	if n < 0 {
		sign, u = "-", -u
	}
	s := strconv.FormatUint(u, 10)
	if len(s) <= digits {
		s = strings.Repeat("0", digits+1-len(s)) + s
	}
	whole, frac := s[:len(s)-digits], strings.TrimRight(s[len(s)-digits:], "0")
	if frac == "" {
		return sign + whole
	}
	return sign + whole + "." + frac
}

// parseDecimal is the inverse of formatDecimal. It takes any JSON number; a
// number out of range is an error, never a wrapped one.
func parseDecimal(s string, digits int) (int64, error) {
	if n, ok := parsePlainDecimal(s, digits); ok {
		return n, nil
	}
	if !isJSONNumber(s) {
		return 0, fmt.Errorf("%.40q is no decimal number", s)
	}
	if len(s) > maxNumber {
		return 0, fmt.Errorf("%.40q… is too long for a number", s)
	}
	if _, exp, _ := strings.Cut(strings.ToLower(s), "e"); len(exp) > 4 {
		return 0, fmt.Errorf("%.40q is out of range", s) // big.Rat would build the power of ten first
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, fmt.Errorf("%.40q is no decimal number", s)
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	num := new(big.Int).Mul(r.Num(), scale)
	half := new(big.Int).Quo(r.Denom(), big.NewInt(2))
	if num.Sign() < 0 {
		half.Neg(half)
	}
	num.Quo(num.Add(num, half), r.Denom())
	if !num.IsInt64() {
		return 0, fmt.Errorf("%.40q is out of range", s)
	}
	return num.Int64(), nil
}

// parsePlainDecimal reads what formatDecimal writes, as long as it is short: the
// numbers of every line of a session.
func parsePlainDecimal(s string, digits int) (n int64, ok bool) {
	if len(s) == 0 || len(s) > 18 || s[0] == '.' || s[len(s)-1] == '.' || len(s) > 1 && s[0] == '0' && s[1] != '.' {
		return 0, false
	}
	scale := -1 // digits behind the point, once there is one
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			n = n*10 + int64(c-'0')
			if scale >= 0 {
				scale++
			}
		case c == '.' && scale < 0:
			scale = 0
		default:
			return 0, false
		}
	}
	for scale = max(scale, 0); scale < digits; scale++ {
		if n > math.MaxInt64/10 {
			return 0, false
		}
		n *= 10
	}
	return n, scale == digits
}

// maxNumber bounds the text of a number: reading one takes more than linear time.
// No float, written out in full, is as long.
const maxNumber = 1000

// isJSONNumber keeps out what big.Rat takes and JSON does not: 1/3, 0x10, 1_000,
// Inf, 01, 1.
func isJSONNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') && s[len(s)-1] > ' ' && json.Valid([]byte(s))
}
