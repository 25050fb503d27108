package chat

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/turn"
	"github.com/tidwall/gjson"
)

// held is the end of a piece of text that stops in the middle of a character. It
// waits for the next piece, so that each piece that the host sees is whole.
type held string

// take gives what can be shown of a piece, the inside of a JSON string.
func (h *held) take(inside string) string {
	if *h != "" {
		inside = string(*h) + inside
	}
	n := wholeCharacters(inside)
	*h = held(inside[n:])
	return readable(inside[:n])
}

func readable(inside string) string {
	text := inside
	if strings.IndexByte(inside, '\\') >= 0 {
		text = gjson.Parse(string(mendSurrogates([]byte(`"` + inside + `"`)))).Str
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// wholeCharacters is how much of the inside of a JSON string can be shown.
func wholeCharacters(s string) int {
	if n := len(s); n >= 6 {
		if unit, ok := escapedUnit(s[n-6:]); ok && unit >= 0xD800 && unit < 0xDC00 && !strings.HasSuffix(s[:n-6], `\`) {
			return n - 6
		}
	}
	for n := 1; n <= 3 && n <= len(s); n++ {
		if tail := s[len(s)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				return len(s) - n
			}
			break
		}
	}
	return len(s)
}

// mendSurrogates replaces half characters in the escapes of a JSON text. A strict
// parser refuses them, and with them every later request of the conversation.
func mendSurrogates(text []byte) []byte {
	if !bytes.Contains(text, []byte(`\ud`)) && !bytes.Contains(text, []byte(`\uD`)) {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		if text[i] != '\\' || i+1 >= len(text) {
			out = append(out, text[i])
			i++
			continue
		}
		n := 2
		if r, ok := escapedUnit(text[i:]); ok {
			n = 6
			if utf16.IsSurrogate(r) {
				if low, ok := escapedUnit(text[i+6:]); ok && utf16.DecodeRune(r, low) != '\uFFFD' {
					n = 12
				} else {
					out = append(out, `\ufffd`...)
					i += 6
					continue
				}
			}
		}
		out = append(out, text[i:i+n]...)
		i += n
	}
	return out
}

// escapedUnit reads a \uXXXX at the start of text.
func escapedUnit[T string | []byte](text T) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}

// parseJSON reads what a server sent. It also bounds the nesting, since parsers call
// themselves for each level, and a stack that overflows ends the process.
func parseJSON(data []byte) (v gjson.Result, ok bool) {
	text := string(data)
	if turn.ValidJSON(text) != nil {
		return gjson.Result{}, false
	}
	return gjson.Parse(text), true
}
