package trajectory

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/turn"
)

// read collects what a session holds.
func read(t require.TestingT, data []byte) (r *Reader, entries []Entry, problems []*Problem) {
	r = NewReader(bytes.NewReader(data))
	entries, problems = readAll(t, r)
	return r, entries, problems
}

func readAll(t require.TestingT, r *Reader) (entries []Entry, problems []*Problem) {
	for e, err := range r.Entries() {
		var p *Problem
		if errors.As(err, &p) {
			problems = append(problems, p)
			continue
		}
		require.NoError(t, err)
		entries = append(entries, e)
	}
	return entries, problems
}

func write(t require.TestingT, events ...Event) []byte {
	var b bytes.Buffer
	w := NewWriter(&b, Header{Title: "a session"}, Tail{})
	for _, e := range events {
		require.NoError(t, w.Append(e))
	}
	return b.Bytes()
}

func events(entries []Entry) []Event {
	out := make([]Event, len(entries))
	for i, e := range entries {
		out[i] = e.Event
	}
	return out
}

func faults(problems []*Problem) []Fault {
	var out []Fault
	for _, p := range problems {
		out = append(out, p.Fault)
	}
	return out
}

// parsed is a message as a reader would return it.
func parsed(t require.TestingT, text string) turn.TranscriptMessage {
	m, err := turn.ParseMessage([]byte(text))
	require.NoError(t, err)
	return m
}

