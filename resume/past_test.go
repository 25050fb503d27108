//go:build unix

package resume

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

const small = "user hello there\nmodel hi\nstop done"

func put(t testing.TB, dir, name string, data []byte) {
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
}

func TestReadResumable(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "sub/s.jsonl", sessionOf(t, "user hello there\nplan >a\ncalls a=read:look {\"path\":\"x\"}\nstart a"))
	var seen []string
	p, err := ReadResumable(dir, "sub/s.jsonl", func(e trajectory.Event) error {
		seen = append(seen, e.Body.Type())
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"run.start", "plan", "message", "call.start"}, seen)
	require.Equal(t, "hello there", p.Title)
	require.Len(t, p.Messages, 2)
	require.Equal(t, int64(1), p.State.Stats.Turns)
	require.Equal(t, int64(10), p.State.Total().InputTokens)
	require.Equal(t, 2, p.State.Recorded)
	require.Equal(t, []trajectory.OpenCall{{Call: turn.Call{ID: "a", Name: "look", Arguments: `{"path":"x"}`}, Turn: 1, Started: true}}, p.State.Open)
	require.Equal(t, "a", p.State.Plan.Steps[0].Text)
	require.Equal(t, trajectory.Tail{Seq: 5}, p.Tail)
	require.Nil(t, p.LastRun)
	require.Equal(t, "m", p.LastTurn.Model)
	require.Equal(t, time.Date(2026, 3, 4, 5, 0, 4, 0, time.UTC), p.LastAt)
	require.True(t, p.Assessment.LooksUnfinished)
}

func TestMissingFileIsANewSession(t *testing.T) {
	p, err := ReadResumable(t.TempDir(), "s.jsonl")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, `session "s.jsonl": `)
	require.Equal(t, PastSession{}, p.PastSession)
	require.Equal(t, Finished, p.Assessment.Verdict)
	_, err = ReadResumable(filepath.Join(t.TempDir(), "nowhere"), "s.jsonl")
	require.ErrorIs(t, err, fs.ErrNotExist)
	dir := t.TempDir()
	put(t, dir, "empty.jsonl", nil)
	t.Chdir(dir)
	_, err = ReadResumable("", "empty.jsonl")
	require.NoError(t, err, "no directory is the current one")
	for l, err := range List("") {
		require.NoError(t, err)
		require.Equal(t, "empty.jsonl", l.File)
	}
	p, err = ReadResumable(dir, "empty.jsonl")
	require.NoError(t, err)
	require.Zero(t, p.Tail)
}

func TestRefusedFiles(t *testing.T) {
	outside := t.TempDir()
	put(t, outside, "s.jsonl", sessionOf(t, small))
	dir := filepath.Join(outside, "dir")
	put(t, dir, "in.jsonl", sessionOf(t, small))
	require.NoError(t, os.Symlink(filepath.Join(outside, "s.jsonl"), filepath.Join(dir, "absolute-link")))
	require.NoError(t, os.Symlink("../s.jsonl", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("..", filepath.Join(dir, "dirlink")))
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	require.NoError(t, os.Symlink("in.jsonl", filepath.Join(dir, "good-link")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o755))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	for file, want := range map[string]string{
		"../s.jsonl": "leads out of the directory", "folder/../in.jsonl": "leads out of the directory", "..": "leads out of the directory",
		filepath.Join(outside, "s.jsonl"): "leads out of the directory", filepath.Join(dir, "in.jsonl"): "leads out of the directory", "": "leads out of the directory",
		"link": "escapes", "absolute-link": "escapes", "dirlink/s.jsonl": "escapes", "loop": "too many",
		"folder": "it is a directory", ".": "it is a directory", "pipe": "it is a pipe", "in.jsonl/x": "not a directory",
	} {
		_, err := ReadResumable(dir, file)
		require.ErrorContains(t, err, want, file)
		require.ErrorContains(t, err, "session ", file)
	}
	p, err := ReadResumable(dir, "good-link")
	require.NoError(t, err)
	require.Len(t, p.Messages, 2)
	_, err = ReadResumable(dir, "/dev/null")
	require.ErrorContains(t, err, "leads out")
}

func TestNoPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := t.TempDir()
	put(t, dir, "s.jsonl", sessionOf(t, small))
	require.NoError(t, os.Chmod(filepath.Join(dir, "s.jsonl"), 0))
	_, err := ReadResumable(dir, "s.jsonl")
	require.ErrorIs(t, err, fs.ErrPermission)
}

