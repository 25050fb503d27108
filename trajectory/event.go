package trajectory

import (
	"encoding/json"
	"time"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/turn"
)

// Event is one entry of a run: what happened, when, and in which run. Its form in JSON
// is that of a session's line, which [Writer] writes and [Reader] reads: encoding/json
// knows nothing of it.
type Event struct {
	// At is the loop's clock, not the recorder's.
	At time.Time
	// Agent is "" for the run itself. A child run carries the turn and the id of
	// the call that started it, "3.call_x"; a child's child has both,
	// "3.call_x/1.call_y".
	Agent string
	Body  Body
}

// Body is what happened: one of the entry types of this package. The set is closed.
type Body interface {
	// Type is the entry's name in a session file.
	Type() string
	body()
}

// RunStart begins a run. It carries all messages that the run was given and the
// record did not hold yet, so that a cut never leaves half a question.
type RunStart struct {
	Title     string // names the session while there is no [Title] entry; the latest run's wins
	Cwd       string
	Continued bool
	Messages  turn.Transcript
}

// RunEnd is the last entry of a run. Reason is "" when a failure ended it. Failure is
// the class of what ended it, as the loop classifies it: of a failure, and beside the
// Reason of a deadline and of an abort too. Cause says more in words, and may be empty.
type RunEnd struct {
	Reason  turn.StopReason `json:"reason,omitempty"`
	Failure string          `json:"failure,omitempty"`
	Cause   string          `json:"cause,omitempty"`
	// Shutdown: the run was aborted because its process ends, and another goes on.
	Shutdown bool `json:"shutdown,omitempty"`
}

// Message is one message that joined the transcript. A reply of the model carries
// its Turn on the same line; for any other message Turn is nil.
type Message struct {
	Message turn.TranscriptMessage
	Turn    *Turn
}

// Turn is what is known of the model call that gave a reply.
type Turn struct {
	Usage   turn.Usage
	Timings turn.Timings
	Finish  string
	Model   string
	// Number is the reply's, as the entries of its calls give it: 1 is the run's first.
	// It is what keeps them together where a damaged record has lost a reply. 0 is one
	// more than the reply before.
	Number int
	// Auxiliary: the reply is no turn of the work, but a last word that a limit
	// asked for. Its spend is auxiliary.
	Auxiliary bool
}

// CallStart says that a call is about to run. It is recorded before the tool
// runs, so a call without one had no effects.
type CallStart struct {
	turn.Call
	Turn  int // of the reply that made the call: 1 is the run's first
	Kind  Kind
	Polls bool // asking the same again is this tool's job
	// Identity is what makes two calls of the tool the same to whoever looks for a
	// run that repeats itself: "job 17", whatever cursor the arguments carry. "" is the
	// arguments. Calls that poll are compared only where they have an Identity.
	Identity string
	// ReplaySafe: the tool says that running the call twice does no harm.
	ReplaySafe bool
	// Again: it had started before, and then waited or lost its process.
	Again bool
	// Approved: a person approved these arguments. Reply is what resumed the call.
	Approved bool
	Reply    *Reply
}

// CallEnd is the outcome of a call, and the message that tells the model of it:
// they are one entry, so a cut cannot part them.
type CallEnd struct {
	turn.Call
	Turn     int
	Status   Status
	Message  turn.TranscriptMessage // what the model reads, of a failure what the error said
	Duration time.Duration          // since its last start; what came before stands in its Suspends
	Paths    []string               // what the call touched, as the tool says
	Children stats.RunStats         // of all child runs since the call first started
	Agents   int                    // how many child runs there were
	Stack    string                 // of a panic, for the host
	Full     string                 // the whole output, where Message holds a part of it
}

// Suspend says that a call waits and keeps its place in the transcript.
type Suspend struct {
	turn.Call
	Turn int
	Suspension
	Duration time.Duration  // that the tool ran before it suspended
	Children stats.RunStats // of its child runs so far
	Agents   int
}

// PlanChange is the plan as it now stands, always whole.
type PlanChange struct{ Plan plan.Plan }

// Spend is a model call that was no turn.
type Spend struct{ stats.AuxiliarySpend }

