package standin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// quoted writes a conversation down as a host does that asks for a summary.
func quoted(messages []Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s: %s\n", m.Role, m.Content)
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, "  call %s %s %s\n", c.ID, c.Name, c.Arguments)
		}
	}
	return b.String()
}

// However often, and wherever between two turns, the conversation is replaced by
// a summary of it, the stand-in still comes to its end.
func TestItGoesOnFromASummary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{files: map[string]string{"a.go": twoAlike, "a_test.go": "package a\n"}, test: func(files map[string]string) (string, bool) {
			if strings.Contains(files["a.go"], "func F(a, b int) bool {\n\treturn a <= b") && strings.Contains(files["a.go"], "func E(a, b int) bool {\n\treturn a > b") {
				return "ok  \tm\t0.1s\n", false
			}
			return "--- FAIL: TestF (0.00s)\n    a_test.go:3: F(5) = 1, want 2\nFAIL\n", true
		}}
		w.messages = []Message{{Role: "user", Content: "Mend it."}}
		summaries := 0
		for range 200 {
			if summaries < 4 && rapid.IntRange(0, 5).Draw(t, "summary") == 0 {
				summaries++
				r := Next([]Message{{Role: "system", Content: "Summarise."}, {Role: "user", Content: quoted(w.messages)}}, nil)
				require.Empty(t, r.Calls)
				w.messages = []Message{{Role: "user", Content: "[Summary of the conversation so far]\n\nThe user wrote: Mend it.\n\n" + r.Text}}
			}
			if r := w.step(); len(r.Calls) == 0 {
				require.Contains(t, r.Text, "All tests pass.")
				return
			}
		}
		t.Fatal("it goes on for ever")
	})
}

func TestAConversationIsReadFromItsQuotation(t *testing.T) {
	messages := []Message{{Role: "system", Content: "Be brief."}, {Role: "user", Content: "Mend it.\nNow."},
		{Role: "assistant", Content: "", ToolCalls: []Call{{"a", "list_files", "{}"}, {"b", "read_file", `{"path":"a.go"}`}}},
		{Role: "tool", ToolCallID: "a", Content: "a.go\n"}, {Role: "tool", ToolCallID: "b", Content: "package a\n\n  call me x y\n"}, {Role: "assistant", Content: "Done."}}
	got := parseQuoted(quoted(messages))
	got[len(got)-1].Content = strings.TrimSuffix(got[len(got)-1].Content, "\n") // the end of the quotation
	require.Equal(t, messages, got)
	require.Empty(t, parseQuoted("no conversation\nat all"))
}

func TestFactsAreRemembered(t *testing.T) {
	n := takeNotes(nil)
	require.Equal(t, "Nothing was found out yet.", n.facts())
	n.list("a.go b.go c.txt")
	n.where["F"] = "a.go"
	n.problem("F")
	n.problem("b.go did not compile")
	n.mended["b.go did not compile"] = true
	n.keep("b.go: `x` is now `y`")
	n.tried["a.go 1f"] = true
	n.sources["a.go"], n.attempt = "new\n", &version{"a.go", "old\n"}
	again := takeNotes([]Message{{Role: "user", Content: n.facts()}})
	require.Equal(t, "a.go: `old` is now `new`", again.pending)
	n.attempt = nil
	require.Equal(t, n.facts(), again.facts())
}

func TestARequestWithoutToolsIsToldWhatWasDone(t *testing.T) {
	w := &world{files: map[string]string{"a.go": twoAlike}, test: wants("a.go", "never")}
	w.messages = []Message{{Role: "user", Content: "Mend it."}}
	for range 5 {
		w.step()
	}
	r := Next(append(w.messages, Message{Role: "user", Content: "What was done?"}), nil)
	require.Empty(t, r.Calls)
	require.Contains(t, r.Text, "Still wrong: F")
	require.NotEmpty(t, Next(nil, nil).Text)
}