func quoted(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

var (
	genText = rapid.OneOf(rapid.SampledFrom([]string{"", "<a> & b", "é漢😀\u2028", "line\nline\r\n\ttab", `"quoted" \ {"t":"message","seq":1}`, `,"message":{"role":"user"}}`}),
		rapid.String().Filter(utf8.ValidString))
	genMessage = rapid.Custom(func(t *rapid.T) turn.TranscriptMessage {
		text := quoted(genText.Draw(t, "text"))
		return parsed(t, rapid.SampledFrom([]string{
			`{"role":"user","content":` + text + `}`,
			`{"content":` + text + `,"role":"user","x_\u0061":[1,{"<":` + text + `}]}`,
			`{"role":"assistant","content":null,"reasoning_content":` + text + `,"tool_calls":[{"id":"a","function":{"name":"f","arguments":` + text + `},"extra_content":{"k":1.50}}]}`,
			`{"role":"assistant","content":"` + `\ud800 \u003c\/` + `"}`,
			`{"role":"user","content":[{"type":"text","text":` + text + `}]}`,
		}).Draw(t, "message"))
	})
	genResult = rapid.Custom(func(t *rapid.T) turn.TranscriptMessage {
		return parsed(t, `{"role":"tool","tool_call_id":"a","content":`+quoted(genText.Draw(t, "result"))+`}`)
	})
	genMessages = rapid.Custom(func(t *rapid.T) turn.Transcript { return rapid.SliceOfN(genMessage, 1, 3).Draw(t, "messages") })
	genCount    = rapid.Int64Range(0, 1<<40)
	genTime     = rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
	})
	genDuration = rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(genCount.Draw(t, "ns")) })
	genUsage    = rapid.Custom(func(t *rapid.T) turn.Usage {
		u := turn.Usage{InputTokens: genCount.Draw(t, "in"), OutputTokens: genCount.Draw(t, "out")}
		if rapid.Bool().Draw(t, "reported") {
			cached, cost := genCount.Draw(t, "cached"), turn.Cost(genCount.Draw(t, "cost"))
			u.CachedInputTokens, u.Cost = &cached, &cost
		}
		return u
	})
	genStats = rapid.Custom(func(t *rapid.T) stats.RunStats {
		s := stats.AccumulateTurn(stats.RunStats{}, turn.ModelTurnResult{Usage: genUsage.Draw(t, "usage")})
		return stats.AccumulateToolCall(s, genText.Draw(t, "tool"), genDuration.Draw(t, "time"))
	})
	genCall = rapid.Custom(func(t *rapid.T) turn.Call { return turn.Call{ID: genText.Draw(t, "id"), Name: genText.Draw(t, "name")} })
	genBody = rapid.OneOf(
		rapid.Custom(func(t *rapid.T) Body {
			return RunStart{genText.Draw(t, "title"), genText.Draw(t, "cwd"), rapid.Bool().Draw(t, "continued"), genMessages.Draw(t, "m")}
		}),
		rapid.Custom(func(t *rapid.T) Body {
			return RunEnd{turn.Done, genText.Draw(t, "failure"), genText.Draw(t, "cause"), true}
		}),
		rapid.Custom(func(t *rapid.T) Body { return Message{genMessage.Draw(t, "m"), nil} }),
		rapid.Custom(func(t *rapid.T) Body {
			d := genDuration.Draw(t, "ttft")
			return Message{genMessage.Draw(t, "m"), &Turn{genUsage.Draw(t, "usage"), turn.Timings{TTFT: &d, Generation: genDuration.Draw(t, "d")}, genText.Draw(t, "finish"), genText.Draw(t, "model"), rapid.IntRange(0, 1<<30).Draw(t, "number"), rapid.Bool().Draw(t, "auxiliary")}}
		}),
		rapid.Custom(func(t *rapid.T) Body {
			return CallStart{genCall.Draw(t, "call"), 3, KindEdit, true, genText.Draw(t, "identity"), true, true, true, &Reply{ReplyAnswer, genText.Draw(t, "reply"), genText.Draw(t, "ticket")}}
		}),
		rapid.Custom(func(t *rapid.T) Body {
			return CallEnd{genCall.Draw(t, "call"), 3, OK, genResult.Draw(t, "m"), genDuration.Draw(t, "d"), rapid.SliceOfN(genText, 1, 3).Draw(t, "paths"),
				genStats.Draw(t, "children"), 2, genText.Draw(t, "stack"), genText.Draw(t, "full")}
		}),
		rapid.Custom(func(t *rapid.T) Body {
			return Suspend{genCall.Draw(t, "call"), 3, Suspension{ForTime, genText.Draw(t, "why"), genTime.Draw(t, "until"), json.RawMessage(`{"a":["<",1.50]}`), &Child{turn.Transcript{genResult.Draw(t, "child's")}, State{Iterations: 2}, &RunEnd{turn.Done, "", "c", false}}},
				genDuration.Draw(t, "d"), genStats.Draw(t, "children"), 1}
		}),
		rapid.Custom(func(t *rapid.T) Body {
			return PlanChange{plan.Plan{Steps: []plan.Step{{Text: genText.Draw(t, "step"), State: plan.InProgress}}}}
		}),
		rapid.Custom(func(t *rapid.T) Body {
			return Spend{stats.AuxiliarySpend{Usage: genUsage.Draw(t, "usage"), ModelTime: genDuration.Draw(t, "d")}}
		}),
		rapid.Custom(func(t *rapid.T) Body {
			return Compact{genMessages.Draw(t, "head"), 7, 9, stats.AuxiliarySpend{Usage: genUsage.Draw(t, "usage")}, genText.Draw(t, "failed")}
		}),
		rapid.Custom(func(t *rapid.T) Body { return Title{genText.Draw(t, "title")} }),
		rapid.Just(Body(Custom{"x.acme.note", json.RawMessage(`{"message":{"role":"user"},"<":"\u003c"}`)})),
	)
	genEvent = rapid.Custom(func(t *rapid.T) Event {
		return Event{genTime.Draw(t, "at"), rapid.SampledFrom([]string{"", "3.call_x", "3.call_x/1.é"}).Draw(t, "agent"), genBody.Draw(t, "body")}
	})
)

// withoutArguments is what a line holds by itself: a reader puts arguments back.
func withoutArguments(list []Event) []Event {
	for i, e := range list {
		list[i].Body = withArguments(e.Body, latestReply{calls: []turn.Call{{ID: "a"}}})
	}
	return list
}

func TestEntriesComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(genEvent).Draw(t, "events")
		data := write(t, want...)
		r, entries, problems := read(t, data)
		require.Empty(t, problems)
		require.Equal(t, withoutArguments(append([]Event{}, want...)), withoutArguments(events(entries)))
		if len(want) > 0 {
			require.Equal(t, Tail{Seq: int64(len(want)) + 1}, r.Tail())
			require.Equal(t, Header{Title: "a session"}, r.Header())
		}
	})
}

// The fast way to read a line must be the same as the slow one, which a field
// behind the message forces.
func TestBothLayoutsReadTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := genEvent.Draw(t, "event")
		data := bytes.TrimSpace(bytes.Split(write(t, e), []byte("\n"))[1])
		fast, err := new(decoder).decode(data)
		require.NoError(t, err)
		slow, err := new(decoder).decode(append(data[:len(data)-1:len(data)-1], ` , "later" : [ 1 ] }`...))
		require.NoError(t, err)
		require.Equal(t, fast, slow)
	})
}

func TestMessagesKeepTheirBytes(t *testing.T) {
	for _, text := range []string{
		`{"role":"user","content":"<b> & \u003c \u2028 é 😀 \ud83d\ude00 \ud800"}`,
		"{\"role\":\"user\",\"content\":\"raw \u2028 and \u2029\"}",
		`{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"a\":1e400}"},"extra_content":{"signature":"x=="}}],"n":1.0000000000000000001}`,
		`{"content":"role last","tool_call_id":"a","role":"tool"}`,
	} {
		m := parsed(t, text)
		data := write(t, Event{Body: RunStart{Messages: turn.Transcript{parsed(t, `{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":""}}]}`), m}}},
			Event{Body: Message{m, &Turn{}}}, Event{Body: CallEnd{Message: m}}, Event{Body: Compact{Head: turn.Transcript{m}}})
		require.Equal(t, 4, bytes.Count(data, []byte(text)))
		_, entries, problems := read(t, data)
		require.Empty(t, problems)
		for i, got := range []turn.TranscriptMessage{entries[0].Body.(RunStart).Messages[1], entries[1].Body.(Message).Message,
			entries[2].Body.(CallEnd).Message, entries[3].Body.(Compact).Head[0]} {
			back, err := turn.MessageJSON(got)
			require.NoError(t, err)
			require.Equal(t, text, string(back), "entry %d", i)
		}
	}
}

func TestArgumentsComeBackFromTheReply(t *testing.T) {
	call := func(id, arguments string) turn.Call { return turn.Call{ID: id, Name: "f", Arguments: arguments} }
	reply := func(calls ...turn.Call) turn.TranscriptMessage {
		m := turn.ReplayForm(turn.Assistant("", calls...))
		data, err := turn.MessageJSON(m)
		require.NoError(t, err)
		return parsed(t, string(data))
	}
	for _, reason := range []turn.StopReason{turn.WaitingForReply, turn.ResumingLater, turn.Aborted, turn.Deadline} {
		want := []Event{
			{Body: RunStart{Messages: turn.Transcript{reply(call("a", `{"n":0}`), call("b", `{}`)), parsed(t, `{"role":"tool","tool_call_id":"b","content":""}`)}}},
			{Body: CallStart{Call: call("a", `{"n":0}`)}},
			{Body: Message{reply(call("a", `{"n":1}`), call("b", `{"n":2}`)), &Turn{}}},
			{Body: CallStart{Call: call("b", `{"n":2}`), Turn: 1}},
			{Body: CallStart{Call: call("a", `{"n":1}`), Turn: 1}},
			{Agent: "1.a", Body: Message{reply(call("a", `{"child":true}`)), &Turn{}}},
			{Agent: "1.a", Body: CallStart{Call: call("a", `{"child":true}`), Turn: 1}},
			{Body: CallEnd{Call: call("b", `{"n":2}`), Turn: 1, Message: parsed(t, `{"role":"tool","tool_call_id":"b","content":"x"}`)}},
			{Agent: "1.a", Body: Suspend{Call: call("a", `{"child":true}`), Turn: 1, Suspension: Suspension{For: ForReply}}},
			{Agent: "1.a", Body: RunEnd{Reason: reason}}, // after each of which the child may go on
			{Body: Suspend{Call: call("a", `{"n":1}`), Turn: 1, Suspension: Suspension{For: ForReply}}},
			{Body: RunEnd{Reason: turn.WaitingForReply}},
			{Body: RunStart{Continued: true}},
			{Body: CallStart{Call: call("a", `{"n":1}`), Turn: 1}},
			{Agent: "1.a", Body: CallStart{Call: call("a", `{"child":true}`), Turn: 1}},
		}
		data := write(t, want...)
		require.Equal(t, 3, strings.Count(string(data), `child\":true`)+strings.Count(string(data), `n\":1`)+strings.Count(string(data), `n\":2`))
		_, entries, problems := read(t, data)
		require.Empty(t, problems)
		require.Equal(t, want, events(entries))
	}
}

