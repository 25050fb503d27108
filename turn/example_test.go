package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/turn"
)

// The smallest model that answers at all.
func ExampleTurnFn() {
	var model turn.TurnFn = func(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		return turn.ModelTurnResult{Message: turn.Assistant("You said: " + turn.Text(messages[len(messages)-1]))}, nil
	}
	res, err := model(context.Background(), []turn.TranscriptMessage{turn.User("hello")}, nil)
	fmt.Println(res.Message.Content, err)
	// Output: You said: hello <nil>
}

// An adapter marks the one error that the loop can do something about.
func ExampleTurnFn_overflow() {
	tooLong := errors.New("400: prompt is too long")
	err := fmt.Errorf("%w: %w", turn.ErrContextOverflow, tooLong)
	fmt.Println(errors.Is(err, turn.ErrContextOverflow), errors.Is(err, tooLong))
	// Output: true true
}

// The messages of a conversation, and what there is to read of each.
func ExampleRole() {
	messages := []turn.TranscriptMessage{
		turn.System("Be brief."),
		turn.User("What time is it?"),
		turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a", Name: "clock", Arguments: "{}"})),
		turn.ToolResult("a", "12:00"),
		turn.ReplayForm(turn.Assistant("Noon.")),
	}
	for _, m := range messages {
		fmt.Printf("%s %q %v\n", turn.Role(m), turn.Text(m), turn.Calls(m))
	}
	// Output:
	// system "Be brief." []
	// user "What time is it?" []
	// assistant "" [{a clock {}}]
	// tool "12:00" []
	// assistant "Noon." []
}

// A transcript begins with what the host wants and what the user asks.
func ExampleSystem() {
	data, err := json.Marshal(turn.Transcript{turn.System("Be brief."), turn.User("What is 2+2?")})
	fmt.Println(string(data), err)
	// Output: [{"content":"Be brief.","role":"system"},{"content":"What is 2+2?","role":"user"}] <nil>
}

func ExampleUser() {
	data, err := turn.MessageJSON(turn.User("What is 2+2?"))
	fmt.Println(string(data), err)
	// Output: {"content":"What is 2+2?","role":"user"} <nil>
}

// An adapter for another wire format builds the reply from what it got.
func ExampleAssistant() {
	reply := turn.Assistant("Let me look.", turn.Call{ID: "a", Name: "read", Arguments: `{"path":"go.mod"}`})
	data, err := turn.MessageJSON(turn.ReplayForm(reply))
	fmt.Println(string(data), err)
	// Output: {"content":"Let me look.","tool_calls":[{"id":"a","function":{"arguments":"{\"path\":\"go.mod\"}","name":"read"},"type":"function"}],"role":"assistant"} <nil>
}

// A result is there also when it says nothing: a strict server wants one.
func ExampleToolResult() {
	data, err := turn.MessageJSON(turn.ToolResult("a", ""))
	fmt.Println(string(data), err)
	// Output: {"content":"","tool_call_id":"a","role":"tool"} <nil>
}

// Text parts are joined; what is no text is passed over.
func ExampleText() {
	m, err := turn.ParseMessage([]byte(`{"role":"user","content":[{"type":"text","text":"What is this?"},{"type":"image_url","image_url":{"url":"data:,"}},{"type":"text","text":"And why?"}]}`))
	fmt.Printf("%q %v\n", turn.Text(m), err)
	// Output: "What is this?\nAnd why?" <nil>
}

func ExampleCalls() {
	m := turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a", Name: "read", Arguments: `{"path":"go.mod"}`}, turn.Call{ID: "b", Name: "clock"}))
	for _, c := range turn.Calls(m) {
		fmt.Println(c.ID, c.Name, c.Arguments)
	}
	// Output:
	// a read {"path":"go.mod"}
	// b clock {}
}

