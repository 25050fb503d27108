// Package standin is an OpenAI-compatible server that stands in for a model. It is
// no language model: behind it is a small set of rules that reads the transcript
// of each request and decides what a patient programmer would do next to get the
// tests of a Go module to pass. It looks around, runs the tests, reads what they
// complain of, doubts one operator or name after the other, and takes back what
// did not help.
//
// It knows nothing of the module in advance, and keeps nothing from one request
// to the next but how much of the prompt it has seen before.
package standin

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// Reply is what the stand-in says and which tools it calls.
type Reply struct {
	Text  string
	Calls []Call
}

func (r *Reply) call(name string, arguments any) {
	data, _ := json.Marshal(arguments) // of strings and structs of strings
	r.Calls = append(r.Calls, Call{Name: name, Arguments: string(data)})
}

const (
	maxRuns   = 60 // of the tests, before it gives up
	maxBroken = 3  // test commands that ran no test
	maxMissed = 3  // reads of a file that failed
)

// Next is the next reply to a transcript, given the names of the tools.
func Next(messages []Message, tools []string) Reply {
	if len(tools) == 0 { // there is nothing to do but to say what was done
		return Reply{Text: takeNotes(earlier(messages)).facts()}
	}
	n := takeNotes(messages)
	r := n.next(tools)
	if n.withPlan(tools) && (len(r.Calls) > 0 || n.passed()) {
		if p := n.planned(); p != n.plan {
			r.Calls = append([]Call{{Name: "update_plan", Arguments: p}}, r.Calls...)
			if len(r.Calls) == 1 {
				r.Text = "All tests pass. I close the plan."
			}
		}
	}
	for i := range r.Calls {
		r.Calls[i].ID = fmt.Sprintf("call_%d", n.calls+i+1)
	}
	return r
}

func (n *notes) next(tools []string) Reply {
	for _, needed := range []string{"list_files", "read_file", "search", "edit_file", "run_command"} {
		if !slices.Contains(tools, needed) {
			return Reply{Text: "I can do nothing here without the tool " + needed + "."}
		}
	}
	switch {
	case !n.listed:
		r := Reply{Text: "I'll see what is here and what is tested."}
		r.call("list_files", struct{}{})
		r.call("search", map[string]string{"pattern": "^func Test"})
		return r
	case len(n.files) == 0:
		return Reply{Text: "There are no Go files here, so there is nothing that I can mend."}
	case n.broken >= maxBroken:
		return Reply{Text: "I cannot run the tests here, so I stop. Nothing says whether the module works."}
	case n.stale && n.undo != nil: // it could not be taken back at first
		if r := n.takeBack(); len(r.Calls) > 0 {
			return r
		}
	}
	switch {
	case len(n.runs) == 0 || n.stale:
		r := Reply{Text: "Now the tests."}
		if len(n.runs) > 0 {
			r.Text = "I run the tests to see whether that helped."
		}
		r.call("run_command", map[string]string{"command": testCommand})
		return r
	case n.passed():
		return Reply{Text: n.summary()}
	case len(n.runs) >= maxRuns:
		return n.giveUp()
	}
	return n.mend()
}

func (n *notes) passed() bool { return len(n.runs) > 0 && !n.stale && n.last().stage == passing }

// mend looks up what the failures point at, and then changes something.
func (n *notes) mend() Reply {
	if look := n.look(); len(look.Calls) > 0 {
		return look
	}
	r := n.takeBack()
	for _, f := range n.ordered(n.base.failures) {
		for _, c := range n.candidates(f) {
			if n.tried[c.key()] {
				continue
			}
			if e, ok := n.editTo(c.version); ok {
				r.Text = strings.TrimSpace(r.Text + " " + c.why)
				r.call("edit_file", e.arguments())
				return r
			}
		}
	}
	if len(r.Calls) > 0 {
		return r
	}
	return n.giveUp()
}

