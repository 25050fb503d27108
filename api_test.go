package pawl_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/printer"
	"go/token"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite api.txt")

// TestAPI holds the exported surface, one declaration a line, so that every change
// of it shows in review. `go test . -run TestAPI -update` rewrites the file.
func TestAPI(t *testing.T) {
	var lines []string
	for _, s := range library(t) {
		for _, d := range s.Decls {
			lines = append(lines, s.api(d)...)
		}
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		require.NoError(t, os.WriteFile("api.txt", []byte(got), 0o644))
	}
	want, err := os.ReadFile("api.txt")
	require.NoError(t, err)
	known := strings.Split(string(want), "\n")
	for _, line := range lines {
		if !slices.Contains(known, line) {
			t.Errorf("new:  %s", line)
		}
	}
	for _, line := range known {
		if line != "" && !slices.Contains(lines, line) {
			t.Errorf("gone: %s", line)
		}
	}
	if !t.Failed() {
		require.Equal(t, string(want), got)
	}
}

// api are the lines of one declaration. Fields and methods have their own.
func (s *source) api(d ast.Decl) (lines []string) {
	add := func(text string) { lines = append(lines, "pkg "+s.folder+", "+text) }
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() || d.Recv != nil && !ast.IsExported(receiver(d)) {
			return nil
		}
		signature := strings.TrimPrefix(s.print(d.Type), "func")
		if d.Recv == nil {
			add("func " + d.Name.Name + s.typeParams(d.Type.TypeParams) + signature)
		} else {
			add("method (" + s.print(d.Recv.List[0].Type) + ") " + d.Name.Name + signature)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() {
					s.apiOfType(spec, add)
				}
			case *ast.ValueSpec:
				for i, name := range spec.Names {
					if name.IsExported() {
						add(d.Tok.String() + " " + name.Name + s.value(spec, i))
					}
				}
			}
		}
	}
	return lines
}

func (s *source) apiOfType(spec *ast.TypeSpec, add func(string)) {
	name := "type " + spec.Name.Name + s.typeParams(spec.TypeParams)
	if spec.Assign.IsValid() {
		add(name + " = " + s.print(spec.Type))
		return
	}
	switch x := spec.Type.(type) {
	case *ast.StructType:
		add(name + " struct")
		for _, f := range x.Fields.List {
			tag := ""
			if f.Tag != nil {
				tag = " " + f.Tag.Value
			}
			for _, n := range f.Names {
				if n.IsExported() {
					add(name + " struct, " + n.Name + " " + s.print(f.Type) + tag)
				}
			}
			if embedded := s.print(f.Type); f.Names == nil && ast.IsExported(path.Ext("." + strings.TrimLeft(embedded, "*"))[1:]) {
				add(name + " struct, embedded " + embedded + tag)
			}
		}
	case *ast.InterfaceType:
		add(name + " interface")
		for _, m := range x.Methods.List {
			for _, n := range m.Names {
				if n.IsExported() {
					add(name + " interface, " + n.Name + strings.TrimPrefix(s.print(m.Type), "func"))
				} else {
					add(name + " interface, closed")
				}
			}
			if m.Names == nil {
				add(name + " interface, " + s.print(m.Type))
			}
		}
	default:
		add(name + " " + s.print(spec.Type))
	}
}

func receiver(d *ast.FuncDecl) string {
	e := d.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func (s *source) typeParams(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	var parts []string
	for _, f := range list.List {
		for _, n := range f.Names {
			parts = append(parts, n.Name+" "+s.print(f.Type))
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (s *source) value(spec *ast.ValueSpec, i int) string {
	out := ""
	if spec.Type != nil {
		out += " " + s.print(spec.Type)
	}
	if i < len(spec.Values) {
		out += " = " + s.print(spec.Values[i])
	}
	return out
}

// print is a node on one line.
func (s *source) print(n any) string {
	var b bytes.Buffer
	if f, ok := n.(*ast.FuncType); ok {
		n = &ast.FuncType{Params: f.Params, Results: f.Results}
	}
	if err := printer.Fprint(&b, token.NewFileSet(), n); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// Methods whose meaning everybody knows.
var wellKnown = []string{"Error", "Unwrap", "Is", "As", "String"}

func TestEveryExportedNameHasADocComment(t *testing.T) {
	packages, explained := map[string]bool{}, map[string]bool{} // explained: methods, by an interface of the package
	for _, s := range library(t) {
		packages[s.folder] = packages[s.folder] || s.Doc != nil
		ast.Inspect(s.File, func(n ast.Node) bool {
			if i, ok := n.(*ast.InterfaceType); ok {
				for _, m := range i.Methods.List {
					for _, name := range m.Names {
						explained[s.folder+"."+name.Name] = m.Doc != nil || m.Comment != nil
					}
				}
			}
			return true
		})
	}
	for name, documented := range packages {
		require.True(t, documented, "package %s has no comment", name)
	}
	for _, s := range library(t) {
		for _, d := range s.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				method := d.Recv != nil && (slices.Contains(wellKnown, d.Name.Name) || explained[s.folder+"."+d.Name.Name] || !ast.IsExported(receiver(d)))
				require.True(t, !d.Name.IsExported() || method || d.Doc != nil, "%s: %s has no comment", s.at(d), d.Name.Name)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						require.True(t, !spec.Name.IsExported() || spec.Doc != nil || d.Doc != nil, "%s: %s has no comment", s.at(spec), spec.Name.Name)
					case *ast.ValueSpec:
						grouped := d.Doc != nil || len(d.Specs) > 1 && s.typeIsDocumented(spec)
						require.True(t, !spec.Names[0].IsExported() || grouped || spec.Doc != nil || spec.Comment != nil, "%s: %s has no comment", s.at(spec), spec.Names[0].Name)
					}
				}
			}
		}
	}
}

// typeIsDocumented: the values of an enumeration may speak for themselves, when
// their type is declared and explained just before them.
func (s *source) typeIsDocumented(spec *ast.ValueSpec) bool {
	name, ok := spec.Type.(*ast.Ident)
	if !ok {
		return false
	}
	for _, d := range s.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Doc != nil {
			for _, sp := range g.Specs {
				if ts, ok := sp.(*ast.TypeSpec); ok && ts.Name.Name == name.Name {
					return true
				}
			}
		}
	}
	return false
}
