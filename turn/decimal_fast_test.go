package turn

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A trailing exponent of zero changes no number, and takes the slow way.
func TestDecimalFastPathAgreesWithTheSlowOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`-?[0-9]{0,20}(\.[0-9]{0,12})?`).Draw(t, "number")
		fast, fastErr := parseDecimal(s, 9)
		slow, slowErr := parseDecimal(s+"e0", 9)
		require.Equal(t, slowErr == nil, fastErr == nil, "%q: %v, %v", s, fastErr, slowErr)
		if slowErr == nil {
			require.Equal(t, slow, fast, s)
		}
	})
}
