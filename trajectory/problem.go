package trajectory

import "fmt"

// Fault is a sort of [Problem].
type Fault string

const (
	// Torn: the line is the beginning of an entry. A process died while writing it
	// or, at the end of the file, is writing it now. All before it stands.
	Torn Fault = "torn"
	// Unreadable: the line is no entry. It was passed over.
	Unreadable Fault = "unreadable"
	// Zeroed: NUL bytes stand where a line or a part of one was, as after a power cut.
	Zeroed Fault = "zeroed"
	// TooLong: the line is longer than the cap. It was passed over.
	TooLong Fault = "too long"
	// Repeated: the same line was read before. It was passed over.
	Repeated Fault = "repeated"
	// Collision: another entry has the same number, so two writers were at work, or
	// two sessions were put together. The one that came first counts.
	Collision Fault = "collision"
	// Misplaced: the entry stands before one that was written earlier. It was put
	// back in its place.
	Misplaced Fault = "misplaced"
	// Missing: there is no entry for one or more numbers before this one.
	Missing Fault = "missing"
	// NoHeader: the session does not begin with a header.
	NoHeader Fault = "no header"
	// Misfit: the entry contradicts what came before it. What could be taken of it
	// was.
	Misfit Fault = "misfit"
)

// Problem is something wrong with one line of a session. Reading goes on behind it.
type Problem struct {
	Fault  Fault
	Line   int64 // the first line is 1
	Offset int64 // of the line's first byte
	Err    error // what is wrong, for a person to read
}

// Error says what is wrong and where.
func (p *Problem) Error() string {
	return fmt.Sprintf("line %d (byte %d): %s: %s", p.Line, p.Offset, p.Fault, p.Err)
}

// Unwrap is the problem's Err.
func (p *Problem) Unwrap() error { return p.Err }

// VersionError says that a session is written in a format that is newer than this
// package.
type VersionError struct{ Version int64 }

// Error says which version the session has, and which one is read here.
func (e *VersionError) Error() string {
	return fmt.Sprintf("the session is in version %d of the format, and this program reads up to version %d", e.Version, Version)
}
