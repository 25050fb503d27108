package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// invalidKey is the one name in the object that stands for arguments that were no JSON.
const invalidKey = "_invalid_arguments"

// InvalidArguments is the text that a model wrote as arguments, where it was no
// JSON and [ReplayForm] had to put an object in its place.
func InvalidArguments(arguments string) (text string, ok bool) {
	if !strings.HasPrefix(arguments, `{"`+invalidKey+`":"`) {
		return "", false
	}
	return gjson.Get(arguments, invalidKey).Str, true
}

// Arguments is a call's arguments as the one JSON object that a tool, an approval
// and a log all read the same way. Nothing at all ("", white space, null) is {},
// and an object encoded twice is unwrapped once. The error says, for a model to
// read, why there is no such object: invalid JSON and where, another kind of
// value, or a name that stands twice, which two readers may take differently.
func Arguments(arguments string) (string, error) {
	text := strings.TrimSpace(validUTF8(arguments))
	if written, ok := InvalidArguments(text); ok {
		text = strings.TrimSpace(written)
	}
	if text == "" || text == "null" {
		return "{}", nil
	}
	c := checker{text: text}
	if err := c.check(); err != nil {
		return "", err
	}
	if text[0] == '"' {
		inner := checker{text: strings.TrimSpace(decoded(gjson.Parse(text)))}
		if strings.HasPrefix(inner.text, "{") && inner.check() == nil {
			c, text = inner, inner.text
		}
	}
	if text[0] != '{' {
		return "", errors.New("the arguments are no JSON object")
	}
	if !c.twins {
		return text, nil
	}
	if name, twice := repeatedName(gjson.Parse(text)); twice {
		return "", fmt.Errorf("the name %q stands twice in one object", name)
	}
	return text, nil
}

// repeatedName looks through an object and everything inside it.
func repeatedName(v gjson.Result) (name string, found bool) {
	var few [16]string
	seen, many := few[:0], map[string]bool(nil)
	isObject := v.IsObject()
	v.ForEach(func(key, value gjson.Result) bool {
		if isObject {
			name = decoded(key)
			if found = many[name] || slices.Contains(seen, name); found {
				return false
			}
			if len(seen) < len(few) {
				seen = append(seen, name)
			} else if many == nil {
				many = map[string]bool{name: true}
			} else {
				many[name] = true
			}
		}
		if value.Type == gjson.JSON {
			name, found = repeatedName(value)
		}
		return !found
	})
	return name, found
}

// decoded is a JSON string as encoding/json reads it. gjson, at half of a
// surrogate pair, takes the escape that follows with it.
func decoded(v gjson.Result) string {
	if !strings.Contains(v.Raw, `\ud`) && !strings.Contains(v.Raw, `\uD`) {
		return v.Str
	}
	var s string
	if json.Unmarshal([]byte(v.Raw), &s) != nil {
		return v.Str
	}
	return s
}
