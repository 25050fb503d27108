package resume

import "github.com/pawl-dev/pawl/turn"

// NeedsMessage reports whether there is nothing for the model to do without a new
// user message: nothing was asked yet, or the last message is a plain reply, so that
// a run over the session would be done at once. It is false where calls are open, and
// where the last message is a request, a result or a last word at a limit: a run then
// goes on by itself, and where calls wait it takes replies and no message. The limits
// and hooks of that run are not looked at.
func (p PastSession) NeedsMessage() bool {
	if len(p.Messages) == 0 {
		return true
	}
	last := p.Messages[len(p.Messages)-1]
	return last.OfAssistant != nil && turn.CountCalls(last) == 0 && !p.State.LastWord
}

// Interrupted reports whether the last run was still at work when its process ended: it
// died, and LastRun is nil, or it was told to end. What that run was doing was wanted,
// and goes on where it was. A run that a person, a budget, a limit or an error ended was
// not interrupted, and one that another process has at work looks as if it were.
func (p PastSession) Interrupted() bool {
	if p.LastRun == nil {
		return len(p.Messages) > 0
	}
	return p.LastRun.Shutdown
}
