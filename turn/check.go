package turn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// A session of a gigabyte is read through this file and scan.go, so each byte is looked
// at as seldom as it can be: one pass checks a text, and the scan trusts it.

// ValidJSON says why text is not one JSON value, and where; nil when it is. Text
// that is nested deeper than 500 is not, so whoever reads it next may recurse.
func ValidJSON(text string) error {
	_, err := check(text)
	return err
}

// canonical checks that text is a JSON object and takes out what may differ
// between two encodings of the same message: white space between tokens and
// bytes that are no UTF-8. Nothing inside a string is touched.
func canonical(text string) (string, error) {
	text = validUTF8(text)
	spaced, err := check(text)
	if err != nil {
		return "", err
	}
	if spaced {
		var b bytes.Buffer
		if err := json.Compact(&b, []byte(text)); err != nil {
			return "", err
		}
		text = b.String()
	}
	if text[0] != '{' {
		return "", fmt.Errorf("not a JSON object: %.20q", text)
	}
	return text, nil
}

func validUTF8(s string) string {
	if utf8.ValidString(s) { // much the faster look
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// syntaxError has encoding/json say where the fault is.
func syntaxError(text string) error {
	var v any
	err := json.Unmarshal([]byte(text), &v)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("invalid JSON at byte %d: %w", syntax.Offset, err)
	}
	return errors.New("invalid JSON")
}

// maxDepth bounds the nesting that is read at all. A validator that calls itself
// for each level would otherwise let a few megabytes of brackets end the process.
const maxDepth = 500

var errTooDeep = fmt.Errorf("the JSON is nested deeper than %d", maxDepth)

// checker walks over JSON text. Its methods take the index where something begins
// and return the index behind it, or -1 where it is not what it should be.
type checker struct {
	text         string
	spaced, deep bool
	twins        bool // two names of an object may be the same: their marks are, or one is escaped
}

// check reports whether text is one JSON value, and if it has white space between
// its tokens.
func check(text string) (spaced bool, err error) {
	c := checker{text: text}
	err = c.check()
	return c.spaced && err == nil, err
}

func (c *checker) check() error {
	switch i := c.value(c.space(0), 0); {
	case i >= 0 && c.space(i) == len(c.text):
		return nil
	case c.deep:
		return errTooDeep
	}
	return syntaxError(c.text)
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
	object, marks := c.text[i] == '{', uint64(0)
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
			name := i
			if i = c.string(i); i < 0 {
				return -1
			}
			mark := markOf(c.text[name:i])
			c.twins = c.twins || mark == 0 || marks&mark != 0
			marks |= mark
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

// markOf is one bit for a name with its quotes, the same for the same name; 0 for one
// with an escape, which may stand for any other.
func markOf(name string) uint64 {
	if strings.IndexByte(name, '\\') >= 0 {
		return 0
	}
	n := len(name)
	return 1 << ((uint(n) + uint(name[n/2])*5 + uint(name[min(1, n-1)])*11) % 64)
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
