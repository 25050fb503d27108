package trajectory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"strings"

	"github.com/pawl-dev/pawl/turn"
)

// Entry is an event as it was read, and where it stands.
type Entry struct {
	Event
	Seq    int64
	Line   int64 // the first line is 1
	Offset int64 // of the line's first byte
}

// DefaultMaxLine is the longest line that a [Reader] takes if not told otherwise.
const DefaultMaxLine = 64 << 20

// Reader reads a session. It never writes, and what is wrong with one line costs no
// other.
type Reader struct {
	// MaxLine is the longest line taken, in bytes; zero is [DefaultMaxLine], negative
	// is no limit. A longer one is reported and passed over. Set it before reading.
	MaxLine int

	lines   lines
	decoder decoder
	order   order
	seed    maphash.Seed
	header  *Header
	began   bool
	tail    Tail
	unknown map[string]int
	replies map[string]latestReply // of each agent
}

// latestReply is what the entries of its calls refer to.
type latestReply struct {
	number int // 0 when it is not known
	calls  []turn.Call
}

// NewReader reads from r, which stands at the beginning of a session.
func NewReader(r io.Reader) *Reader {
	return &Reader{lines: lines{r: r}, seed: maphash.MakeSeed(), replies: make(map[string]latestReply)}
}

// Entries are the session's entries, in the order in which they were written. The
// header and entries of an unknown type are not among them. The error is a
// *[Problem], and more entries follow; or it is the last thing: what the io.Reader
// returned, or a *[VersionError]. They can be ranged over once.
//
// An entry whose number is out of order is held back for a while, until those
// before it have come, so entries lag behind the file where lines are missing.
func (r *Reader) Entries() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if r.MaxLine == 0 {
			r.MaxLine = DefaultMaxLine
		}
		r.lines.max = max(r.MaxLine, 0)
		for {
			err := r.readLine()
			var problem *Problem
			if errors.As(err, &problem) {
				if !yield(Entry{}, problem) {
					return
				}
			}
			ended := err != nil && problem == nil
			if !r.handOn(ended, yield) {
				return
			}
			if ended {
				if err != io.EOF {
					yield(Entry{}, err)
				}
				return
			}
		}
	}
}

// handOn yields what is due.
func (r *Reader) handOn(end bool, yield func(Entry, error) bool) bool {
	for {
		rec, problem, ok := r.order.next(end)
		if !ok {
			return true
		}
		if !r.began && r.header == nil && rec.kind != "session" {
			if !yield(Entry{}, rec.problem(NoHeader, errors.New("the session does not begin with a header"))) {
				return false
			}
		}
		r.began = true
		if problem != nil && !yield(Entry{}, problem) {
			return false
		}
		if rec.kind == "session" {
			header := rec.header
			r.header = &header
		} else if rec.Body == nil {
			r.countUnknown(rec.kind)
		} else {
			r.restore(&rec.Entry)
			if !yield(rec.Entry, nil) {
				return false
			}
		}
	}
}

// readLine takes one line. The error is a *Problem of that line, or ends the file.
func (r *Reader) readLine() error {
	data, size, whole, err := r.lines.read()
	if err != nil {
		return err
	}
	at := func(f Fault, err error) error { return &Problem{f, r.lines.number, r.lines.offset, err} }
	r.tail.Torn = !whole
	if r.lines.offset == 0 {
		data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	}
	if r.lines.max > 0 && size > int64(r.lines.max) {
		return at(TooLong, fmt.Errorf("%d bytes, more than %d: %.60q", size, r.lines.max, data))
	}
	data = bytes.TrimSpace(data)
	bare := bytes.Trim(data, "\x00")
	nuls := len(data) - len(bare)
	if data = bytes.TrimSpace(bare); len(data) == 0 && nuls == 0 {
		return nil
	}
	rec, err := r.decoder.decode(data)
	var newer *VersionError
	switch {
	case errors.As(err, &newer):
		return newer
	case len(data) == 0:
		return at(Zeroed, fmt.Errorf("%d NUL bytes", nuls))
	case err != nil && isTorn(data, whole):
		return at(Torn, fmt.Errorf("the line is not whole: %d bytes", size))
	case err != nil:
		return at(Unreadable, fmt.Errorf("%w: %.60q", err, data))
	}
	if rec.Seq-r.tail.Seq > farthest {
		return at(Unreadable, fmt.Errorf("entry %d stands behind entry %d: its number is damaged", rec.Seq, r.tail.Seq))
	}
	rec.Line, rec.Offset = r.lines.number, r.lines.offset
	r.tail.Seq = max(r.tail.Seq, rec.Seq)
	if problem := r.order.add(rec, maphash.Bytes(r.seed, data)); problem != nil {
		return problem
	}
	if nuls > 0 {
		return at(Zeroed, fmt.Errorf("%d NUL bytes around entry %d, which was taken", nuls, rec.Seq))
	}
	return nil
}

// farthest bounds how many entries can be missing. A damaged number beyond it would
// use up the numbers of those that are still to be written.
const farthest = 1 << 32

// isTorn tells the beginning of an entry from other things that are none. At the
// end of a file whatever is no JSON counts as one.
func isTorn(data []byte, whole bool) bool {
	err := turn.ValidJSON(string(data))
	if err == nil || !whole {
		return err != nil
	}
	const entry = `{"t":"`
	if !bytes.HasPrefix(data, []byte(entry)) && !strings.HasPrefix(entry, string(data)) {
		return false
	}
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) && syntax.Offset >= int64(len(data)) // sound until it ends
}

// unknownTypes bounds how many names are kept.
const unknownTypes = 100

func (r *Reader) countUnknown(kind string) {
	if r.unknown == nil {
		r.unknown = make(map[string]int)
	}
	if _, ok := r.unknown[kind]; !ok && len(r.unknown) >= unknownTypes {
		kind = ""
	}
	r.unknown[kind]++
}

// restore puts a call's arguments back into its start and end.
func (r *Reader) restore(e *Entry) {
	var m turn.TranscriptMessage
	number := 0
	switch b := e.Body.(type) {
	case Message:
		m = b.Message
		if b.Turn != nil {
			number = b.Turn.Number
		}
	case RunStart:
		if n := len(b.Messages); n > 0 {
			m = lastReply(b.Messages)
		}
	case RunEnd: // a child that paused or was stopped may be carried on
		if e.Agent != "" && (b.Reason == "" || b.Reason == turn.Done || b.Reason == turn.IterationLimit) {
			delete(r.replies, e.Agent)
		}
	case CallStart, CallEnd, Suspend:
		e.Body = withArguments(b, r.replies[e.Agent])
	}
	if m.OfAssistant != nil {
		r.replies[e.Agent] = latestReply{number, turn.Calls(m)}
	}
}

// lastReply is the message whose calls can still be open.
func lastReply(messages turn.Transcript) turn.TranscriptMessage {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].OfTool == nil {
			return messages[i]
		}
	}
	return turn.TranscriptMessage{}
}

// Header is the session's header; zero until it was read.
func (r *Reader) Header() Header {
	if r.header == nil {
		return Header{}
	}
	return *r.header
}

// Tail is where the session ends, for the [Writer] that carries it on. It holds for
// what has been read so far.
func (r *Reader) Tail() Tail { return r.tail }

// Unknown counts the entries of types that this package does not know, by type;
// nil when there were none. The caller must not write to it. Beyond 100 types the
// rest count under "".
func (r *Reader) Unknown() map[string]int { return r.unknown }
