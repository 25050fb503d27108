package turn_test

import (
	"testing"

	"github.com/pawl-dev/pawl/turn"
	"github.com/stretchr/testify/require"
)

// A reply whose content is a list of parts keeps the list.
func TestReplayFormOfContentParts(t *testing.T) {
	for _, content := range []string{`[{"type":"text","text":"abc"}]`, `[ {"type": "thinking", "thinking": []}, {"type":"text","text":"abc"} ]`} {
		var m turn.AssistantTurnMessage
		require.NoError(t, m.UnmarshalJSON([]byte(`{"role":"assistant","content":`+content+`}`)))
		got, err := turn.MessageJSON(turn.ReplayForm(m))
		require.NoError(t, err)
		require.JSONEq(t, `{"role":"assistant","content":`+content+`}`, string(got))
		require.Equal(t, "abc", turn.Text(turn.ReplayForm(m)))

		m.Content = "edited"
		got, err = turn.MessageJSON(turn.ReplayForm(m))
		require.NoError(t, err)
		require.JSONEq(t, `{"role":"assistant","content":"edited"}`, string(got))
	}
}
