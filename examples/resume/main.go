// Resume is an agent that is killed in the middle of its work, and carries on in
// another process.
//
//	go run ./examples/resume
//
// needs no key and no network. It starts itself as an agent that sends out a
// release, and kills that process (SIGKILL, where there is one) while four tool
// calls of one turn are open: one has finished, two are running, one has not
// begun. A second process reads the session, says what it was doing, and carries on
// to the end; a third finds nothing left to do. All three run the same code, which
// is host.go: the part to copy. Then this one checks what became of it (check.go),
// and exits with 0 only if all of it holds.
//
// What plays the model is a few rules (model.go), and no language model.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout)) }

// run is main without the process: it returns the exit code.
func run(args []string, out io.Writer) int {
	f := flag.NewFlagSet("resume", flag.ContinueOnError)
	f.SetOutput(out)
	dir := f.String("dir", "", "")
	agent := f.Bool("agent", false, "")
	hang := f.Bool("hang", false, "")
	f.Usage = func() { // the other two flags are for the processes that it starts
		fmt.Fprintln(out, "usage: resume [-dir directory]\nThe directory must be new or empty, and is kept. Without one, a temporary one is used and removed.")
	}
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	// Nothing here takes a second. A process that hangs is one whose parent is gone.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	if *agent {
		err = runAgent(ctx, *dir, *hang, out)
	} else {
		err = tellStory(ctx, *dir, out)
	}
	if err != nil {
		fmt.Fprintln(out, "resume:", err)
		return 1
	}
	return 0
}

// runAgent is the whole of a started process.
func runAgent(ctx context.Context, dir string, hang bool, out io.Writer) error {
	w, err := openWorld(dir, hang, out)
	if err != nil {
		return err
	}
	return errors.Join(carryOn(ctx, w, out), w.close())
}

func tellStory(ctx context.Context, dir string, out io.Writer) (err error) {
	s := story{dir: dir, out: out}
	if dir == "" {
		if s.dir, err = os.MkdirTemp("", "pawl-resume-"); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				err = fmt.Errorf("%w (the files are in %s)", err, s.dir)
				return
			}
			err = os.RemoveAll(s.dir)
		}()
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	} else if found, err := os.ReadDir(dir); err != nil || len(found) > 0 {
		return errors.Join(err, errors.New("the directory must be empty"))
	}
	if err := os.WriteFile(filepath.Join(s.dir, manual), []byte(manualText), 0o644); err != nil {
		return err
	}
	return s.tell(ctx)
}
