package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// desk is a session and a directory, started as often as a test likes.
type desk struct {
	t            *testing.T
	dir, session string
}

func newDesk(t *testing.T) desk {
	return desk{t, t.TempDir(), filepath.Join(t.TempDir(), "session.jsonl")}
}

// start runs the program with lines on its input, and returns what it printed.
func (d desk) start(input string, args ...string) (code int, output string) {
	var out bytes.Buffer
	args = append([]string{"-dir", d.dir, "-session", d.session}, args...)
	code = run(d.t.Context(), args, func(string) string { return "" }, strings.NewReader(input), &out)
	return code, out.String()
}

// said is the session's transcript, message by message, as bytes.
func (d desk) said() []string {
	past, err := resume.ReadResumable(filepath.Dir(d.session), filepath.Base(d.session))
	require.NoError(d.t, err)
	require.Empty(d.t, past.Problems)
	require.NoError(d.t, turn.Check(past.Messages))
	out := make([]string, len(past.Messages))
	for i, m := range past.Messages {
		data, err := turn.MessageJSON(m)
		require.NoError(d.t, err)
		out[i] = string(data)
	}
	return out
}

// starts counts how often each call was started.
func (d desk) starts() map[string]int {
	n := map[string]int{}
	_, err := resume.ReadPast(filepath.Dir(d.session), filepath.Base(d.session), func(e trajectory.Event) error {
		if b, ok := e.Body.(trajectory.CallStart); ok {
			n[b.ID]++
		}
		return nil
	})
	require.NoError(d.t, err)
	return n
}

func (d desk) sign() string {
	data, err := os.ReadFile(filepath.Join(d.dir, "sign.txt"))
	if os.IsNotExist(err) {
		return ""
	}
	require.NoError(d.t, err)
	return string(data)
}

var ways = []struct {
	name    string
	replies []string // one for each prompt
	sign    string
	says    string
}{
	{"approve everything", []string{"y", "blue", "yes", "Y"}, "Wet paint\nin blue\n", "It says:\nWet paint"},
	{"deny the first", []string{"n", "blue", "y", "y"}, "Wet paint\nin blue\n", "It says:\nWet paint"},
	{"deny with a reason", []string{"y", "dark blue", "no, not in this directory"}, "", "The reason: not in this directory"},
	{"deny the last", []string{"y", "blue", "y", "n"}, "Wet paint\nin blue\n", "I have not read it back"},
}

func TestAllInOneGo(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			d := newDesk(t)
			code, output := d.start(strings.Join(w.replies, "\n"), "Wet", "paint")
			require.Zero(t, code, output)
			require.Contains(t, output, w.says)
			require.Contains(t, output, "no language model")
			require.Equal(t, w.sign, d.sign())
		})
	}
}

// Whoever leaves at a prompt and comes back later ends with the same transcript,
// and no command ran twice, wherever and however often that happens.
func TestQuitAtEachPromptAndCarryOn(t *testing.T) {
	for _, w := range ways {
		straight := newDesk(t)
		straight.start(strings.Join(w.replies, "\n"), "Wet paint")
		for at := range w.replies {
			for how, leave := range map[string]string{"q": "q\n", "the end of the input": "", "a word first": "perhaps\n\nquit\n"} {
				if leave == "perhaps\n\nquit\n" && at == 1 {
					continue // that is an answer
				}
				t.Run(w.name+"/"+w.replies[at]+"/"+how, func(t *testing.T) {
					d := newDesk(t)
					code, output := d.start(strings.Join(append(w.replies[:at:at], leave), "\n"), "Wet paint")
					require.Zero(t, code, output)
					require.Contains(t, output, "Nothing is lost. Carry on with\n  go run ./examples/approval -session "+d.session+"\n")
					code, output = d.start(strings.Join(w.replies[at:], "\n"))
					require.Zero(t, code, output)
					require.Contains(t, output, "Carries on")
					require.Equal(t, straight.said(), d.said())
					require.Equal(t, straight.starts(), d.starts())
					require.Equal(t, w.sign, d.sign())
				})
			}
		}
		t.Run(w.name+"/one reply a day", func(t *testing.T) {
			d := newDesk(t)
			task := []string{"Wet paint"}
			for _, r := range w.replies {
				code, output := d.start(r, task...)
				require.Zero(t, code, output)
				task = nil
			}
			require.Equal(t, straight.said(), d.said())
			require.Equal(t, straight.starts(), d.starts())
		})
	}
}

