package standin

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Message is one message of a request, as far as the policy reads it.
type Message struct {
	Role       string
	Content    string
	ToolCalls  []Call
	ToolCallID string
}

// Call is one tool call.
type Call struct {
	ID, Name, Arguments string
}

// notes are what a transcript shows. They are worked out from the messages every
// time, so whatever a host does with its transcript (stores it, cuts it, carries
// on tomorrow) the next reply fits it.
type notes struct {
	calls   int
	listed  bool
	files   []string          // Go files, in the order of the listing
	sources map[string]string // by path, as they stand now as far as is known
	where   map[string]string // the file of a function, from searches
	sought  map[string]bool   // functions that were searched for
	missed  map[string]int    // by path: reads that failed
	plan    string            // the arguments of the last plan that was taken

	runs     []testRun
	base     testRun          // the best run, which a change has to beat
	broken   int              // test commands that did not come as far as a test
	stale    bool             // something was edited since the last run
	refused  map[version]bool // pieces of a file that an edit did not find just once
	kept     []string         // the changes that helped, in words
	problems []string         // what the best runs showed to be wrong, in order
	mended   map[string]bool  // those that a better run no longer shows
	tried    map[string]bool  // states of a file that did not help
	attempt  *version         // before the edit that no run has judged yet
	pending  string           // a change that a summary told of, and that no run has judged yet
	undo     *version         // before an edit that did not help and still stands
}

// edit is the change that one call of edit_file makes.
type edit struct{ Path, Old, New string }

// version is a file as it stood at some time.
type version struct{ path, text string }

// key is short enough to stand in a summary.
func (v version) key() string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(v.text))
	return fmt.Sprintf("%s %x", v.path, h.Sum64())
}

const testCommand = "go test ./..."

func takeNotes(messages []Message) *notes {
	n := &notes{sources: map[string]string{}, where: map[string]string{}, sought: map[string]bool{},
		missed: map[string]int{}, refused: map[version]bool{}, tried: map[string]bool{}, mended: map[string]bool{}}
	for i, m := range messages {
		if m.Role == "user" {
			n.remember(m.Content)
		}
		for _, c := range m.ToolCalls {
			n.calls++
			if result, ok := resultOf(c.ID, messages[i+1:]); ok {
				n.take(c, result)
			}
		}
	}
	return n
}

// resultOf looks no further than the next reply: ids may repeat after it.
func resultOf(id string, after []Message) (string, bool) {
	for _, m := range after {
		switch {
		case m.Role == "assistant":
			return "", false
		case m.Role == "tool" && m.ToolCallID == id:
			return m.Content, true
		}
	}
	return "", false
}

// failedResult tells a result that says that the call did not do its work.
func failedResult(result string) bool {
	for _, prefix := range []string{"Error: ", "This call ", "The run was ", "There is no tool ", "The result of this call was lost"} {
		if strings.HasPrefix(result, prefix) {
			return true
		}
	}
	return false
}

// interrupted calls say nothing of what they called.
func interrupted(result string) bool {
	return strings.HasPrefix(result, "The run was ") || strings.HasPrefix(result, "The result of this call was lost") ||
		strings.HasPrefix(result, "This call was not started")
}

func (n *notes) take(c Call, result string) {
	var a struct{ Path, Pattern, Old, New, Command string }
	if json.Unmarshal([]byte(c.Arguments), &a) != nil {
		return
	}
	failed := failedResult(result)
	switch c.Name {
	case "list_files":
		if !failed {
			n.list(result)
		}
	case "read_file":
		if failed {
			n.missed[a.Path]++
		} else {
			n.stands(version{a.Path, result})
		}
	case "search":
		if !failed {
			n.found(a.Pattern, result)
		}
	case "edit_file":
		n.edited(edit{a.Path, a.Old, a.New}, result, failed)
	case "run_command":
		if a.Command == testCommand {
			n.ran(parseTestRun(result, failed), result)
		}
	case "update_plan":
		if !failed {
			n.plan = c.Arguments
		}
	}
}

func (n *notes) list(result string) {
	n.listed, n.files = true, nil
	for _, file := range strings.Fields(result) {
		if path.Ext(file) == ".go" {
			n.files = append(n.files, file)
		}
	}
}

// A search is always for the line that declares a function.
func pattern(function string) string {
	return `^func (\(.*\) )?` + regexp.QuoteMeta(function) + `\(`
}

var (
	declared = regexp.MustCompile(`^([^:\s]+\.go):\d+: func (?:\(.*\) )?(\w+)\(`)
	wanted   = regexp.MustCompile(`(\w+)\\\($`)
)

func (n *notes) found(pattern, result string) {
	if m := wanted.FindStringSubmatch(pattern); m != nil {
		n.sought[m[1]] = true
	}
	for _, line := range strings.Split(result, "\n") {
		if m := declared.FindStringSubmatch(line); m != nil {
			n.where[m[2]] = m[1]
		}
	}
}

// stands notes what a file holds now.
func (n *notes) stands(v version) {
	n.sources[v.path] = v.text
	if n.undo == nil || *n.undo != v {
		return
	}
	n.undo = nil
	if n.attempt != nil && n.attempt.path == v.path {
		n.attempt = nil // it went with it
	}
	n.stale = n.attempt != nil // this state of things was tested before
}

// edited follows the change in the copy of the file. What happened when an edit
// failed is known only where the result says so; otherwise the file is read again.
func (n *notes) edited(e edit, result string, failed bool) {
	before, known := n.sources[e.Path]
	switch {
	case failed:
		n.refused[version{e.Path, e.Old}] = true
		if !strings.Contains(result, "occurs") {
			delete(n.sources, e.Path)
		}
		return
	case !known || strings.Count(before, e.Old) != 1:
		delete(n.sources, e.Path)
		n.stale = true
		return
	}
	undoing := n.undo
	n.stale = true
	n.stands(version{e.Path, strings.Replace(before, e.Old, e.New, 1)})
	if undoing == n.undo {
		n.attempt = &version{e.Path, before}
	}
}

// ran judges what was tried since the run before.
func (n *notes) ran(r testRun, result string) {
	if r.stage == unclear && !strings.Contains(result, "FAIL") {
		if !interrupted(result) {
			n.broken++
		}
		return
	}
	switch {
	case len(n.runs) == 0 || r.betterThan(n.base):
		n.base, n.undo = r, nil
		if a := n.attempt; a != nil {
			if source, ok := n.sources[a.path]; ok {
				n.keep(a.path + ": " + changed(a.text, source))
			}
		}
	case n.attempt != nil:
		if n.undo == nil {
			n.undo = n.attempt
		}
		n.tried[version{n.attempt.path, n.sources[n.attempt.path]}.key()] = true
	}
	n.attempt, n.stale = nil, false
	n.runs = append(n.runs, r)
	open := problemsOf(n.base)
	if n.pending != "" && slices.ContainsFunc(n.problems, func(p string) bool { return !n.mended[p] && !slices.Contains(open, p) }) {
		n.keep(n.pending)
	}
	n.pending = ""
	for _, p := range open {
		n.problem(p)
	}
	for _, p := range n.problems {
		n.mended[p] = !slices.Contains(open, p)
	}
}

func (n *notes) problem(p string)   { n.problems = once(n.problems, p) }
func (n *notes) keep(change string) { n.kept = once(n.kept, change) }

func once(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func (n *notes) last() testRun { return n.runs[len(n.runs)-1] }
