package turn

import (
	"encoding/json"
	"fmt"
)

// Transcript is a list of messages whose JSON is exact. It is assignable to and
// from a plain slice, whose own decoding would lose data.
type Transcript []TranscriptMessage

// MarshalJSON writes the messages with the bytes that they have on the wire.
// The nil transcript is an empty list.
func (t Transcript) MarshalJSON() ([]byte, error) {
	list := make([]json.RawMessage, len(t))
	for i, m := range t {
		data, err := storedMessage(m)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		list[i] = data
	}
	return json.Marshal(list)
}

// UnmarshalJSON reads each message as [ParseMessage] does.
func (t *Transcript) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	out := make(Transcript, len(list))
	for i, item := range list {
		text, err := unstored(item)
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if out[i], err = parse(text); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	*t = out
	return nil
}
