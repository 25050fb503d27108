package resume

import (
	"cmp"
	"errors"
	"io/fs"
	"iter"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Extension is that of a session file.
const Extension = ".jsonl"

// Listed is one session of a directory.
type Listed struct {
	File       string // its name in the directory
	Modified   time.Time
	Size       int64
	Title      string
	Assessment Unfinished // zero beside an error
	// ProblemCount is how many things are wrong with the file.
	ProblemCount int
}

// List is the sessions in a directory, the one written to last first: every file
// whose name ends in [Extension]. Directories below it are not searched.
//
// A file that cannot be read is listed with the error and what is known of it, and
// costs no other. The only error that comes without a File is that of the directory
// itself, and is the last. Each file is opened once, and not before it is nearly
// due, so the first of many sessions cost no more than the first of few.
func List(cwd string) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		root, err := openRoot(cwd)
		if err != nil {
			yield(Listed{}, err)
			return
		}
		defer root.Close()
		found, err := sessions(root)
		if err != nil {
			yield(Listed{}, err)
			return
		}
		parallel := runtime.GOMAXPROCS(0)
		for some := range slices.Chunk(found, 4*parallel) {
			errs := make([]error, len(some))
			var g errgroup.Group
			g.SetLimit(parallel)
			for i := range some {
				g.Go(func() error {
					errs[i] = some[i].read(root)
					return nil // one bad file stops no other
				})
			}
			_ = g.Wait()
			for i, l := range some {
				if !yield(l, errs[i]) {
					return
				}
			}
		}
	}
}

// sessions are the directory's session files, newest first.
func sessions(root *os.Root) ([]Listed, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	found := make([]Listed, 0, len(entries))
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), Extension) {
			continue
		}
		l := Listed{File: e.Name()}
		info, err := e.Info()
		if e.Type()&fs.ModeSymlink != 0 { // it is the file that counts
			if linked, linkErr := root.Stat(e.Name()); linkErr == nil {
				info, err = linked, nil
			}
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // deleted meanwhile
		case err == nil:
			l.Modified, l.Size = info.ModTime(), info.Size()
		}
		found = append(found, l)
	}
	slices.SortFunc(found, func(a, b Listed) int {
		return cmp.Or(b.Modified.Compare(a.Modified), cmp.Compare(b.File, a.File))
	})
	return found, nil
}

func (l *Listed) read(root *os.Root) error {
	past, err := readIn(root, l.File, nil)
	l.Title, l.ProblemCount = past.Title, past.ProblemCount
	if err == nil {
		l.Assessment = Assess(past)
	}
	return sessionError(l.File, err)
}
