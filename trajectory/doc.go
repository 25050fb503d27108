// Package trajectory holds the entries of a run, the state that follows from them,
// and the fold that makes the one from the other.
//
//	var f trajectory.Fold
//	for _, e := range events {
//		err := f.Add(e)
//	}
//	messages, state := f.Messages(), f.State()
//
// A loop hands its recorder one [Event] for everything that happens, before the
// effect of it: a call is recorded as started before its tool runs, its result
// before the next model call. What belongs together is one entry (a reply and its
// usage, a result and its message), so that a record that was cut anywhere never
// holds half of it.
//
// # The session file
//
// A [Writer] is a recorder that keeps the entries as JSON lines, one entry a line and
// a Write; a [Reader] gives them back. Line 1 is the header, {"t":"session","v":1};
// every line has a type (t), a number that rises by one (seq), and, behind the header,
// a time (at) and the child run it belongs to (agent). Messages are written with the
// bytes that go on the wire. The version v is raised only for a change that an older
// reader would misread; what a reader does not know it counts and passes over.
//
// Reading decodes each line by itself, so what is wrong with one costs no other, and
// is reported as a [Problem]. A file that ends in half a line was cut, which is
// expected: all before it stands, and the next Writer begins on a line of its own.
package trajectory
