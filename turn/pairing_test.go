package turn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/turn"
)

// script reads a transcript from words: "u" a user message, "s" a system one,
// "a" a reply, "a(x,y)" one with calls x and y, "x" the result of call x, "-" an
// empty message, "_" in place of an empty id.
func script(text string) (messages []turn.TranscriptMessage) {
	for _, word := range strings.Fields(text) {
		switch {
		case word == "-":
			messages = append(messages, turn.TranscriptMessage{})
		case word == "u":
			messages = append(messages, turn.User("u"))
		case word == "s":
			messages = append(messages, turn.System("s"))
		case word == "a":
			messages = append(messages, turn.ReplayForm(turn.Assistant("a")))
		case strings.HasPrefix(word, "a("):
			var calls []string
			for _, id := range strings.Split(word[2:len(word)-1], ",") {
				calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"f","arguments":"{}"}}`, strings.Trim(id, "_")))
			}
			m, err := turn.ParseMessage([]byte(`{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]}`))
			if err != nil {
				panic(err)
			}
			messages = append(messages, m)
		default:
			messages = append(messages, turn.ToolResult(strings.Trim(word, "_"), "result of "+word))
		}
	}
	return messages
}

func TestCheck(t *testing.T) {
	for text, want := range map[string]*turn.PairingError{
		"":                                       nil,
		"u":                                      nil,
		"s u a u a":                              nil,
		"a":                                      nil,
		"u a(x) x a":                             nil,
		"u a(x,y) x y a":                         nil,
		"u a(x,y) y x a":                         nil, // a server pairs by id
		"u a(x)":                                 nil, // open at the end
		"u a(x,y) y":                             nil,
		"a(x) x a(x) x":                          nil, // the same id in another turn
		"a(x) x a(x,y) y":                        nil,
		"a(1,2,3,4,5,6,7,8,9) 9 8 7 6 5 4 3 2 1": nil,

		"x":                        {Index: 0, Fault: turn.OrphanResult, CallID: "x"},
		"u x":                      {Index: 1, Fault: turn.OrphanResult, CallID: "x"},
		"u a x":                    {Index: 2, Fault: turn.OrphanResult, CallID: "x"},
		"a(x) y":                   {Index: 1, Fault: turn.OrphanResult, CallID: "y"},
		"a(x) x a(y) x":            {Index: 3, Fault: turn.OrphanResult, CallID: "x"},
		"a(x) x u x":               {Index: 3, Fault: turn.OrphanResult, CallID: "x"},
		"a(x) _":                   {Index: 1, Fault: turn.OrphanResult},
		"a(x) x x":                 {Index: 2, Fault: turn.RepeatedResult, CallID: "x"},
		"a(x,y) x x y":             {Index: 2, Fault: turn.RepeatedResult, CallID: "x"},
		"a(1,2,3,4,5,6,7,8,9) 1 1": {Index: 2, Fault: turn.RepeatedResult, CallID: "1"},
		"a(x) u":                   {Index: 1, Fault: turn.UnansweredCall, CallID: "x"},
		"a(x) a":                   {Index: 1, Fault: turn.UnansweredCall, CallID: "x"},
		"a(x) a(x) x":              {Index: 1, Fault: turn.UnansweredCall, CallID: "x"},
		"a(x,y) y u":               {Index: 2, Fault: turn.UnansweredCall, CallID: "x"},
		"a(x,y) x a":               {Index: 2, Fault: turn.UnansweredCall, CallID: "y"},
		"a(x) u a(x) x":            {Index: 1, Fault: turn.UnansweredCall, CallID: "x"},
		"a(x) u x":                 {Index: 1, Fault: turn.InterveningMessage, CallID: "x"},
		"a(x,y) x u y":             {Index: 2, Fault: turn.InterveningMessage, CallID: "y"},
		"a(x) s u a x":             {Index: 1, Fault: turn.InterveningMessage, CallID: "x"},
		"u a(x,x)":                 {Index: 1, Fault: turn.RepeatedID, CallID: "x"},
		"a(x,y,x) x y x":           {Index: 0, Fault: turn.RepeatedID, CallID: "x"},
		"a(a,b,c,d,e,f,g,h,i,e)":   {Index: 0, Fault: turn.RepeatedID, CallID: "e"},
		"a(x,_)":                   {Index: 0, Fault: turn.MissingID},
		"a(_) _":                   {Index: 0, Fault: turn.MissingID},
		"u - u":                    {Index: 1, Fault: turn.NoRole},
		"a(x) - x":                 {Index: 1, Fault: turn.NoRole},
	} {
		err := turn.Check(script(text))
		if want == nil {
			require.NoError(t, err, text)
			continue
		}
		var got *turn.PairingError
		require.ErrorAs(t, err, &got, text)
		require.Equal(t, want, got, text)
	}
	require.EqualError(t, turn.Check(script("a(x) u")), `message 1: unanswered call (call "x")`)
	require.EqualError(t, turn.Check(script("u -")), `message 1: message without a role`)
}

func TestOpenCalls(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"u a":                    "",
		"u a(x)":                 "x",
		"u a(x,y)":               "x y",
		"u a(x,y) y":             "x",
		"u a(x,y) x y":           "",
		"u a(x) u":               "",
		"a(x) x a(x)":            "x",
		"a(1,2,3,4,5,6,7,8,9) 5": "1 2 3 4 6 7 8 9",
		"x":                      "",
		"a(x) z":                 "x",
	} {
		var got []string
		for _, c := range turn.OpenCalls(script(text)) {
			got = append(got, c.ID)
		}
		require.Equal(t, want, strings.Join(got, " "), text)
	}
	require.Nil(t, turn.OpenCalls(script("u a(x) x")))
}

func TestClose(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "",
		"u a":                  "u a",
		"u a(x)":               "u a(x) x!",
		"u a(x,y,z) y":         "u a(x,y,z) x! y z!",
		"u a(x,y,z) z x":       "u a(x,y,z) x y! z",
		"u a(x,y) y x":         "u a(x,y) y x", // nothing open: as it is
		"a(x) x a(x)":          "a(x) x a(x) x!",
		"a(1,2,3,4,5,6,7,8,9)": "a(1,2,3,4,5,6,7,8,9) 1! 2! 3! 4! 5! 6! 7! 8! 9!",
	} {
		got := turn.Close(script(text), func(c turn.Call) string { return "closed " + c.ID + c.Name + c.Arguments })
		var wanted []turn.TranscriptMessage
		for _, word := range strings.Fields(want) {
			if id, closed := strings.CutSuffix(word, "!"); closed {
				wanted = append(wanted, turn.ToolResult(id, "closed "+id+"f{}"))
				continue
			}
			wanted = append(wanted, script(word)...)
		}
		require.Equal(t, wire(t, wanted...), wire(t, got...), text)
	}
}

func genScript() *rapid.Generator[[]turn.TranscriptMessage] {
	word := rapid.SampledFrom([]string{"u", "a", "a(x)", "a(x,y)", "a(x,y,z)", "a(y,y)", "a(_)", "x", "y", "z", "x", "y", "_", "-", "s",
		"a(x,y,z,1,2,3,4,5,6)", "1 2 3 4 5 6", "a(x,y) y x", "a(x) x"})
	return rapid.Custom(func(t *rapid.T) []turn.TranscriptMessage {
		return script(strings.Join(rapid.SliceOfN(word, 0, 12).Draw(t, "script"), " "))
	})
}

// slowCheck is Check said in the most obvious way: for each message in turn, look
// at everything before it.
func slowCheck(messages []turn.TranscriptMessage) error {
	for i, m := range messages {
		before := messages[:i]
		calls, answers := slowBatch(before)
		if turn.Role(m) == "" {
			return &turn.PairingError{Index: i, Fault: turn.NoRole}
		}
		if m.OfTool != nil {
			id := m.OfTool.ToolCallID
			if !slices.Contains(calls, id) {
				return &turn.PairingError{Index: i, Fault: turn.OrphanResult, CallID: id}
			}
			if slices.Contains(answers, id) {
				return &turn.PairingError{Index: i, Fault: turn.RepeatedResult, CallID: id}
			}
			continue
		}
		for _, id := range calls {
			if slices.Contains(answers, id) {
				continue
			}
			for _, later := range messages[i:] {
				if later.OfTool != nil && later.OfTool.ToolCallID == id {
					return &turn.PairingError{Index: i, Fault: turn.InterveningMessage, CallID: id}
				}
				if len(turn.Calls(later)) > 0 {
					break
				}
			}
			return &turn.PairingError{Index: i, Fault: turn.UnansweredCall, CallID: id}
		}
		for j, c := range turn.Calls(m) {
			if c.ID == "" {
				return &turn.PairingError{Index: i, Fault: turn.MissingID}
			}
			for _, other := range turn.Calls(m)[:j] {
				if c.ID == other.ID {
					return &turn.PairingError{Index: i, Fault: turn.RepeatedID, CallID: c.ID}
				}
			}
		}
	}
	return nil
}

// slowBatch is the ids called and answered in the batch at the end.
func slowBatch(messages []turn.TranscriptMessage) (calls, answers []string) {
	i := len(messages) - 1
	for ; i >= 0 && messages[i].OfTool != nil; i-- {
		answers = append(answers, messages[i].OfTool.ToolCallID)
	}
	if i < 0 {
		return nil, answers
	}
	for _, c := range turn.Calls(messages[i]) {
		calls = append(calls, c.ID)
	}
	return calls, answers
}

func TestCheckAgainstTheObvious(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := genScript().Draw(t, "messages")
		require.Equal(t, slowCheck(messages), turn.Check(messages))
	})
}

func TestOpenCallsAgainstTheObvious(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := genScript().Draw(t, "messages")
		if turn.Check(messages) != nil {
			t.Skip("open calls of a broken transcript mean nothing")
		}
		_, answers := slowBatch(messages)
		var want []turn.Call
		for i := len(messages) - 1; i >= 0; i-- {
			if messages[i].OfTool != nil {
				continue
			}
			for _, c := range turn.Calls(messages[i]) {
				if !slices.Contains(answers, c.ID) {
					want = append(want, c)
				}
			}
			break
		}
		require.Equal(t, want, turn.OpenCalls(messages))
	})
}

func TestCloseLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := genScript().Draw(t, "messages")
		before := append([]turn.TranscriptMessage{}, messages...)
		roomy := append(make([]turn.TranscriptMessage, 0, len(messages)+16), messages...)
		behind := roomy[:cap(roomy)]
		sound := turn.Check(messages) == nil
		asked := 0
		closed := turn.Close(roomy, func(turn.Call) string { asked++; return "closed" })

		require.Equal(t, before, roomy, "the messages are not written to")
		for _, m := range behind[len(messages):] {
			require.Zero(t, m, "nor is what lies behind them")
		}
		if !sound {
			return // it must not panic, and that is all
		}
		require.NoError(t, turn.Check(closed))
		require.Empty(t, turn.OpenCalls(closed))
		require.Equal(t, len(turn.OpenCalls(messages)), asked)
		require.Len(t, closed, len(messages)+asked)
		again := turn.Close(closed, func(turn.Call) string { panic("nothing is open") })
		require.Equal(t, closed, again)
		if asked > 0 {
			require.False(t, &closed[0] == &roomy[0], "a new slice")
		}
	})
}

func TestOneBaseGrownTwice(t *testing.T) {
	base := append(make([]turn.TranscriptMessage, 0, 16), script("u a(x,y) y")...)
	one := turn.Close(base[:2], func(turn.Call) string { return "one" })
	two := turn.Close(base[:2], func(turn.Call) string { return "two" })
	require.Equal(t, []string{"one", "one"}, []string{turn.Text(one[2]), turn.Text(one[3])})
	require.Equal(t, []string{"two", "two"}, []string{turn.Text(two[2]), turn.Text(two[3])})
	require.Equal(t, "result of y", turn.Text(base[2]))
}

func BenchmarkCheck(b *testing.B) {
	messages := script(strings.Repeat("u a(x,y) x y ", 1000))
	b.ReportAllocs()
	for b.Loop() {
		if turn.Check(messages) != nil {
			b.Fatal("sound")
		}
	}
}
