package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

var built string // the directory of the program

// program builds the program, once for all tests.
var program = sync.OnceValues(func() (file string, err error) {
	if built, err = os.MkdirTemp("", "pawl-pty-"); err != nil {
		return "", err
	}
	file = filepath.Join(built, "approval")
	output, err := exec.Command("go", "build", "-o", file, ".").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w", output, err)
	}
	return file, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// typist sits at a pseudo-terminal in which the program runs.
type typist struct {
	t       *testing.T
	cmd     *exec.Cmd
	master  *os.File
	ended   chan struct{}
	drained chan struct{} // all that it wrote was read

	mu    sync.Mutex
	wrote []byte // what the program wrote
	seen  int    // bytes of it that were waited for
}

// openPTY returns both ends of a new pseudo-terminal.
func openPTY(t *testing.T) (master, slave *os.File) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine gives no pseudo-terminal: %v", err)
	}
	var n, unlock int32
	c, err := master.SyscallConn()
	require.NoError(t, err)
	ioctl := func(request uintptr, arg *int32) {
		var failed syscall.Errno
		require.NoError(t, c.Control(func(fd uintptr) {
			_, _, failed = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(arg)))
		}))
		require.Zero(t, failed)
	}
	ioctl(syscall.TIOCSPTLCK, &unlock)
	ioctl(syscall.TIOCGPTN, &n)
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	return master, slave
}

// sit starts the program in a terminal of its own.
func (d desk) sit(env []string, args ...string) *typist {
	file, err := program()
	require.NoError(d.t, err)
	master, slave := openPTY(d.t)
	defer slave.Close()
	s := &typist{t: d.t, master: master, ended: make(chan struct{}), drained: make(chan struct{})}
	s.cmd = exec.Command(file, append([]string{"-dir", d.dir, "-session", d.session}, args...)...)
	s.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "TERM=xterm"}, env...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(d.t, s.cmd.Start())
	go s.read()
	go func() {
		defer close(s.ended)
		_ = s.cmd.Wait() // its exit code is looked at
	}()
	d.t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = master.Close()
	})
	return s
}

func (s *typist) read() {
	defer close(s.drained)
	buf := make([]byte, 4096)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.wrote = append(s.wrote, buf[:n]...)
		s.mu.Unlock()
		if err != nil { // the other end is closed
			return
		}
	}
}

func (s *typist) screen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.wrote)
}

// awaits waits until the program has written a text that was not waited for yet.
func (s *typist) awaits(text string) {
	s.t.Helper()
	found := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		i := bytes.Index(s.wrote[s.seen:], []byte(text))
		if i >= 0 {
			s.seen += i + len(text)
		}
		return i >= 0
	}
	require.Eventually(s.t, found, time.Minute, time.Millisecond, "waiting for %q, the screen is:\n%s", text, s)
}

func (s *typist) String() string { return s.screen() }

func (s *typist) types(keys string) {
	s.t.Helper()
	_, err := s.master.WriteString(keys)
	require.NoError(s.t, err)
}

// leaves waits for the end of the program and wants this exit code; -1 is a signal.
func (s *typist) leaves(code int) {
	s.t.Helper()
	late := time.After(time.Minute)
	for _, c := range []<-chan struct{}{s.ended, s.drained} {
		select {
		case <-c:
		case <-late:
			require.Fail(s.t, "the program does not end", s.screen())
		}
	}
	require.Equal(s.t, code, s.cmd.ProcessState.ExitCode(), s.screen())
}

const prompt = "q to quit > "

// carriesOn starts the program, types a reply at each prompt, and stays to the end.
func (d desk) carriesOn(replies []string, args ...string) *typist {
	d.t.Helper()
	s := d.sit(nil, args...)
	for _, r := range replies {
		s.awaits(prompt)
		s.types(r + "\n")
	}
	s.leaves(0)
	return s
}

func TestATerminalInOneGo(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			piped := newDesk(t)
			piped.start(strings.Join(w.replies, "\n"), "Wet paint")
			d := newDesk(t)
			s := d.carriesOn(w.replies, "Wet paint")
			require.Contains(t, strings.ReplaceAll(s.screen(), "\r\n", "\n"), w.says)
			require.Equal(t, w.sign, d.sign())
			require.Equal(t, piped.said(), d.said())
		})
	}
}

var exits = []struct {
	name, keys string
	code       int
}{
	{"q", "q\n", 0},
	{"Ctrl-D", "\x04", 0},
	{"Ctrl-C", "\x03", 0},
	{"half a word and Ctrl-C", "ye\x03", 0},
	{"killed", "", -1},
}

func (s *typist) exit(keys string, code int) {
	s.t.Helper()
	if keys == "" {
		require.NoError(s.t, s.cmd.Process.Kill())
	} else {
		s.types(keys)
	}
	s.leaves(code)
}

