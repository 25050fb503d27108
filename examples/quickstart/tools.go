package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
)

// workspace is the directory that the agent works in. Files are reached through
// an os.Root, which neither "..", nor an absolute path, nor a symbolic link leaves.
// Commands are another matter: they run with the rights of whoever runs this.
type workspace struct {
	dir  string
	root *os.Root
	env  []string // of commands
}

func openWorkspace(dir string, env []string) (*workspace, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &workspace{dir, root, env}, nil
}

func (w *workspace) Close() error { return w.root.Close() }

const (
	maxFile    = 1 << 20 // bytes of a file that is read, searched or edited
	maxText    = 48 << 10
	maxFiles   = 500
	maxMatches = 100
)

// tools are in the order in which the model sees them. Edits run alone, so that
// two of one turn meet the file one after the other, in the order of the calls.
func (w *workspace) tools() []loop.Tool {
	return []loop.Tool{
		loop.NewTool(loop.Tool{Name: "list_files", Kind: trajectory.KindRead, ReplaySafe: true,
			Description: "List all files below a directory, one path a line. Hidden ones are left out."}, w.list),
		loop.NewTool(loop.Tool{Name: "read_file", Kind: trajectory.KindRead, ReplaySafe: true,
			Description: "Read a text file, or some lines of it."}, w.read),
		loop.NewTool(loop.Tool{Name: "search", Kind: trajectory.KindSearch, ReplaySafe: true,
			Description: "Find the lines that match a regular expression (Go syntax), as path:line: text."}, w.search),
		loop.NewTool(loop.Tool{Name: "edit_file", Kind: trajectory.KindEdit, Alone: true,
			Description: "Replace a piece of a text file. The old text must stand in the file exactly once, " +
				"white space included; take more lines around it when it does not. An empty old text makes a new file."}, w.edit),
		loop.NewTool(loop.Tool{Name: "run_command", Kind: trajectory.KindExecute, Alone: true, Timeout: 2 * time.Minute,
			Description: "Run a shell command in the working directory and get its output. It is ended after two minutes, with all that it started."}, w.run),
		loop.PlanTool(),
	}
}

// local is a path as the root wants it. Compilers print absolute paths and models
// repeat them, so one that lies inside the directory is understood.
func (w *workspace) local(name string) (string, error) {
	p := filepath.FromSlash(name)
	if filepath.IsAbs(p) {
		if rel, err := filepath.Rel(w.dir, p); err == nil {
			p = rel
		}
	}
	if p = filepath.Clean(p); !filepath.IsLocal(p) {
		return "", fmt.Errorf("%s is outside of the working directory", name)
	}
	if p == sessionFile {
		return "", fmt.Errorf("%s is the record of this session and none of its business", name)
	}
	return p, nil
}

type listInput struct {
	Path string `json:"path,omitempty" jsonschema:"the directory; the working directory if left out"`
}

func (w *workspace) list(ctx context.Context, in listInput) (string, error) {
	dir, err := w.local(in.Path)
	if err != nil {
		return "", err
	}
	var out []string
	err = w.walk(ctx, dir, func(p string) error {
		if len(out) == maxFiles {
			out = append(out, "… and more: list a directory below")
			return fs.SkipAll
		}
		out = append(out, p)
		return nil
	})
	if err != nil || len(out) > 0 {
		return strings.Join(out, "\n"), err
	}
	return "There are no files.", nil
}

// walk visits the regular files below a directory, by their slash paths in order.
// A symbolic link is never followed.
func (w *workspace) walk(ctx context.Context, dir string, visit func(p string) error) error {
	return fs.WalkDir(w.root.FS(), filepath.ToSlash(dir), func(p string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && p == filepath.ToSlash(dir):
			return err
		case err != nil:
			return nil // one that cannot be read does not hide the others
		case strings.HasPrefix(path.Base(p), ".") && p != ".":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		return visit(p)
	})
}

// text is the content of a text file.
func (w *workspace) text(p string) (string, error) {
	info, err := w.root.Stat(p)
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return "", fmt.Errorf("%s is a directory", filepath.ToSlash(p))
	case !info.Mode().IsRegular(): // a pipe would wait for whoever writes to it
		return "", fmt.Errorf("%s is no regular file", filepath.ToSlash(p))
	}
	f, err := w.root.Open(p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return "", err
	case len(data) > maxFile:
		return "", fmt.Errorf("%s is larger than %d bytes", filepath.ToSlash(p), maxFile)
	case bytes.IndexByte(data, 0) >= 0:
		return "", fmt.Errorf("%s is no text file", filepath.ToSlash(p))
	}
	return string(data), nil
}

