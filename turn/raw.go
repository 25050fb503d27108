package turn

import "errors"

// raw is a message's bytes as they go on the wire. It overrides a variant of the
// message union rather than the union itself: a union that is overridden has no
// role and no calls any more. A string, so that the typed fields share its memory.
type raw string

// MarshalJSON hands the bytes over unchanged.
func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// MessageJSON is a message's bytes as they go on the wire. Unlike json.Marshal
// it escapes no HTML. The bytes are the caller's.
func MessageJSON(m TranscriptMessage) ([]byte, error) {
	if r, ok := rawOf(m); ok {
		return []byte(r), nil
	}
	if Role(m) == "" {
		return nil, errors.New("the message is empty: it has no role")
	}
	return m.MarshalJSON()
}

// AppendMessage appends what [MessageJSON] returns, without a copy in between.
// After an error it returns dst as it was.
func AppendMessage(dst []byte, m TranscriptMessage) ([]byte, error) {
	if r, ok := rawOf(m); ok {
		return append(dst, r...), nil
	}
	data, err := MessageJSON(m)
	return append(dst, data...), err
}

// rawOf is the bytes that a message came with, if it came as JSON.
func rawOf(m TranscriptMessage) (raw, bool) {
	var v any
	switch {
	case m.OfAssistant != nil:
		v, _ = m.OfAssistant.Overrides()
	case m.OfTool != nil:
		v, _ = m.OfTool.Overrides()
	case m.OfUser != nil:
		v, _ = m.OfUser.Overrides()
	case m.OfSystem != nil:
		v, _ = m.OfSystem.Overrides()
	case m.OfDeveloper != nil:
		v, _ = m.OfDeveloper.Overrides()
	case m.OfFunction != nil:
		v, _ = m.OfFunction.Overrides()
	}
	r, ok := v.(raw)
	return r, ok
}
