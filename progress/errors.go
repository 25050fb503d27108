package progress

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/pawl-dev/pawl/turn"
)

// wording is what a tool's error says, and a fingerprint of that.
type wording struct {
	text    string
	of      print
	without bool // without what the call was given
}

// wordings are the one or two ways in which an error may be the same as another: as
// it was said, but for times, and without what the call was given. The first counts
// too, since a value may stand in an error by chance: that the file has 3 lines is
// said of line 3 as of line 4.
func wordings(tool, text, arguments string) []wording {
	said := withoutTimes(text)
	same := []wording{{text: said, of: start.text(tool).text(said)}}
	if general, given := errorText(text, said, arguments); given != 0 {
		same = append(same, wording{general, start.text(tool).text(general).num(uint64(given)), true})
	}
	return same
}

// errorText is what an error says, without when it was said, how long it took and
// what it was said of: a tool that cannot find a.txt, and then cannot find b.txt,
// fails in one way. The print is of the names of the arguments that the error speaks
// of, 0 for none: an error of the first row and then of the second, under the same
// arguments, is not the same. Said is the text without times.
func errorText(text, said, arguments string) (without string, names print) {
	if object, err := turn.Arguments(arguments); err == nil {
		arguments = object
	}
	v := given{most: len(text), visits: 1000}
	v.add(gjson.Parse(arguments), start, 0)
	// The longest first, since one may be part of another: a folder of a path in it.
	texts := v.longestFirst()
	short := slices.IndexFunc(texts, func(s string) bool { return len(s) < 3 })
	if short < 0 {
		short = len(texts)
	}
	masked := text
	for _, s := range texts[:short] {
		if m := strings.ReplaceAll(masked, s, "…"); m != masked {
			masked, names = m, names+v.texts[s]
		}
	}
	if text = said; names != 0 { // before the numbers, which times are made of
		text = withoutTimes(masked)
	}
	for _, s := range texts[short:] {
		if m := withoutShort(text, s); m != text {
			text, names = m, names+v.texts[s]
		}
	}
	text, named := v.withoutNumbers(text)
	return text, names + named
}

// given are the values of a call's arguments by what is looked for in its error, each
// with a print of where in the arguments it stands.
type given struct {
	most    int // bytes of a text that can be in the error
	visits  int // values that are still looked at: arguments may be many
	texts   map[string]print
	numbers map[string]print
}

func (g *given) add(v gjson.Result, at print, depth int) {
	const deepest = 32 // each level is read again for the one above it
	if g.visits--; g.visits < 0 || depth > deepest {
		return
	}
	note := func(values *map[string]print, s string) {
		if *values == nil {
			*values = map[string]print{}
		}
		if first, ok := (*values)[s]; !ok || at < first { // whatever the order of names
			(*values)[s] = at
		}
	}
	switch {
	case v.IsObject() || v.IsArray():
		object, i := v.IsObject(), uint64(0)
		v.ForEach(func(key, value gjson.Result) bool {
			if i++; object {
				g.add(value, at.text(key.Str), depth+1)
			} else {
				g.add(value, at.num(i), depth+1)
			}
			return g.visits > 0
		})
	case v.Type == gjson.Number:
		note(&g.numbers, plainNumber(v.Raw))
	case v.Type == gjson.String && v.Str != "" && len(v.Str) <= g.most:
		note(&g.texts, v.Str)
		if quoted := strconv.Quote(v.Str); len(quoted) > len(v.Str)+2 {
			note(&g.texts, quoted[1:len(quoted)-1])
		}
	}
}

// longestFirst are the texts to look for. An error speaks of few, and each is looked
// for in all of it.
func (g *given) longestFirst() []string {
	texts := make([]string, 0, len(g.texts))
	for s := range g.texts {
		texts = append(texts, s)
	}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return texts[:min(len(texts), 32)]
}

// withoutNumbers masks the numbers that are equal to one that was given.
func (g *given) withoutNumbers(text string) (without string, names print) {
	if len(g.numbers) == 0 {
		return text, 0
	}
	var b strings.Builder
	kept, named := 0, map[print]bool{}
	for i := 0; i < len(text); {
		if !digit(text, i) {
			i++
			continue
		}
		from, end := i, numberEnd(text, i)
		at, ok := g.numbers[plainNumber(text[from:end])]
		if i > 0 && text[i-1] == '-' && (i == 1 || !digit(text, i-2)) { // a sign, and no range
			if below, is := g.numbers[plainNumber(text[i-1:end])]; is {
				from, at, ok = i-1, below, true
			}
		}
		if i = end; ok && isApart(text[:from], text[end:]) {
			b.WriteString(text[kept:from])
			b.WriteString("…")
			kept = end
			if !named[at] {
				named[at] = true
				names += at
			}
		}
	}
	b.WriteString(text[kept:])
	return b.String(), names
}

// numberEnd is where the number that begins with the digit at i ends.
func numberEnd(s string, i int) int {
	end := digits(s, i)
	if has(s, end, '.') && digit(s, end+1) {
		end = digits(s, end+1)
	}
	if has(s, end, 'e') || has(s, end, 'E') {
		power := end + 1
		if has(s, power, '+') || has(s, power, '-') {
			power++
		}
		if digit(s, power) {
			end = digits(s, power)
		}
	}
	return end
}

// withoutShort masks a text of one or two bytes. So short a text may be a word of the
// error's own, an "a" or an "is": it counts where it has a digit or stands in quotes.
func withoutShort(text, word string) string {
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
