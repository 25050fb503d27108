// Package trajectory holds the entries of a run, the state that follows from them,
// and the fold that makes the one from the other.
//
//	var f trajectory.Fold
//	err := f.Add(trajectory.Event{Body: trajectory.RunStart{Messages: turn.Transcript{turn.User("hello")}}})
//	fmt.Println(turn.Text(f.Messages()[0]), f.State().Recorded, err) // hello 1 <nil>
//
// # What is recorded
//
// A loop hands its recorder one [Event] for everything that happens, before the
// effect of it: a call is recorded as started before its tool runs, its result
// before the next model call. What belongs together is one entry, so that a record
// that was cut anywhere never holds half of it: a reply and its usage are a
// [Message] with a [Turn], a result stands in its [CallEnd], and the messages that a
// run was given stand in its [RunStart], because a start without them would look
// like a run that nobody asked anything.
//
// A [CallStart] says Again when the call had started before, so that it counts
// once. Where calls with different arguments may be the same one, only the tool knows
// which: it says so by Identity, for whoever looks for repetition. A host's own entries
// are [Custom]; Name is their type in the file.
//
// # What follows from it
//
// [Fold] is how a live run, the reader of a file and a resumed run come to the same
// messages and the same [State]; a test of a host can call it on what its recorder
// got. It has methods rather than fields since messages and totals share memory
// with what comes next: Messages and State return what no later Add changes. State
// copies what it returns; EachOpen, CountOpen, Iterations and Turn answer one question
// each without a copy, for a loop that asks at every step.
//
// The calls without a result are State.Open. What is known of each decides what may
// be done with it: one that was never Started had no effects; one that is Imported
// came with messages that no record accounts for, so nothing is known of it; one that
// is Cut was made by a reply that ended at the output limit and must not run; one with
// a [Suspension] waits. A [Child] in it is a sub-agent that waits: every reply, a
// denial too, is handed on to the tool. A Child beside it is a sub-agent that was at
// work when its process died.
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
// That is why reading is a type and not a function: behind the entries there is more
// to ask for, the header, the unknown types, and the [Tail] that the next Writer takes.
package trajectory
