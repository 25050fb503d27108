package resume_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/resume"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// A line that was damaged, or that is gone, costs what stood in it: of a reply also
// the results of its calls, and of no other call. The session can be carried on, and
// what is recorded then is read back.
func TestALostLineCostsNoOther(t *testing.T) {
	for name, damage := range map[string]string{"damaged": "junk\n", "gone": ""} {
		t.Run(name, func(t *testing.T) {
			h := busy(t, true, "Inhalt: ")
			l := recorded(t, h)
			for i, lost := range l.events {
				session := slices.Concat(l.whole[:lost.Offset], []byte(damage), l.whole[l.ends[i]+1:])
				past, err := resume.Read(bytes.NewReader(session), nil)
				require.NoError(t, err)
				require.NoError(t, turn.Check(past.Messages))
				reply := int64(0) // the line of the reply at hand
				for _, e := range l.events {
					switch b := e.Body.(type) {
					case trajectory.Message:
						if e.Agent == "" && b.Turn != nil {
							reply = e.Line
						}
					case trajectory.CallEnd:
						if e.Agent == "" && reply != lost.Line && e.Line != lost.Line {
							require.Contains(t, past.Messages, b.Message, "line %d was lost, and with it line %d", lost.Line, e.Line)
						}
					}
				}

				after, res := h.run(session)
				require.Equal(t, turn.Done, res.StopReason)
				again, err := resume.Read(bytes.NewReader(after), nil)
				require.NoError(t, err)
				require.Equal(t, transcript(t, res.Messages), transcript(t, again.Messages))
				require.Equal(t, timeless(res.Total()), timeless(again.State.Total()))
				require.Equal(t, past.ProblemCount, again.ProblemCount, "line %d", lost.Line)
			}
		})
	}
}
