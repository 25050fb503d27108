package progress

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// errorText is what an error says, without when it was said, how long it took and
// what it was said of: a tool that cannot find a.txt, and then cannot find b.txt,
// fails in one way.
func errorText(text, arguments string) string {
	left := 16 // an error speaks of few, and arguments may be many, or deep
	var mask func(_, v gjson.Result) bool
	mask = func(_, v gjson.Result) bool {
		if left--; left < 0 {
			return false
		}
		switch {
		case v.IsObject() || v.IsArray():
			v.ForEach(mask)
		case v.Type == gjson.Number:
			text = withoutWord(text, v.Raw)
		case v.Type == gjson.String && len(v.Str) > 2:
			text = strings.ReplaceAll(text, v.Str, "…")
		case v.Type == gjson.String && v.Str != "":
			text = withoutWord(text, v.Str)
		}
		return true
	}
	mask(gjson.Result{}, gjson.Parse(arguments))
	return withoutTimes(text)
}

// withoutWord masks a number, or a string of one or two bytes. So short a string may be
// a word of the error's own, an "a" or an "is": it counts where it has a digit or stands
// in quotes.
func withoutWord(text, word string) string {
	var b strings.Builder
	hasDigit, kept := strings.ContainsFunc(word, unicode.IsDigit), 0
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			break
		}
		i, from = from+i, from+i+len(word)
		if before, after := text[:i], text[from:]; isApart(before, after) && (hasDigit || isQuoted(before, after)) {
			b.WriteString(text[kept:i])
			b.WriteString("…")
			kept = from
		}
	}
	b.WriteString(text[kept:])
	return b.String()
}

// isApart reports whether what stands between the two is a word or number by itself.
func isApart(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, size := utf8.DecodeRuneInString(after)
	second, _ := utf8.DecodeRuneInString(after[size:])
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
	return !inWord(last) && !inWord(first) && last != '.' && (first != '.' || !unicode.IsDigit(second)) // a fraction goes on
}

func isQuoted(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	return strings.ContainsRune("\"'`“‘«(", last) && strings.ContainsRune("\"'`”’»)", first)
}
