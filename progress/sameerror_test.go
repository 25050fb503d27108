package progress_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/progress"
	"github.com/pawl-dev/pawl/trajectory"
)

// given is one call of a tool: its arguments, and the error it came to.
type given struct{ arguments, text string }

// Two errors are the same when they differ only in what the two calls were given.
func TestSameErrorUnderOtherArguments(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b given
		same bool
	}{
		{"a short text", given{`{"old":"q0"}`, `"q0" is not there`}, given{`{"old":"q1"}`, `"q1" is not there`}, true},
		{"a number", given{`{"n":3}`, `line 3: no`}, given{`{"n":4}`, `line 4: no`}, true},
		{"a number that is no argument", given{`{"n":3}`, `line 7: no`}, given{`{"n":4}`, `line 8: no`}, false},
		{"a number inside another", given{`{"n":3}`, `line 31: no`}, given{`{"n":4}`, `line 41: no`}, false},
		{"a number in a version", given{`{"n":3}`, `1.3.0 is old`}, given{`{"n":4}`, `1.4.0 is old`}, false},
		{"numbers that are written in another way", given{`{"n":3.0}`, `line 3: no`}, given{`{"n":4e0}`, `line 4: no`}, true},
		{"large numbers that a float prints", given{`{"n":1000000}`, `1e+06 is too many`}, given{`{"n":2000000}`, `2e+06 is too many`}, true},
		{"numbers below zero", given{`{"n":-3}`, `-3 is too few`}, given{`{"n":-4}`, `-4 is too few`}, true},
		{"a range", given{`{"from":3,"to":9}`, `no lines 3-9`}, given{`{"from":4,"to":8}`, `no lines 4-8`}, true},
		{"numbers deep inside", given{`{"at":[{"n":3}]}`, `line 3: no`}, given{`{"at":[{"n":4}]}`, `line 4: no`}, true},
		{"one text begins another", given{`{"dir":"src","path":"src/a.go"}`, `open src/a.go: no`}, given{`{"dir":"src","path":"src/b.go"}`, `open src/b.go: no`}, true},
		{"a number stands in a text", given{`{"id":7,"path":"d-7/a.go"}`, `open d-7/a.go: no`}, given{`{"id":8,"path":"e/b.go"}`, `open e/b.go: no`}, true},
		{"a number stands in a clock time", given{`{"n":12}`, `no n at 12:00:01`}, given{`{"n":13}`, `no n at 12:00:02`}, true},
		{"a number stands in a duration", given{`{"n":3}`, `took 3 seconds`}, given{`{"n":4}`, `took 5 seconds`}, true},
		{"the error has that number anyway", given{`{"n":3}`, `the file has 3 lines`}, given{`{"n":4}`, `the file has 3 lines`}, true},
		{"the error has that word anyway", given{`{"old":"file"}`, `the file is locked`}, given{`{"old":"lock"}`, `the file is locked`}, true},
		{"a text that was quoted", given{`{"old":"a\tb"}`, `"a\tb" is not there`}, given{`{"old":"c\td"}`, `"c\td" is not there`}, true},
		{"an object encoded twice", given{`"{\"n\":3}"`, `line 3: no`}, given{`"{\"n\":4}"`, `line 4: no`}, true},
		{"many flags before it", given{`{"f":[true,true,true,true,true,true,true,true,true,true,true,true,true,true,true,true],"n":3}`, `line 3: no`},
			given{`{"f":[true,true,true,true,true,true,true,true,true,true,true,true,true,true,true,true],"n":4}`, `line 4: no`}, true},
		{"the next of what it was given", given{`{"rows":[1,2,3]}`, `row 1 is bad`}, given{`{"rows":[1,2,3]}`, `row 2 is bad`}, false},
		{"the next of what it was given, by name", given{`{"from":"aa.go","to":"bb.go"}`, `no aa.go`}, given{`{"from":"aa.go","to":"bb.go"}`, `no bb.go`}, false},
		{"the same, its arguments in another order", given{`{"id":7,"path":"d-7/a"}`, `open d-7/a: no`}, given{`{"path":"d-7/a","id":7}`, `open d-7/a: no`}, true},
		{"true is no word of its own", given{`{"all":true}`, `it is true`}, given{`{"all":false}`, `it is false`}, false},
		{"what it was given, and more", given{`{"n":3}`, `line 3: no`}, given{`{"n":4}`, `line 4: not now`}, false},
	} {
		fails := func(g given) act {
			return act{tool: "x", arguments: g.arguments, result: g.text, status: trajectory.Failed}
		}
		s := begin().does(fails(c.a)).does(fails(c.b))
		require.Equal(t, c.same, progress.DetectStuck(s.events, 2) != nil, c.name)
		s = begin().does(fails(c.b)).does(fails(c.a))
		require.Equal(t, c.same, progress.DetectStuck(s.events, 2) != nil, "%s, the other way round", c.name)
	}
}

// An import that fails at the next row each time gets on, though it is the same call.
func TestErrorThatGoesThroughItsArguments(t *testing.T) {
	s := begin()
	for i := range 10 {
		s.does(act{tool: "import", arguments: `{"rows":[0,1,2,3,4,5,6,7,8,9]}`, result: fmt.Sprintf("row %d is bad", i), status: trajectory.Failed})
	}
	require.NoError(t, progress.DetectStuck(s.events, 2))
}
