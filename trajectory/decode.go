package trajectory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/turn"
)

// record is one line, read. The Body is nil for a header and for an unknown type.
type record struct {
	Entry
	kind   string
	header Header
}

// decoder reads lines, one after the other.
type decoder struct{ scratch fields }

// decode reads one line. Almost all bytes of a session are messages, so a line in the
// layout of the Writer is split there: what is before the message is short, and the
// message is checked as it is parsed. Any other layout goes through a check of the
// whole line first.
func (d *decoder) decode(data []byte) (record, error) {
	if head, m, ok := splitAtMessage(data); ok {
		return d.fields(head, func() (turn.TranscriptMessage, error) { return m, nil })
	}
	text := validUTF8(data)
	if err := turn.ValidJSON(text); err != nil {
		return record{}, err
	}
	return d.fields(text, nil)
}

// splitAtMessage takes a line whose message stands last apart. The two parts are valid
// if and only if the whole is.
func splitAtMessage(data []byte) (head string, m turn.TranscriptMessage, ok bool) {
	const key = `,"message":`
	at := bytes.Index(data, []byte(key))
	if at <= 0 || data[len(data)-1] != '}' {
		return "", m, false
	}
	head = validUTF8(data[:at]) + "}"
	if turn.ValidJSON(head) != nil {
		return "", m, false
	}
	m, err := turn.ParseMessage(data[at+len(key) : len(data)-1])
	return head, m, err == nil
}

func validUTF8(data []byte) string { return strings.ToValidUTF8(string(data), "\uFFFD") }

// fields are the values of a line. Of a name that stands twice the last counts, as
// in encoding/json. The few there are, are found faster by looking than by a map.
type fields []field

type field struct {
	name  string
	value gjson.Result
}

// at takes null for nothing, as other writers may write it.
func (f fields) at(name string) gjson.Result {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].name == name && f[i].value.Type != gjson.Null {
			return f[i].value
		}
	}
	return gjson.Result{}
}

// raw is a value of somebody else's, null too; nil when there is none.
func (f fields) raw(name string) json.RawMessage {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].name == name {
			return json.RawMessage(f[i].value.Raw)
		}
	}
	return nil
}

func (f fields) text(name string) string { return f.at(name).String() }
func (f fields) flag(name string) bool   { return f.at(name).Bool() }
func (f fields) int(name string) int     { return int(f.at(name).Int()) }

