package standin

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatATestRunSays(t *testing.T) {
	for _, test := range []struct {
		name, output string
		failed       bool
		want         testRun
	}{
		{"passed", "ok  \texample.com/marks\t0.002s\n", false, testRun{stage: passing}},
		{"passed, from the cache", "ok  \texample.com/marks\t(cached)\n", false, testRun{stage: passing}},
		{"no tests", "?   \texample.com/marks\t[no test files]\n", false, testRun{stage: unclear}},
		{"nothing", "", true, testRun{stage: unclear}},
		{"a word of success in a failure", "FAIL\nok  \texample.com/other\t0.1s\n", true, testRun{stage: unclear}},
		{"does not compile", "# example.com/marks [example.com/marks.test]\n./report.go:10:15: undefined: mark\n./report.go:11:2: declared and not used: x\nFAIL\texample.com/marks [build failed]\n", true,
			testRun{building, []failure{{file: "report.go", line: 10, col: 15, text: "undefined: mark"}, {file: "report.go", line: 11, col: 2, text: "declared and not used: x"}}}},
		{"vet", "# example.com/marks\nvet: ./a.go:3:4: undefined: x\nFAIL\n", true, testRun{building, []failure{{file: "a.go", line: 3, col: 4, text: "undefined: x"}}}},
		{"tests fail", "--- FAIL: TestGrade (0.00s)\n    grade_test.go:8: Grade(90) = \"B\", want \"A\"\n--- FAIL: TestLow (0.00s)\r\n    --- FAIL: TestLow/few (0.00s)\r\n        stats_test.go:9: Low(1) = 2, want 3\r\nFAIL\n", true,
			testRun{failing, []failure{{file: "grade_test.go", line: 8, test: "TestGrade", text: `Grade(90) = "B", want "A"`}, {file: "stats_test.go", line: 9, test: "TestLow/few", text: "Low(1) = 2, want 3"}}}},
		{"a panic", "--- FAIL: TestA (0.00s)\n    a_test.go:3: A(1) = 2, want 3\n--- FAIL: TestB (0.00s)\npanic: runtime error: index out of range [3] with length 3 [recovered]\n\tpanic: again\n\ngoroutine 6 [running]:\ntesting.tRunner.func1.2()\n\t/usr/lib/go/src/testing/testing.go:1974 +0x232\nexample.com/m.B(...)\n\t/tmp/m/b.go:12\nexample.com/m.TestB(0x1)\n\t/tmp/m/b_test.go:6 +0x1d\nFAIL\n", true,
			testRun{crashing, []failure{{file: "/tmp/m/b.go", line: 12, test: "TestB", text: "runtime error: index out of range [3] with length 3 [recovered]"}}}},
		{"a panic in nobody's code", "--- FAIL: TestA (0.00s)\n    a_test.go:3: A(1) = 2, want 3\npanic: x\n\t/tmp/m/b_test.go:6 +0x1d\n", true, testRun{stage: unclear}},
		{"a line number beyond reason", "./a.go:99999999999999999999:1: undefined: x\n", true, testRun{building, []failure{{file: "a.go", line: number("99999999999999999999"), col: 1, text: "undefined: x"}}}},
	} {
		t.Run(test.name, func(t *testing.T) { require.Equal(t, test.want, parseTestRun(test.output, test.failed)) })
	}
}

func TestWhetherAChangeHelped(t *testing.T) {
	run := func(s stage, complaints ...string) testRun {
		r := testRun{stage: s}
		for i, c := range complaints {
			r.failures = append(r.failures, failure{file: "a.go", line: i, text: c})
		}
		return r
	}
	for _, test := range []struct {
		name          string
		before, after testRun
		want          bool
	}{
		{"it passes", run(failing, "a"), run(passing), true},
		{"it compiles", run(building, "a"), run(failing, "a", "b"), true},
		{"it no longer compiles", run(failing, "a", "b"), run(building, "c"), false},
		{"one complaint less", run(failing, "a", "b"), run(failing, "b"), true},
		{"the same complaints", run(failing, "a", "b"), run(failing, "b", "a"), false},
		{"another complaint instead", run(failing, "a"), run(failing, "b"), false},
		{"one less and a new one", run(failing, "a", "b", "c"), run(failing, "a", "d"), false},
		{"the same crash", run(crashing, "a"), run(crashing, "b"), false},
		{"another crash", run(crashing, "a"), testRun{crashing, []failure{{file: "a.go", line: 7, text: "a"}}}, true},
	} {
		require.Equal(t, test.want, test.after.betterThan(test.before), test.name)
	}
}

func FuzzParseTestRun(f *testing.F) {
	f.Add("ok  \tx\t0.1s\n", false)
	f.Add("panic: x\n\t/a/b.go:1 +0x1\n", true)
	f.Add("./a.go:1:2: undefined: x\n    a_test.go:3: F(1) = 2\n", true)
	f.Fuzz(func(t *testing.T, output string, failed bool) {
		r := parseTestRun(output, failed)
		require.False(t, failed && r.stage == passing)
		require.Equal(t, r.stage == building || r.stage == crashing || r.stage == failing, len(r.failures) > 0)
		require.False(t, r.betterThan(r))
	})
}
