package turn_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pawl-dev/pawl/turn"
)

// asked is a transcript whose last reply made two calls.
func asked() []turn.TranscriptMessage {
	return []turn.TranscriptMessage{
		turn.User("Read both."),
		turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a", Name: "read", Arguments: `{"n":1}`}, turn.Call{ID: "b", Name: "read", Arguments: `{"n":2}`})),
	}
}

// A strict server refuses a transcript in which calls and results do not pair, and
// all that comes after it. The first fault is named.
func ExampleCheck() {
	fmt.Println(turn.Check(append(asked(), turn.ToolResult("a", "one"), turn.ToolResult("b", "two"))))
	fmt.Println(turn.Check(append(asked(), turn.ToolResult("b", "two")))) // still open at the end: no fault

	err := turn.Check(append(asked(), turn.ToolResult("a", "one"), turn.User("And?")))
	var fault *turn.PairingError
	fmt.Println(err, errors.As(err, &fault) && fault.Fault == turn.UnansweredCall)
	// Output:
	// <nil>
	// <nil>
	// message 3: unanswered call (call "b") true
}

func ExampleOpenCalls() {
	fmt.Println(turn.OpenCalls(append(asked(), turn.ToolResult("b", "two"))))
	// Output: [{a read {"n":1}}]
}

// A transcript that ends with open calls can be sent again once they are answered.
// Results stand in call order.
func ExampleClose() {
	messages := turn.Close(append(asked(), turn.ToolResult("b", "two")), func(c turn.Call) string {
		return c.Name + " was stopped"
	})
	for _, m := range messages[2:] {
		fmt.Println(turn.CallID(m), turn.Text(m))
	}
	fmt.Println(turn.Check(messages), turn.OpenCalls(messages))
	// Output:
	// a read was stopped
	// b two
	// <nil> []
}

// Two calls of one reply with one id cannot both be answered. The second gets an
// id of its own, and is known by it.
func ExampleRepeated() {
	m := turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a", Name: "pay", Arguments: "{}"}, turn.Call{ID: "a", Name: "pay", Arguments: "{}"}))
	for _, c := range turn.Calls(m) {
		fmt.Println(len(c.ID), turn.Repeated([]turn.TranscriptMessage{m}, c.ID))
	}
	// Output:
	// 1 false
	// 9 true
}

// What a model writes as arguments, as one JSON object or the reason why not.
func ExampleArguments() {
	for _, written := range []string{`{"path":"a.go"}`, ``, `"{\"path\":\"a.go\"}"`, `{"path":`, `["a.go"]`, `{"path":"a.go","path":"b.go"}`} {
		fmt.Println(turn.Arguments(written))
	}
	// Output:
	// {"path":"a.go"} <nil>
	// {} <nil>
	// {"path":"a.go"} <nil>
	//  invalid JSON at byte 8: unexpected end of JSON input
	//  the arguments are no JSON object
	//  the name "path" stands twice in one object
}

// Arguments that are no JSON go back to the server inside an object, and can
// still be shown as they were written.
func ExampleInvalidArguments() {
	m := turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a", Name: "read", Arguments: `{"path":`}))
	sent := turn.Calls(m)[0].Arguments
	fmt.Println(sent)
	fmt.Println(turn.InvalidArguments(sent))
	// Output:
	// {"_invalid_arguments":"{\"path\":"}
	// {"path": true
}

func ExampleValidJSON() {
	fmt.Println(turn.ValidJSON(`{"a":1}`))
	fmt.Println(turn.ValidJSON(`{"a":1`))
	// Output:
	// <nil>
	// invalid JSON at byte 6: unexpected end of JSON input
}

// A schema goes out as it stands, with its properties in their order.
func ExampleFunctionTool() {
	read, err := turn.FunctionTool("read", "Read a file.", json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"integer"}}}`))
	fmt.Println(turn.ToolName(read), err)
	data, err := json.Marshal(read)
	fmt.Println(string(data), err)

	_, err = turn.FunctionTool("read", "", json.RawMessage(`{"type":"string"}`))
	fmt.Println(err)
	// Output:
	// read <nil>
	// {"type":"function","function":{"name":"read","description":"Read a file.","parameters":{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"integer"}}}}} <nil>
	// schema: the type is "string", want "object"
}

// A TurnFn for another wire format takes the parts of a definition.
func ExampleToolSchema() {
	clock, err := turn.FunctionTool("clock", "Tells the time.", json.RawMessage(`{"type":"object","properties":{"zone":{"type":"string"}}}`))
	fmt.Println(turn.ToolName(clock), "·", turn.ToolDescription(clock), "·", string(turn.ToolSchema(clock)), err)
	// Output:
	// clock · Tells the time. · {"type":"object","properties":{"zone":{"type":"string"}}} <nil>
}

func ExampleToolName() {
	clock, err := turn.FunctionTool("clock", "Tells the time.", nil)
	fmt.Println(turn.ToolName(clock), err)
	// Output: clock <nil>
}

func ExampleToolDescription() {
	clock, err := turn.FunctionTool("clock", "Tells the time.", nil)
	fmt.Println(turn.ToolDescription(clock), err)
	// Output: Tells the time. <nil>
}

// Which call each result answers.
func ExampleCallID() {
	for _, m := range []turn.TranscriptMessage{turn.User("What time is it?"), turn.ToolResult("call_1", "12:00")} {
		fmt.Printf("%s %q\n", turn.Role(m), turn.CallID(m))
	}
	// Output:
	// user ""
	// tool "call_1"
}

// Money is counted exactly: a thousand calls of a tenth of a cent are a dollar.
func ExampleParseCents() {
	call, err := turn.ParseCents("0.1")
	fmt.Println(call, err)
	fmt.Println(1000*call, 1000*call == turn.Dollar)
	// Output:
	// $0.001 <nil>
	// $1 true
}

func ExampleCost_Cents() {
	fmt.Println((turn.Dollar / 80).Cents())
	// Output: 1.25
}

// A provider that reports nothing has told nothing, which is not a price of zero.
func ExampleUsage_IsZero() {
	fmt.Println(turn.Usage{}.IsZero(), turn.Usage{OutputTokens: 3}.IsZero())
	free := turn.Cost(0)
	fmt.Println(turn.Usage{Cost: &free}.IsZero())
	// Output:
	// true false
	// false
}
