package trajectory_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// clocked is a run as a loop records it: a reply that called two tools, one of
// which has finished.
func clocked() []trajectory.Event {
	clock, date := turn.Call{ID: "a", Name: "clock", Arguments: "{}"}, turn.Call{ID: "b", Name: "date", Arguments: "{}"}
	var events []trajectory.Event
	for _, b := range []trajectory.Body{
		trajectory.RunStart{Messages: turn.Transcript{turn.User("What time is it, and which day?")}},
		trajectory.Message{
			Message: turn.ReplayForm(turn.Assistant("", clock, date)),
			Turn:    &trajectory.Turn{Usage: turn.Usage{InputTokens: 90, OutputTokens: 12}, Finish: "tool_calls"},
		},
		trajectory.CallStart{Call: clock, Turn: 1, Kind: trajectory.KindRead},
		trajectory.CallStart{Call: date, Turn: 1, Kind: trajectory.KindRead},
		trajectory.CallEnd{Call: date, Turn: 1, Status: trajectory.OK, Message: turn.ToolResult("b", "Monday"), Duration: 20 * time.Millisecond},
	} {
		events = append(events, trajectory.Event{Body: b})
	}
	return events
}

// fold is what follows from entries.
func fold(events []trajectory.Event) *trajectory.Fold {
	f := new(trajectory.Fold)
	for _, e := range events {
		if err := f.Add(e); err != nil {
			fmt.Println(err) // the entry does not fit; what could be taken of it was
		}
	}
	return f
}

// The folds work on any list of entries, so a test of a host can ask what its run
// came to: the transcript, the totals, and what is still open.
func ExampleFold() {
	var f trajectory.Fold
	for _, e := range clocked() {
		if err := f.Add(e); err != nil {
			fmt.Println(err)
		}
	}
	for _, m := range f.Messages() {
		fmt.Printf("%s %q\n", turn.Role(m), turn.Text(m))
	}
	s := f.State()
	fmt.Println(s.Stats.Turns, "turn,", s.Stats.ToolCalls, "calls,", s.Stats.InputTokens, "tokens in")
	fmt.Println("open:", s.Open[0].Name, "started:", s.Open[0].Started)
	// Output:
	// user "What time is it, and which day?"
	// assistant ""
	// tool "Monday"
	// 1 turn, 2 calls, 90 tokens in
	// open: clock started: true
}

// An entry that does not fit is reported, and damages nothing.
func ExampleFold_Add() {
	var f trajectory.Fold
	end := trajectory.CallEnd{Call: turn.Call{ID: "a", Name: "clock"}, Turn: 1, Message: turn.ToolResult("a", "12:00")}
	fmt.Println(f.Add(trajectory.Event{Body: end}))
	fmt.Println(len(f.Messages()))
	// Output:
	// call "a" ended, which is no open call
	// 0
}

// The messages and the state are all that there is to a run: a fold that begins
// from them goes on as the one that made them.
func ExampleFold_Resume() {
	first := fold(clocked())
	stored, err := json.Marshal(first.State())
	fmt.Println(err)

	var state trajectory.State
	if err := json.Unmarshal(stored, &state); err != nil {
		fmt.Println(err)
	}
	var next trajectory.Fold
	next.Resume(first.Messages(), state)
	err = next.Add(trajectory.Event{Body: trajectory.CallEnd{
		Call: turn.Call{ID: "a", Name: "clock"}, Turn: 1, Status: trajectory.OK, Message: turn.ToolResult("a", "12:00")}})
	fmt.Println(turn.Text(next.Messages()[2]), turn.Text(next.Messages()[3]), len(next.Open()), err)
	// Output:
	// <nil>
	// 12:00 Monday 0 <nil>
}

