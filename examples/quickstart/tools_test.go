package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/stretchr/testify/require"
)

// inside is a workspace with a neighbour that must stay out of reach.
func inside(t *testing.T) (w *workspace, secret string) {
	base := t.TempDir()
	dir, out := filepath.Join(base, "in"), filepath.Join(base, "out")
	for _, d := range []string{dir, filepath.Join(dir, "sub"), out} {
		require.NoError(t, os.Mkdir(d, 0o755))
	}
	secret = filepath.Join(out, "secret.txt")
	require.NoError(t, os.WriteFile(secret, []byte("the secret\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\ntwo\nthree\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sub", "b.txt"), []byte("below\n"), 0o644))
	w, err := openWorkspace(dir, os.Environ())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w, secret
}

// call is what the loop makes of one call.
func call(t *testing.T, ctx context.Context, w *workspace, name string, arguments any) loop.Outcome {
	data, err := json.Marshal(arguments)
	require.NoError(t, err)
	for _, tool := range w.tools() {
		if tool.Name == name {
			return tool.Do(ctx, loop.Call{Call: turn.Call{ID: "c", Name: name, Arguments: string(data)}, Turn: 1})
		}
	}
	t.Fatalf("no tool %s", name)
	return loop.Outcome{}
}

func TestFileToolsCannotLeaveTheDirectory(t *testing.T) {
	w, secret := inside(t)
	outside := filepath.Dir(secret)
	for link, target := range map[string]string{"link.txt": secret, "linked": outside, "relative": "../out"} {
		if err := os.Symlink(target, filepath.Join(w.dir, link)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	for _, p := range []string{"..", "../out", "../out/secret.txt", "sub/../../out/secret.txt", "../in/../out/secret.txt",
		outside, secret, w.dir + "/../out/secret.txt", w.dir + "-not/secret.txt", "/etc/passwd",
		"link.txt", "linked", "linked/secret.txt", "relative/secret.txt", "linked/new.txt", "relative/new/new.txt"} {
		t.Run(p, func(t *testing.T) {
			for name, arguments := range map[string]any{
				"list_files": listInput{p},
				"read_file":  readInput{Path: p},
				"search":     searchInput{"secret", p},
				"edit_file":  editInput{p, "the secret", "gone"},
			} {
				o := call(t, t.Context(), w, name, arguments)
				require.NotContains(t, o.Text, "the secret", name)
				if name != "list_files" && name != "search" { // those pass a link by
					require.Equal(t, trajectory.Failed, o.Status, name)
				}
			}
			o := call(t, t.Context(), w, "edit_file", editInput{p, "", "made"})
			require.Equal(t, trajectory.Failed, o.Status)
		})
	}
	data, err := os.ReadFile(secret)
	require.NoError(t, err)
	require.Equal(t, "the secret\n", string(data))
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestListAndSearchPassLinksAndHiddenFilesBy(t *testing.T) {
	w, secret := inside(t)
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, ".hidden"), []byte("two\n"), 0o644))
	_ = os.Symlink(filepath.Dir(secret), filepath.Join(w.dir, "linked"))
	require.Equal(t, "a.txt\nsub/b.txt", call(t, t.Context(), w, "list_files", listInput{}).Text)
	require.Equal(t, "a.txt:2: two\na.txt:3: two", call(t, t.Context(), w, "search", searchInput{Pattern: "two|secret"}).Text)
	require.Equal(t, "sub/b.txt:1: below", call(t, t.Context(), w, "search", searchInput{".", "sub"}).Text)
}

func TestTheRecordIsOutOfReach(t *testing.T) {
	w, _ := inside(t)
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, sessionFile), []byte("kept"), 0o644))
	for _, p := range []string{sessionFile, "sub/../" + sessionFile, filepath.Join(w.dir, sessionFile)} {
		require.Contains(t, call(t, t.Context(), w, "read_file", readInput{Path: p}).Error, "the record of this session")
		require.Contains(t, call(t, t.Context(), w, "edit_file", editInput{p, "kept", ""}).Error, "the record of this session")
	}
}

// What another name of the file still holds was not written over.
func TestAnEditReplacesTheFile(t *testing.T) {
	w, _ := inside(t)
	file := func(name string) string { return filepath.Join(w.dir, name) }
	require.NoError(t, os.Link(file("a.txt"), file("before.txt")))
	linked := os.Symlink("sub/b.txt", file("link.txt")) == nil
	require.Empty(t, call(t, t.Context(), w, "edit_file", editInput{"a.txt", "one", "1"}).Error)
	for name, want := range map[string]string{"a.txt": "1\ntwo\ntwo\nthree\n", "before.txt": "one\ntwo\ntwo\nthree\n"} {
		text, err := os.ReadFile(file(name))
		require.NoError(t, err)
		require.Equal(t, want, string(text), name)
	}
	if runtime.GOOS != "windows" {
		info, err := os.Stat(file("a.txt"))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	if linked {
		require.Empty(t, call(t, t.Context(), w, "edit_file", editInput{"link.txt", "below", "above"}).Error)
		text, err := os.ReadFile(file("sub/b.txt"))
		require.NoError(t, err)
		require.Equal(t, "above\n", string(text))
	}
	entries, err := os.ReadDir(w.dir)
	require.NoError(t, err)
	for _, e := range entries {
		require.NotContains(t, e.Name(), ".new")
	}
}

func TestAnAbsolutePathInsideIsUnderstood(t *testing.T) {
	w, _ := inside(t)
	o := call(t, t.Context(), w, "read_file", readInput{Path: filepath.Join(w.dir, "sub", "b.txt")})
	require.Equal(t, "below\n", o.Text)
	require.Equal(t, []string{"sub/b.txt"}, o.Paths)
}

func TestReadFile(t *testing.T) {
	w, _ := inside(t)
	long := strings.Repeat("a line of some length\n", 5000)
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "long.txt"), []byte(long), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "binary"), []byte("a\x00b"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "huge.txt"), make([]byte, maxFile+1), 0o644))
	for _, test := range []struct {
		in          readInput
		text, error string
	}{
		{readInput{Path: "a.txt"}, "one\ntwo\ntwo\nthree\n", ""},
		{readInput{Path: "a.txt", From: 2, To: 3}, "two\ntwo\n", ""},
		{readInput{Path: "a.txt", From: 4, To: 99}, "three\n", ""},
		{readInput{Path: "a.txt", From: 9}, "", "there are no lines 9 to 5"},
		{readInput{Path: "sub"}, "", "sub is a directory"},
		{readInput{Path: "binary"}, "", "binary is no text file"},
		{readInput{Path: "huge.txt"}, "", "huge.txt is larger"},
		{readInput{Path: "none.txt"}, "", "no such file"},
	} {
		o := call(t, t.Context(), w, "read_file", test.in)
		require.Equal(t, test.text, o.Text)
		require.Contains(t, o.Error, test.error)
		require.Equal(t, test.error != "", o.Error != "")
	}
	o := call(t, t.Context(), w, "read_file", readInput{Path: "long.txt", From: 11})
	require.LessOrEqual(t, len(o.Text), maxText+100)
	require.Contains(t, o.Text, "… cut after line ")
	require.Equal(t, maxText/22, strings.Count(o.Text, "length\n"), "whole lines")
}

