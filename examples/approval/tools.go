package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
)

type commandInput struct {
	Command string `json:"command"`
}

type questionInput struct {
	Question string `json:"question"`
}

func newTools(dir string, env []string) []loop.Tool {
	return []loop.Tool{
		loop.NewTool(loop.Tool{Name: "run_command", Kind: trajectory.KindExecute, Alone: true, Timeout: 2 * time.Minute, Approval: approval,
			Description: "Run a shell command in the working directory and get its output. The user approves or declines it first."},
			func(ctx context.Context, in commandInput) (loop.Output, error) { return runCommand(ctx, dir, env, in) }),
		// The question can be asked again, so a process that dies while asking loses
		// nothing: hence replay-safe.
		loop.NewTool(loop.Tool{Name: "ask_user", ReplaySafe: true,
			Description: "Ask the user one question and get the answer, as the user wrote it."},
			func(_ context.Context, in questionInput) (string, error) { return "", loop.WaitForReply(in.Question) }),
	}
}

// approval asks for every command. A rule that lets some through would look at the
// arguments here and return "" for those.
func approval(c loop.Call) string {
	var in commandInput
	if err := json.Unmarshal([]byte(c.Arguments), &in); err != nil {
		return "Run a command with the arguments " + c.Arguments + "?"
	}
	return "Run this command?\n" + in.Command
}

// commandEnv keeps the key of the model from the commands that the model runs.
func commandEnv(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(v, "OPENAI_API_KEY=") })
}

// runCommand ends with the context, and then so does everything that the command
// started. It reads nothing: the terminal is the user's.
func runCommand(ctx context.Context, dir string, env []string, in commandInput) (loop.Output, error) {
	cmd := shell(ctx, in.Command)
	cmd.Dir, cmd.Env = dir, env
	output := ending{limit: 16 << 10}
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

// ending keeps the last bytes of what is written to it.
type ending struct {
	limit   int
	kept    []byte
	skipped int
}

func (e *ending) Write(p []byte) (int, error) {
	e.kept = append(e.kept, p...)
	if over := len(e.kept) - e.limit; over > 0 {
		e.kept = append(e.kept[:0], e.kept[over:]...)
		e.skipped += over
	}
	return len(p), nil
}

func (e *ending) String() string {
	text := strings.ToValidUTF8(string(e.kept), "\uFFFD")
	if e.skipped > 0 {
		return fmt.Sprintf("… %d bytes left out …\n%s", e.skipped, text)
	}
	return text
}
