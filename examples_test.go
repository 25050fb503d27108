package pawl_test

import (
	"go/ast"
	"go/doc"
	"slices"
	"strings"
	"testing"
)

// Every exported function is shown by an example that is run and has output, where
// go doc puts it: beside the function. A method is shown by an example of its own,
// or by one of its type, of its type's maker or of another of its methods, in which
// it is called.
func TestEveryExportedFunctionHasAnExample(t *testing.T) {
	examples := map[string][]*doc.Example{} // by folder
	for _, s := range sources(t) {
		if s.isTest() {
			examples[s.folder] = append(examples[s.folder], doc.Examples(s.File)...)
		}
	}
	closed := closedMethods(library(t))
	for _, s := range library(t) {
		for _, d := range s.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() {
				continue
			}
			name, shown := f.Name.Name, func(e *doc.Example) bool { return shows(e, f.Name.Name) && (isRun(e) || takesTest(f)) }
			if f.Recv != nil {
				of := receiver(f)
				if !ast.IsExported(of) || slices.Contains(wellKnown, name) || isJSON(name) || closed[s.folder+"."+name] {
					continue
				}
				name = of + "." + name
				shown = func(e *doc.Example) bool {
					near := e.Name == of || e.Name == "New"+of || strings.HasPrefix(e.Name, of+"_")
					return isRun(e) && (shows(e, of+"_"+f.Name.Name) || near && calls(e, f.Name.Name))
				}
			}
			if !slices.ContainsFunc(examples[s.folder], shown) {
				t.Errorf("%s: %s has no example", s.at(f), name)
			}
		}
	}
}

// closedMethods are those of the interfaces that a package declares, by folder and
// name: each is explained once, there.
func closedMethods(files []*source) map[string]bool {
	out := map[string]bool{}
	for _, s := range files {
		ast.Inspect(s.File, func(n ast.Node) bool {
			if i, ok := n.(*ast.InterfaceType); ok {
				for _, m := range i.Methods.List {
					for _, name := range m.Names {
						out[s.folder+"."+name.Name] = true
					}
				}
			}
			return true
		})
	}
	return out
}

// isJSON: what encoding/json calls, and nobody else.
func isJSON(method string) bool { return method == "MarshalJSON" || method == "UnmarshalJSON" }

func isRun(e *doc.Example) bool { return e.Output != "" || e.EmptyOutput }

// takesTest reports whether a function wants a *testing.T, which no example has.
func takesTest(f *ast.FuncDecl) bool {
	for _, p := range f.Type.Params.List {
		if star, ok := p.Type.(*ast.StarExpr); ok {
			if sel, ok := star.X.(*ast.SelectorExpr); ok && sel.Sel.Name == "T" {
				return true
			}
		}
	}
	return false
}

// shows reports whether an example is of that name, with a suffix or without.
func shows(e *doc.Example, name string) bool {
	suffix, ok := strings.CutPrefix(e.Name, name)
	return ok && (suffix == "" || suffix[0] == '_' && !ast.IsExported(suffix[1:]))
}

// calls reports whether an example has a selector of that name.
func calls(e *doc.Example, method string) (found bool) {
	ast.Inspect(e.Code, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		found = found || ok && sel.Sel.Name == method
		return !found
	})
	return found
}
