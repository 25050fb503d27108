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
package trajectory
