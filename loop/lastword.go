package loop

import (
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

const (
	textLastWord = "The run has reached its limit and no tool can be used any more. Say what was done, what was not done, and what is left to do. Do not present unfinished work as finished."
	textGoOn     = "You may go on with the work now, with all tools."
)

// lastWord asks the model, once and without tools, what was done and what was
// not. It is no turn: its spend is auxiliary, the reason to stop stays, and
// whatever comes of it the run ends. Calls in the reply are left out: nobody
// would answer them. A run over a transcript that ends in the question or in the word
// asks for neither again.
func (r *run) lastWord() {
	messages := r.fold.Messages()
	switch {
	case r.fold.State().LastWord:
		return
	case asksLastWord(messages[len(messages)-1]):
	case r.deliver("FinalTurn", turn.Transcript{turn.User(textLastWord)}) != nil:
		return // finish reports the recorder
	}
	tools := r.tools
	r.tools = nil
	err := r.callModel()
	r.tools = tools
	if err != nil {
		r.spendPartial()
		return
	}
	reply := &r.res.Last
	said := reply.Message
	said.ToolCalls = nil
	_ = emit(r, trajectory.Message{Message: turn.ReplayForm(said), Turn: &trajectory.Turn{
		Usage: reply.Usage, Timings: reply.Timings, Finish: reply.Finish, Model: reply.Model, Auxiliary: true}})
}

func asksLastWord(m turn.TranscriptMessage) bool {
	return m.OfUser != nil && turn.Text(m) == textLastWord
}
