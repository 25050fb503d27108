package turn

import (
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// A session of a gigabyte is read through this file, so it looks at each byte as
// seldom as it can: one pass checks a text, and what comes after it may trust that
// it is valid JSON without white space, and jumps from quote to quote.

// maxDepth bounds the nesting that is read at all. A validator that calls itself
// for each level would otherwise let a few megabytes of brackets end the process.
const maxDepth = 500

var errTooDeep = fmt.Errorf("the JSON is nested deeper than %d", maxDepth)

// checker walks over JSON text. Its methods take the index where something begins
// and return the index behind it, or -1 where it is not what it should be.
type checker struct {
	text         string
	spaced, deep bool
}

// check reports whether text is one JSON value, and if it has white space between
// its tokens.
func check(text string) (spaced bool, err error) {
	c := checker{text: text}
	if i := c.value(c.space(0), 0); i >= 0 && c.space(i) == len(text) {
		return c.spaced, nil
	}
	if c.deep {
		return false, errTooDeep
	}
	return false, syntaxError(text)
}

func (c *checker) space(i int) int {
	for i < len(c.text) && (c.text[i] == ' ' || c.text[i] == '\t' || c.text[i] == '\n' || c.text[i] == '\r') {
		c.spaced = true
		i++
	}
	return i
}

func (c *checker) value(i, depth int) int {
	if i >= len(c.text) {
		return -1
	}
	switch c.text[i] {
	case '"':
		return c.string(i)
	case '{', '[':
		if depth == maxDepth {
			c.deep = true
			return -1
		}
		return c.composite(i, depth+1)
	case 't':
		return c.word(i, "true")
	case 'f':
		return c.word(i, "false")
	case 'n':
		return c.word(i, "null")
	}
	return c.number(i)
}

// composite is an object or an array.
func (c *checker) composite(i, depth int) int {
	object := c.text[i] == '{'
	end := c.text[i] + 2 // of both brackets
	i = c.space(i + 1)
	if i < len(c.text) && c.text[i] == end {
		return i + 1
	}
	for i < len(c.text) {
		if object {
			if c.text[i] != '"' {
				return -1
			}
			if i = c.string(i); i < 0 {
				return -1
			}
			if i = c.space(i); i >= len(c.text) || c.text[i] != ':' {
				return -1
			}
			i = c.space(i + 1)
		}
		if i = c.value(i, depth); i < 0 {
			return -1
		}
		if i = c.space(i); i >= len(c.text) {
			return -1
		}
		switch c.text[i] {
		case end:
			return i + 1
		case ',':
			i = c.space(i + 1)
		default:
			return -1
		}
	}
	return -1
}

func (c *checker) word(i int, word string) int {
	if strings.HasPrefix(c.text[i:], word) {
		return i + len(word)
	}
	return -1
}

func (c *checker) number(i int) int {
	if i < len(c.text) && c.text[i] == '-' {
		i++
	}
	if i < len(c.text) && c.text[i] == '0' {
		i++
	} else if i = c.digits(i); i < 0 {
		return -1
	}
	if i < len(c.text) && c.text[i] == '.' {
		if i = c.digits(i + 1); i < 0 {
			return -1
		}
	}
	if i < len(c.text) && (c.text[i] == 'e' || c.text[i] == 'E') {
		i++
		if i < len(c.text) && (c.text[i] == '+' || c.text[i] == '-') {
			i++
		}
		i = c.digits(i)
	}
	return i
}

func (c *checker) digits(i int) int {
	from := i
	for i < len(c.text) && c.text[i] >= '0' && c.text[i] <= '9' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

func (c *checker) string(i int) int {
	text := c.text
	for i++; ; {
		if i = plain(text, i); i == len(text) {
			return -1
		}
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			if i = c.escape(i + 1); i < 0 {
				return -1
			}
		default:
			return -1
		}
	}
}

// plain is the index of the first quote, backslash or control character from i on,
// or the length of text. It takes eight bytes at a time.
func plain(text string, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(text); i += 8 {
		t := text[i : i+8]
		w := uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 |
			uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		if found := ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*0x20)&^w) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(text) && text[i] != '"' && text[i] != '\\' && text[i] >= 0x20 {
		i++
	}
	return i
}

func (c *checker) escape(i int) int {
	if i >= len(c.text) {
		return -1
	}
	if escapes[c.text[i]] != 0 {
		return i + 1
	}
	if _, ok := hex4(c.text, i+1); ok && c.text[i] == 'u' {
		return i + 5
	}
	return -1
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
