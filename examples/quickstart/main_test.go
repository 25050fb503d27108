package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pawl-dev/pawl/examples/quickstart/standin"
	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/stretchr/testify/require"
)

func noEnvironment(string) string { return "" }

func needsGo(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command in the path:", err)
	}
}

// setTemp lets the program make its directories where the test can see them all.
func setTemp(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, dir)
	}
}

func TestItMendsTheBrokenModule(t *testing.T) {
	needsGo(t)
	setTemp(t)
	var out bytes.Buffer
	require.Zero(t, run(t.Context(), nil, noEnvironment, &out), &out)
	for _, text := range []string{
		"It is no language model.",
		"[>] Run the tests", "[x] See all tests pass", // the plan
		"list_files", "read_file", "search", "edit_file", "run_command", "update_plan",
		"the old text occurs 2 times", // an edit that fails
		"     so far: 3 files changed, 1 command run, all 6 steps finished",
		"That did not help, so I take it back.",
		"messages are now a summary of them, to make room",
		"Stopped: done", "tool time", "tokens",
		"Check: go test passes, with the tests as they were shipped.",
	} {
		require.Contains(t, out.String(), text)
	}
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	for _, f := range left {
		require.NotContains(t, f.Name(), "pawl-", "it cleans up")
	}
}

// serve lets the stand-in play a server of the user's; before each request the
// hook is told how manyth it is.
func serve(t *testing.T, before func(n int32)) (getenv func(string) string) {
	var n atomic.Int32
	handler := standin.Handler(0)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		before(n.Add(1))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": s.URL + "/v1", "OPENAI_API_KEY": "k", "PAWL_MODEL": "m-1"}[name]
	}
}

func TestTheSameProgramWorksWithAServerAndADirectoryOfTheUsers(t *testing.T) {
	needsGo(t)
	dir := t.TempDir()
	require.NoError(t, unpack(dir, func(string) bool { return true }))
	var out bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"-dir", dir, "Get", "the tests to pass."}, serve(t, func(int32) {}), &out), &out)
	require.Contains(t, out.String(), "Task       Get the tests to pass.")
	require.Contains(t, out.String(), "Model      m-1 at http://127.0.0.1:")
	require.NotContains(t, out.String(), "language model")
	cmd := exec.Command("go", "test", "./...")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), offline...)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, string(output))
}

func TestWhatCannotBeDone(t *testing.T) {
	server := serve(t, func(int32) { t.Error("a request was sent") })
	for _, test := range []struct {
		name   string
		args   []string
		getenv func(string) string
		says   string
	}{
		{"a directory without a model", []string{"-dir", "."}, noEnvironment, "needs a model: set OPENAI_API_KEY"},
		{"a task without a model", []string{"Do it."}, noEnvironment, "needs a model: set OPENAI_API_KEY"},
		{"a directory without a task", []string{"-dir", "."}, server, "say what to do"},
		{"a directory that is none", []string{"-dir", filepath.Join("no", "where"), "Do it."}, server, "no such file"},
		{"an unknown flag", []string{"-none"}, server, "flag provided but not defined"},
		{"going on nowhere", []string{"-continue"}, server, "say where to go on"},
		{"going on without a session", []string{"-dir", ".", "-continue"}, server, "there is no session to go on with"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			require.Equal(t, 2, run(t.Context(), test.args, test.getenv, &out))
			require.Contains(t, out.String(), test.says)
		})
	}
	var out bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"-h"}, noEnvironment, &out))
	require.Contains(t, out.String(), "usage: quickstart")
}

// interrupted is a run that ends while the model is asked for the nth time. It
// returns the directory that it leaves.
func interrupted(t *testing.T, nth int32, out *bytes.Buffer) (dir string) {
	ctx, interrupt := context.WithCancel(t.Context())
	getenv := serve(t, func(n int32) {
		if n == nth {
			interrupt()
		}
	})
	require.Equal(t, 1, run(ctx, nil, getenv, out), out)
	left, err := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+"*"))
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Contains(t, out.String(), "To go on: go run ./examples/quickstart -dir "+left[0]+" -continue")
	return left[0]
}

func TestAnInterruptEndsTheRunWithItsStatistics(t *testing.T) {
	setTemp(t)
	var out bytes.Buffer
	interrupted(t, 2, &out)
	require.Contains(t, out.String(), "Stopped: aborted (context canceled)\n  achieved    nothing\n  turns       1\n  tool calls  2\n")
	require.NotContains(t, out.String(), "Check:")
}

func TestAnInterruptedRunGoesOn(t *testing.T) {
	needsGo(t)
	setTemp(t)
	var first, second bytes.Buffer
	dir := interrupted(t, 6, &first)
	require.Contains(t, first.String(), "\nTurn 5  ")
	require.Zero(t, run(t.Context(), []string{"-dir", dir, "-continue", "-notice-at", "4000"}, noEnvironment, &second), &second)
	require.Contains(t, second.String(), "Goes on    "+brokenTask)
	require.Contains(t, second.String(), "Interrupted")
	require.Contains(t, second.String(), "\nTurn 6  ")
	require.NotContains(t, second.String(), "\nTurn 5  ")
	require.NotContains(t, second.String(), "report.go:10", "what was done before is not done again")
	numbers := regexp.MustCompile(`\nTurn (\d+)  `).FindAllStringSubmatch(second.String(), -1)
	require.Contains(t, second.String(), "  turns       "+numbers[len(numbers)-1][1]+"\n", "the totals are those of both")
	require.Equal(t, 1, strings.Count(second.String(), "  !  Done so far: "))
	require.NoDirExists(t, dir)
}

