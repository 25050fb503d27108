package turn

import (
	"encoding/json"
	"time"
)

// Usage is what one model call spent, as its provider reports it.
type Usage struct {
	// InputTokens counts the whole prompt, cached tokens included.
	InputTokens int64 `json:"inputTokens"`
	// OutputTokens counts everything produced, reasoning included.
	OutputTokens int64 `json:"outputTokens"`
	// CachedInputTokens is the part of InputTokens that a cache served; nil when
	// the provider does not report it.
	CachedInputTokens *int64 `json:"cachedInputTokens"`
	// Cost is the price of the call; nil when nobody could price it.
	Cost *Cost `json:"costCents"`
}

// IsZero reports whether nothing at all is known to have been spent.
func (u Usage) IsZero() bool { return u == Usage{} }

// Timings are the latencies of one model call. Both clocks start when the
// [TurnFn] is called, and retries and waits count. So output tokens divided by
// Generation is the end-to-end rate that a user waits for, not the server's decoding
// speed. The definition is that of speedStats in StirrupJS, another agent library,
// and figures of the two can be compared.
type Timings struct {
	// TTFT is the time to the first piece of content, reasoning or tool call that
	// is not empty; nil when the reply was not streamed.
	TTFT *time.Duration
	// Generation is the time to the completed response. The loop fills in what it
	// measured when a TurnFn leaves it zero.
	Generation time.Duration
}

type timingsJSON struct {
	TTFT       *Milliseconds `json:"ttftMs"`
	Generation Milliseconds  `json:"generationMs"`
}

// MarshalJSON writes decimal milliseconds, ttftMs as null when unknown.
func (t Timings) MarshalJSON() ([]byte, error) {
	return json.Marshal(timingsJSON{(*Milliseconds)(t.TTFT), Milliseconds(t.Generation)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *Timings) UnmarshalJSON(data []byte) error {
	var j timingsJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*t = Timings{(*time.Duration)(j.TTFT), time.Duration(j.Generation)}
	return nil
}
