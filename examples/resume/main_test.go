package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/pawl-dev/pawl/turn"
	"github.com/stretchr/testify/require"
)

// The test binary is the program when the program starts itself.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-agent") {
		main()
	}
	os.Exit(m.Run())
}

func TestTheStory(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three processes")
	}
	dir := filepath.Join(t.TempDir(), "new")
	var out bytes.Buffer
	require.Zero(t, run([]string{"-dir", dir}, &out), &out)
	require.NotContains(t, out.String(), "NO ")
	for _, text := range []string{
		"The model here is a few rules, and no language model.",
		"`send_mail` was running when the session stopped, and what it did is unknown. The model called `count_words`, which had no result yet. A call of `publish` had not begun.\n",
		"open         send_mail, which was running",
		"open         publish, which never began",
		"send_mail: unknown:",
		"again starts count_words",
		"stopped: done, after 5 turns, 7 tool calls",
	} {
		require.Contains(t, out.String(), text)
	}
	if runtime.GOOS != "windows" {
		require.Contains(t, out.String(), "signal: killed")
	}
	require.Equal(t, 1, run([]string{"-dir", dir}, &out))
	require.Contains(t, out.String(), "the directory must be empty")

	t.Run("a mail sent twice is noticed", func(t *testing.T) {
		s := story{dir: dir, out: &out}
		finished, err := s.look()
		require.NoError(t, err)
		s.foundNothingToDo(finished, finished)
		require.False(t, s.failed)
		f, err := os.OpenFile(filepath.Join(dir, effectsFile), os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString("send_mail team@example.org \"Release 1.4\"\n")
		require.NoError(t, err)
		require.NoError(t, f.Close())
		again, err := s.look()
		require.NoError(t, err)
		s.foundNothingToDo(finished, again)
		require.True(t, s.failed)
		s.failed = false
		s.wasFinished(finished, again)
		require.Contains(t, out.String(), "NO  send_mail ran once: [2]")
	})
}

func TestATemporaryDirectoryIsRemoved(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three processes")
	}
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR"))
	var out bytes.Buffer
	require.Zero(t, run(nil, &out), &out)
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// Nobody kills this one, so nothing is in doubt and nothing is looked up.
func TestAnAgentThatIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, manual), []byte(manualText), 0o644))
	var out bytes.Buffer
	require.Zero(t, run([]string{"-agent", "-dir", dir}, &out), &out)
	require.Contains(t, out.String(), "a new session")
	require.Contains(t, out.String(), "stopped: done, after 4 turns, 6 tool calls")
	e, err := readEffects(dir)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"model": 4, "write_notes": 1, "send_mail": 1, "count_words": 1, "publish": 1}, e.times)
}

func TestTheModelSendsAMailThatDidNotGoOut(t *testing.T) {
	said := map[string]string{"plan": "", "mail": "the outcome of this call is unknown", "outbox": "No mail was sent."}
	_, calls := decide(said)
	require.Equal(t, []turn.Call{{ID: "mail_again", Name: "send_mail", Arguments: `{"to":"team@example.org","subject":"Release 1.4"}`}}, calls)
	said["outbox"] = "team@example.org \"Release 1.4\""
	_, calls = decide(said)
	require.Equal(t, "update_plan", calls[0].Name)
}