// takeBack undoes a change that did not help, and carries on from the file as it
// will then stand.
func (n *notes) takeBack() (r Reply) {
	if n.undo == nil {
		return r
	}
	e, ok := n.editTo(*n.undo)
	if !ok {
		return r
	}
	r.Text = "That did not help, so I take it back."
	r.call("edit_file", e.arguments())
	n.stands(*n.undo)
	return r
}

func (e edit) arguments() any {
	return struct {
		Path string `json:"path"`
		Old  string `json:"old"`
		New  string `json:"new"`
	}{e.Path, e.Old, e.New}
}

// look reads and searches for whatever the failures name and is not known yet,
// all at once.
func (n *notes) look() Reply {
	var files, functions []string
	for _, f := range n.base.failures {
		if n.base.stage != failing {
			files = append(files, n.path(f.file))
			continue
		}
		name := function(f)
		switch file, known := n.where[name]; {
		case known:
			files = append(files, file)
		case name != "" && !n.sought[name]:
			functions = append(functions, name)
		}
	}
	if n.undo != nil {
		files = append(files, n.undo.path)
	}
	r := n.read(files, "I read the code that this is about.")
	slices.Sort(functions)
	for _, name := range slices.Compact(functions) {
		r.Text = "I look for the functions that the tests complain of."
		r.call("search", map[string]string{"pattern": pattern(name)})
	}
	return r
}

func (n *notes) read(files []string, why string) Reply {
	r := Reply{Text: why}
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		if _, known := n.sources[file]; !known && n.missed[file] < maxMissed {
			r.call("read_file", map[string]string{"path": file})
		}
	}
	return r
}

// path is a file of the listing, however the output of a tool spells it.
func (n *notes) path(file string) string {
	best := file
	for _, known := range n.files {
		if file == known || strings.HasSuffix(file, "/"+known) && (best == file || len(known) > len(best)) {
			best = known
		}
	}
	return best
}

// function is the one that a failing test complains of: the name before the first
// bracket of the complaint, or the test's own without its "Test".
func function(f failure) string {
	if name, _, ok := strings.Cut(f.text, "("); ok && name != "" && !strings.ContainsFunc(name, notInName) {
		return name
	}
	name, _, _ := strings.Cut(f.test, "/")
	return strings.TrimPrefix(name, "Test")
}

func notInName(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// ordered puts a function behind those that it calls: its own failure may be
// theirs.
func (n *notes) ordered(failures []failure) []failure {
	var first, later []failure
	for _, f := range failures {
		fn := n.declaration(f)
		if fn != nil && slices.ContainsFunc(failures, func(other failure) bool {
			return function(other) != function(f) && calls(fn, function(other))
		}) {
			later = append(later, f)
		} else {
			first = append(first, f)
		}
	}
	return append(first, later...)
}

func (n *notes) declaration(f failure) *ast.FuncDecl {
	file := n.where[function(f)]
	return parse(file, n.sources[file]).named(function(f))
}

func (n *notes) candidates(f failure) []candidate {
	file := n.path(f.file)
	if n.base.stage == failing {
		file = n.where[function(f)]
	}
	source, known := n.sources[file]
	if !known || strings.HasSuffix(file, "_test.go") {
		return nil // a test is what is to be met, never what is mended
	}
	parsed := parse(file, source)
	f.file = n.path(f.file)
	switch n.base.stage {
	case building:
		return forBuild(parsed, f)
	case crashing:
		if fn := parsed.at(f.line); fn != nil {
			return forFunction(parsed, fn, f)
		}
	case failing:
		if fn := parsed.named(function(f)); fn != nil {
			return forFunction(parsed, fn, f)
		}
	}
	return nil
}

func (n *notes) giveUp() Reply {
	var left []string
	for _, f := range n.base.failures {
		left = append(left, fmt.Sprintf("- %s:%d: %s", path.Base(f.file), f.line, f.text))
	}
	return Reply{Text: fmt.Sprintf("I could not get the tests to pass: I know no change that I have not tried. What is left:\n%s", strings.Join(left, "\n"))}
}

func (n *notes) summary() string {
	if len(n.kept) == 0 {
		return "All tests pass."
	}
	return "All tests pass. What I changed:\n- " + strings.Join(n.kept, "\n- ")
}
