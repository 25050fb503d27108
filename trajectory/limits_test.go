package trajectory

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/turn"
)

// What a reader would pass over is refused when it is recorded, while something can
// still be done about it.
func TestWhatNobodyCouldReadIsNotWritten(t *testing.T) {
	deep := func(n int) json.RawMessage { return json.RawMessage(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	for name, body := range map[string]Body{
		"data":     Custom{Name: "x.a.b", Data: deep(500)},
		"saved":    Suspend{Call: turn.Call{ID: "a"}, Suspension: Suspension{For: ForReply, Saved: deep(499)}},
		"message":  RunStart{Messages: turn.Transcript{parsed(t, `{"role":"user","x":`+string(deep(499))+`}`)}},
		"too long": Message{Message: turn.User(strings.Repeat("x", DefaultMaxLine))},
	} {
		var b bytes.Buffer
		w := NewWriter(&b, Header{}, Tail{})
		require.ErrorContains(t, w.Append(Event{Body: body}), "record "+body.Type()+": ", name)
		require.Empty(t, b.Bytes(), name)
	}
	for _, body := range []Body{
		Custom{Name: "x.a.b", Data: deep(499)},
		Suspend{Call: turn.Call{ID: "a"}, Suspension: Suspension{For: ForReply, Saved: deep(498)}},
	} {
		_, entries, problems := read(t, write(t, Event{Body: body}))
		require.Empty(t, problems)
		require.Equal(t, body, entries[0].Body)
	}
	var b bytes.Buffer
	require.ErrorContains(t, NewWriter(&b, Header{Host: deep(500)}, Tail{}).Append(titled("a")), "record session: ")
	require.Empty(t, b.Bytes())
}

// The longest line that is written is read, and of a call that said too much the
// result is kept.
func TestLongestLine(t *testing.T) {
	const around = len(`{"t":"title","seq":2,"title":""}`)
	data := write(t, titled(strings.Repeat("x", DefaultMaxLine-around)))
	_, entries, problems := read(t, data)
	require.Empty(t, problems)
	require.Len(t, entries, 1)
	require.Error(t, NewWriter(io.Discard, Header{}, Tail{}).Append(titled(strings.Repeat("x", DefaultMaxLine-around+1))))

	end := CallEnd{Call: turn.Call{ID: "a"}, Turn: 1, Status: OK, Message: turn.ToolResult("a", "in short"), Full: strings.Repeat("x", DefaultMaxLine)}
	_, entries, problems = read(t, write(t, Event{Body: end}))
	require.Empty(t, problems)
	require.Equal(t, "in short", turn.Text(entries[0].Body.(CallEnd).Message))
	require.Empty(t, entries[0].Body.(CallEnd).Full)
}
