package pawl_test

import (
	"bytes"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	openai     = "github.com/openai/openai-go/v3"
	gjson      = "github.com/tidwall/gjson"
	jsonschema = "github.com/google/jsonschema-go/jsonschema"
	xsync      = "golang.org/x/sync/errgroup"
)

// picture says who may import whom, beside the standard library. A package that
// is not in it has no place in the module.
var picture = map[string][]string{
	"turn":          {openai, openai + "/packages/param", openai + "/packages/respjson", gjson},
	"plan":          {"turn"},
	"stats":         {"turn"},
	"trajectory":    {"turn", "stats", "plan", gjson},
	"loop":          {"turn", "stats", "plan", "trajectory", jsonschema},
	"progress":      {"turn", "stats", "plan", "trajectory", gjson},
	"resume":        {"turn", "stats", "plan", "trajectory", xsync},
	"turn/chat":     {"turn", openai, openai + "/option", openai + "/packages/param", openai + "/packages/respjson", openai + "/packages/ssestream", openai + "/shared", gjson},
	"turn/turntest": {"turn"},
}

// reserved are packages of the standard library that have effects, and who may
// have them. Nobody else may, but for the examples.
var reserved = map[string][]string{
	"os":                {"resume"},
	"os/exec":           {},
	"os/signal":         {},
	"io/ioutil":         {},
	"syscall":           {"trajectory"}, // the name of an error that a Sync may return
	"unsafe":            {},
	"net":               {"turn/chat"},
	"net/http":          {"turn/chat"},
	"net/http/httptest": {},
	"log":               {},
	"log/slog":          {},
	"testing":           {"turn/turntest"},
	"math/rand":         {},
	"math/rand/v2":      {"turn/chat"}, // the spread of its retries
}

// modules are all that the root module may require, its tests included.
var modules = []string{openai, "golang.org/x/sync", "github.com/google/jsonschema-go", gjson, "github.com/stretchr/testify", "pgregory.net/rapid"}

func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		for imported := range s.imports() {
			local, ours := strings.CutPrefix(imported, module+"/")
			require.True(t, s.isExample() || !strings.HasPrefix(local, "examples"), "%s imports %s: nothing imports the examples", s.name, imported)
			first, _, _ := strings.Cut(imported, "/")
			third := !ours && strings.Contains(first, ".")
			if third {
				require.True(t, slices.ContainsFunc(modules, func(m string) bool { return imported == m || strings.HasPrefix(imported, m+"/") }),
					"%s imports %s: no such dependency was agreed on", s.name, imported)
			}
			if s.isTest() || s.isExample() {
				continue
			}
			if ours || third {
				require.Contains(t, picture[s.folder], local, "%s: that is not in the picture", s.name)
			}
			if who, special := reserved[imported]; special {
				require.Contains(t, who, s.folder, "%s imports %s", s.name, imported)
			}
		}
	}
}

func TestGoModRequiresNothingElse(t *testing.T) {
	data, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) < 2 || !strings.HasPrefix(fields[1], "v") || strings.Contains(line, "// indirect") {
			continue
		}
		require.Contains(t, modules, fields[0])
	}
	require.Contains(t, string(data), openai+" v3.44.0\n", "the last that asks no newer Go of a host")
}

func TestFolders(t *testing.T) {
	for _, s := range sources(t) {
		switch {
		case s.name == "doc.go":
			require.Empty(t, s.Decls, "the root holds a map of the packages and no code, so it imports nothing")
			for folder := range picture {
				require.Contains(t, s.Doc.Text(), "\n  - ["+module+"/"+folder+"] ")
			}
		case s.folder == ".":
			require.True(t, s.isTest(), "%s: the root holds tests only", s.name)
			require.Equal(t, "pawl_test", s.Name.Name)
		case !s.isExample():
			require.Contains(t, picture, s.folder, s.name)
		}
	}
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && e.Name() != "examples" {
			require.Contains(t, picture, e.Name(), "no such folder")
		}
	}
}

// The clients send; types do not.
func TestOnlyTheAdapterHoldsAClient(t *testing.T) {
	client := regexp.MustCompile(`^(Client|DefaultClientOptions|New\w*(Client|Service)|\w+Service)$`)
	for _, s := range library(t) {
		if s.folder == "turn/chat" {
			continue
		}
		s.uses(func(n ast.Node, imported, name string) {
			if strings.HasPrefix(imported, openai) {
				require.NotRegexp(t, client, name, s.at(n))
			}
		})
	}
}

