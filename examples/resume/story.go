package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/pawl-dev/pawl/resume"
)

// story starts the three processes, and afterwards checks what came of them.
type story struct {
	dir    string
	out    io.Writer
	failed bool
}

func (s *story) tell(ctx context.Context) error {
	s.printf("The model here is a few rules, and no language model.\n")
	s.printf("\nThe first process, which will be killed\n")
	how, err := s.kill(ctx)
	if err != nil {
		return err
	}
	s.printf("  | the process was ended (%s)\n", how)
	killed, err := s.look()
	if err != nil {
		return err
	}
	s.printf("\nA second process, with the same code\n")
	if err := s.start(ctx); err != nil {
		return err
	}
	finished, err := s.look()
	if err != nil {
		return err
	}
	s.printf("\nA third process, with the same code\n")
	if err := s.start(ctx); err != nil {
		return err
	}
	again, err := s.look()
	if err != nil {
		return err
	}
	s.printf("\nChecked\n")
	s.wasKilledInTheMiddle(killed)
	s.wasFinished(killed, finished)
	s.foundNothingToDo(finished, again)
	if s.failed {
		return errors.New("not all of it holds")
	}
	return nil
}

func (s *story) printf(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

// start runs the agent as a process of its own, to its end.
func (s *story) start(ctx context.Context) error {
	cmd, lines, err := s.process(ctx)
	if err != nil {
		return err
	}
	for lines.Scan() {
		s.printf("  | %s\n", lines.Text())
	}
	return errors.Join(lines.Err(), cmd.Wait())
}

// kill runs the agent until two of its tools wait for an answer, and kills it
// then. By that time a third has finished, since no more than two run at a time,
// and the fourth cannot begin.
func (s *story) kill(ctx context.Context) (how string, err error) {
	cmd, lines, err := s.process(ctx, "-hang")
	if err != nil {
		return "", err
	}
	wait := 2
	for lines.Scan() {
		s.printf("  | %s\n", lines.Text())
		if strings.HasSuffix(lines.Text(), waiting) {
			if wait--; wait == 0 {
				if err := cmd.Process.Kill(); err != nil {
					return "", err
				}
			}
		}
	}
	err = cmd.Wait()
	var ended *exec.ExitError
	if wait > 0 || !errors.As(err, &ended) {
		return "", errors.Join(errors.New("the process ended before it could be killed"), err, lines.Err())
	}
	return ended.String(), nil
}

// process is this program once more.
func (s *story) process(ctx context.Context, flags ...string) (*exec.Cmd, *bufio.Scanner, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"-agent", "-dir", s.dir}, flags...)...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	return cmd, bufio.NewScanner(stdout), cmd.Start()
}

// seen is the session and the effects at one moment.
type seen struct {
	past    resume.Resumable
	effects effects
}

func (s *story) look() (seen, error) {
	past, err := resume.ReadResumable(s.dir, sessionFile)
	if err != nil {
		return seen{}, err
	}
	e, err := readEffects(s.dir)
	return seen{past, e}, err
}
