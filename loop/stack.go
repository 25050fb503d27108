package loop

import "runtime"

// room grows the stack of a fresh goroutine at once to what most tools need. It
// begins small, and each time it doubles all its frames are moved: with a thousand
// calls in one turn that was a third of their cost. Here it has a single one.
//
//go:noinline
func room() {
	var frames [4 << 10]byte
	runtime.KeepAlive(&frames)
}