func TestASessionTakesOneMoreMessage(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n"), 0o644))
	asked := int32(0)
	server := serve(t, func(n int32) { asked = n })
	var out bytes.Buffer
	require.Equal(t, 1, run(t.Context(), []string{"-dir", dir, "-turns", "1", "Look."}, server, &out), &out)
	require.EqualValues(t, 1, asked)
	require.Equal(t, 1, run(t.Context(), []string{"-dir", dir, "-turns", "1", "-continue", "Now mend it."}, server, &out), &out)
	require.EqualValues(t, 2, asked)
	record, err := os.ReadFile(filepath.Join(dir, sessionFile))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(record), `"content":"Now mend it."`))
	require.Equal(t, 1, strings.Count(string(record), `"content":"Look."`))
}

// A session can end in a reply and be unfinished all the same: the model gave up, or
// the process died before it was reminded of its plan.
func TestASessionThatEndsInAReplyGoesOnWhereItsPlanIsOpen(t *testing.T) {
	for state, requests := range map[plan.State]int32{plan.InProgress: 1, plan.Done: 0} {
		dir := t.TempDir()
		f, err := os.Create(filepath.Join(dir, sessionFile))
		require.NoError(t, err)
		w := trajectory.NewWriter(f, trajectory.Header{}, trajectory.Tail{})
		for _, b := range []trajectory.Body{
			trajectory.RunStart{Messages: turn.Transcript{turn.User("Mend it.")}},
			trajectory.PlanChange{Plan: plan.Plan{Steps: []plan.Step{{Text: "Mend it", State: state}}}},
			trajectory.Message{Message: turn.ReplayForm(turn.Assistant("I cannot.")), Turn: &trajectory.Turn{Finish: "stop"}},
		} {
			require.NoError(t, w.Append(trajectory.Event{Body: b}))
		}
		require.NoError(t, f.Close())
		asked := int32(0)
		var out bytes.Buffer
		run(t.Context(), []string{"-dir", dir, "-turns", "2", "-continue"}, serve(t, func(n int32) { asked = n }), &out)
		require.Equal(t, requests, asked, &out)
		record, err := os.ReadFile(filepath.Join(dir, sessionFile))
		require.NoError(t, err)
		require.EqualValues(t, requests, strings.Count(string(record), `"content":"Carry on with the plan; the next step is “Mend it”."`))
	}
}

func TestATimeLimitAndATurnLimitAreSaid(t *testing.T) {
	needsGo(t)
	setTemp(t)
	var out bytes.Buffer
	require.Equal(t, 1, run(t.Context(), []string{"-turns", "1"}, noEnvironment, &out))
	require.Contains(t, out.String(), "Stopped: iteration_limit\n")
	require.Contains(t, out.String(), "Check: the module's tests do not pass")
	out.Reset()
	require.Equal(t, 1, run(t.Context(), []string{"-timeout", "1ns"}, noEnvironment, &out))
	require.Contains(t, out.String(), "Stopped: deadline (timed_out)")
}

// An agent that changes the tests, or says that it is done when it is not, does
// not pass.
func TestTheCheckUsesTheTestsAsTheyWereShipped(t *testing.T) {
	needsGo(t)
	m, err := newBrokenModule()
	require.NoError(t, err)
	defer m.remove()
	for _, name := range []string{"grade_test.go", "report_test.go", "stats_test.go", "more_test.go"} {
		text := "package marks\n"
		if name == "more_test.go" {
			text += "\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(*testing.M) { os.Exit(0) }\n"
		}
		require.NoError(t, os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o644))
	}
	report := filepath.Join(m.dir, "report.go")
	data, err := os.ReadFile(report)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(report, bytes.Replace(data, []byte("Mean(mark)"), []byte("Mean(marks)"), 1), 0o644))

	ws, err := openWorkspace(m.dir, append(os.Environ(), offline...))
	require.NoError(t, err)
	defer ws.Close()
	var out strings.Builder
	h := &host{ws: ws, broken: m, p: printer{out: &out}}
	require.False(t, h.check(t.Context()))
	require.Contains(t, out.String(), `Grade(90) = "B", want "A"`)
}

func TestWhatIsRefusedLeavesTheRecord(t *testing.T) {
	dir := t.TempDir()
	record := filepath.Join(dir, sessionFile)
	require.NoError(t, os.WriteFile(record, []byte("kept"), 0o644))
	require.Equal(t, 2, run(t.Context(), []string{"-dir", dir}, serve(t, func(int32) {}), &bytes.Buffer{}))
	data, err := os.ReadFile(record)
	require.NoError(t, err)
	require.Equal(t, "kept", string(data))
}
