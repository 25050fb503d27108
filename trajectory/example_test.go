package trajectory_test

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

func ExampleWriter() {
	var file bytes.Buffer
	session := trajectory.NewWriter(&file, trajectory.Header{Title: "hello"}, trajectory.Tail{})
	err := session.Append(trajectory.Event{
		At:   time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		Body: trajectory.RunStart{Messages: turn.Transcript{turn.User("Hi <there>")}},
	})
	fmt.Print(file.String())
	fmt.Println(err)
	// Output:
	// {"t":"session","seq":1,"v":1,"title":"hello"}
	// {"t":"run.start","seq":2,"at":"2026-03-04T05:06:07Z","messages":[{"content":"Hi <there>","role":"user"}]}
	// <nil>
}

// A process died in the middle of a line. What is before it stands, and the next
// writer does not glue its first line to it.
func ExampleReader() {
	file := bytes.NewBufferString(`{"t":"session","seq":1,"v":1}
{"t":"title","seq":2,"title":"a nice day"}
{"t":"run.start","seq":3,"mess`)
	size := file.Len()
	reader := trajectory.NewReader(bytes.NewReader(file.Bytes()))
	for e, err := range reader.Entries() {
		var problem *trajectory.Problem
		switch {
		case errors.As(err, &problem):
			fmt.Println(problem) // and read on
		case err != nil:
			fmt.Println(err)
			return
		default:
			fmt.Println(e.Seq, e.Body)
		}
	}
	session := trajectory.NewWriter(file, trajectory.Header{}, reader.Tail())
	if err := session.Append(trajectory.Event{Body: trajectory.Title{Title: "a nicer day"}}); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%q\n", file.Bytes()[size:])
	// Output:
	// 2 {a nice day}
	// line 3 (byte 73): torn: the line is not whole: 30 bytes
	// "\n{\"t\":\"title\",\"seq\":3,\"title\":\"a nicer day\"}\n"
}