// What a run spent beyond what the runs before it had.
func ExampleFold_Spent() {
	earlier := trajectory.State{Stats: stats.RunStats{InputTokens: 5000}}
	var f trajectory.Fold
	f.Resume(nil, earlier)
	for _, e := range clocked() {
		if err := f.Add(e); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(f.State().Stats.InputTokens, "tokens in all, here", f.Spent().InputTokens)
	// Output: 5090 tokens in all, here 90
}

// What a loop asks at every step, without the copies that State makes.
func ExampleFold_EachOpen() {
	f := fold(clocked())
	fmt.Println(f.Iterations(), "of the iterations used, turn", f.Turn())
	fmt.Println(f.CountOpen(), "call is open")
	for i, c := range f.EachOpen {
		fmt.Println(i, c.ID, c.Name)
	}
	// Output:
	// 1 of the iterations used, turn 1
	// 1 call is open
	// 0 a clock
}

func ExampleState_Total() {
	s := trajectory.State{
		Stats:    stats.RunStats{Turns: 3, InputTokens: 900},
		Children: stats.RunStats{Turns: 5, InputTokens: 4000}, // of its sub-agents
	}
	fmt.Println(s.Total().Turns, s.Total().InputTokens)
	// Output: 8 4900
}

// An agent wants to remove a file, and its lead's call waits for that.
func ExampleOpenCall_Innermost() {
	remove := trajectory.OpenCall{Call: turn.Call{ID: "x", Name: "rm", Arguments: `{"path":"old.txt"}`}, Suspension: &trajectory.Suspension{For: trajectory.ForApproval}}
	agent := trajectory.OpenCall{Call: turn.Call{ID: "a", Name: "tidy"}, Suspension: &trajectory.Suspension{
		For: trajectory.ForApproval, Child: &trajectory.Child{State: trajectory.State{Open: []trajectory.OpenCall{remove}}}}}
	asked := agent.Innermost()
	fmt.Println("allow", asked.Name, asked.Arguments, "for", agent.ID)
	// Output: allow rm {"path":"old.txt"} for a
}

func ExampleState_FirstWaiting() {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s := trajectory.State{Open: []trajectory.OpenCall{
		{Call: turn.Call{ID: "a"}, Suspension: &trajectory.Suspension{For: trajectory.ForTime, Until: noon.Add(time.Hour)}},
		{Call: turn.Call{ID: "b"}, Suspension: &trajectory.Suspension{For: trajectory.ForTime, Until: noon}},
	}}
	first, _ := s.FirstWaiting()
	fmt.Println(first.ID, first.Suspension.Until.Format(time.Kitchen))
	// Output: b 12:00PM
}

// paused has an open call that waits for nothing, one that waits for a person, and one
// that waits for a time.
var paused = trajectory.State{Open: []trajectory.OpenCall{
	{Call: turn.Call{ID: "a", Name: "clock"}},
	{Call: turn.Call{ID: "b", Name: "ask"}, Suspension: &trajectory.Suspension{For: trajectory.ForReply, Question: "For how many?"}},
	{Call: turn.Call{ID: "c", Name: "build"}, Suspension: &trajectory.Suspension{For: trajectory.ForTime, Question: "the build runs"}},
}}

func ExampleState_Waiting() {
	for _, c := range paused.Waiting() {
		fmt.Println(c.ID, c.Suspension.For, c.Suspension.Question)
	}
	// Output:
	// b reply For how many?
	// c time the build runs
}

// What a host shows of a run that waits for a reply.
func ExampleState_Asking() {
	for _, c := range paused.Asking() {
		fmt.Println(c.ID, c.Suspension.For, c.Suspension.Question)
	}
	// Output: b reply For how many?
}

// A reply names the pause that it was meant for, so that a button that is pressed
// twice does not answer the next question too.
func ExampleOpenCall_Ticket() {
	ask := trajectory.OpenCall{Call: turn.Call{ID: "call_0", Name: "ask"}, Turn: 3, Pauses: 1, Suspension: &trajectory.Suspension{For: trajectory.ForReply}}
	fmt.Println(ask.Waiting(), ask.Ticket())
	ask.Pauses = 2 // the tool asked again
	fmt.Println(ask.Ticket())
	// Output:
	// true 3.1.call_0
	// 3.2.call_0
}

// The entries of a child run are told by the name of the call that started it.
func ExampleAgentName() {
	name := trajectory.AgentName(3, "call_x")
	e := trajectory.Event{Agent: "3.call_x", Body: trajectory.Title{Title: "look around"}}
	fmt.Println(name, e.Agent == name)
	// Output: 3.call_x true
}

// A host's own entries, in a namespace of its own, stand beside the others.
func ExampleCustom() {
	session := trajectory.NewWriter(io.Discard, trajectory.Header{}, trajectory.Tail{})
	fmt.Println(session.Append(trajectory.Event{Body: trajectory.Custom{Name: "x.acme.branch", Data: json.RawMessage(`"main"`)}}))
	// Output: <nil>
}

func ExampleCustom_Check() {
	fmt.Println(trajectory.Custom{Name: "x.shop.sold"}.Check())
	fmt.Println(trajectory.Custom{Name: "sold"}.Check())
	// Output:
	// <nil>
	// the name "sold" is not of the form x.<vendor>.<name>
}

// The same method that wrote the first entry writes all of them: it is a recorder.
func ExampleWriter_Append() {
	var file strings.Builder
	record := trajectory.NewWriter(&file, trajectory.Header{}, trajectory.Tail{}).Append
	fmt.Println(record(trajectory.Event{}))
	fmt.Println(record(trajectory.Event{Body: trajectory.Title{Title: "a nice day"}}))
	fmt.Print(file.String())
	// Output:
	// record: the entry has no body
	// <nil>
	// {"t":"session","seq":1,"v":1}
	// {"t":"title","seq":2,"title":"a nice day"}
}

// A session that is carried on gets no second header.
func ExampleNewWriter() {
	file := `{"t":"session","seq":1,"v":1}` + "\n"
	reader := trajectory.NewReader(strings.NewReader(file))
	for range reader.Entries() {
	}
	var more strings.Builder
	session := trajectory.NewWriter(&more, trajectory.Header{}, reader.Tail())
	fmt.Println(session.Append(trajectory.Event{Body: trajectory.Title{Title: "a nice day"}}))
	fmt.Print(more.String())
	// Output:
	// <nil>
	// {"t":"title","seq":2,"title":"a nice day"}
}

// What stands in a session beside its entries.
func ExampleNewReader() {
	reader := trajectory.NewReader(strings.NewReader(`{"t":"session","seq":1,"v":1,"title":"sunny","host":{"cwd":"/src"}}
{"t":"title","seq":2,"title":"rainy"}
{"t":"from.the.future","seq":3}
`))
	for e, err := range reader.Entries() {
		fmt.Println(e.Line, e.Body, err)
	}
	h := reader.Header()
	fmt.Println(h.Title, string(h.Host))
	fmt.Println(reader.Tail().Seq, reader.Unknown())
	// Output:
	// 2 {rainy} <nil>
	// sunny {"cwd":"/src"}
	// 3 map[from.the.future:1]
}
