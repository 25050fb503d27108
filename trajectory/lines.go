package trajectory

import (
	"bytes"
	"io"
)

// lines cuts a stream at its line feeds. It reads in large pieces and copies
// nothing but the part of a line that a piece cut off.
type lines struct {
	r      io.Reader
	max    int // 0 is none
	buf    []byte
	start  int // buf[start:end] is read and not handed out
	end    int
	err    error
	number int64 // of the line handed out last
	offset int64 // of its first byte
	next   int64 // offset of the byte at start
}

const (
	firstBuffer = 64 << 10
	leastRoom   = 16 << 10  // for one read
	onePiece    = 256 << 10 // what a processor's cache can hold
	emptyReads  = 100       // of a reader that returns neither bytes nor an error
)

// read returns the next line without its line feed, valid until the next call;
// whole says that it had one. Of a line beyond the cap it returns the first part
// and its length. At the end it returns the reader's error, and no line.
func (l *lines) read() (data []byte, size int64, whole bool, err error) {
	l.number++
	l.offset = l.next
	from := l.start
	for {
		if n := bytes.IndexByte(l.buf[from:l.end], '\n'); n >= 0 {
			data = l.buf[l.start : from+n]
			l.start = from + n + 1
			l.next += int64(len(data)) + 1
			return data, int64(len(data)), true, nil
		}
		if l.max > 0 && l.end-l.start > l.max {
			return l.skip()
		}
		if l.err != nil {
			break
		}
		held := l.end - l.start
		l.fill()
		from = l.start + held
	}
	if l.err != io.EOF || l.start == l.end {
		l.number--
		return nil, 0, false, l.err
	}
	data = l.buf[l.start:l.end]
	l.start = l.end
	l.next += int64(len(data))
	return data, int64(len(data)), false, nil
}

// fill reads more, into a buffer that doubles while a line does not fit.
func (l *lines) fill() {
	if len(l.buf)-l.end < leastRoom {
		held := l.buf[l.start:l.end]
		if len(held) > len(l.buf)-leastRoom {
			l.buf = make([]byte, max(firstBuffer, 2*len(l.buf)))
		}
		l.end = copy(l.buf, held)
		l.start = 0
	}
	for range emptyReads {
		var n int
		n, l.err = l.r.Read(l.buf[l.end:min(len(l.buf), l.end+onePiece)])
		l.end += max(n, 0)
		if n > 0 || l.err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}

// skip passes over a line that is too long, holding only the beginning of it.
func (l *lines) skip() (data []byte, size int64, whole bool, err error) {
	const shown = 64
	data = bytes.Clone(l.buf[l.start : l.start+min(shown, l.end-l.start)])
	for {
		part := l.buf[l.start:l.end]
		n := bytes.IndexByte(part, '\n')
		if n >= 0 {
			part = part[:n]
			whole = true
		}
		size += int64(len(part))
		l.start += len(part)
		if whole {
			l.start++
			break
		}
		if l.err != nil {
			break
		}
		l.fill()
	}
	l.next += size
	if whole {
		l.next++
	}
	return data, size, whole, nil
}