func TestATerminalIsLeftAtEachPrompt(t *testing.T) {
	for _, w := range ways[2:3] { // it approves, answers and denies
		straight := newDesk(t)
		straight.carriesOn(w.replies, "Wet paint")
		for _, e := range exits {
			for at := range w.replies {
				t.Run(fmt.Sprintf("%s/%s/%d", w.name, e.name, at), func(t *testing.T) {
					d := newDesk(t)
					s := d.sit(nil, "Wet paint")
					for _, r := range w.replies[:at] {
						s.awaits(prompt)
						s.types(r + "\n")
					}
					s.awaits(prompt)
					s.exit(e.keys, e.code)
					d.carriesOn(w.replies[at:])
					require.Equal(t, straight.said(), d.said())
					require.Equal(t, straight.starts(), d.starts())
					require.Equal(t, w.sign, d.sign())
				})
			}
			t.Run(w.name+"/"+e.name+"/at every prompt", func(t *testing.T) {
				d := newDesk(t)
				args := []string{"Wet paint"}
				last := len(w.replies) - 1
				for i, r := range w.replies {
					s := d.sit(nil, args...)
					if args = nil; i > 0 {
						s.awaits("Carries on")
					}
					s.awaits(prompt)
					s.types(r + "\n")
					if i == last {
						s.leaves(0)
						break
					}
					s.awaits(prompt)
					s.exit(e.keys, e.code)
				}
				require.Equal(t, straight.said(), d.said())
				require.Equal(t, straight.starts(), d.starts())
			})
		}
	}
}

// What was typed before a command was shown approves nothing.
func TestTypingAheadApprovesNothing(t *testing.T) {
	d := newDesk(t)
	bin := t.TempDir()
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	fake(t, bin, "ls", "read x < "+fifo)
	s := d.sit([]string{"PATH=" + bin + ":" + os.Getenv("PATH")}, "Wet paint")
	s.awaits(prompt)
	s.types("y\n")
	s.awaits("$  ls -A")
	s.types("blue\ny\ny\ny\n") // the command is still at work
	s.awaits("blue\r\ny\r\ny\r\ny\r\n")
	require.NoError(t, os.WriteFile(fifo, []byte("go on\n"), 0))
	s.awaits(prompt)
	s.types("green\n")
	s.awaits(prompt)
	s.types("n\n")
	s.leaves(0)
	require.Empty(t, d.sign())
	require.Contains(t, strings.Join(d.said(), "\n"), `"green"`)
}

// fake puts a command before the real one in the PATH.
func fake(t *testing.T, bin, name, body string) {
	require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755))
}

// Ctrl-C while a command works ends it and all that it started, and the session
// says that its outcome is unknown. A kill cannot, but neither makes it run twice.
func TestStoppedWhileACommandWorks(t *testing.T) {
	for _, e := range []struct {
		name, keys, told string
		code             int
	}{
		{"Ctrl-C", "\x03", "was stopped while this call was running", 1},
		{"killed", "", "the outcome of this call is unknown", -1},
	} {
		t.Run(e.name, func(t *testing.T) {
			d := newDesk(t)
			bin, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
			fake(t, bin, "cat", "echo started >> "+log+"\nsleep 300 & echo $! > "+log+".pid; wait")
			path := "PATH=" + bin + ":" + os.Getenv("PATH")
			s := d.sit([]string{path}, "Wet paint")
			for _, r := range []string{"y", "blue", "y", "y"} {
				s.awaits(prompt)
				s.types(r + "\n")
			}
			child := pidIn(t, log+".pid")
			s.exit(e.keys, e.code)
			if e.code == 1 {
				gone(t, child)
			} else {
				_ = syscall.Kill(child, syscall.SIGKILL)
			}
			s = d.sit([]string{path})
			s.leaves(0)
			require.Contains(t, s.screen(), "I have not read it back")
			require.Contains(t, strings.Join(d.said(), "\n"), e.told)
			data, err := os.ReadFile(log)
			require.NoError(t, err)
			require.Equal(t, "started\n", string(data))
		})
	}
}

func pidIn(t *testing.T, file string) (pid int) {
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		n, _ := fmt.Sscan(string(data), &pid)
		return n == 1
	}, time.Minute, time.Millisecond)
	return pid
}

// gone waits until a process has ended; a zombie that nobody collects has.
func gone(t *testing.T, pid int) {
	require.Eventually(t, func() bool {
		if syscall.Kill(pid, 0) == syscall.ESRCH {
			return true
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && strings.Contains(string(stat), ") Z ")
	}, time.Minute, time.Millisecond)
}

func TestTwoProgramsOnOneSession(t *testing.T) {
	d := newDesk(t)
	s := d.sit(nil, "Wet paint")
	s.awaits(prompt)
	other := d.sit(nil)
	other.leaves(2)
	other.awaits("another program is at work on session")
	s.exit("q\n", 0)
	d.carriesOn([]string{"y", "blue", "y", "y"})
}

// Text that a terminal would obey is shown instead: it could make a command look
// like another one.
func TestControlCharactersAreShown(t *testing.T) {
	d := newDesk(t)
	s := d.sit(nil, "Wet\x1b[2Kpaint\u202e\rand\x07")
	for _, r := range []string{"y", "blue"} {
		s.awaits(prompt)
		s.types(r + "\n")
	}
	s.awaits(`'Wet\x1b[2Kpaint\u202e\rand\a'`)
	require.NotContains(t, s.screen(), "\x1b")
	require.NotContains(t, s.screen(), "\u202e")
	s.awaits(prompt)
	s.exit("q\n", 0)
}
