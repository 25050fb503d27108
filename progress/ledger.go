package progress

import (
	"github.com/pawl-dev/pawl/trajectory"
)

// ledger is what a run has spent, by the very fold that makes its state. The zero
// value is a run without entries.
type ledger struct {
	fold    trajectory.Fold
	replies int // since the fold let go of messages
	model   string
	tokens  int64 // of the run and its child runs
}

// add takes the next entry. One that does not fit counts as far as the fold takes it.
func (l *ledger) add(e *trajectory.Event) {
	_ = l.fold.Add(*e)
	switch b := e.Body.(type) {
	case trajectory.Message:
		if b.Turn == nil {
			return
		}
		if e.Agent == "" {
			l.tokens = plus(l.tokens, plus(b.Turn.Usage.InputTokens, b.Turn.Usage.OutputTokens))
			l.reply(&b)
			return
		}
	case trajectory.CallEnd:
		if b.Agents == 0 && b.Children.InputTokens == 0 && b.Children.OutputTokens == 0 {
			return
		}
	case trajectory.Spend, trajectory.Compact, trajectory.Suspend:
	default:
		return // it spends nothing
	}
	spent := l.spend()
	l.tokens = spent.all()
}

// keptReplies is after how many replies the fold lets go of the messages: a watch is
// not to hold on to a whole transcript.
const keptReplies = 64

// reply notes who answered. All that came before it is over by then, and stands in
// the totals.
func (l *ledger) reply(b *trajectory.Message) {
	if b.Turn.Model != "" {
		l.model = b.Turn.Model
	}
	if l.replies++; l.replies < keptReplies {
		return
	}
	l.replies = 0
	s, messages := l.fold.State(), l.fold.Messages()
	last := append(messages[:0:0], messages[max(len(messages)-1, 0):]...)
	s.Recorded = len(last)
	l.fold.Resume(last, s)
}

func (l *ledger) spend() RunSpend { return Spend(l.fold.State(), l.model) }
