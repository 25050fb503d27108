package pawl_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/pawl-dev/pawl"

// source is one Go file of the module.
type source struct {
	name   string // from the root, with slashes
	folder string
	set    *token.FileSet
	*ast.File
}

func (s *source) isTest() bool { return strings.HasSuffix(s.name, "_test.go") }
func (s *source) isExample() bool {
	return s.folder == "examples" || strings.HasPrefix(s.folder, "examples/")
}

func (s *source) at(n ast.Node) string {
	p := s.set.Position(n.Pos())
	return s.name + ":" + strconv.Itoa(p.Line)
}

// skipped are the folders that hold no source of ours.
func skipped(name string) bool {
	return name != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules")
}

// sources are all Go files of the module. A nested module is none of ours: it has
// rules of its own.
func sources(t *testing.T) []*source {
	t.Helper()
	files, err := parsed()
	require.NoError(t, err)
	return slices.Clone(files)
}

// parsed reads them once for all tests.
var parsed = sync.OnceValues(func() ([]*source, error) {
	var out []*source
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(file, "go.mod"))
			if skipped(d.Name()) || file != "." && nested == nil {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		s := &source{name: filepath.ToSlash(file), set: token.NewFileSet()}
		s.folder = path.Dir(s.name)
		s.File, err = parser.ParseFile(s.set, file, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		out = append(out, s)
		return nil
	})
	return out, err
})

// library are the files that a host links: no tests, no examples.
func library(t *testing.T) []*source {
	return slices.DeleteFunc(sources(t), func(s *source) bool { return s.isTest() || s.isExample() })
}

// imports are a file's import paths, with the names they go by.
func (s *source) imports() map[string]string {
	out := map[string]string{}
	for _, spec := range s.Imports {
		p := strings.Trim(spec.Path.Value, `"`)
		name := path.Base(p)
		if strings.HasPrefix(name, "v") && strings.Trim(name[1:], "0123456789") == "" {
			name = strings.TrimSuffix(path.Base(path.Dir(p)), "-go")
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		out[p] = name
	}
	return out
}

// uses calls f for each use of a name of another package: "time", "Now".
func (s *source) uses(f func(n ast.Node, importPath, name string)) {
	paths := map[string]string{}
	for p, name := range s.imports() {
		paths[name] = p
	}
	ast.Inspect(s.File, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil && paths[x.Name] != "" {
				f(n, paths[x.Name], sel.Sel.Name)
			}
		}
		return true
	})
}