func TestAFinishedSession(t *testing.T) {
	d := newDesk(t)
	d.start("y\nblue\ny\ny", "Wet paint")
	before := d.said()
	code, output := d.start("")
	require.Zero(t, code)
	require.Contains(t, output, "The sign is there.")
	require.Equal(t, before, d.said(), "carrying on changes nothing")
	code, output = d.start("y\nred\ny\ny", "Dry paint")
	require.Zero(t, code, output)
	require.Equal(t, "Dry paint\nin red\n", d.sign())
	require.Equal(t, before, d.said()[:len(before)])
}

func TestANewTaskWhileTheSessionWaits(t *testing.T) {
	d := newDesk(t)
	d.start("y\nq", "Wet paint")
	before := d.said()
	code, output := d.start("y\n", "Dry paint")
	require.Equal(t, 2, code)
	require.Contains(t, output, "the session waits for a reply (What colour should the sign be?)")
	require.Equal(t, before, d.said())
	code, output = d.start("y\nred\ny\ny", "-close", "Dry paint")
	require.Zero(t, code, output)
	require.Contains(t, strings.Join(d.said(), "\n"), "closed without an answer")
	require.Equal(t, "Dry paint\nin red\n", d.sign())
}

// Closing without a new task lets the agent go on without a reply.
func TestCloseWithoutANewTask(t *testing.T) {
	d := newDesk(t)
	d.start("q", "Wet paint")
	code, output := d.start("y\ny", "-close")
	require.Zero(t, code, output)
	require.Equal(t, "Wet paint\nin no colour\n", d.sign())
}

func TestACancelAtAPromptQuits(t *testing.T) {
	d := newDesk(t)
	d.start("q", "Wet paint")
	before := d.said()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	silent, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	defer silent.Close()
	var out bytes.Buffer
	code := run(ctx, []string{"-session", d.session}, func(string) string { return "" }, silent, &out)
	require.Zero(t, code)
	require.Contains(t, out.String(), "Nothing is lost")
	require.Equal(t, before, d.said())
}

func TestWhatCannotBegin(t *testing.T) {
	d := newDesk(t)
	code, output := d.start("")
	require.Equal(t, 2, code)
	require.Contains(t, output, "say what to do")
	require.NoFileExists(t, d.session)

	require.NoError(t, os.WriteFile(d.session, nil, 0o600))
	code, output = d.start("")
	require.Equal(t, 2, code)
	require.Contains(t, output, "nothing was said in "+d.session)

	require.NoError(t, os.WriteFile(d.session, []byte("Dear diary,\n"), 0o600))
	code, output = d.start("", "Wet paint")
	require.Equal(t, 2, code)
	require.Contains(t, output, "not a session")
	data, err := os.ReadFile(d.session)
	require.NoError(t, err)
	require.Equal(t, "Dear diary,\n", string(data))

	d = newDesk(t)
	code, output = d.start("", "-dir", filepath.Join(d.dir, "missing"), "Wet paint")
	require.Equal(t, 2, code)
	require.Contains(t, output, "the directory of the commands")
	code, _ = d.start("", "-nonsense")
	require.Equal(t, 2, code)
	code, output = d.start("", "-h")
	require.Zero(t, code)
	require.Contains(t, output, "usage: approval")
}

func TestTheSessionKnowsItsDirectory(t *testing.T) {
	d := newDesk(t)
	d.start("y\nblue\nq", "Wet paint")
	var out bytes.Buffer
	code := run(t.Context(), []string{"-session", d.session, "-answers", "y,y"}, func(string) string { return "" }, strings.NewReader(""), &out)
	require.Zero(t, code, out.String())
	require.Equal(t, "Wet paint\nin blue\n", d.sign())
}
