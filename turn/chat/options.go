package chat

import (
	"context"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/pawl-dev/pawl/turn"
)

// Options is how to talk to one endpoint. The zero value suits most of them:
// streamed replies, messages sent back as they came, four retries. Of each limit
// zero is the default and a negative value is none.
//
// Headers, credentials, the address and the network are options of the service.
type Options struct {
	// Params holds what else goes into each request: temperature, MaxTokens or
	// MaxCompletionTokens, whichever the server knows, ParallelToolCalls,
	// ReasoningEffort, and by SetExtraFields whatever has no field of its own. Its
	// Model, Messages and Tools are not used. What makes sense only beside tools is
	// left out of a request without them.
	//
	// A ToolChoice that forces a call is sent until the messages hold the result of
	// one and is "auto" from then on, since a model that must call a tool each time
	// can never finish. KeepToolChoice sends it always.
	Params         openai.ChatCompletionNewParams
	KeepToolChoice bool

	// NoStream asks for each reply in one piece. A server that answers in the other
	// form than it was asked for is understood all the same.
	NoStream bool
	// NoStreamUsage leaves out the request for usage at the end of a stream, for a
	// server that refuses it.
	NoStreamUsage bool
	// Strict marks each function as strict. The schemas must then be such that the
	// server takes them so.
	Strict bool

	// Content is what stands for the content of an assistant message that only
	// calls tools.
	Content Content
	// Echo says whether the model's reasoning goes back to it.
	Echo Echo
	// OmitFields names further fields of assistant messages that are not sent
	// back, for a server that refuses what another one wrote.
	OmitFields []string
	// SendEmpty sends assistant messages that say and call nothing. They are left
	// out by default, since most servers refuse them.
	SendEmpty bool
	// DeclareTools declares the tools that the messages call in a request that has
	// no tools, such as the last word of a run, without their parameters. Some
	// gateways refuse messages with calls otherwise.
	DeclareTools bool

	// MaxRetries is how often a request is sent again after a connection error, a
	// status 408, 409, 429, 498 or 5xx, or a reply that did not end; 4 by default. A
	// used up quota and a context overflow are never tried again.
	MaxRetries int
	// Backoff is the most that is waited before the first retry, and doubles with
	// each; 500 ms by default. The wait is a random part of it.
	Backoff time.Duration
	// MaxWait bounds each wait; a minute by default. A server that asks for more in
	// Retry-After ends the call, and the error carries what it asked for.
	MaxWait time.Duration
	// RetryDelivered allows a retry also after OnDelta was told of something. Each
	// delta carries the number of its attempt.
	RetryDelivered bool

	// FirstToken bounds the time from sending a request to the first piece of the
	// reply that is not empty, or to the end of a reply that comes in one piece; 10
	// minutes by default.
	FirstToken time.Duration
	// Idle bounds the time between two events of a stream after that; 5 minutes by
	// default. Comments that keep the connection open are no events.
	Idle time.Duration

	// Price gives the cost of a request whose server reports usage and no cost; nil
	// when it has none either. It may be called from several goroutines.
	Price func(model string, u turn.Usage) *turn.Cost

	// OnDelta is told of each piece of a streamed reply, in order, with the context
	// of the call that it belongs to. It runs on a goroutine of its own and can
	// delay no reading: pieces that it is late for are joined. The call returns when
	// it has heard everything, unless it holds on to one piece for a second after
	// the end of the reply, or the context is done; it then hears no more. It is
	// never called concurrently. A panic in it reaches the caller of the TurnFn.
	OnDelta func(ctx context.Context, d Delta)
	// Observe is told of each attempt after it ended, on the goroutine of the call,
	// never concurrently.
	Observe func(ctx context.Context, r Report)
}

// Content is what to send for the content of an assistant message that has tool
// calls and no text: some servers refuse a null, others an empty string.
type Content int

const (
	ContentAsIs  Content = iota // what the server sent
	ContentNull                 // null
	ContentEmpty                // ""
	ContentNone                 // no such field
)

// Echo says what happens to the reasoning in assistant messages.
type Echo int

const (
	// EchoAsIs sends it back under the name that it came with.
	EchoAsIs Echo = iota
	// EchoNone leaves it out.
	EchoNone
	// EchoAlways sends reasoning_content with every assistant message, empty where
	// the model gave none.
	EchoAlways
)

// Kind is what a [Delta] adds to.
type Kind int

const (
	Text      Kind = iota // content
	Reasoning             // reasoning_content
	ToolCall              // a call's name or arguments
)

// Delta is one piece of a reply.
type Delta struct {
	Attempt int // 1 is the first; a higher number means that the reply began again
	Kind    Kind
	Text    string // valid UTF-8; of a tool call, a piece of its arguments
	// Index, ID and Name say which tool call it is. Index counts the calls of this
	// reply from 0, in the order in which they began; ID and Name are what is known
	// of it so far.
	Index    int
	ID, Name string
}

// Report is what there is to know of one attempt beside its result.
type Report struct {
	Attempt  int           // 1 is the first
	Err      error         // nil for a reply
	Retrying bool          // another attempt follows
	RetryIn  time.Duration // after this
	Waited   time.Duration // between the attempts of this call so far
	// Usage is what this attempt spent. The result of the call holds the sum over
	// its attempts.
	Usage           turn.Usage
	UsageReported   bool   // false when the server said nothing of usage
	ReasoningTokens *int64 // the part of the output that was reasoning; nil when not reported
	RequestID       string
}

const (
	defaultRetries    = 4
	defaultBackoff    = 500 * time.Millisecond
	defaultMaxWait    = time.Minute
	defaultFirstToken = 10 * time.Minute
	defaultIdle       = 5 * time.Minute
)

func (o Options) withDefaults() Options {
	limit(&o.MaxRetries, defaultRetries)
	limit(&o.Backoff, defaultBackoff)
	limit(&o.MaxWait, defaultMaxWait)
	limit(&o.FirstToken, defaultFirstToken)
	limit(&o.Idle, defaultIdle)
	o.Backoff = max(o.Backoff, 0)
	return o
}

func limit[T ~int | ~int64](v *T, zero T) {
	if *v == 0 {
		*v = zero
	}
}