func TestFileThatIsNoSession(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "notes.jsonl", []byte("dear diary\n{\"mood\":\"fine\"}\n"))
	p, err := ReadResumable(dir, "notes.jsonl")
	require.ErrorIs(t, err, ErrNoSession)
	require.Equal(t, 2, p.ProblemCount)
	put(t, dir, "newer.jsonl", []byte(`{"t":"session","seq":1,"v":9}`+"\n"))
	_, err = ReadResumable(dir, "newer.jsonl")
	var newer *trajectory.VersionError
	require.ErrorAs(t, err, &newer)
	for _, lost := range []string{`{"t":"sess`, "{\n", "\x00\x00\x00\x00", "\x00\x00\n"} { // all that a crash may leave
		put(t, dir, "lost.jsonl", []byte(lost))
		_, err = ReadResumable(dir, "lost.jsonl")
		require.NoError(t, err)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "s.jsonl", append(sessionOf(t, small), strings.Repeat("x\n", 5000)...))
	p, err := ReadPast(dir, "s.jsonl")
	require.NoError(t, err)
	require.Equal(t, 5000, p.ProblemCount)
	require.Len(t, p.Problems, keptProblems)
	require.Len(t, p.Messages, 2)
}

func TestEntriesThatContradictAreReported(t *testing.T) {
	data := sessionOf(t, "user x\ncalls a=read:look {} ; b=read:look {}\nstart a\nend a ok text\nend a ok again\nmodel y")
	p, err := read(bytes.NewReader(data), nil)
	require.NoError(t, err)
	require.Equal(t, 2, p.ProblemCount)
	require.Equal(t, int64(6), p.Problems[0].Line)
	require.True(t, bytes.HasPrefix(data[p.Problems[0].Offset:], []byte(`{"t":"call.end","seq":6,`)))
	require.ErrorContains(t, p.Problems[0], `misfit: call "a" ended, which is no open call`)
	require.ErrorContains(t, p.Problems[1], `misfit: a message while call "b" has no result`)
	require.NoError(t, turn.Check(p.Messages))
	require.Len(t, p.Messages, 5)
	require.Equal(t, trajectory.LostResult, turn.Text(p.Messages[3]))
}

func TestObserverThatFailsEndsTheReading(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "s.jsonl", sessionOf(t, small))
	boom := errors.New("boom")
	p, err := ReadPast(dir, "s.jsonl", func(e trajectory.Event) error {
		if e.Body.Type() == "message" {
			return boom
		}
		return nil
	})
	require.ErrorIs(t, err, boom)
	require.Len(t, p.Messages, 2)
	require.Nil(t, p.LastRun)
}

func TestTitles(t *testing.T) {
	for script, want := range map[string]string{
		"user " + strings.Repeat("word ", 30): strings.Repeat("word ", 11) + "word…",
		"user x\ntitle Fix the build":         "Fix the build",
		"user x\ntitle A\ntitle B\nuser y":    "B",
		"nudge first\nuser second":            "first",
	} {
		require.Equal(t, want, pastOf(t, script).Title)
	}
	var b bytes.Buffer
	w := trajectory.NewWriter(&b, trajectory.Header{Title: "header"}, trajectory.Tail{})
	for _, c := range []struct {
		body trajectory.Body
		want string
	}{
		{trajectory.RunStart{Messages: turn.Transcript{turn.User("x")}}, "header"},
		{trajectory.RunStart{Title: "run"}, "run"},
		{trajectory.Title{Title: "named"}, "named"},
		{trajectory.RunStart{Title: "run"}, "named"},
	} {
		require.NoError(t, w.Append(trajectory.Event{Body: c.body}))
		p, err := read(bytes.NewReader(b.Bytes()), nil)
		require.NoError(t, err)
		require.Equal(t, c.want, p.Title)
	}
}

