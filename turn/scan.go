package turn

import (
	"strings"
	"unicode/utf8"
)

// What is read here was checked: it may trust that a text is valid JSON without white
// space, and jumps from quote to quote.

// eachField goes over the fields of an object in valid JSON without white space;
// each value is its raw text. Anything else has no fields.
func eachField(text string, field func(key, value string)) {
	if len(text) == 0 || text[0] != '{' {
		return
	}
	for i := 1; text[i] == '"'; {
		end := endOfString(text, i)
		key := text[i+1 : end]
		if strings.IndexByte(key, '\\') >= 0 {
			key = unquote(text[i : end+1])
		}
		from := end + 2
		end = endOfValue(text, from)
		field(key, text[from:end])
		i = end + 1
		if text[end] == '}' {
			return
		}
	}
}

// eachItem goes over the items of an array, as eachField over an object.
func eachItem(text string, item func(value string)) {
	if len(text) == 0 || text[0] != '[' || text[1] == ']' {
		return
	}
	for i := 1; ; {
		end := endOfValue(text, i)
		item(text[i:end])
		if text[end] == ']' {
			return
		}
		i = end + 1
	}
}

// endOfValue is the index behind the value at i.
func endOfValue(text string, i int) int {
	level := 0
	for ; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = endOfString(text, i)
		case '{', '[':
			level++
		case '}', ']':
			if level == 0 {
				return i
			}
			level--
		case ',':
			if level == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if level == 0 {
			return i + 1
		}
	}
	return i
}

// endOfString is the index of the quote that closes the string opened at i.
func endOfString(text string, i int) int {
	for {
		n := strings.IndexByte(text[i+1:], '"')
		if n < 0 {
			return len(text)
		}
		i += 1 + n
		slashes := 0
		for text[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
}

// unquote is what a valid JSON string says; a string without escapes shares the
// memory of text. Half a surrogate pair becomes U+FFFD. For anything but a string
// it is "".
func unquote(text string) string {
	if len(text) < 2 || text[0] != '"' {
		return ""
	}
	text = text[1 : len(text)-1]
	i := strings.IndexByte(text, '\\')
	if i < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for ; i < len(text); i = nextEscape(text) {
		b.WriteString(text[:i])
		if plain := escapes[text[i+1]]; plain != 0 {
			b.WriteByte(plain)
			text = text[i+2:]
			continue
		}
		var r rune
		r, text = unescapeRune(text[i+1:])
		b.WriteRune(r)
	}
	b.WriteString(text)
	return b.String()
}

// nextEscape is the index of the next backslash, or the length of text. In source
// code one follows the other so closely that calling IndexByte costs more than
// looking.
func nextEscape(text string) int {
	near := min(len(text), 16)
	for i := range near {
		if text[i] == '\\' {
			return i
		}
	}
	if i := strings.IndexByte(text[near:], '\\'); i >= 0 {
		return near + i
	}
	return len(text)
}

// escapes are the bytes that stand for another one behind a backslash.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescapeRune reads uXXXX, and the second half of a pair.
func unescapeRune(text string) (r rune, rest string) {
	r, _ = hex4(text, 1)
	text = text[5:]
	if r < 0xD800 || r > 0xDFFF {
		return r, text
	}
	if strings.HasPrefix(text, `\u`) {
		if low, _ := hex4(text, 2); r < 0xDC00 && low >= 0xDC00 && low <= 0xDFFF {
			return (r-0xD800)<<10 + (low - 0xDC00) + 0x10000, text[6:]
		}
	}
	return utf8.RuneError, text
}

// hex4 is the value of the four hexadecimal digits at i.
func hex4(text string, i int) (r rune, ok bool) {
	if i+4 > len(text) {
		return 0, false
	}
	for _, b := range []byte(text[i : i+4]) {
		switch {
		case b >= '0' && b <= '9':
			b -= '0'
		case b >= 'a' && b <= 'f':
			b -= 'a' - 10
		case b >= 'A' && b <= 'F':
			b -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(b)
	}
	return r, true
}
