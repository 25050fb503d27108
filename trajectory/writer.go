package trajectory

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
)

// Version is the version of the session format that this package writes, and the
// newest that it reads. It is raised only for a change that an older reader would
// misread.
const Version = 1

// Header is the first line of a session.
type Header struct {
	// Title names the session where neither a [Title] entry nor a [RunStart] does.
	Title string
	// Host is whatever the host wants to find again, as one JSON value; nil is
	// nothing.
	Host json.RawMessage
}

// Tail is where a session file ends, as a [Reader] found it. The zero value is the
// end of an empty file.
type Tail struct {
	// Seq is the highest number of an entry; the header's counts.
	Seq int64
	// Torn: the file does not end in a line feed.
	Torn bool
}

// Writer writes a session, one entry a line and one Write a line. It serves many runs
// one after the other, their child runs, and a host's own [Custom] entries at any time.
// It is safe for concurrent use.
type Writer struct {
	mu     sync.Mutex
	w      io.Writer
	header Header
	tail   Tail
	data   []byte // kept for the next line
}

// NewWriter writes to w, which stands at the end of a session whose tail is after;
// a file is best opened with O_APPEND. With the zero Tail, or one without a Seq, the
// first entry is preceded by the header, as a line of its own; otherwise the header
// is not written, for the session has one. A torn end gets a line feed first.
// Nothing is written before the first entry.
//
// Where w has a method Sync() error, as *os.File has, it is called after the entries
// that must not be lost to a power cut: the end of a run, a plan, a compaction, a
// suspension, and the start of a call that may change something. That a new file has
// a name in its directory is the host's to sync.
func NewWriter(w io.Writer, h Header, after Tail) *Writer {
	return &Writer{w: w, header: h, tail: after}
}

// keptLine bounds the memory that a Writer holds on to between two entries.
const keptLine = 1 << 20

// Append writes one entry; as a method value it is a recorder for a loop. The
// arguments of a call are not written with its start and end: they stand in the
// reply that made it, and are put back by the reader.
//
// After an error the entry may be in the file whole, in part or not at all. A part
// of it is closed off by the next Append, so it costs no other entry. An error of
// the entry itself (no body, a message without a role, longer than [DefaultMaxLine]
// or nested deeper than is read) writes nothing. Of a call's end that is too long, Full
// is left out first.
func (w *Writer) Append(e Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Body == nil {
		return errors.New("record: the entry has no body")
	}
	if w.w == nil {
		return errors.New("record: there is no writer")
	}
	l := line{data: w.data[:0]}
	l.readable(max(w.tail.Seq, 1)+1, e) // encoded first: a bad entry leaves no trace
	if cap(l.data) <= keptLine {
		w.data = l.data
	}
	if l.err != nil {
		return fmt.Errorf("record %s: %w", e.Body.Type(), l.err)
	}
	if w.tail.Seq == 0 {
		if err := w.writeHeader(); err != nil {
			return fmt.Errorf("record session: %w", err)
		}
	}
	if err := w.write(l.data); err != nil {
		return fmt.Errorf("record %s: %w", e.Body.Type(), err)
	}
	if s, ok := w.w.(interface{ Sync() error }); ok && mustLast(e.Body) {
		if err := s.Sync(); err != nil && !cannotSync(err) {
			return fmt.Errorf("record %s: %w", e.Body.Type(), err)
		}
	}
	return nil
}

func (w *Writer) writeHeader() error {
	var l line
	l.begin("session", 1)
	l.key("v")
	l.json(Version)
	l.text("title", w.header.Title)
	if len(w.header.Host) > 0 {
		l.value("host", w.header.Host)
	}
	l.data = append(l.data, "}\n"...)
	l.check()
	if l.err != nil {
		return l.err
	}
	return w.write(l.data)
}

// write counts an entry as written when all of it but the line feed is out: a
// reader then takes it as whole.
func (w *Writer) write(data []byte) error {
	if w.tail.Torn {
		data = append([]byte("\n"), data...)
	}
	n, err := w.w.Write(data)
	if n < len(data) && err == nil {
		err = io.ErrShortWrite
	}
	if n >= len(data)-1 {
		w.tail.Seq++
	}
	if n != 0 {
		w.tail.Torn = n != len(data) && !(w.tail.Torn && n == 1)
	}
	return err
}

// mustLast says for which entries losing the last seconds would be dear.
func mustLast(b Body) bool {
	switch b := b.(type) {
	case RunEnd, PlanChange, Compact, Suspend:
		return true
	case CallStart:
		return b.Kind != KindRead && b.Kind != KindSearch
	}
	return false
}

// cannotSync: pipes and terminals have the method, and no use for it.
func cannotSync(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL)
}