func TestNothingPrintsOrExits(t *testing.T) {
	for _, s := range library(t) {
		s.uses(func(n ast.Node, imported, name string) {
			switch imported + "." + name {
			case "os.Exit", "os.Stdout", "os.Stderr", "fmt.Print", "fmt.Printf", "fmt.Println", "runtime.Goexit":
				t.Errorf("%s: %s.%s", s.at(n), imported, name)
			}
		})
		annotated := map[int]bool{} // a comment on the line, or one that ends on the line before
		for _, group := range s.Comments {
			annotated[s.set.Position(group.Pos()).Line] = true
			annotated[s.set.Position(group.End()).Line+1] = true
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch f, _ := call.Fun.(*ast.Ident); {
			case f == nil || f.Obj != nil:
			case f.Name == "print" || f.Name == "println":
				t.Errorf("%s: %s", s.at(n), f.Name)
			case f.Name == "panic":
				require.True(t, annotated[s.set.Position(n.Pos()).Line], "%s: a panic, without a word on why it cannot happen", s.at(n))
			}
			return true
		})
	}
}

// Where the loop is not deterministic, by file: everything else in it gives the
// same run for the same answers, which replay stands on.
var seams = map[string][]string{
	"go":         {"loop/live.go", "loop/do.go"},
	"select":     {"loop/live.go", "loop/do.go"},
	"chan":       {"loop/live.go", "loop/do.go"},
	"timer":      {"loop/live.go", "loop/do.go"},
	"context":    {"loop/live.go", "loop/do.go", "loop/summarise.go"},
	"time.Now":   {"loop/live.go", "loop/do.go", "loop/summarise.go", "loop/run.go"}, // in run.go, what Options.Now is by default
	"time.Since": {"loop/live.go", "loop/do.go", "loop/summarise.go"},
}

func TestLoopIsDeterministicOutsideItsSeams(t *testing.T) {
	for _, s := range library(t) {
		if s.folder != "loop" {
			continue
		}
		found := func(n ast.Node, what string) {
			require.Contains(t, seams[what], s.name, "%s: %s", s.at(n), what)
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				found(n, "go")
			case *ast.SelectStmt:
				found(n, "select")
			case *ast.ChanType, *ast.SendStmt:
				found(n, "chan")
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					found(n, "chan")
				}
			}
			return true
		})
		s.uses(func(n ast.Node, imported, name string) {
			switch {
			case imported == "time" && (name == "Now" || name == "Since"):
				found(n, "time."+name)
			case imported == "time" && slices.Contains([]string{"NewTimer", "NewTicker", "After", "AfterFunc", "Tick", "Sleep", "Until"}, name):
				found(n, "timer")
			case imported == "context" && (strings.HasPrefix(name, "With") || name == "AfterFunc"):
				found(n, "context")
			case imported == "math/rand" || imported == "math/rand/v2" || imported == "crypto/rand":
				t.Errorf("%s: chance", s.at(n))
			}
		})
	}
}

// A package variable may hold what never changes, an error or a table; what
// changes belongs to a value that somebody holds.
func TestNoGlobalState(t *testing.T) {
	globals := map[string]map[string]bool{}
	for _, s := range library(t) {
		if globals[s.folder] == nil {
			globals[s.folder] = map[string]bool{}
		}
		for _, d := range s.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: an init function", s.at(f))
			}
			v, ok := d.(*ast.GenDecl)
			if !ok || v.Tok != token.VAR {
				continue
			}
			for _, spec := range v.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					globals[s.folder][name.Name] = true
				}
			}
		}
	}
	for _, s := range library(t) {
		written := func(e ast.Expr) {
			for {
				switch x := e.(type) {
				case *ast.IndexExpr:
					e = x.X
					continue
				case *ast.SelectorExpr:
					e = x.X
					continue
				case *ast.StarExpr:
					e = x.X
					continue
				case *ast.Ident:
					// The parser resolves names within a file; one that it could
					// not find there is a package's, as is one declared at the top.
					if globals[s.folder][x.Name] && (x.Obj == nil || s.Scope.Lookup(x.Name) == x.Obj) {
						t.Errorf("%s: the package variable %s is written to", s.at(x), x.Name)
					}
				}
				return
			}
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					if n.Tok != token.DEFINE {
						written(e)
					}
				}
			case *ast.IncDecStmt:
				written(n.X)
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					written(n.X)
				}
			}
			return true
		})
	}
}

// What a file names must exist on every machine.
func TestNoFileNamesAPlaceOfItsOwn(t *testing.T) {
	places := regexp.MustCompile(strings.Join([]string{`registry\.(npmjs|yarnpkg)`, `npmmirror`, `(proxy|sum)\.golang\.org`, `goproxy\.`, `pypi\.org`,
		"[^a-z]/wor" + "k/", "/far" + "m/"}, "|"))
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "rapid" || filepath.ToSlash(file) == ".ci/bin" {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || file == ".git" || file == "architecture_test.go" {
			return nil
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for n, line := range bytes.Split(data, []byte("\n")) {
			if found := places.Find(line); found != nil {
				t.Errorf("%s:%d names %s", file, n+1, found)
			}
		}
		return nil
	})
	require.NoError(t, err)
}