func FuzzReader(f *testing.F) {
	rapidSeed := rapid.SliceOfN(genEvent, 1, 6)
	for i := range 20 {
		f.Add(write(f, rapidSeed.Example(i)...))
	}
	for _, c := range damaged {
		if len(c.data) < 10_000 {
			f.Add([]byte(c.data))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, entries, problems := read2(data)
		for _, p := range problems {
			require.NotEmpty(t, p.Error())
			require.LessOrEqual(t, p.Offset, int64(len(data)))
		}
		// What was read can be written, and then reads back the same.
		again, rest, bad := read(t, write(t, events(entries)...))
		require.Empty(t, bad)
		require.Equal(t, withoutArguments(events(entries)), withoutArguments(events(rest)))
		require.False(t, again.Tail().Torn)
		require.GreaterOrEqual(t, r.Tail().Seq, int64(0))
		var fold Fold
		for _, e := range entries {
			_ = fold.Add(e.Event)
		}
		closed := turn.Close(fold.Messages(), func(turn.Call) string { return "closed" })
		require.NoError(t, turn.Check(closed))
		require.Empty(t, turn.OpenCalls(closed))
	})
}

// read2 is read of what may also end in an error.
func read2(data []byte) (r *Reader, entries []Entry, problems []*Problem) {
	r = NewReader(bytes.NewReader(data))
	for e, err := range r.Entries() {
		var p *Problem
		if errors.As(err, &p) {
			problems = append(problems, p)
		} else if err == nil {
			entries = append(entries, e)
		}
	}
	return r, entries, problems
}

// fill sets every exported field of a struct, so that one which the format forgets
// is noticed. Messages, arguments and times have values of their own.
func fill(t *testing.T, v reflect.Value, name string) {
	switch v.Interface().(type) {
	case turn.TranscriptMessage:
		v.Set(reflect.ValueOf(parsed(t, `{"role":"tool","tool_call_id":"a","content":"x"}`)))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(`{"a":1}`)))
		return
	case []OpenCall: // which may hold a child of its own
		v.Set(reflect.ValueOf([]OpenCall{{Call: turn.Call{ID: "a"}, Turn: 1}}))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), v.Type().Field(i).Name)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), name)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), name)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(t, value, name)
		v.SetMapIndex(reflect.ValueOf("key"), value)
	case reflect.String:
		if name != "Arguments" {
			v.SetString("x.some.text")
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	default:
		require.Fail(t, "no value for a field", "%s %s", name, v.Type())
	}
}

