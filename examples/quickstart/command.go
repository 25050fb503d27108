package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/loop"
)

type runInput struct {
	Command string `json:"command"`
}

// run ends with the context, and then so does everything that the command
// started. A command that fails gives its output beside the error.
func (w *workspace) run(ctx context.Context, in runInput) (loop.Output, error) {
	cmd := shell(ctx, in.Command)
	cmd.Dir, cmd.Env = w.dir, w.env
	output := capped{limit: maxText / 2}
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.WaitDelay = time.Second // less than the loop's grace
	isolate(cmd)
	err := cmd.Run()
	endGroup(cmd)
	text := output.String()
	if errors.Is(err, exec.ErrWaitDelay) { // the command itself succeeded
		text, err = text+"\n(It left something running, which was ended.)", nil
	}
	if err == nil && text == "" {
		text = "It succeeded and printed nothing."
	}
	return loop.Text(text), err
}

// capped keeps the beginning and the end of what is written to it: the first
// error of a build is at the one, the summary at the other.
type capped struct {
	limit   int // bytes of each
	head    []byte
	tail    []byte
	skipped int
}

func (c *capped) Write(p []byte) (int, error) {
	n := len(p)
	room := min(c.limit-len(c.head), len(p))
	c.head, p = append(c.head, p[:room]...), p[room:]
	c.tail = append(c.tail, p...)
	if over := len(c.tail) - c.limit; over > 0 {
		c.skipped += over
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
	return n, nil
}

func (c *capped) String() string {
	if c.skipped == 0 {
		return strings.ToValidUTF8(string(c.head)+string(c.tail), "\uFFFD")
	}
	return strings.ToValidUTF8(fmt.Sprintf("%s\n… %d bytes left out …\n%s", c.head, c.skipped, c.tail), "\uFFFD")
}
