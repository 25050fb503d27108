package resume_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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

				again := agrees(t, h, session)
				require.Equal(t, past.ProblemCount, again.ProblemCount, "line %d", lost.Line)
			}
		})
	}
}

// Whatever was damaged, the run that carries on and its record agree.
func TestDamageAndCarryOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := busy(t, rapid.Bool().Draw(t, "safe"), "Inhalt: ")
		session := damaged(t, recorded(t, h).whole)
		past, err := resume.Read(bytes.NewReader(session), nil)
		if newer := (*trajectory.VersionError)(nil); errors.Is(err, resume.ErrNoSession) || errors.As(err, &newer) {
			return // the damage hit the header, and nobody is told that all is well
		}
		require.NoError(t, err)
		require.NoError(t, turn.Check(past.Messages))
		agrees(t, h, session)
	})
}

// agrees carries a session on to its end, and checks that its record then tells what
// the result tells.
func agrees(t require.TestingT, h *host, session []byte) resume.PastSession {
	after, res := h.run(session)
	require.Equal(t, turn.Done, res.StopReason)
	again, err := resume.Read(bytes.NewReader(after), nil)
	require.NoError(t, err)
	require.Equal(t, transcript(t, res.Messages), transcript(t, again.Messages))
	require.Equal(t, timeless(res.Total()), timeless(again.State.Total()))
	return again
}

// damaged is a session some of whose lines are damaged, gone, doubled, swapped or cut.
func damaged(t *rapid.T, session []byte) []byte {
	lines := bytes.SplitAfter(bytes.TrimSuffix(session, []byte("\n")), []byte("\n"))
	for range rapid.IntRange(1, 6).Draw(t, "faults") {
		i := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
		switch rapid.IntRange(0, 5).Draw(t, "fault") {
		case 0:
			lines[i] = []byte("junk\n")
		case 1:
			lines[i] = nil
		case 2:
			lines[i] = slices.Concat(lines[i], lines[i])
		case 3:
			j := rapid.IntRange(0, len(lines)-1).Draw(t, "other line")
			lines[i], lines[j] = lines[j], lines[i]
		case 4:
			if len(lines[i]) > 0 {
				lines[i] = bytes.Clone(lines[i])
				lines[i][rapid.IntRange(0, len(lines[i])-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
			}
		case 5:
			lines = lines[:i+1]
			lines[i] = lines[i][:rapid.IntRange(0, len(lines[i])).Draw(t, "cut")]
		}
	}
	return bytes.Join(lines, nil)
}