// value reads a field into v, and leaves v alone when there is none.
func (f fields) value(name string, v any) error {
	r := f.at(name)
	if !r.Exists() {
		return nil
	}
	if err := json.Unmarshal([]byte(r.Raw), v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// needed is value for what an entry is nothing without: no plan is not an empty one.
func (f fields) needed(name string, v any) error {
	if !f.at(name).Exists() {
		return fmt.Errorf("there is no %s", name)
	}
	return f.value(name, v)
}

// milliseconds is zero for what is no duration.
func milliseconds(v gjson.Result) time.Duration {
	var d turn.Milliseconds
	if v.Type != gjson.Number || d.UnmarshalJSON([]byte(v.Raw)) != nil {
		return 0
	}
	return time.Duration(d)
}

// fields reads a line that is valid JSON. The message is what it holds under
// that name; nil when it has not been read yet.
func (d *decoder) fields(text string, message func() (turn.TranscriptMessage, error)) (record, error) {
	whole := gjson.Parse(text)
	if !whole.IsObject() {
		return record{}, errors.New("no entry: not a JSON object")
	}
	f := d.scratch[:0]
	whole.ForEach(func(key, value gjson.Result) bool {
		f = append(f, field{key.Str, value})
		return true
	})
	d.scratch = f
	r := record{kind: f.text("t")}
	r.Seq = f.at("seq").Int()
	if r.kind == "" || r.Seq < 1 {
		return record{}, errors.New(`no entry: "t" or "seq" is missing or wrong`)
	}
	r.At, _ = time.Parse(time.RFC3339Nano, f.text("at")) // a damaged time costs no entry
	r.Agent = f.text("agent")
	if r.kind == "session" {
		return r, r.decodeHeader(f)
	}
	if message == nil {
		message = func() (turn.TranscriptMessage, error) { return parseMessage(f.at("message")) }
	}
	var err error
	if r.Body, err = decodeBody(r.kind, f, message); err != nil {
		return record{}, fmt.Errorf("%s: %w", r.kind, err)
	}
	return r, nil
}

func (r *record) decodeHeader(f fields) error {
	switch v := f.at("v").Int(); {
	case v > Version:
		return &VersionError{v}
	case v < 1:
		return errors.New("session: the version is missing")
	}
	r.header.Title = f.text("title")
	r.header.Host = f.raw("host")
	return nil
}

// decodeBody returns nil for a type that it does not know.
func decodeBody(kind string, f fields, message func() (turn.TranscriptMessage, error)) (Body, error) {
	switch kind {
	case "message":
		m, err := message()
		return Message{Message: m, Turn: decodeTurn(f.at("turn"))}, err
	case "call.start":
		b := CallStart{Call: f.call(), Turn: f.int("turn"), Kind: Kind(f.text("kind")), Polls: f.flag("polls"),
			Identity: f.text("identity"), ReplaySafe: f.flag("replaySafe"), Again: f.flag("again"), Approved: f.flag("approved")}
		if !f.at("reply").Exists() {
			return b, nil
		}
		b.Reply = new(Reply)
		err := f.value("reply", b.Reply)
		return b, err
	case "call.end":
		m, err := message()
		b := CallEnd{Call: f.call(), Turn: f.int("turn"), Status: Status(f.text("status")), Message: m,
			Duration: milliseconds(f.at("durationMs")), Agents: f.int("agents"), Stack: f.text("stack"), Full: f.text("full")}
		f.at("paths").ForEach(func(_, path gjson.Result) bool {
			b.Paths = append(b.Paths, path.String())
			return true
		})
		if f.at("children").Exists() { // seldom, and taking b's address costs memory on every line
			var children stats.RunStats
			err = errors.Join(err, f.value("children", &children))
			b.Children = children
		}
		return b, err
	}
	return decodeRare(kind, f)
}

// decodeRare reads the entries that a long run has few of.
func decodeRare(kind string, f fields) (Body, error) {
	switch kind {
	case "run.start":
		list, err := parseMessages(f.at("messages"))
		return RunStart{Title: f.text("title"), Cwd: f.text("cwd"), Continued: f.flag("continued"), Messages: list}, err
	case "run.end":
		return RunEnd{Reason: turn.StopReason(f.text("reason")), Failure: f.text("failure"), Cause: f.text("cause"), Shutdown: f.flag("shutdown")}, nil
	case "suspend":
		b := Suspend{Call: f.call(), Turn: f.int("turn"), Duration: milliseconds(f.at("durationMs")), Agents: f.int("agents")}
		err := errors.Join(f.needed("suspension", &b.Suspension), f.value("children", &b.Children))
		return b, err
	case "plan":
		var b PlanChange
		err := f.needed("plan", &b.Plan)
		return b, err
	case "spend":
		var b Spend
		err := f.value("spend", &b.AuxiliarySpend)
		return b, err
	case "compact":
		var spend stats.AuxiliarySpend
		err := f.value("spend", &spend)
		list, listErr := parseMessages(f.at("head"))
		return Compact{Head: list, Drop: f.int("drop"), Of: f.int("of"), Spend: spend, Failed: f.text("failed")}, errors.Join(err, listErr)
	case "title":
		return Title{f.text("title")}, nil
	}
	if isCustom(kind) {
		return Custom{Name: kind, Data: f.raw("data")}, nil
	}
	return nil, nil
}

func (f fields) call() turn.Call { return turn.Call{ID: f.text("id"), Name: f.text("name")} }

func parseMessage(v gjson.Result) (turn.TranscriptMessage, error) {
	if !v.Exists() {
		return turn.TranscriptMessage{}, errors.New("there is no message")
	}
	m, err := turn.ParseMessage([]byte(v.Raw))
	if err != nil {
		return m, fmt.Errorf("message: %w", err)
	}
	return m, nil
}

func parseMessages(list gjson.Result) (turn.Transcript, error) {
	var out turn.Transcript
	var errs []error
	list.ForEach(func(_, v gjson.Result) bool {
		m, err := parseMessage(v)
		if err != nil {
			errs = append(errs, err)
		} else {
			out = append(out, m)
		}
		return true
	})
	return out, errors.Join(errs...)
}

// decodeTurn takes what it can read: a number that it cannot is zero, and an
// amount that it cannot is unknown.
func decodeTurn(v gjson.Result) *Turn {
	if !v.IsObject() {
		return nil
	}
	t := &Turn{Finish: v.Get("finish").String(), Model: v.Get("model").String(), Number: int(v.Get("number").Int()), Auxiliary: v.Get("auxiliary").Bool()}
	v.Get("usage").ForEach(func(key, value gjson.Result) bool {
		n := value.Int()
		switch key.Str {
		case "inputTokens":
			t.Usage.InputTokens = n
		case "outputTokens":
			t.Usage.OutputTokens = n
		case "cachedInputTokens":
			if value.Type == gjson.Number {
				t.Usage.CachedInputTokens = &n
			}
		case "costCents":
			if c, err := turn.ParseCents(value.Raw); err == nil {
				t.Usage.Cost = &c
			}
		}
		return true
	})
	t.Timings.Generation = milliseconds(v.Get("timings.generationMs"))
	if ttft := v.Get("timings.ttftMs"); ttft.Type == gjson.Number {
		d := milliseconds(ttft)
		t.Timings.TTFT = &d
	}
	return t
}

// withArguments puts back what a call's start and end leave out.
func withArguments(b Body, reply latestReply) Body {
	fill := func(c turn.Call, number int) turn.Call {
		if reply.number > 0 && reply.number != number {
			return c // an id may come again, and its own reply was lost
		}
		if i := slices.IndexFunc(reply.calls, func(of turn.Call) bool { return of.ID == c.ID }); i >= 0 {
			c.Arguments = reply.calls[i].Arguments
		}
		return c
	}
	switch b := b.(type) {
	case CallStart:
		b.Call = fill(b.Call, b.Turn)
		return b
	case CallEnd:
		b.Call = fill(b.Call, b.Turn)
		return b
	case Suspend:
		b.Call = fill(b.Call, b.Turn)
		return b
	}
	return b
}