func TestEditFile(t *testing.T) {
	for _, test := range []struct {
		name        string
		in          editInput
		after, fail string
	}{
		{"one place", editInput{"a.txt", "one\n", "1\n"}, "1\ntwo\ntwo\nthree\n", ""},
		{"taken out", editInput{"a.txt", "two\ntwo\n", ""}, "one\nthree\n", ""},
		{"not there", editInput{"a.txt", "four", "4"}, "", "not in the file; nothing was changed"},
		{"twice", editInput{"a.txt", "two", "2"}, "", "occurs 2 times; nothing was changed"},
		{"no change", editInput{"a.txt", "one", "one"}, "", "the same; nothing was changed"},
		{"made over a file", editInput{"a.txt", "", "new"}, "", "exists"},
		{"made over a directory", editInput{"sub", "", "new"}, "", "exists"},
		{"of no file", editInput{"none.txt", "a", "b"}, "", "no such file"},
		{"made", editInput{"new/deep/c.txt", "", "made\n"}, "made\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, _ := inside(t)
			o := call(t, t.Context(), w, "edit_file", test.in)
			if test.fail != "" {
				require.Equal(t, trajectory.Failed, o.Status)
				require.Contains(t, o.Error, test.fail)
				data, err := os.ReadFile(filepath.Join(w.dir, "a.txt"))
				require.NoError(t, err)
				require.Equal(t, "one\ntwo\ntwo\nthree\n", string(data))
				return
			}
			require.Equal(t, trajectory.OK, o.Status, o.Error)
			require.Equal(t, []string{test.in.Path}, o.Paths)
			data, err := os.ReadFile(filepath.Join(w.dir, filepath.FromSlash(test.in.Path)))
			require.NoError(t, err)
			require.Equal(t, test.after, string(data))
		})
	}
}

func TestAnEditKeepsTheFilesMode(t *testing.T) {
	w, _ := inside(t)
	before, err := os.Stat(filepath.Join(w.dir, "a.txt"))
	require.NoError(t, err)
	require.Empty(t, call(t, t.Context(), w, "edit_file", editInput{"a.txt", "one", "1"}).Error)
	after, err := os.Stat(filepath.Join(w.dir, "a.txt"))
	require.NoError(t, err)
	require.Equal(t, before.Mode(), after.Mode())
}

func TestEveryToolDeclaresItsKind(t *testing.T) {
	w, _ := inside(t)
	kinds := map[string]trajectory.Kind{}
	for _, tool := range w.tools() {
		kinds[tool.Name] = tool.Kind
		require.Equal(t, tool.Kind == trajectory.KindEdit || tool.Kind == trajectory.KindExecute, tool.Alone, tool.Name)
		require.Equal(t, !tool.Alone, tool.ReplaySafe, tool.Name)
	}
	require.Equal(t, map[string]trajectory.Kind{"list_files": "read", "read_file": "read", "search": "search",
		"edit_file": "edit", "run_command": "execute", "update_plan": "think"}, kinds)
}

func TestTheKeyStaysFromCommands(t *testing.T) {
	require.Equal(t, []string{"A=1", "OPENAI_API_KEYS=2"}, commandEnv([]string{"A=1", "OPENAI_API_KEY=k", "OPENAI_API_KEYS=2"}))
}

func TestOutputKeepsBothEnds(t *testing.T) {
	for _, pieces := range [][]string{
		{""}, {"abc"}, {"abcd", "efgh"}, {"abcdefgh"}, {"abcdefghi"}, {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}, {strings.Repeat("x", 100), "yz"},
	} {
		c := capped{limit: 4}
		whole := strings.Join(pieces, "")
		for _, p := range pieces {
			n, err := c.Write([]byte(p))
			require.NoError(t, err)
			require.Equal(t, len(p), n)
		}
		if len(whole) <= 8 {
			require.Equal(t, whole, c.String())
			continue
		}
		require.True(t, strings.HasPrefix(c.String(), whole[:4]+"\n… "), c.String())
		require.True(t, strings.HasSuffix(c.String(), " …\n"+whole[len(whole)-4:]), c.String())
		require.Equal(t, len(whole)-8, c.skipped)
	}
}