func TestReadingDoesNotWrite(t *testing.T) {
	dir := t.TempDir()
	data := append(sessionOf(t, small), `{"t":"tor`...)
	put(t, dir, "s.jsonl", data)
	before, err := os.Stat(filepath.Join(dir, "s.jsonl"))
	require.NoError(t, err)
	for range 3 {
		_, err := ReadResumable(dir, "s.jsonl")
		require.NoError(t, err)
	}
	after, err := os.Stat(filepath.Join(dir, "s.jsonl"))
	require.NoError(t, err)
	require.Equal(t, before.ModTime(), after.ModTime())
	got, err := os.ReadFile(filepath.Join(dir, "s.jsonl"))
	require.NoError(t, err)
	require.Equal(t, data, got)
	found, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, found, 1)
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	put(t, dir, "notes.txt", []byte("x"))
	put(t, dir, "deep/s.jsonl", sessionOf(t, small))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.jsonl"), 0o755))
	for i := range 40 {
		name := fmt.Sprintf("%02d.jsonl", i)
		switch i {
		case 7:
			put(t, dir, name, []byte("no session\n"))
		case 8:
			require.NoError(t, syscall.Mkfifo(filepath.Join(dir, name), 0o644))
		case 9:
			put(t, dir, name, append(sessionOf(t, "user nine"), "junk\n"...))
		default:
			put(t, dir, name, sessionOf(t, fmt.Sprintf("user number %d\nmodel hi\nstop done", i)))
		}
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), at, at.Add(time.Duration(i)*time.Minute)))
	}
	i := 39
	for l, err := range List(dir) {
		require.Equal(t, fmt.Sprintf("%02d.jsonl", i), l.File)
		require.Equal(t, at.Add(time.Duration(i)*time.Minute).Unix(), l.Modified.Unix())
		switch i {
		case 7:
			require.ErrorIs(t, err, ErrNoSession)
			require.Equal(t, 1, l.ProblemCount)
		case 8:
			require.ErrorContains(t, err, `session "08.jsonl": it is a pipe`)
		case 9:
			require.NoError(t, err)
			require.Equal(t, StoppedShort, l.Assessment.Verdict)
			require.Equal(t, 1, l.ProblemCount)
			require.Equal(t, "nine", l.Title)
		default:
			require.NoError(t, err)
			require.Equal(t, Finished, l.Assessment.Verdict)
			require.Equal(t, fmt.Sprintf("number %d", i), l.Title)
			require.NotZero(t, l.Size)
		}
		i--
	}
	require.Equal(t, -1, i)
	for l, err := range List(dir) {
		require.NoError(t, err)
		require.Equal(t, "39.jsonl", l.File)
		break
	}
	for l, err := range List(filepath.Join(dir, "nowhere")) {
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.Zero(t, l)
	}
	for range List(t.TempDir()) {
		require.Fail(t, "there is nothing to list")
	}
}

func TestListFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	put(t, dir, "real/s", sessionOf(t, small))
	require.NoError(t, os.Chtimes(filepath.Join(dir, "real/s"), at, at))
	require.NoError(t, os.Symlink("real/s", filepath.Join(dir, "link.jsonl")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "dangling.jsonl")))
	for l, err := range List(dir) {
		if l.File == "dangling.jsonl" {
			require.ErrorIs(t, err, fs.ErrNotExist)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, int64(len(sessionOf(t, small))), l.Size)
		require.Equal(t, at.Unix(), l.Modified.Unix())
	}
}

// Another program's files are refused whole, with what was found in them.
func TestOtherProgramsSessions(t *testing.T) {
	root := filepath.Join("..", "..", "shared", "sessions")
	if _, err := os.Stat(root); err != nil {
		t.Skip("no session files of other programs here: ", err)
	}
	require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		require.NoError(t, err)
		p, err := ReadResumable(root, rel)
		require.ErrorIs(t, err, ErrNoSession)
		require.NotZero(t, p.ProblemCount)
		require.Empty(t, p.Messages)
		return nil
	}))
}