// A reply without calls ends a run.
func ExampleCountCalls() {
	fmt.Println(turn.CountCalls(turn.ReplayForm(turn.Assistant("Done."))))
	fmt.Println(turn.CountCalls(turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a", Name: "read"}))))
	// Output:
	// 0
	// 1
}

func ExampleCallAt() {
	m := turn.ReplayForm(turn.Assistant("", turn.Call{ID: "a", Name: "read"}, turn.Call{ID: "b", Name: "write"}))
	fmt.Println(turn.CallAt(m, 1).Name)
	fmt.Printf("%q\n", turn.CallAt(m, 2).Name)
	// Output:
	// write
	// ""
}

// A model that stays silent ends its run, and its message must not be sent.
func ExampleIsEmpty() {
	fmt.Println(turn.IsEmpty(turn.ReplayForm(turn.Assistant(""))))
	fmt.Println(turn.IsEmpty(turn.ReplayForm(turn.Assistant("Done."))))
	// Output:
	// true
	// false
}

// The bytes of a message are kept, and with them the fields that the wire types
// do not know.
func ExampleParseMessage() {
	m, err := turn.ParseMessage([]byte(`{"role": "assistant", "content": "Noon.", "reasoning_content": "It is <12>."}`))
	fmt.Println(turn.Text(m), err)
	data, err := turn.MessageJSON(m)
	fmt.Println(string(data), err)

	_, err = turn.ParseMessage([]byte(`{"role": "assistant", "content": `))
	fmt.Println(err)
	// Output:
	// Noon. <nil>
	// {"role":"assistant","content":"Noon.","reasoning_content":"It is <12>."} <nil>
	// invalid JSON at byte 33: unexpected end of JSON input
}

// What would make a server refuse the conversation from now on is mended; what
// the server sent beside that goes back as it came.
func ExampleReplayForm() {
	var reply turn.AssistantTurnMessage
	err := json.Unmarshal([]byte(`{"content":null,"reasoning_content":"Hm.","tool_calls":[{"id":"a","function":{"name":"clock","arguments":""}}]}`), &reply)
	if err != nil {
		fmt.Println(err)
	}
	data, err := turn.MessageJSON(turn.ReplayForm(reply))
	fmt.Println(string(data), err)
	// Output: {"role":"assistant","content":null,"reasoning_content":"Hm.","tool_calls":[{"id":"a","function":{"name":"clock","arguments":"{}"},"type":"function"}]} <nil>
}

// json.Marshal would write \u003c, and a prompt cache would miss.
func ExampleMessageJSON() {
	data, err := turn.MessageJSON(turn.User("Is 1 < 2?"))
	fmt.Println(string(data), err)
	_, err = turn.MessageJSON(turn.TranscriptMessage{})
	fmt.Println(err)
	// Output:
	// {"content":"Is 1 < 2?","role":"user"} <nil>
	// the message is empty: it has no role
}

func ExampleAppendMessage() {
	body := []byte(`{"messages":[`)
	body, err := turn.AppendMessage(body, turn.User("hello"))
	fmt.Println(string(body)+"]}", err)
	// Output: {"messages":[{"content":"hello","role":"user"}]} <nil>
}

// A stored list of messages is read exactly, which a plain slice would not be.
func ExampleTranscript() {
	var messages turn.Transcript
	err := json.Unmarshal([]byte(`[{"role":"user","content":"hi"},{"role":"assistant","content":"Hello.","refusal":null}]`), &messages)
	fmt.Println(len(messages), turn.Text(messages[1]), err)
	data, err := json.Marshal(messages)
	fmt.Println(string(data), err)
	// Output:
	// 2 Hello. <nil>
	// [{"role":"user","content":"hi"},{"role":"assistant","content":"Hello.","refusal":null}] <nil>
}

// The clock of a turn is written in milliseconds, exact to the nanosecond.
func ExampleMilliseconds() {
	data, err := json.Marshal(turn.Milliseconds(1500*time.Millisecond + 250*time.Nanosecond))
	fmt.Println(string(data), err)
	var m turn.Milliseconds
	err = json.Unmarshal(data, &m)
	fmt.Println(time.Duration(m), err)
	// Output:
	// 1500.00025 <nil>
	// 1.50000025s <nil>
}
