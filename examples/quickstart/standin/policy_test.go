package standin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var allTools = []string{"list_files", "read_file", "search", "edit_file", "run_command", "update_plan"}

// world is a directory in memory, and tools on it that answer like real ones. test
// plays `go test`.
type world struct {
	files    map[string]string
	test     func(files map[string]string) (output string, failed bool)
	messages []Message
	said     []string
	called   []Call
	failNext map[string]string // by tool: what its next call answers instead
}

func (w *world) names() []string {
	var out []string
	for name := range w.files {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (w *world) do(c Call) string {
	if text, ok := w.failNext[c.Name]; ok {
		delete(w.failNext, c.Name)
		return text
	}
	var a struct{ Path, Pattern, Old, New, Command string }
	if err := json.Unmarshal([]byte(c.Arguments), &a); err != nil {
		return "This call did not run: " + err.Error()
	}
	source, ok := w.files[a.Path]
	switch {
	case c.Name == "list_files":
		return strings.Join(w.names(), "\n")
	case c.Name == "search":
		return w.search(a.Pattern)
	case c.Name == "run_command":
		output, failed := w.test(w.files)
		if failed {
			return "Error: exit status 1\n\nIts output until then:\n" + output
		}
		return output
	case c.Name == "update_plan":
		return "Plan updated."
	case !ok:
		return "Error: " + a.Path + ": no such file or directory"
	case c.Name == "read_file":
		return source
	}
	switch n := strings.Count(source, a.Old); n {
	case 1:
		w.files[a.Path] = strings.Replace(source, a.Old, a.New, 1)
		return "Edited " + a.Path + "."
	case 0:
		return "Error: the old text is not in the file; nothing was changed"
	default:
		return fmt.Sprintf("Error: the old text occurs %d times; nothing was changed", n)
	}
}

func (w *world) search(pattern string) string {
	m := wanted.FindStringSubmatch(pattern)
	var out []string
	for _, name := range w.names() {
		for i, line := range strings.Split(w.files[name], "\n") {
			if m != nil && strings.HasPrefix(line, "func "+m[1]+"(") {
				out = append(out, fmt.Sprintf("%s:%d: %s", name, i+1, line))
			}
		}
	}
	if len(out) == 0 {
		return "Nothing matches."
	}
	return strings.Join(out, "\n")
}

// step lets the stand-in say one thing and does what it asks for.
func (w *world) step() Reply {
	r := Next(w.messages, allTools)
	w.said = append(w.said, r.Text)
	w.messages = append(w.messages, Message{Role: "assistant", Content: r.Text, ToolCalls: r.Calls})
	for _, c := range r.Calls {
		w.called = append(w.called, c)
		w.messages = append(w.messages, Message{Role: "tool", ToolCallID: c.ID, Content: w.do(c)})
	}
	return r
}

func (w *world) run(t *testing.T) (last string) {
	w.messages = append(w.messages, Message{Role: "user", Content: "Mend it."})
	for range 500 {
		if r := w.step(); len(r.Calls) == 0 {
			return r.Text
		}
	}
	t.Fatal("it goes on for ever")
	return ""
}

// wants fails with a complaint of function F until the file holds the text.
func wants(file, text string) func(map[string]string) (string, bool) {
	return func(files map[string]string) (string, bool) {
		if strings.Contains(files[file], text) {
			return "ok  \tm\t0.1s\n", false
		}
		return "--- FAIL: TestF (0.00s)\n    a_test.go:3: F(5) = 1, want 2\nFAIL\n", true
	}
}

const twoAlike = `package a

func E(a, b int) bool {
	return a > b
}

func F(a, b int) bool {
	return a > b
}
`

func TestItFindsTheOperator(t *testing.T) {
	w := &world{files: map[string]string{"a.go": twoAlike, "a_test.go": "package a\n"}, test: func(files map[string]string) (string, bool) {
		if files["a.go"] == "package a\n\nfunc E(a, b int) bool {\n\treturn a > b\n}\n\nfunc F(a, b int) bool {\n\treturn a <= b\n}\n" {
			return "ok  \tm\t0.1s\n", false
		}
		return "--- FAIL: TestF (0.00s)\n    a_test.go:3: F(5) = 1, want 2\nFAIL\n", true
	}}
	require.Equal(t, "All tests pass. What I changed:\n- a.go: `return a > b` is now `return a <= b`", w.run(t))
	require.Contains(t, strings.Join(w.said, "\n"), "That did not help, so I take it back.")
	wide := 0
	for _, c := range w.called {
		if c.Name == "edit_file" && strings.Contains(c.Arguments, "func F(") {
			wide++
		}
	}
	require.Positive(t, wide, "an edit that was refused as ambiguous takes more lines")
}

func TestItLeavesTheFilesAsTheyWereWhenNothingHelps(t *testing.T) {
	w := &world{files: map[string]string{"a.go": twoAlike}, test: wants("a.go", "no operator gives this")}
	require.Contains(t, w.run(t), "I could not get the tests to pass")
	require.Equal(t, twoAlike, w.files["a.go"])
}

func TestItMendsAName(t *testing.T) {
	const source = "package a\n\nfunc F(marks []int) int {\n\treturn len(mark)\n}\n"
	w := &world{files: map[string]string{"a.go": source}, test: func(files map[string]string) (string, bool) {
		if strings.Contains(files["a.go"], "len(marks)") {
			return "ok  \tm\t0.1s\n", false
		}
		return "# m\n./a.go:4:13: undefined: mark\nFAIL\tm [build failed]\n", true
	}}
	require.Contains(t, w.run(t), "`return len(mark)` is now `return len(marks)`")
}

func TestItFollowsAPanicToItsLine(t *testing.T) {
	const source = "package a\n\nfunc F(x []int) (n int) {\n\tif len(x) > 9 {\n\t\treturn 1\n\t}\n\tfor i := 0; i <= len(x); i++ {\n\t\tn += x[i]\n\t}\n\treturn n\n}\n"
	w := &world{files: map[string]string{"sub/a.go": source}, test: func(files map[string]string) (string, bool) {
		if strings.Contains(files["sub/a.go"], "i < len(x)") {
			return "ok  \tm\t0.1s\n", false
		}
		return "--- FAIL: TestF (0.00s)\npanic: runtime error: index out of range [3] with length 3\n\ngoroutine 1:\nm.F()\n\t/tmp/m/sub/a.go:8 +0x1\nFAIL\tm\n", true
	}}
	require.Contains(t, w.run(t), "All tests pass.")
	require.Equal(t, strings.Replace(source, "<=", "<", 1), w.files["sub/a.go"])
}

func TestItNeverEditsATest(t *testing.T) {
	const source = "package a\n\nfunc TestF(a, b int) bool {\n\treturn a > b\n}\n"
	w := &world{files: map[string]string{"a_test.go": source}, test: func(map[string]string) (string, bool) {
		return "# m\n./a_test.go:4:9: undefined: a\nFAIL\tm [build failed]\n", true
	}}
	require.Contains(t, w.run(t), "could not")
	require.Equal(t, source, w.files["a_test.go"])
}

func TestItReactsToWhatToolsReturn(t *testing.T) {
	sound := func() *world {
		return &world{files: map[string]string{"a.go": "package a\n\nfunc F(a, b int) bool {\n\treturn a > b\n}\n"}, test: wants("a.go", "a >= b")}
	}
	for _, test := range []struct {
		name string
		make func(*world)
		says string
	}{
		{"nothing is wrong", func(w *world) { w.test = wants("a.go", "package") }, "All tests pass."},
		{"no Go files", func(w *world) { w.files = map[string]string{"a.txt": "x"} }, "There are no Go files here"},
		{"the tests cannot run", func(w *world) {
			w.test = func(map[string]string) (string, bool) { return "sh: go: not found\n", true }
		}, "I cannot run the tests here"},
		{"a file that was listed is gone", func(w *world) {
			w.test = func(map[string]string) (string, bool) { return "./b.go:1:1: undefined: x\nFAIL\n", true }
		}, "could not"},
		{"an edit does not find its text", func(w *world) {
			w.failNext = map[string]string{"edit_file": "Error: the old text is not in the file; nothing was changed"}
		}, "All tests pass."},
		{"the outcome of an edit is unknown", func(w *world) {
			w.failNext = map[string]string{"edit_file": "The run was interrupted and the outcome of this call is unknown."}
		}, "All tests pass."},
		{"the outcome of a run is unknown", func(w *world) {
			w.failNext = map[string]string{"run_command": "The run was interrupted and the outcome of this call is unknown."}
		}, "All tests pass."},
		{"a listing fails once", func(w *world) { w.failNext = map[string]string{"list_files": "Error: busy"} }, "All tests pass."},
		{"a search fails once", func(w *world) { w.failNext = map[string]string{"search": "Error: busy"} }, "All tests pass."},
		{"a read fails once", func(w *world) { w.failNext = map[string]string{"read_file": "Error: busy"} }, "All tests pass."},
		{"no run comes to its end for a while", func(w *world) {
			for range 2 * maxBroken {
				call := Call{ID: fmt.Sprint(len(w.messages)), Name: "run_command", Arguments: `{"command":"go test ./..."}`}
				w.messages = append(w.messages, Message{Role: "assistant", ToolCalls: []Call{call}},
					Message{Role: "tool", ToolCallID: call.ID, Content: "The run was interrupted and the outcome of this call is unknown."})
			}
		}, "All tests pass."},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := sound()
			test.make(w)
			require.Contains(t, w.run(t), test.says)
		})
	}
}

