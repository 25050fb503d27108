package standin

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// earlier is the conversation that a request without tools is about: the one that
// its last message quotes, as a host does that wants a summary, or its own.
func earlier(messages []Message) []Message {
	if len(messages) == 0 {
		return nil
	}
	if quoted := parseQuoted(messages[len(messages)-1].Content); len(quoted) > 1 {
		return quoted
	}
	return messages
}

var (
	quotedStart = regexp.MustCompile(`^(system|user|assistant|tool): (.*)$`)
	quotedCall  = regexp.MustCompile(`^  call (\S+) (\S+) (.*)$`)
)

// parseQuoted reads a conversation that was written down line by line. Results
// come in the order of the calls before them.
func parseQuoted(text string) []Message {
	var out []Message
	var open []string
	for _, line := range strings.Split(text, "\n") {
		start := quotedStart.FindStringSubmatch(line)
		if start == nil && len(out) == 0 {
			continue
		}
		if start != nil {
			m := Message{Role: start[1], Content: start[2]}
			if m.Role == "tool" && len(open) > 0 {
				m.ToolCallID, open = open[0], open[1:]
			}
			out = append(out, m)
			continue
		}
		last := &out[len(out)-1]
		if c := quotedCall.FindStringSubmatch(line); c != nil && last.Role == "assistant" {
			last.ToolCalls = append(last.ToolCalls, Call{c[1], c[2], c[3]})
			open = append(open, c[1])
			continue
		}
		last.Content += "\n" + line
	}
	return out
}

// The facts of a summary are lines of these forms, so that a later reply can go on
// from them.
const (
	factFiles   = "The Go files are: "
	factWhere   = "Declared: "
	factMended  = "Mended: "
	factWrong   = "Still wrong: "
	factChanged = "Changed for good: "
	factPending = "Changed, and not yet tested: "
	factTried   = "Tried without effect: "
)

// facts is what is worth remembering of a conversation.
func (n *notes) facts() string {
	var out []string
	if n.listed {
		out = append(out, factFiles+strings.Join(n.files, " "))
	}
	for _, function := range slices.Sorted(maps.Keys(n.where)) {
		out = append(out, fmt.Sprintf("%s%s in %s", factWhere, function, n.where[function]))
	}
	for _, p := range n.problems {
		if n.mended[p] {
			out = append(out, factMended+p)
		} else {
			out = append(out, factWrong+p)
		}
	}
	for _, k := range n.kept {
		out = append(out, factChanged+k)
	}
	if a := n.attempt; a != nil {
		if source, ok := n.sources[a.path]; ok {
			out = append(out, factPending+a.path+": "+changed(a.text, source))
		}
	}
	for _, t := range slices.Sorted(maps.Keys(n.tried)) {
		out = append(out, factTried+t)
	}
	if len(out) == 0 {
		return "Nothing was found out yet."
	}
	return strings.Join(out, "\n")
}

// remember takes the facts from a summary.
func (n *notes) remember(text string) {
	for _, line := range strings.Split(text, "\n") {
		if files, ok := strings.CutPrefix(line, factFiles); ok {
			n.list(files)
		}
		if function, file, ok := strings.Cut(strings.TrimPrefix(line, factWhere), " in "); ok && strings.HasPrefix(line, factWhere) {
			n.where[function] = file
		}
		for prefix, mended := range map[string]bool{factMended: true, factWrong: false} {
			if p, ok := strings.CutPrefix(line, prefix); ok {
				n.problem(p)
				n.mended[p] = mended
			}
		}
		if change, ok := strings.CutPrefix(line, factChanged); ok {
			n.keep(change)
		}
		if change, ok := strings.CutPrefix(line, factPending); ok {
			n.pending = change
		}
		if key, ok := strings.CutPrefix(line, factTried); ok {
			n.tried[key] = true
		}
	}
}