func TestEveryFieldIsWritten(t *testing.T) {
	for _, zero := range []Body{RunStart{}, RunEnd{}, Message{}, CallStart{}, CallEnd{}, Suspend{}, PlanChange{}, Spend{}, Compact{}, Title{}, Custom{}} {
		v := reflect.New(reflect.TypeOf(zero)).Elem()
		fill(t, v, "")
		want := Event{At: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Agent: "1.a", Body: v.Interface().(Body)}
		_, entries, problems := read(t, write(t, want))
		require.Empty(t, problems)
		require.Equal(t, []Event{want}, events(entries))
	}
	w := &bytes.Buffer{}
	header := Header{"title", json.RawMessage(`{"a":1}`)}
	require.NoError(t, NewWriter(w, header, Tail{}).Append(titled("x")))
	r, _, _ := read(t, w.Bytes())
	require.Equal(t, header, r.Header())
}

// Null is what other writers may write for nothing. Without what it is about an entry
// says nothing, and a plan that is not there takes none away.
func TestNullAndMissingFields(t *testing.T) {
	for line, want := range map[string]Body{
		`{"t":"run.start","seq":2,"title":null,"messages":null,"continued":null}`:                                                           RunStart{},
		`{"t":"call.start","seq":2,"id":"a","turn":1,"reply":null,"kind":null}`:                                                             CallStart{Call: turn.Call{ID: "a"}, Turn: 1},
		`{"t":"call.end","seq":2,"id":"a","turn":1,"children":null,"paths":null,"message":{"role":"tool","tool_call_id":"a","content":""}}`: CallEnd{Call: turn.Call{ID: "a"}, Turn: 1, Message: parsed(t, `{"role":"tool","tool_call_id":"a","content":""}`)},
		`{"t":"message","seq":2,"turn":null,"message":{"role":"user","content":"x"}}`:                                                       Message{Message: parsed(t, `{"role":"user","content":"x"}`)},
		`{"t":"compact","seq":2,"drop":1,"spend":null,"head":null}`:                                                                         Compact{Drop: 1},
		`{"t":"x.a.b","seq":2,"data":null}`:                                                                                                 Custom{Name: "x.a.b", Data: json.RawMessage("null")},
		`{"t":"x.a.b","seq":2}`:                                                                                                             Custom{Name: "x.a.b"},
	} {
		_, entries, problems := read(t, []byte(session(header, line)))
		require.Empty(t, problems, line)
		require.Equal(t, want, entries[0].Body, line)
	}
	for line, want := range map[string]string{
		`{"t":"plan","seq":2}`:                            "there is no plan",
		`{"t":"plan","seq":2,"plan":null}`:                "there is no plan",
		`{"t":"suspend","seq":2,"id":"a"}`:                "there is no suspension",
		`{"t":"message","seq":2,"message":null,"turn":1}`: "there is no message",
	} {
		_, entries, problems := read(t, []byte(session(header, line)))
		require.Empty(t, entries, line)
		require.Len(t, problems, 1, line)
		require.ErrorContains(t, problems[0], want)
	}
}

// Ids may come again in every turn. What a call was asked is not taken from the call
// of another turn when its own reply was lost.
func TestArgumentsAreThoseOfTheTurn(t *testing.T) {
	said := func(number int, arguments string) Event {
		return Event{Body: Message{turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a", Name: "f", Arguments: arguments})), &Turn{Number: number}}}
	}
	start := func(number int) Event {
		return Event{Body: CallStart{Call: turn.Call{ID: "a", Name: "f"}, Turn: number}}
	}
	data := write(t, said(1, `{"n":1}`), start(1), said(2, `{"n":2}`), start(2))
	_, entries, _ := read(t, data)
	require.Equal(t, `{"n":2}`, entries[3].Body.(CallStart).Arguments)
	lines := bytes.SplitAfter(data, []byte("\n"))
	_, entries, _ = read(t, bytes.Join(append(lines[:3:3], lines[4:]...), nil))
	require.Equal(t, `{"n":1}`, entries[1].Body.(CallStart).Arguments)
	require.Empty(t, entries[2].Body.(CallStart).Arguments)
}