func TestItCallsNoToolThatIsNotThere(t *testing.T) {
	for i := range allTools {
		tools := slices.Delete(slices.Clone(allTools), i, i+1)
		r := Next([]Message{{Role: "user", Content: "Mend it."}}, tools)
		if allTools[i] == "update_plan" {
			require.NotEmpty(t, r.Calls)
			continue
		}
		require.Empty(t, r.Calls)
		require.Contains(t, r.Text, allTools[i])
	}
}

// Whatever stands in a transcript, there is an answer, and it can be sent.
func TestAnyTranscriptHasAReply(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{twoAlike, "a.go\na_test.go", "a.go:3: func F(a, b int) bool {", "Edited a.go.",
		"Error: exit status 1\n\nIts output until then:\n--- FAIL: TestF\n    a_test.go:3: F(5) = 1, want 2\nFAIL", "ok  \tm\t0.1s", "Error: the old text occurs 2 times",
		"./a.go:4:9: undefined: c\nFAIL", "panic: x\n\t/tmp/m/a.go:4 +0x1\nFAIL"}))
	arguments := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`{}`, `{"path":"a.go"}`, `{"command":"go test ./..."}`, `{"path":"a.go","old":"a > b","new":"a < b"}`,
		`{"path":"a.go","old":"func F(a, b int) bool {\n\treturn a > b","new":"func F(a, b int) bool {\n\treturn a < b"}`, `{"pattern":"^func (\\(.*\\) )?F\\("}`, `[]`, `{"path":1}`}))
	rapid.Check(t, func(t *rapid.T) {
		var messages []Message
		for range rapid.IntRange(0, 12).Draw(t, "turns") {
			m := Message{Role: rapid.SampledFrom([]string{"user", "assistant", "assistant", "assistant", "system", ""}).Draw(t, "role"), Content: text.Draw(t, "content")}
			if m.Role == "assistant" {
				for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
					m.ToolCalls = append(m.ToolCalls, Call{fmt.Sprint(i), rapid.SampledFrom(allTools).Draw(t, "tool"), arguments.Draw(t, "arguments")})
				}
			}
			messages = append(messages, m)
			for _, c := range m.ToolCalls {
				if rapid.IntRange(0, 9).Draw(t, "answered") > 0 {
					messages = append(messages, Message{Role: "tool", ToolCallID: c.ID, Content: text.Draw(t, "result")})
				}
			}
		}
		r := Next(messages, allTools)
		require.NotEmpty(t, r.Text)
		ids := map[string]bool{}
		for _, c := range r.Calls {
			require.Contains(t, allTools, c.Name)
			require.True(t, json.Valid([]byte(c.Arguments)))
			require.False(t, ids[c.ID])
			ids[c.ID] = true
		}
		require.Equal(t, r, Next(messages, allTools), "the same transcript, the same reply")
	})
}
