package chat

import (
	"bytes"
	"errors"
	"io"
)

// maxResponse bounds what one response may take in memory.
const maxResponse = 256 << 20

var errTooLarge = errors.New("the response is larger than 256 MiB")

// eventReader reads server-sent events: lines that end in LF, CR or both, a field
// name and a value, an empty line after each event. Beyond the format it takes a
// byte order mark, an event that the end of the body closes, and two ways in which
// servers report an error: a line that is a JSON object without a field name, and a
// field of the name error.
type eventReader struct {
	body       io.Reader
	buf        []byte
	start, end int // of what is read and not yet given out
	scanned    int // no line ends between start and here
	total      int
	skipLF     bool // the line before ended in CR
	err        error
	head       []byte // the first bytes of the body, to show what it was
	data       []byte
	tail       bool // the event was closed by the end of the body
}

// peek skips a byte order mark and white space, and shows the first byte of the
// rest. It is not ok for a body that holds nothing else.
func (r *eventReader) peek() (b byte, ok bool) {
	for r.end-r.start < 3 && r.fill() {
	}
	if bytes.HasPrefix(r.buf[r.start:r.end], []byte("\uFEFF")) {
		r.start += 3
	}
	for {
		for ; r.start < r.end; r.start++ {
			if c := r.buf[r.start]; c != ' ' && c != '\t' && c != '\n' && c != '\r' {
				r.scanned = r.start
				return c, true
			}
		}
		if !r.fill() {
			return 0, false
		}
	}
}

// rest is all that is left of the body, and the error that ended it, if any.
func (r *eventReader) rest() ([]byte, error) {
	for r.fill() {
	}
	return r.buf[r.start:r.end], r.failure()
}

// failure is the error that ended the body, nil for a clean end.
func (r *eventReader) failure() error {
	if r.err == io.EOF {
		return nil
	}
	return r.err
}

// next gives the next event that has data. The data is valid until the next call.
func (r *eventReader) next() (name string, data []byte, ok bool) {
	r.data = r.data[:0]
	for {
		line, ok := r.line()
		if !ok {
			r.tail = true
			return name, r.data, len(r.data) > 0
		}
		if len(line) == 0 {
			if len(r.data) > 0 {
				return name, r.data, true
			}
			name = ""
			continue
		}
		key, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case line[0] == '{':
			value = line
			fallthrough
		case string(key) == "data":
			if len(r.data) > 0 {
				r.data = append(r.data, '\n')
			}
			r.data = append(r.data, value...)
		case string(key) == "error":
			name, r.data = "error", append(r.data[:0], value...)
		case string(key) == "event":
			name = string(value)
		}
	}
}

func (r *eventReader) line() ([]byte, bool) {
	for {
		if r.skipLF && r.start < r.end {
			if r.buf[r.start] == '\n' {
				r.start++
			}
			r.skipLF = false
		}
		r.scanned = max(r.scanned, r.start)
		fresh := r.buf[r.scanned:r.end]
		i := bytes.IndexByte(fresh, '\n')
		if i >= 0 {
			fresh = fresh[:i]
		}
		if j := bytes.IndexByte(fresh, '\r'); j >= 0 {
			i, r.skipLF = j, true
		}
		if i >= 0 {
			line := r.buf[r.start : r.scanned+i]
			r.start = r.scanned + i + 1
			r.scanned = r.start
			return line, true
		}
		r.scanned = r.end
		if !r.fill() {
			line := r.buf[r.start:r.end]
			r.start = r.end
			return line, len(line) > 0
		}
	}
}

// fill reads more, and is false when there is no more. Lines given out before
// are no longer valid after it.
func (r *eventReader) fill() bool {
	if r.err != nil {
		return false
	}
	if r.total > maxResponse {
		r.err = errTooLarge
		return false
	}
	if r.end == len(r.buf) {
		if r.start > len(r.buf)/2 {
			copy(r.buf, r.buf[r.start:r.end])
			r.end, r.scanned = r.end-r.start, r.scanned-r.start
			r.start = 0
		} else {
			r.buf = append(r.buf, make([]byte, max(16<<10, len(r.buf)))...)
		}
	}
	for range 100 {
		n, err := r.body.Read(r.buf[r.end:])
		if room := 512 - len(r.head); room > 0 {
			r.head = append(r.head, r.buf[r.end:r.end+min(n, room)]...)
		}
		r.end, r.total = r.end+n, r.total+n
		r.err = err
		if n > 0 || err != nil {
			return n > 0
		}
	}
	r.err = io.ErrNoProgress
	return false
}
