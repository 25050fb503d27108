package trajectory

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/turn"
)

func reply(ids ...string) Event {
	calls := make([]turn.Call, len(ids))
	for i, id := range ids {
		calls[i] = turn.Call{ID: id, Name: "f", Arguments: "{}"}
	}
	return Event{Body: Message{turn.ReplayForm(turn.Assistant("", calls...)), &Turn{}}}
}

func ended(turnNumber int, id string) Event {
	return Event{Body: CallEnd{Call: turn.Call{ID: id, Name: "f"}, Turn: turnNumber, Status: OK, Message: turn.ToolResult(id, "ok")}}
}

// An entry that does not fit is an error, and the transcript stays one that a
// server takes.
func TestFoldKeepsTheTranscriptValid(t *testing.T) {
	twice := func(id string) turn.TranscriptMessage {
		call := `{"id":` + quoted(id) + `,"type":"function","function":{"name":"f","arguments":"{}"}}`
		return parsed(t, `{"role":"assistant","tool_calls":[`+call+`,`+call+`]}`)
	}
	begin := Event{Body: RunStart{Messages: turn.Transcript{turn.User("go")}}}
	for name, c := range map[string]struct {
		events []Event
		err    string // of the last
		roles  string
	}{
		"a message without a role":           {[]Event{begin, {Body: Message{}}}, "a message without a role", "u"},
		"two calls of one id":                {[]Event{begin, {Body: Message{twice("a"), &Turn{}}}}, `a message that calls "a" twice`, "u"},
		"calls without an id":                {[]Event{begin, {Body: Message{twice(""), &Turn{}}}}, `a message with a call that has no id`, "u"},
		"an end with no message":             {[]Event{begin, reply("a"), {Body: CallEnd{Call: turn.Call{ID: "a"}, Turn: 1}}}, `call "a" ended with a message that is not its result`, "uat"},
		"an end with another's result":       {[]Event{begin, reply("a"), {Body: CallEnd{Call: turn.Call{ID: "a"}, Turn: 1, Message: turn.ToolResult("b", "")}}}, `call "a" ended with a message that is not its result`, "uat"},
		"an end twice":                       {[]Event{begin, reply("a"), ended(1, "a"), ended(1, "a")}, `call "a" ended, which is no open call`, "uat"},
		"an end in another turn":             {[]Event{begin, reply("a"), ended(1, "a"), reply("a"), ended(1, "a")}, `call "a" ended, which is no open call`, "uata"},
		"a message between call and result":  {[]Event{begin, reply("a", "b"), ended(1, "b"), {Body: Message{turn.User("well?"), nil}}}, `a message while call "a" has no result`, "uattu"},
		"a compaction that parts a pair":     {[]Event{begin, reply("a"), ended(1, "a"), {Body: Compact{Head: turn.Transcript{turn.User("so far")}, Drop: 2}}}, `a compaction that breaks the transcript: message 1: orphan result (call "a")`, "uat"},
		"a compaction to an open call":       {[]Event{begin, {Body: Compact{Head: turn.Transcript{reply("a").Body.(Message).Message}, Drop: 1}}}, "a compaction that ends with open calls", "u"},
		"a compaction of more than there is": {[]Event{begin, {Body: Compact{Drop: 2}}}, "a compaction of 2 messages, of 1", "u"},
		"a compaction while calls are open":  {[]Event{begin, reply("a"), {Body: Compact{Drop: 2}}}, "a compaction while calls are open", "ua"},
	} {
		t.Run(name, func(t *testing.T) {
			var f Fold
			for i, e := range c.events {
				err := f.Add(e)
				if i == len(c.events)-1 {
					require.EqualError(t, err, c.err)
				} else {
					require.NoError(t, err)
				}
			}
			roles := ""
			for _, m := range f.Messages() {
				roles += turn.Role(m)[:1]
			}
			require.Equal(t, c.roles, roles)
			require.NoError(t, turn.Check(f.Messages()))
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		var f Fold
		all := []Event{begin, reply("a"), reply("a", "b"), reply(), ended(0, "a"), ended(1, "a"), ended(1, "b"), ended(2, "a"), {Body: Message{Message: turn.User("x")}},
			{Body: Message{Message: turn.ToolResult("a", "")}}, {Body: Compact{Drop: 1}}, {Body: Compact{Head: turn.Transcript{turn.User("x")}, Drop: 3}}, {Body: Message{twice("a"), &Turn{}}},
			{Body: CallStart{Call: turn.Call{ID: "a"}, Turn: 1}}, {Body: Suspend{Call: turn.Call{ID: "b"}, Turn: 1}}, {Body: RunEnd{}}, {Agent: "1.a", Body: Message{twice("a"), &Turn{}}}}
		for _, e := range rapid.SliceOf(rapid.SampledFrom(all)).Draw(t, "events") {
			_ = f.Add(e)
			require.NoError(t, turn.Check(f.Messages()))
		}
		// A state and its messages are all there is to a fold.
		s := f.State()
		data, err := json.Marshal(s)
		require.NoError(t, err)
		var back State
		require.NoError(t, json.Unmarshal(data, &back))
		var again Fold
		again.Resume(f.Messages(), back)
		require.Equal(t, f.Messages(), again.Messages())
		data2, err := json.Marshal(again.State())
		require.NoError(t, err)
		require.JSONEq(t, string(data), string(data2))
	})
}

// Replies that were lost before do not count, and calls keep the number they have in
// the record: what a host then answers itself is still the call's result.
func TestResultOfACallBehindALostReply(t *testing.T) {
	var f, resumed Fold
	require.NoError(t, f.Add(Event{Body: RunStart{Messages: turn.Transcript{turn.User("go")}}}))
	third := reply("z", "a")
	third.Body.(Message).Turn.Number = 3
	require.NoError(t, f.Add(third))
	require.NoError(t, f.Add(ended(3, "z")))
	require.NoError(t, f.Add(Event{Body: CallStart{Call: turn.Call{ID: "a"}, Turn: 3}}))
	require.Equal(t, int64(1), f.State().Stats.Turns)
	require.Equal(t, 3, f.State().Open[0].Turn)
	resumed.Resume(f.Messages(), f.State())
	require.NoError(t, resumed.Add(Event{Body: RunStart{Messages: turn.Transcript{turn.ToolResult("a", "by hand"), turn.User("on")}}}))
	require.Equal(t, "by hand", turn.Text(resumed.Messages()[3]))
}

// What an open call's child has spent is what the child's own fold says.
func TestChildEntriesAddUpToTheChildsTotals(t *testing.T) {
	child := []Event{
		{Body: RunStart{Messages: turn.Transcript{turn.User("go")}}},
		reply("a", "b", "c"),
		{Body: CallStart{Call: turn.Call{ID: "a", Name: "f"}, Turn: 1}},
		{Body: Suspend{Call: turn.Call{ID: "a", Name: "f"}, Turn: 1, Suspension: Suspension{For: ForReply}, Duration: time.Second}},
		{Body: Suspend{Call: turn.Call{ID: "b", Name: "f"}, Turn: 1, Suspension: Suspension{For: ForApproval}}},
		{Body: CallEnd{Call: turn.Call{ID: "c", Name: "f"}, Turn: 1, Status: NotStarted, Message: turn.ToolResult("c", "no")}},
		{Body: CallStart{Call: turn.Call{ID: "a", Name: "f"}, Turn: 1, Again: true, Reply: &Reply{Kind: ReplyAnswer}}},
		{Body: CallStart{Call: turn.Call{ID: "b", Name: "f"}, Turn: 1, Approved: true, Reply: &Reply{Kind: ReplyApprove}}},
		{Body: CallEnd{Call: turn.Call{ID: "a", Name: "f"}, Turn: 1, Duration: time.Minute, Message: turn.ToolResult("a", "ok")}},
		{Body: CallEnd{Call: turn.Call{ID: "b", Name: "f"}, Turn: 1, Duration: time.Hour, Message: turn.ToolResult("b", "ok")}},
		{Body: Spend{stats.AuxiliarySpend{Usage: turn.Usage{InputTokens: 9}}}},
	}
	var own, parent Fold
	require.NoError(t, parent.Add(reply("call")))
	for _, e := range child {
		require.NoError(t, own.Add(e))
		e.Agent = AgentName(1, "call")
		require.NoError(t, parent.Add(e))
	}
	open := parent.Open()
	require.Len(t, open, 1)
	require.Equal(t, own.State().Stats, *open[0].Children)
	require.Equal(t, 1, open[0].Agents)
	require.Equal(t, int64(2), parent.State().Total().ToolCalls)
}

// A compaction keeps the messages that it kept, whatever the record has lost of
// those before it: lines, or an earlier compaction.
func TestCompactionBehindDamage(t *testing.T) {
	whole := []Event{
		{Body: RunStart{Messages: turn.Transcript{turn.User("first")}}},
		reply("a"), ended(1, "a"), reply("b"), ended(2, "b"),
		{Body: Compact{Head: turn.Transcript{turn.User("so far")}, Drop: 3, Of: 5}},
		reply("c"), ended(3, "c"),
		{Body: Message{Message: turn.User("the latest request")}},
		reply("d"), ended(4, "d"),
		{Body: Compact{Head: turn.Transcript{turn.User("so far and on")}, Drop: 5, Of: 8}},
	}
	for i := range whole {
		if b, ok := whole[i].Body.(Message); ok && b.Turn != nil {
			b.Turn.Number = int(b.Message.OfAssistant.ToolCalls[0].OfFunction.ID[0]-'a') + 1
		}
	}
	for lost := range whole {
		var f Fold
		for i, e := range whole {
			if i != lost {
				_ = f.Add(e)
			}
		}
		require.NoError(t, turn.Check(f.Messages()))
		if lost >= len(whole)-2 { // the compaction itself, or a result without which a call is open there
			continue
		}
		require.Equal(t, "so far and on", turn.Text(f.Messages()[0]), "without entry %d", lost)
		if lost < 8 {
			require.Equal(t, "the latest request", turn.Text(f.Messages()[1]), "without entry %d", lost)
			require.Len(t, f.Messages(), 4, "without entry %d", lost)
		}
	}
}
