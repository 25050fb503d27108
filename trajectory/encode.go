package trajectory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/turn"
)

// line is one entry under construction. The message comes last in its line: a
// reader then has to look at its bytes only once.
type line struct {
	data []byte
	err  error
}

func (l *line) begin(kind string, seq int64) {
	l.data = append(append(l.data, `{"t":`...), '"')
	l.data = append(append(l.data, kind...), `","seq":`...)
	l.data = strconv.AppendInt(l.data, seq, 10)
}

// readable writes an entry, and refuses what a reader would pass over: a host that
// is told so can still do something about it.
func (l *line) readable(seq int64, e Event) {
	const most = DefaultMaxLine + 1 // with its line feed
	l.event(seq, e)
	if b, ok := e.Body.(CallEnd); ok && b.Full != "" && len(l.data) > most {
		b.Full = ""
		l.data = l.data[:0]
		l.event(seq, Event{e.At, e.Agent, b})
	}
	switch e.Body.(type) {
	case Message, CallStart, CallEnd: // a message is checked when it is made
	default:
		l.check()
	}
	if len(l.data) > most {
		l.fail(fmt.Errorf("the entry has %d bytes, more than %d", len(l.data)-1, DefaultMaxLine))
	}
}

// check is for lines that may hold JSON of others, nested too deep.
func (l *line) check() {
	if l.err == nil {
		l.err = turn.ValidJSON(string(l.data))
	}
}

func (l *line) event(seq int64, e Event) {
	l.begin(e.Body.Type(), seq)
	if !e.At.IsZero() {
		l.time("at", e.At)
	}
	l.text("agent", e.Agent)
	switch b := e.Body.(type) {
	case Message:
		if b.Turn != nil {
			l.turn(*b.Turn)
		}
		l.message(b.Message)
	case CallStart:
		l.call(b.Call, b.Turn)
		l.text("kind", string(b.Kind))
		l.flag("polls", b.Polls)
		l.text("identity", b.Identity)
		l.flag("replaySafe", b.ReplaySafe)
		l.flag("again", b.Again)
		l.flag("approved", b.Approved)
		if b.Reply != nil {
			l.value("reply", b.Reply)
		}
	case CallEnd:
		l.call(b.Call, b.Turn)
		l.text("status", string(b.Status))
		l.spent(b.Duration, b.Children, b.Agents)
		if len(b.Paths) > 0 {
			l.value("paths", b.Paths)
		}
		l.text("stack", b.Stack)
		l.text("full", b.Full)
		l.message(b.Message)
	default:
		l.rare(e.Body)
	}
	l.data = append(l.data, "}\n"...)
}

// rare writes the entries that a long run has few of.
func (l *line) rare(body Body) {
	switch b := body.(type) {
	case RunStart:
		l.text("title", b.Title)
		l.text("cwd", b.Cwd)
		l.flag("continued", b.Continued)
		l.messages("messages", b.Messages)
	case RunEnd:
		l.text("reason", string(b.Reason))
		l.text("failure", b.Failure)
		l.text("cause", b.Cause)
		l.flag("shutdown", b.Shutdown)
	case Suspend:
		l.call(b.Call, b.Turn)
		l.value("suspension", b.Suspension)
		l.spent(b.Duration, b.Children, b.Agents)
	case PlanChange:
		l.value("plan", b.Plan)
	case Spend:
		l.value("spend", b.AuxiliarySpend)
	case Compact:
		l.number("drop", int64(b.Drop))
		l.number("of", int64(b.Of))
		l.text("failed", b.Failed)
		if !b.Spend.IsZero() {
			l.value("spend", b.Spend)
		}
		l.messages("head", b.Head)
	case Title:
		l.text("title", b.Title)
	case Custom:
		if err := b.Check(); err != nil {
			l.fail(err)
			return
		}
		if len(b.Data) > 0 {
			l.value("data", b.Data)
		}
	default:
		l.fail(fmt.Errorf("%T is no entry", body))
	}
}

// Check says why an entry cannot be written to a session file; nil when it can.
func (c Custom) Check() error {
	if !isCustom(c.Name) {
		return fmt.Errorf("the name %.40q is not of the form x.<vendor>.<name>", c.Name)
	}
	if len(c.Data) == 0 {
		return nil
	}
	const around = 1 << 20 // what else stands in its line
	err := turn.ValidJSON(string(c.Data))
	if err == nil {
		err = turn.ValidJSON("[" + string(c.Data) + "]") // it stands in a line, one level down
	}
	if most := DefaultMaxLine - around; err == nil && len(c.Data) > most {
		err = fmt.Errorf("it has %d bytes, more than %d", len(c.Data), most)
	}
	if err != nil {
		return fmt.Errorf("the data of %.40q: %w", c.Name, err)
	}
	return nil
}

