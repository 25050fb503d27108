package standin

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// stage is how far a test run came. A change that lets it come further helped,
// whatever it then finds.
type stage int

const (
	unclear  stage = iota // it failed, and the output does not say where
	building              // it does not compile
	crashing              // a test panics, so the tests behind it did not run
	failing               // tests ran and some failed
	passing
)

// testRun is what the output of `go test` says.
type testRun struct {
	stage    stage
	failures []failure
}

// failure is one complaint, at a place in a file.
type failure struct {
	file string
	line int
	col  int    // of a compile error
	test string // the test that failed
	text string
}

var (
	buildLine = regexp.MustCompile(`^(?:vet: )?(?:\./)?([\w./-]+\.go):(\d+):(\d+): (.+)$`)
	testLine  = regexp.MustCompile(`^\s+([\w./-]+_test\.go):(\d+): (.+)$`)
	frameLine = regexp.MustCompile(`^\t(\S+\.go):(\d+)(?: \+0x[0-9a-f]+)?$`)
	failLine  = regexp.MustCompile(`^\s*--- FAIL: (\S+)`)
	okLine    = regexp.MustCompile(`(?m)^ok\s+\S+`)
)

// parseTestRun reads what `go test` printed. A run that exited with an error never
// counts as passed, and neither does one that ran no tests.
func parseTestRun(output string, failed bool) testRun {
	var r testRun
	panicText, test := "", ""
	for _, line := range strings.Split(output, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if m := failLine.FindStringSubmatch(line); m != nil {
			test = m[1]
		}
		switch m := testLine.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "panic: ") && panicText == "":
			panicText = strings.TrimSpace(strings.TrimPrefix(line, "panic: "))
		case buildLine.MatchString(line):
			b := buildLine.FindStringSubmatch(line)
			r.add(building, failure{file: b[1], line: number(b[2]), col: number(b[3]), text: b[4]})
		case panicText != "" && r.stage != building && r.stage != crashing && frameLine.MatchString(line):
			f := frameLine.FindStringSubmatch(line)
			if own(f[1]) {
				r = testRun{crashing, []failure{{file: f[1], line: number(f[2]), test: test, text: panicText}}}
			}
		case m != nil && panicText == "":
			r.add(failing, failure{file: m[1], line: number(m[2]), test: test, text: m[3]})
		}
	}
	switch {
	case panicText != "" && r.stage == failing: // no frame of ours before it
		r = testRun{stage: unclear}
	case !failed && len(r.failures) == 0 && okLine.MatchString(output):
		r.stage = passing
	}
	return r
}

// add keeps what belongs to one stage: the earliest that the output shows.
func (r *testRun) add(s stage, f failure) {
	if r.stage == unclear {
		r.stage = s
	}
	if r.stage == s {
		r.failures = append(r.failures, f)
	}
}

// own tells the code under test from the library that it panicked in.
func own(file string) bool {
	return !strings.HasSuffix(file, "_test.go") && !strings.Contains(file, "/src/runtime/") && !strings.Contains(file, "/src/testing/")
}

func number(s string) int {
	n, _ := strconv.Atoi(s) // the pattern has digits only; too many of them are line 0
	return n
}

// betterThan reports whether a change helped: the run came further, or some
// complaint is gone and none is new.
func (r testRun) betterThan(before testRun) bool {
	switch {
	case r.stage != before.stage:
		return r.stage > before.stage
	case r.stage == crashing: // one crash hides the next
		return r.failures[0].file != before.failures[0].file || r.failures[0].line != before.failures[0].line
	}
	known := func(f failure) bool { return slices.Contains(texts(before), f.text) }
	return len(r.failures) < len(before.failures) && !slices.ContainsFunc(r.failures, func(f failure) bool { return !known(f) })
}

func texts(r testRun) []string {
	out := make([]string, len(r.failures))
	for i, f := range r.failures {
		out[i] = f.text
	}
	return out
}
