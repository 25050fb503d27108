package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// The files end in .txt so that the go command sees no module in them.
//
//go:embed module
var shipped embed.FS

// offline keeps the go command from looking for anything outside: the module needs
// nothing.
var offline = []string{"GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local"}

const tempPrefix = "pawl-quickstart-"

// brokenModule is a copy of the broken module.
type brokenModule struct{ dir string }

func newBrokenModule() (*brokenModule, error) {
	dir, err := os.MkdirTemp("", tempPrefix)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // as the go command prints it
		return nil, err
	}
	return &brokenModule{dir}, unpack(dir, func(string) bool { return true })
}

// isBrokenModule tells a copy that an earlier run left.
func isBrokenModule(w *workspace) bool {
	want, err := shipped.ReadFile("module/go.mod.txt")
	if err != nil {
		return false
	}
	got, err := w.text("go.mod")
	return err == nil && got == string(want)
}

// remove takes away a copy that this program made, and no other.
func (m *brokenModule) remove() error {
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil || filepath.Dir(m.dir) != temp || !strings.HasPrefix(filepath.Base(m.dir), tempPrefix) {
		return err
	}
	return os.RemoveAll(m.dir)
}

func unpack(dir string, want func(name string) bool) error {
	return fs.WalkDir(shipped, "module", func(p string, d fs.DirEntry, err error) error {
		name := strings.TrimSuffix(path.Base(p), ".txt")
		if err != nil || d.IsDir() || !want(name) {
			return err
		}
		data, err := shipped.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), data, 0o644)
	})
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

// check runs the tests that were shipped against the code that the agent left,
// whatever the agent says and whatever it did to its copy of the tests.
func (h *host) check(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	output, err := h.shippedTests(ctx)
	if err != nil {
		h.p.printf("\nCheck: the module's tests do not pass: %v\n%s", err, output)
		return false
	}
	h.p.printf("\nCheck: go test passes, with the tests as they were shipped.\n")
	return true
}

func (h *host) shippedTests(ctx context.Context) (output []byte, err error) {
	dir, err := os.MkdirTemp("", "pawl-check-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	err = h.ws.walk(ctx, ".", func(p string) error {
		if isTest(p) || path.Ext(p) != ".go" {
			return nil
		}
		text, err := h.ws.text(filepath.FromSlash(p))
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(p))
		return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, []byte(text), 0o644))
	})
	if err != nil {
		return nil, fmt.Errorf("copying the module: %w", err)
	}
	if err := unpack(dir, func(name string) bool { return isTest(name) || name == "go.mod" }); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "./...")
	cmd.Dir, cmd.Env = dir, h.ws.env
	return cmd.CombinedOutput()
}
