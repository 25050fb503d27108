//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/stretchr/testify/require"
)

func TestACommandThatFailsGivesItsOutput(t *testing.T) {
	w, _ := inside(t)
	o := call(t, t.Context(), w, "run_command", runInput{"echo to stdout; echo to stderr >&2; exit 3"})
	require.Equal(t, trajectory.Failed, o.Status)
	require.Equal(t, "to stdout\nto stderr\n", o.Text)
	require.Equal(t, "exit status 3", o.Error)
	o = call(t, t.Context(), w, "run_command", runInput{"pwd; cat a.txt | wc -l"})
	require.Equal(t, trajectory.OK, o.Status)
	require.Equal(t, []string{w.dir, "4"}, strings.Fields(o.Text))
	o = call(t, t.Context(), w, "run_command", runInput{"true"})
	require.Equal(t, "It succeeded and printed nothing.", o.Text)
}

// A command starts a process of its own and tells its id.
const startsAnother = "sleep 300 & echo $! > child; "

func childOf(t *testing.T, w *workspace) int {
	var pid int
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(filepath.Join(w.dir, "child"))
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(data)))
		return err == nil
	}, time.Minute, time.Millisecond)
	return pid
}

// gone waits until a process has ended; a zombie that nobody collects has.
func gone(t *testing.T, pid int) {
	require.Eventually(t, func() bool {
		if syscall.Kill(pid, 0) == syscall.ESRCH {
			return true
		}
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err == nil && strings.Contains(string(stat), ") Z ")
	}, time.Minute, time.Millisecond)
}

func TestACancelEndsWhatACommandStarted(t *testing.T) {
	w, _ := inside(t)
	ctx, cancel := context.WithCancel(t.Context())
	outcome := make(chan loop.Outcome)
	go func() { outcome <- call(t, ctx, w, "run_command", runInput{startsAnother + "echo begun; wait"}) }()
	pid := childOf(t, w)
	cancel()
	o := <-outcome
	require.Equal(t, trajectory.CutOff, o.Status)
	require.False(t, o.Abandoned)
	gone(t, pid)
}

func TestTheTimeLimitEndsACommand(t *testing.T) {
	w, _ := inside(t)
	tool := w.tools()[4]
	require.Equal(t, "run_command", tool.Name)
	tool.Timeout = 50 * time.Millisecond
	o := tool.Do(t.Context(), loop.Call{Call: turn.Call{Arguments: `{"command":"sleep 300"}`}})
	require.Equal(t, trajectory.Failed, o.Status)
	require.Contains(t, o.Error, "timed out after 50ms")
	require.False(t, o.Abandoned)
}

func TestNothingThatACommandStartedOutlivesIt(t *testing.T) {
	w, _ := inside(t)
	o := call(t, t.Context(), w, "run_command", runInput{startsAnother + "echo done"})
	require.Equal(t, trajectory.OK, o.Status, o.Error)
	require.Equal(t, "done\n\n(It left something running, which was ended.)", o.Text)
	gone(t, childOf(t, w))
}

func TestAPipeIsNotWaitedFor(t *testing.T) {
	w, _ := inside(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(w.dir, "pipe"), 0o644))
	o := call(t, t.Context(), w, "read_file", readInput{Path: "pipe"})
	require.Equal(t, "pipe is no regular file", o.Error)
	require.Equal(t, "a.txt\nsub/b.txt", call(t, t.Context(), w, "list_files", listInput{}).Text)
}