// Compact says that Head now stands in place of the first Drop messages. With
// Failed, the reason why compacting came to nothing, it changed nothing; its Spend
// counts all the same.
type Compact struct {
	Head turn.Transcript
	Drop int
	// Of is how many messages there were, so that those behind Drop are kept where a
	// damaged record has lost some before it; 0 where nobody counted.
	Of     int
	Spend  stats.AuxiliarySpend
	Failed string
}

// Title names the session. The latest wins over the titles of runs and of the header.
type Title struct{ Title string }

// Custom is a host's or a tool's own entry. Its Name has the form
// "x.<vendor>.<name>", in ASCII that needs no escape in JSON; [Custom.Check] says
// whether it can be written.
type Custom struct {
	Name string
	Data json.RawMessage
}

func (RunStart) Type() string   { return "run.start" }
func (RunEnd) Type() string     { return "run.end" }
func (Message) Type() string    { return "message" }
func (CallStart) Type() string  { return "call.start" }
func (CallEnd) Type() string    { return "call.end" }
func (Suspend) Type() string    { return "suspend" }
func (PlanChange) Type() string { return "plan" }
func (Spend) Type() string      { return "spend" }
func (Compact) Type() string    { return "compact" }
func (Title) Type() string      { return "title" }

// Type is the name that the entry was given.
func (c Custom) Type() string { return c.Name }

func (RunStart) body()   {}
func (RunEnd) body()     {}
func (Message) body()    {}
func (CallStart) body()  {}
func (CallEnd) body()    {}
func (Suspend) body()    {}
func (PlanChange) body() {}
func (Spend) body()      {}
func (Compact) body()    {}
func (Title) body()      {}
func (Custom) body()     {}

// Kind is what sort of thing a tool does, in the terms of the Agent Client
// Protocol; "" when the tool does not say.
type Kind string

const (
	KindRead    Kind = "read"
	KindEdit    Kind = "edit"
	KindDelete  Kind = "delete"
	KindMove    Kind = "move"
	KindSearch  Kind = "search"
	KindExecute Kind = "execute"
	KindThink   Kind = "think"
	KindFetch   Kind = "fetch"
	KindOther   Kind = "other"
)

// Status is how a call ended.
type Status string

const (
	OK           Status = "ok"
	Failed       Status = "failed"        // the tool returned an error, panicked or timed out
	CutOff       Status = "cut_off"       // it was running when the run stopped: effects unknown
	Unknown      Status = "unknown"       // the process that ran it died: effects unknown
	NotStarted   Status = "not_started"   // the run stopped first
	UnknownTool  Status = "unknown_tool"  // there is no such tool
	BadArguments Status = "bad_arguments" // they are no JSON object, or not what the schema asks
	Denied       Status = "denied"        // a person said no
	Refused      Status = "refused"       // the reply that held it was cut, or repeated its id
)

// Wait is what a suspended call waits for.
type Wait string

const (
	ForReply    Wait = "reply"    // a person's answer
	ForApproval Wait = "approval" // a person's yes or no to its arguments
	ForTime     Wait = "time"     // a given time
)

// Suspension is why a call waits.
type Suspension struct {
	For      Wait            `json:"for"`
	Question string          `json:"question,omitempty"` // or, for a time, the reason
	Until    time.Time       `json:"until,omitzero"`     // for a time
	Saved    json.RawMessage `json:"saved,omitempty"`    // what the tool needs to go on
	Child    *Child          `json:"child,omitempty"`    // the child run that waits, for which every reply is, a denial too
}

// Reply is what ends a suspension.
type Reply struct {
	Kind ReplyKind `json:"kind"`
	Text string    `json:"text,omitempty"`
	// Ticket says which pause is meant, as [OpenCall.Ticket] gives it; "" is the one
	// that the call is in.
	Ticket string `json:"ticket,omitempty"`
}

// ReplyKind is the sort of a [Reply].
type ReplyKind string

const (
	ReplyAnswer  ReplyKind = "answer"
	ReplyApprove ReplyKind = "approve"
	ReplyDeny    ReplyKind = "deny"
	ReplyDue     ReplyKind = "due" // the time came; the loop's own
)