type readInput struct {
	Path string `json:"path"`
	From int    `json:"from,omitempty" jsonschema:"the first line to read, counted from 1"`
	To   int    `json:"to,omitempty" jsonschema:"the last line to read"`
}

func (w *workspace) read(_ context.Context, in readInput) (loop.Output, error) {
	p, err := w.local(in.Path)
	if err != nil {
		return loop.Output{}, err
	}
	text, err := w.text(p)
	if err != nil {
		return loop.Output{}, err
	}
	lines := strings.SplitAfter(text, "\n")
	from, to := max(in.From, 1), len(lines)
	if in.To > 0 {
		to = min(in.To, to)
	}
	if from > to {
		return loop.Output{}, fmt.Errorf("there are no lines %d to %d; the file has %d", from, to, len(lines))
	}
	out := strings.Join(lines[from-1:to], "")
	if len(out) > maxText {
		out = out[:strings.LastIndexByte(out[:maxText], '\n')+1]
		out += fmt.Sprintf("… cut after line %d of %d: read on from there", from-1+strings.Count(out, "\n"), len(lines))
	}
	return loop.Output{Text: out, Paths: []string{filepath.ToSlash(p)}}, nil
}

type searchInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitempty" jsonschema:"a directory or a file to search; all if left out"`
}

func (w *workspace) search(ctx context.Context, in searchInput) (string, error) {
	dir, err := w.local(in.Path)
	if err != nil {
		return "", err
	}
	re, err := regexp.Compile(in.Pattern)
	if err != nil {
		return "", err
	}
	var out []string
	err = w.walk(ctx, dir, func(p string) error {
		text, err := w.text(filepath.FromSlash(p))
		if err != nil {
			return nil // what is no text has no lines
		}
		for i, line := range strings.Split(text, "\n") {
			if !re.MatchString(line) {
				continue
			}
			if len(out) == maxMatches {
				out = append(out, "… and more: take a narrower pattern")
				return fs.SkipAll
			}
			if len(line) > 300 {
				line = strings.ToValidUTF8(line[:300], "") + "…"
			}
			out = append(out, fmt.Sprintf("%s:%d: %s", p, i+1, line))
		}
		return nil
	})
	if err != nil || len(out) > 0 {
		return strings.Join(out, "\n"), err
	}
	return "Nothing matches.", nil
}

type editInput struct {
	Path string `json:"path"`
	Old  string `json:"old" jsonschema:"the text to replace, exactly as it stands in the file; empty for a new file"`
	New  string `json:"new" jsonschema:"the text to put in its place"`
}

func (w *workspace) edit(_ context.Context, in editInput) (loop.Output, error) {
	p, err := w.local(in.Path)
	if err != nil {
		return loop.Output{}, err
	}
	out := loop.Output{Paths: []string{filepath.ToSlash(p)}}
	if in.Old == "" {
		out.Text = "Made " + filepath.ToSlash(p) + "."
		return out, w.create(p, in.New)
	}
	text, err := w.text(p)
	if err != nil {
		return out, err
	}
	switch n := strings.Count(text, in.Old); {
	case n == 0:
		return out, errors.New("the old text is not in the file; nothing was changed")
	case n > 1:
		return out, fmt.Errorf("the old text occurs %d times; nothing was changed", n)
	case in.Old == in.New:
		return out, errors.New("the old and the new text are the same; nothing was changed")
	}
	before, after, _ := strings.Cut(text, in.Old)
	out.Text = fmt.Sprintf("Edited %s at line %d.", filepath.ToSlash(p), strings.Count(before, "\n")+1)
	return out, w.replace(p, before+in.New+after)
}

// replace puts a text in the place of the one before in one step. Written over, a
// file would be lost to whoever kills this process in the middle of it.
func (w *workspace) replace(p, text string) error {
	info, err := w.root.Lstat(p)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // a link stays one
		return w.root.WriteFile(p, []byte(text), 0)
	}
	next := filepath.Join(filepath.Dir(p), "."+filepath.Base(p)+".new") // hidden, should it stay
	f, err := w.root.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Close()); err == nil {
		err = w.root.Rename(next, p)
	}
	if err != nil {
		_ = w.root.Remove(next)
	}
	return err
}

func (w *workspace) create(p, text string) error {
	if err := w.root.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		return err
	}
	f, err := w.root.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
