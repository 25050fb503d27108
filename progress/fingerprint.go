package progress

import (
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/pawl-dev/pawl/turn"
)

// print is a fingerprint. It depends on nothing but what it is of, so a watch
// that is given the same entries again comes to the same one.
type print uint64

const start print = 14695981039346656037

// text takes eight bytes at a time: results are long, and there are many.
func (h print) text(s string) print {
	length := uint64(len(s))
	for ; len(s) >= 8; s = s[8:] {
		h = (h ^ print(uint64(s[0])|uint64(s[1])<<8|uint64(s[2])<<16|uint64(s[3])<<24|
			uint64(s[4])<<32|uint64(s[5])<<40|uint64(s[6])<<48|uint64(s[7])<<56)) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	for i := range len(s) {
		h = (h ^ print(s[i])) * 1099511628211
	}
	return h.num(length)
}

// num mixes well enough that fingerprints may be added up to one of a set.
func (h print) num(n uint64) print {
	x := uint64(h) ^ n
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return print(x ^ x>>33)
}

// ofArguments is the same for any two spellings of the same JSON: white space,
// the order of names, 1 and 1.0, an object encoded twice. Arguments that are no
// JSON object stand for their text.
func ofArguments(arguments string) print {
	object, err := turn.Arguments(arguments)
	if err != nil {
		return start.text(strings.TrimSpace(arguments))
	}
	return ofValue(gjson.Parse(object))
}

func ofValue(v gjson.Result) print {
	switch v.Type {
	case gjson.String:
		return start.num('s').text(v.Str)
	case gjson.Number:
		return start.num('n').text(plainNumber(v.Raw))
	case gjson.JSON:
		object := v.IsObject()
		var members print
		list := start.num('[')
		v.ForEach(func(key, value gjson.Result) bool {
			if object {
				members += start.text(key.Str).num(uint64(ofValue(value))) // a sum has no order
			} else {
				list = list.num(uint64(ofValue(value)))
			}
			return true
		})
		if object {
			return start.num('{').num(uint64(members))
		}
		return list
	}
	return start.text(v.Raw) // true, false, null
}

// plainNumber is the same for 1, 1.0 and 1e0. A whole number written out is taken
// digit by digit, since a float would make two large ids equal.
func plainNumber(raw string) string {
	if !strings.ContainsAny(raw, ".eE") {
		return raw
	}
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return raw
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
