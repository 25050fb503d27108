package turn

import "fmt"

// Fault is a way in which calls and results do not pair.
type Fault string

const (
	// OrphanResult: a tool message that answers no call of the assistant message before it.
	OrphanResult Fault = "orphan result"
	// RepeatedResult: a second tool message for a call that has one.
	RepeatedResult Fault = "repeated result"
	// UnansweredCall: a call whose results ended without one for it.
	UnansweredCall Fault = "unanswered call"
	// InterveningMessage: a message between a call and its result.
	InterveningMessage Fault = "message between a call and its result"
	// RepeatedID: two calls of one assistant message share an id.
	RepeatedID Fault = "repeated call id"
	// MissingID: a call has no id.
	MissingID Fault = "call without an id"
	// NoRole: a message is empty.
	NoRole Fault = "message without a role"
)

// PairingError is the first fault of a transcript.
type PairingError struct {
	Index  int // of the message where the fault shows
	Fault  Fault
	CallID string // "" where no call is meant
}

// Error says where the fault is, and of which call.
func (e *PairingError) Error() string {
	if e.CallID == "" {
		return fmt.Sprintf("message %d: %s", e.Index, e.Fault)
	}
	return fmt.Sprintf("message %d: %s (call %q)", e.Index, e.Fault, e.CallID)
}

// Check reports the first fault in how calls and results pair, as a
// *[PairingError], or nil. Calls that are open at the end are no fault: see
// [OpenCalls].
func Check(messages []TranscriptMessage) error {
	var batch pairs
	for i, m := range messages {
		switch role := Role(m); role {
		case "":
			return &PairingError{i, NoRole, ""}
		case "tool":
			if fault := batch.answer(m.OfTool.ToolCallID); fault != "" {
				return &PairingError{i, fault, m.OfTool.ToolCallID}
			}
		default:
			if open := batch.open(); len(open) > 0 {
				id := open[0].ID
				if answeredLater(messages[i:], id) {
					return &PairingError{i, InterveningMessage, id}
				}
				return &PairingError{i, UnansweredCall, id}
			}
			batch.reset(m)
			if fault, id := batch.fault(); fault != "" {
				return &PairingError{i, fault, id}
			}
		}
	}
	return nil
}

// answeredLater looks for the result of a call behind the messages that stand in
// its way, up to the next assistant message with calls.
func answeredLater(messages []TranscriptMessage, id string) bool {
	for _, m := range messages {
		if m.OfTool != nil && m.OfTool.ToolCallID == id {
			return true
		}
		if m.OfAssistant != nil && len(m.OfAssistant.ToolCalls) > 0 {
			return false
		}
	}
	return false
}

// OpenCalls are the calls at the end of a transcript that have no result yet, in
// call order; nil when there are none, or when another message stands after them.
func OpenCalls(messages []TranscriptMessage) []Call {
	batch, _ := lastBatch(messages)
	return batch.open()
}

// lastBatch is the batch that the transcript ends in, and where its results begin.
func lastBatch(messages []TranscriptMessage) (batch pairs, results int) {
	i := len(messages)
	for i > 0 && messages[i-1].OfTool != nil {
		i--
	}
	if i == 0 || messages[i-1].OfAssistant == nil {
		return pairs{}, len(messages)
	}
	batch.reset(messages[i-1])
	for _, m := range messages[i:] {
		batch.answer(m.OfTool.ToolCallID)
	}
	return batch, i
}

// Close answers the calls that are open at the end, each with what text returns
// for it. Results that exist are kept, and all stand in call order. The messages
// given are not written to; without open calls they are returned as they are.
func Close(messages []TranscriptMessage, text func(Call) string) []TranscriptMessage {
	batch, results := lastBatch(messages)
	if len(batch.open()) == 0 {
		return messages
	}
	have := make(map[string]TranscriptMessage, len(batch.calls))
	for _, m := range messages[results:] {
		have[m.OfTool.ToolCallID] = m
	}
	out := make([]TranscriptMessage, results, results+len(batch.calls))
	copy(out, messages)
	for _, c := range batch.calls {
		m, ok := have[c.ID]
		if !ok {
			m = ToolResult(c.ID, text(c))
		}
		out = append(out, m)
	}
	return out
}

// pairs is one assistant message's calls, and which of them have a result.
type pairs struct {
	calls    []Call
	answered []bool
	index    map[string]int
}

func (p *pairs) reset(m TranscriptMessage) {
	*p = pairs{calls: Calls(m)}
	if len(p.calls) == 0 {
		return
	}
	p.answered = make([]bool, len(p.calls))
	if len(p.calls) > 8 {
		p.index = make(map[string]int, len(p.calls))
		for i := len(p.calls) - 1; i >= 0; i-- {
			p.index[p.calls[i].ID] = i
		}
	}
}

func (p *pairs) find(id string) int {
	if p.index != nil {
		if i, ok := p.index[id]; ok {
			return i
		}
		return -1
	}
	for i, c := range p.calls {
		if c.ID == id {
			return i
		}
	}
	return -1
}

func (p *pairs) fault() (Fault, string) {
	for i, c := range p.calls {
		if c.ID == "" {
			return MissingID, ""
		}
		if p.find(c.ID) != i {
			return RepeatedID, c.ID
		}
	}
	return "", ""
}

func (p *pairs) answer(id string) Fault {
	i := p.find(id)
	if i < 0 {
		return OrphanResult
	}
	if p.answered[i] {
		return RepeatedResult
	}
	p.answered[i] = true
	return ""
}

func (p *pairs) open() []Call {
	var open []Call
	for i, c := range p.calls {
		if !p.answered[i] {
			open = append(open, c)
		}
	}
	return open
}
