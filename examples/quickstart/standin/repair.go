package standin

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// candidate is a change to one file that might be what is wrong.
type candidate struct {
	version        // the file as it would then stand
	why     string // in words
}

// file is a parsed source file.
type file struct {
	path, text string
	set        *token.FileSet
	ast        *ast.File
}

// parse reads a file as far as it can be read: one that does not compile may
// still show its functions.
func parse(path, text string) file {
	f := file{path: path, text: text, set: token.NewFileSet()}
	f.ast, _ = parser.ParseFile(f.set, path, text, parser.SkipObjectResolution)
	return f
}

func (f file) function(match func(*ast.FuncDecl) bool) *ast.FuncDecl {
	if f.ast == nil {
		return nil
	}
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && match(fn) {
			return fn
		}
	}
	return nil
}

func (f file) at(line int) *ast.FuncDecl {
	return f.function(func(fn *ast.FuncDecl) bool {
		return f.set.Position(fn.Pos()).Line <= line && line <= f.set.Position(fn.End()).Line
	})
}

func (f file) named(name string) *ast.FuncDecl {
	return f.function(func(fn *ast.FuncDecl) bool { return fn.Name.Name == name })
}

// with is the file with other text in one place.
func (f file) with(pos token.Pos, old, new string) (version, bool) {
	i := f.set.Position(pos).Offset
	if i < 0 || i+len(old) > len(f.text) || f.text[i:i+len(old)] != old {
		return version{}, false
	}
	return version{f.path, f.text[:i] + new + f.text[i+len(old):]}, true
}

var undefined = regexp.MustCompile(`^undefined: (\w+)$`)

// forBuild is what may mend a name that the compiler does not know: the names of
// the same function that are spelled almost like it, the nearest first.
func forBuild(f file, at failure) []candidate {
	m := undefined.FindStringSubmatch(at.text)
	fn := f.at(at.line)
	if m == nil || fn == nil {
		return nil
	}
	var names []string
	var where token.Pos
	ast.Inspect(fn, func(node ast.Node) bool {
		id, ok := node.(*ast.Ident)
		switch {
		case !ok:
		case id.Name == m[1]:
			if p := f.set.Position(id.Pos()); p.Line == at.line && p.Column == at.col {
				where = id.Pos()
			}
		case !slices.Contains(names, id.Name) && distance(id.Name, m[1]) <= 2:
			names = append(names, id.Name)
		}
		return true
	})
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(distance(a, m[1]), distance(b, m[1])) })
	var out []candidate
	for _, name := range names {
		if v, ok := f.with(where, m[1], name); ok && where.IsValid() {
			out = append(out, candidate{v, fmt.Sprintf("%s:%d says %s, and nothing of that name exists; it looks like what is left of a renaming. I take %s.", path.Base(f.path), at.line, m[1], name)})
		}
	}
	return out
}

// swaps are the operators that get mixed up, for each the likeliest first.
var swaps = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GTR, token.GEQ}, token.LEQ: {token.LSS, token.GEQ, token.GTR},
	token.GTR: {token.GEQ, token.LSS, token.LEQ}, token.GEQ: {token.GTR, token.LEQ, token.LSS},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL}, token.LAND: {token.LOR}, token.LOR: {token.LAND},
}

// forFunction is what may mend a function that gives a wrong value or panics. An
// operator on the line that the failure names comes first, then one beside a
// number that the failure names, then orderings, then the rest.
func forFunction(f file, fn *ast.FuncDecl, at failure) []candidate {
	type ranked struct {
		candidate
		rank int
	}
	var found []ranked
	ast.Inspect(fn, func(node ast.Node) bool {
		b, ok := node.(*ast.BinaryExpr)
		if !ok {
			return true
		}
		line := f.set.Position(b.OpPos).Line
		rank := 3
		switch {
		case at.file == f.path && at.line == line:
			rank = 0
		case names(at.text, b.X) || names(at.text, b.Y):
			rank = 1
		case b.Op == token.LSS || b.Op == token.LEQ || b.Op == token.GTR || b.Op == token.GEQ:
			rank = 2
		}
		for _, op := range swaps[b.Op] {
			if v, ok := f.with(b.OpPos, b.Op.String(), op.String()); ok {
				why := fmt.Sprintf("In %s, line %d, I doubt the %s; I try %s.", fn.Name.Name, line, b.Op, op)
				found = append(found, ranked{candidate{v, why}, rank})
			}
		}
		return true
	})
	slices.SortStableFunc(found, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	out := make([]candidate, len(found))
	for i, r := range found {
		out[i] = r.candidate
	}
	return out
}

// names reports whether a complaint names a number that the code compares with.
func names(text string, e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' }), lit.Value)
}

// calls reports whether a function calls one of that name.
func calls(fn *ast.FuncDecl, name string) bool {
	found := false
	ast.Inspect(fn.Body, func(node ast.Node) bool {
		if c, ok := node.(*ast.CallExpr); ok {
			id, ok := c.Fun.(*ast.Ident)
			found = found || ok && id.Name == name
		}
		return !found
	})
	return found
}

// distance is how many letters have to be put in, taken out or changed.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// difference is the lines that differ between two texts: from first on, with as
// many behind them that are the same.
func difference(a, b []string) (first, same int) {
	for first < min(len(a), len(b)) && a[first] == b[first] {
		first++
	}
	for same < min(len(a), len(b))-first && a[len(a)-1-same] == b[len(b)-1-same] {
		same++
	}
	return first, same
}

// changed says in words what differs.
func changed(before, after string) string {
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	first, same := difference(a, b)
	piece := func(lines []string) string {
		return strings.Join(strings.Fields(strings.Join(lines[first:len(lines)-same], "")), " ")
	}
	return fmt.Sprintf("`%s` is now `%s`", piece(a), piece(b))
}

// editTo is the call that turns a file into another version of it: the lines that
// differ. When those did not stand in the file just once, it takes the function's
// lines before them too, and then the whole file.
func (n *notes) editTo(to version) (edit, bool) {
	from, lines := strings.SplitAfter(n.sources[to.path], "\n"), strings.SplitAfter(to.text, "\n")
	first, same := difference(from, lines)
	starts := []int{first, first, 0}
	for starts[1] > 0 && !strings.HasPrefix(from[starts[1]], "func ") {
		starts[1]--
	}
	for _, start := range starts {
		e := edit{to.path, strings.Join(from[start:len(from)-same], ""), strings.Join(lines[start:len(lines)-same], "")}
		if e.Old != "" && !n.refused[version{e.Path, e.Old}] {
			return e, true
		}
	}
	return edit{}, false
}
