package pawl_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// compiled are the packages of the module and all that they import, as the compiler
// wrote them.
type compiled struct {
	types.Importer
	paths map[string]string // import path by package name; ours win
}

var listed = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Name}}\t{{.Export}}", "./...").Output()
})

func compile(t *testing.T) compiled {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command here to ask for compiled packages")
	}
	list, err := listed()
	require.NoError(t, err)
	files, paths := map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(list)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) < 3 || strings.ContainsAny(f[0], " ") || strings.Contains(f[0], "internal/") {
			continue
		}
		files[f[0]] = f[2]
		if known := paths[f[1]]; known == "" || strings.HasPrefix(f[0], module) || !strings.HasPrefix(known, module) && len(f[0]) < len(known) {
			paths[f[1]] = f[0]
		}
	}
	open := func(p string) (io.ReadCloser, error) {
		if files[p] == "" {
			return nil, fmt.Errorf("nothing compiled for %s", p)
		}
		return os.Open(files[p])
	}
	return compiled{importer.ForCompiler(token.NewFileSet(), "gc", open), paths}
}

// What a fragment leaves to its reader: variables of the host, and what is done
// with a result.
var leftOpen = regexp.MustCompile(`(?s)^(undefined: \w+|declared and not used: .*|.* \(.*\) is not used|.* \(type\) is not an expression|too many return values.*)$`)

// check compiles a fragment, be it declarations or statements. Names that it does
// not declare may be anything; all that it says of a package must be so.
func (c compiled) check(fragment string) error {
	body := func(text string) string { return "func _() {\n" + text + "\n}" }
	for _, text := range []string{fragment, body(fragment)} {
		header := "package p; "
		probe, err := parser.ParseFile(token.NewFileSet(), "", header+text, 0)
		if err != nil {
			continue
		}
		used := map[string]bool{}
		ast.Inspect(probe, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Obj == nil && c.paths[x.Name] != "" && !used[x.Name] {
					used[x.Name] = true
					header += fmt.Sprintf("import %s %q; ", x.Name, c.paths[x.Name])
				}
			}
			return true
		})
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, "", header+text, 0)
		if err != nil {
			return err
		}
		var faults []error
		config := types.Config{Importer: c, Error: func(err error) {
			var e types.Error
			if errors.As(err, &e) && leftOpen.MatchString(e.Msg) {
				return
			}
			faults = append(faults, err)
		}}
		_, _ = config.Check("p", set, []*ast.File{file}, nil) // the errors went to Error
		return errors.Join(faults...)
	}
	return errors.New("it is neither declarations nor statements")
}

func TestTheCheckOfAFragment(t *testing.T) {
	c := compile(t)
	for fragment, wrong := range map[string]string{
		"res, err := loop.RunToolLoop(ctx, messages, loop.Options{Turn: model})": "",
		"func f() string { return turn.Text(turn.User(\"a\")) }":                 "",
		"return turn.ModelTurnResult{Message: turn.Assistant(\"a\")}, nil":       "",
		"loop.RunLoop(ctx)":             "undefined: loop.RunLoop",
		"o := loop.Options{Model: m}":   "unknown field Model",
		"loop.Text(1)":                  "cannot use 1",
		"var r loop.Result; r.Output()": "r.Output undefined",
		"loop.RunToolLoop(ctx, m)":      "not enough arguments",
		"a b c":                         "neither declarations nor statements",
	} {
		if err := c.check(fragment); wrong == "" {
			require.NoError(t, err, fragment)
		} else {
			require.ErrorContains(t, err, wrong, fragment)
		}
	}
}

// A link of a doc comment, in the text that is left when it led nowhere.
var lostLink = regexp.MustCompile(`\[\*?(\w+\.)*[A-Z]\w*\]`)

const endOfStream = "[DONE]" // which is how servers write it, and no link

// The code in doc comments compiles, but for the variables of a host, and the names
// in brackets lead to what they name.
func TestDocComments(t *testing.T) {
	c := compile(t)
	imports := map[string]map[string]string{} // by folder: the import path of each name
	for _, s := range library(t) {
		if imports[s.folder] == nil {
			imports[s.folder] = map[string]string{}
		}
		for p, name := range s.imports() {
			imports[s.folder][name] = p
		}
	}
	for _, s := range library(t) {
		p := comment.Parser{
			LookupPackage: func(name string) (string, bool) {
				path, ok := imports[s.folder][name]
				return path, ok || name == s.Name.Name
			},
			LookupSym: func(_, name string) bool { return "["+name+"]" != endOfStream },
		}
		for _, group := range docs(s.File) {
			d := p.Parse(group.Text())
			for _, b := range d.Content {
				if block, ok := b.(*comment.Code); ok {
					require.NoError(t, c.check(block.Text), "%s:\n%s", s.at(group), block.Text)
				}
			}
			for l := range docLinks(d) {
				if l.ImportPath == "" {
					l.ImportPath = module + "/" + s.folder
				}
				if !c.declares(t, l) {
					t.Errorf("%s: [%s.%s.%s] leads nowhere", s.at(group), l.ImportPath, l.Recv, l.Name)
				}
			}
			var printer comment.Printer
			printer.DocLinkURL = func(*comment.DocLink) string { return "found" }
			plain := regexp.MustCompile(`\[[^\]]*\]\(found\)`).ReplaceAll(printer.Markdown(d), nil)
			for _, lost := range lostLink.FindAllString(string(bytes.ReplaceAll(plain, []byte(`\`), nil)), -1) {
				if lost != endOfStream {
					t.Errorf("%s: %s leads nowhere", s.at(group), lost)
				}
			}
		}
	}
}

// docs are the comments that go doc shows.
func docs(f *ast.File) (out []*ast.CommentGroup) {
	add := func(groups ...*ast.CommentGroup) {
		for _, g := range groups {
			if g != nil && !slices.Contains(out, g) {
				out = append(out, g)
			}
		}
	}
	add(f.Doc)
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Doc)
			return false
		case *ast.GenDecl:
			add(n.Doc)
		case *ast.TypeSpec:
			add(n.Doc)
		case *ast.ValueSpec:
			add(n.Doc)
		case *ast.Field:
			add(n.Doc)
		}
		return true
	})
	return out
}

// docLinks are the names in brackets, wherever they stand.
func docLinks(d *comment.Doc) map[*comment.DocLink]bool {
	out := map[*comment.DocLink]bool{}
	var texts func([]comment.Text)
	texts = func(all []comment.Text) {
		for _, t := range all {
			switch t := t.(type) {
			case *comment.DocLink:
				out[t] = true
			case *comment.Link:
				texts(t.Text)
			}
		}
	}
	var blocks func([]comment.Block)
	blocks = func(all []comment.Block) {
		for _, b := range all {
			switch b := b.(type) {
			case *comment.Paragraph:
				texts(b.Text)
			case *comment.Heading:
				texts(b.Text)
			case *comment.List:
				for _, item := range b.Items {
					blocks(item.Content)
				}
			}
		}
	}
	blocks(d.Content)
	return out
}

// declares reports whether a package, a name of one, or a type's field or method is
// there.
func (c compiled) declares(t *testing.T, l *comment.DocLink) bool {
	p, err := c.Import(l.ImportPath)
	require.NoError(t, err)
	if l.Name == "" {
		return true
	}
	if l.Recv == "" {
		return p.Scope().Lookup(l.Name) != nil
	}
	of := p.Scope().Lookup(l.Recv)
	if of == nil {
		return false
	}
	member, _, _ := types.LookupFieldOrMethod(of.Type(), true, p, l.Name)
	return member != nil
}
