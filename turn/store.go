package turn

import (
	"encoding/json"
	"strings"
)

// json.Marshal escapes <, >, & and the two line separators in whatever a
// MarshalJSON method returns, so a message that holds one of them would come
// back with other bytes, and a provider's prompt cache would miss. Reading undoes
// those five escapes. A message that already came with one of them escaped is
// stored as a JSON string of its bytes, since undoing would change it.

var (
	storedEscapes = []string{`\u003c`, `\u003e`, `\u0026`, `\u2028`, `\u2029`}
	unescaper     = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2028`, "\u2028", `\u2029`, "\u2029")
)

// storedMessage is a message as it can stand inside other JSON.
func storedMessage(m TranscriptMessage) (json.RawMessage, error) {
	data, err := MessageJSON(m)
	if err != nil {
		return nil, err
	}
	text := string(data)
	for _, e := range storedEscapes {
		if strings.Contains(text, e) {
			return json.Marshal(text)
		}
	}
	return data, nil
}

// unstored is the bytes that storedMessage was given.
func unstored(data json.RawMessage) (string, error) {
	if len(data) > 0 && data[0] == '"' {
		var text string
		err := json.Unmarshal(data, &text)
		return text, err
	}
	return unescaper.Replace(string(data)), nil
}
