package resume

import (
	"fmt"
	"strings"
	"unicode"
)

// Lengths in runes.
const (
	titleLength  = 60
	saidLength   = 280
	detailLength = 120
)

// brief is a text on one line and at most n runes long, cut between words where
// that loses little.
func brief(s string, n int) string {
	const widest = 4 // bytes of a rune
	whole := len(s) <= widest*n*4
	if !whole {
		s = strings.ToValidUTF8(s[:widest*n*4], "") // a megabyte is not gone through for a line
	}
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) // what a terminal would obey is not for it to show
	}), " ")
	runes := []rune(s)
	if len(runes) <= n && whole {
		return s
	}
	s = string(runes[:min(n, len(runes))])
	if i := strings.LastIndexByte(s, ' '); i > len(s)*3/4 {
		s = s[:i]
	}
	return strings.TrimRight(s, " .,;:") + "…"
}

func quoted(s string) string { return "“" + brief(s, detailLength) + "”" }

// code marks a text as a name or a command.
func code(s string) string {
	if s = brief(s, detailLength); strings.Contains(s, "`") {
		return "“" + s + "”"
	}
	return "`" + s + "`"
}

// list joins names as a person would, and leaves out what would be too many.
func list(names []string) string {
	const most = 3
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return names[0]
	case n > most:
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}

// capital makes one of our own phrases begin a sentence.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
