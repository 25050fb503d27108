package resume

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// openRoot takes "" for the current directory, as filepath.Join does. Otherwise the
// session would not exist for the reader, and a writer would begin it a second time.
func openRoot(cwd string) (*os.Root, error) { return os.OpenRoot(cmp.Or(cwd, ".")) }

func sessionError(file string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("session %q: %w", file, err)
}

// open opens a regular file. The check comes first, because opening can have an
// effect on a device and would wait for a writer of a pipe; and once more after it,
// because the file may have been replaced in between.
func open(root *os.Root, file string) (*os.File, error) {
	if !filepath.IsLocal(file) || slices.Contains(strings.Split(filepath.ToSlash(file), "/"), "..") {
		return nil, errors.New("the path leads out of the directory")
	}
	info, err := root.Stat(file)
	if err != nil {
		return nil, err
	}
	if err := regular(info); err != nil {
		return nil, err
	}
	f, err := root.Open(file)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = regular(info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func regular(info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return errors.New("it is a directory")
	case mode&fs.ModeNamedPipe != 0:
		return errors.New("it is a pipe")
	default:
		return fmt.Errorf("it is no regular file (%s)", mode.Type())
	}
}
