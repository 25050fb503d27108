package loop

import (
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// nudgeMark begins the message of a [PlanNudge].
const nudgeMark = "The plan still has open steps:"

// PlanNudge is an OnTurnWouldEnd that reminds the model of open plan steps, at
// most times in a row; a call that worked begins the count anew. It is silent
// without a plan and while a call waits. It remembers nothing, so several runs may
// share one.
func PlanNudge(times int) func(trajectory.State, turn.ModelTurnResult) []turn.TranscriptMessage {
	return func(s trajectory.State, _ turn.ModelTurnResult) []turn.TranscriptMessage {
		if s.Plan == nil || len(s.Waiting()) > 0 || s.PlainReplies > times {
			return nil
		}
		open := s.Plan.Outstanding()
		if len(open) == 0 {
			return nil
		}
		var b strings.Builder
		for _, step := range open {
			fmt.Fprintf(&b, "- %s\n", step.Text)
		}
		return []turn.TranscriptMessage{turn.User(fmt.Sprintf(
			nudgeMark+"\n%sDo them, or mark each as done or dropped, before you finish.", b.String()))}
	}
}