// isCustom reports whether a type is a host's own. Only what needs no escape in
// JSON is allowed in it.
func isCustom(name string) bool {
	vendor, rest, ok := strings.Cut(strings.TrimPrefix(name, "x."), ".")
	return strings.HasPrefix(name, "x.") && ok && vendor != "" && rest != "" && isPlain(name)
}

func (l *line) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

func (l *line) key(name string) {
	l.data = append(append(append(l.data, `,"`...), name...), `":`...)
}

// text leaves out an empty string, as flag and number leave out their zeros.
func (l *line) text(name, value string) {
	if value != "" {
		l.key(name)
		l.quote(value)
	}
}

func (l *line) quote(s string) {
	if isPlain(s) {
		l.data = append(append(append(l.data, '"'), s...), '"')
		return
	}
	l.json(s)
}

func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func (l *line) flag(name string, value bool) {
	if value {
		l.key(name)
		l.data = append(l.data, "true"...)
	}
}

func (l *line) number(name string, n int64) {
	if n != 0 {
		l.key(name)
		l.data = strconv.AppendInt(l.data, n, 10)
	}
}

func (l *line) milliseconds(name string, d time.Duration) {
	l.key(name)
	l.marshalled(turn.Milliseconds(d))
}

func (l *line) time(name string, t time.Time) {
	t = t.UTC()
	if t.Year() < 0 || t.Year() > 9999 {
		l.fail(fmt.Errorf("%s is in the year %d", name, t.Year()))
		return
	}
	l.key(name)
	l.data = append(t.AppendFormat(append(l.data, '"'), time.RFC3339Nano), '"')
}

func (l *line) value(name string, v any) {
	l.key(name)
	l.json(v)
}

// json is json.Marshal without its escapes of HTML.
func (l *line) json(v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		l.fail(err)
		return
	}
	l.data = append(l.data, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

func (l *line) marshalled(m json.Marshaler) {
	data, err := m.MarshalJSON()
	if err != nil {
		l.fail(err)
	}
	l.data = append(l.data, data...)
}

// call names a call. Its arguments stand in the reply that made it.
func (l *line) call(c turn.Call, number int) {
	l.text("id", c.ID)
	l.text("name", c.Name)
	l.number("turn", int64(number))
}

func (l *line) spent(d time.Duration, children stats.RunStats, agents int) {
	if d != 0 {
		l.milliseconds("durationMs", d)
	}
	if !children.IsZero() {
		l.value("children", children)
	}
	l.number("agents", int64(agents))
}

func (l *line) turn(t Turn) {
	l.data = append(l.data, `,"turn":{"usage":{"inputTokens":`...)
	l.data = strconv.AppendInt(l.data, t.Usage.InputTokens, 10)
	l.key("outputTokens")
	l.data = strconv.AppendInt(l.data, t.Usage.OutputTokens, 10)
	if n := t.Usage.CachedInputTokens; n != nil {
		l.key("cachedInputTokens")
		l.data = strconv.AppendInt(l.data, *n, 10)
	}
	if c := t.Usage.Cost; c != nil {
		l.key("costCents")
		l.data = append(l.data, c.Cents()...)
	}
	l.data = append(l.data, `},"timings":{"generationMs":`...)
	l.marshalled(turn.Milliseconds(t.Timings.Generation))
	if d := t.Timings.TTFT; d != nil {
		l.milliseconds("ttftMs", *d)
	}
	l.data = append(l.data, '}')
	l.text("finish", t.Finish)
	l.text("model", t.Model)
	l.number("number", int64(t.Number))
	l.flag("auxiliary", t.Auxiliary)
	l.data = append(l.data, '}')
}

// message writes the bytes that go on the wire, so they come back as they are.
func (l *line) message(m turn.TranscriptMessage) {
	l.key("message")
	l.wire(m)
}

func (l *line) wire(m turn.TranscriptMessage) {
	from := len(l.data)
	data, err := turn.AppendMessage(l.data, m)
	if err != nil {
		l.fail(err)
		return
	}
	l.data = data
	if bytes.IndexByte(data[from:], '\n') < 0 {
		return
	}
	// A host that wrote its message with line feeds between the tokens would cut
	// this line in two. Reading takes them out.
	if m, err = turn.ParseMessage(data[from:]); err != nil {
		l.fail(err)
		return
	}
	l.data, _ = turn.AppendMessage(data[:from], m)
}

func (l *line) messages(name string, list turn.Transcript) {
	if len(list) == 0 {
		return
	}
	l.key(name)
	l.data = append(l.data, '[')
	for i, m := range list {
		if i > 0 {
			l.data = append(l.data, ',')
		}
		l.wire(m)
	}
	l.data = append(l.data, ']')
}
