package loop

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// clip cuts a text for a person or a model to recognise.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return cut(s, limit) + fmt.Sprintf("… (%d bytes in all)", len(s))
}

// excerpt keeps the beginning and the end of a text: what failed mostly stands at
// the end.
func excerpt(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head, tail := cut(s, limit/4*3), s[len(s)-limit/4:]
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", head, len(s)-len(head)-len(tail), strings.ToValidUTF8(tail, ""))
}

// shorten makes a text fit, the note that says so included.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	note := fmt.Sprintf("\n[the first %d of %d bytes]", limit, len(s)) // no shorter than what it becomes
	kept := cut(s, max(limit-len(note), 0))
	return cut(kept+fmt.Sprintf("\n[the first %d of %d bytes]", len(kept), len(s)), limit)
}

// cut keeps whole runes.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// validText replaces what is no UTF-8: it would make the transcript unsendable.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

func oneLine(v any) string { return clip(strings.Join(strings.Fields(fmt.Sprint(v)), " "), 300) }
