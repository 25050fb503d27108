package progress

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An error without what the call was given is the same for every call that fails in
// the same way, and no other.
func TestErrorWithoutArguments(t *testing.T) {
	for _, c := range []struct{ arguments, text, want string }{
		{`{"path":"a.txt"}`, `no file a.txt`, `no file …`},
		{`{"old":"q0"}`, `"q0" is not in a.go`, `"…" is not in a.go`},
		{`{"old":"q0"}`, `q0 is not there, nor q01 or aq0`, `… is not there, nor q01 or aq0`},
		{`{"old":"x"}`, `'x' is not an ax`, `'…' is not an ax`},
		{`{"old":"a"}`, `a file is missing`, `a file is missing`},
		{`{"n":3}`, `line 3: no such thing`, `line …: no such thing`},
		{`{"n":3}`, `line 33, or 3.5, or v3, or 1.3, is not 3.`, `line 33, or 3.5, or v3, or 1.3, is not ….`},
		{`{"n":-2.50}`, `-2.50 is below 0`, `… is below 0`},
		{`{"at":{"row":7,"columns":[8,9]}}`, `nothing at 7:8 or 7:9`, `nothing at …:… or …:…`},
		{`{"ok":true}`, `is it true`, `is it true`},
		{`{"old":""}`, `"" is empty`, `"" is empty`},
		{`7`, `line 7`, `line …`},
		{`{"a`, `line 7`, `line 7`},
		{``, `line 7`, `line 7`},
	} {
		got, _ := errorText(c.text, withoutTimes(c.text), c.arguments)
		require.Equal(t, c.want, got, "%s of %s", c.text, c.arguments)
	}
	deep := strings.Repeat("[", 100_000) + "5" + strings.Repeat("]", 100_000)
	got, names := errorText("5", "5", deep)
	require.Equal(t, "5", got, "nobody says so much")
	require.Zero(t, names)
}
