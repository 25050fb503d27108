package turntest_test

import (
	"context"
	"fmt"

	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// A host's code is tested against a model that says what the test wants.
func ExampleScript() {
	script := turntest.NewScript(
		turntest.Say("", turn.Call{ID: "1", Name: "clock", Arguments: "{}"}),
		turntest.Say("It is noon."),
	)
	var model turn.TurnFn = script.Turn

	messages := []turn.TranscriptMessage{turn.User("What time is it?")}
	first, _ := model(context.Background(), messages, nil)
	messages = append(messages, turn.ReplayForm(first.Message), turn.ToolResult("1", "12:00"))
	second, _ := model(context.Background(), messages, nil)
	fmt.Println(second.Message.Content)

	_, err := model(context.Background(), messages, nil)
	fmt.Println(err)
	fmt.Println(len(script.Asked()[1].Messages), "messages in the second request")
	// Output:
	// It is noon.
	// request 3 to a script of 2, ending in the tool message "12:00": the script has no more replies
	// 3 messages in the second request
}
