package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/pawl-dev/pawl/loop"
)

// client speaks to a server.
type client struct{ url string }

func (c client) do(ctx context.Context, method, path string, in any) (now state, status int, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return now, 0, err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+"/sessions/"+path, bytes.NewReader(body))
	if err != nil {
		return now, 0, err
	}
	return answer(req)
}

func answer(req *http.Request) (now state, status int, err error) {
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return now, 0, err
	}
	defer res.Body.Close()
	if err = json.NewDecoder(res.Body).Decode(&now); err == nil && now.Error != "" {
		err = fmt.Errorf("%s %s: %s: %s", req.Method, req.URL.Path, res.Status, now.Error)
	}
	return now, res.StatusCode, err
}

func (c client) say(ctx context.Context, id, text string) error {
	_, _, err := c.do(ctx, "POST", id+"/messages", map[string]string{"text": text})
	return err
}

func (c client) reply(ctx context.Context, id, call string, r loop.Reply) (status int, err error) {
	_, status, err = c.do(ctx, "POST", id+"/replies", replyRequest{call, r})
	return status, err
}

// until asks for the session's state until it is what was waited for.
func (c client) until(ctx context.Context, id string, holds func(state) bool) (state, error) {
	for {
		now, _, err := c.do(ctx, "GET", id, nil)
		if err != nil || holds(now) {
			return now, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return now, fmt.Errorf("session %s stands at %+v: %w", id, now, ctx.Err())
		}
	}
}

// answer waits until the session asks that, and replies. The ticket makes sure that it
// is still that.
func (c client) answer(ctx context.Context, id, question string, r loop.Reply) error {
	now, err := c.until(ctx, id, asks(question))
	if err == nil {
		r.Ticket = now.Waiting[0].Ticket
		_, err = c.reply(ctx, id, now.Waiting[0].ID, r)
	}
	return err
}

func asks(question string) func(state) bool {
	return func(s state) bool {
		return s.Status != running && len(s.Waiting) == 1 && s.Waiting[0].Suspension.Question == question
	}
}

func isAtWork(tool string) func(state) bool {
	return func(s state) bool { return len(s.AtWork) == 1 && s.AtWork[0] == tool }
}

// child is a server in a process of its own.
type child struct {
	client
	cmd   *exec.Cmd
	stdin io.Closer
}

// startChild returns when the server says where it listens. It plays the stand-in,
// whatever model the environment names.
func startChild(ctx context.Context, dir, hang string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(ctx, self, "-addr", "127.0.0.1:0", "-dir", dir, "-hang", hang)}
	c.cmd.Env, c.cmd.Stderr = append(os.Environ(), "OPENAI_API_KEY=", "OPENAI_BASE_URL="), os.Stderr
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), listening)
	if c.url = "http://" + url; !ok {
		return nil, errors.Join(fmt.Errorf("the server said %q", line), err, c.kill())
	}
	return c, nil
}

// shutDown asks the server to end, and is nil when it did so in peace.
func (c *child) shutDown() error {
	if c.cmd.Process.Signal(syscall.SIGTERM) != nil { // there is no such thing on Windows
		c.stdin.Close()
	}
	return c.cmd.Wait()
}

func (c *child) kill() error {
	err := c.cmd.Process.Kill()
	_ = c.cmd.Wait() // it was killed, so it did not end well
	return err
}
