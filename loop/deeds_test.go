package loop_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

var beginning = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when a bubble's time begins

func (d deed) finish() (loop.Output, error) {
	switch d.Does {
	case "fail":
		return loop.Text("half"), errors.New("no")
	case "panic":
		panic(fmt.Sprint("it took ", d.Takes))
	case "exit":
		runtime.Goexit()
	case "fatal":
		return loop.Output{}, loop.Fatal(errors.New("the end"))
	case "wait":
		return loop.Output{}, d.pause(loop.WaitForReply("which?"))
	case "later":
		return loop.Output{}, d.pause(loop.ResumeLater(beginning.Add(d.Until), "later"))
	case "plan":
		p := plan.Plan{Steps: []plan.Step{{Text: d.Takes.String(), State: plan.Pending}}}
		return loop.Output{Text: "planned", Plan: &p}, nil
	}
	return loop.Text(fmt.Sprintf("done in %s, <&>", d.Takes)), nil
}

func (d deed) pause(p *loop.Pause) error {
	if d.Saving {
		return p.Saving(d.Takes)
	}
	return p
}

// child starts a run of its own, with a turn, a call and a reply.
func (p *player) child(ctx context.Context, d deed) (loop.Output, error) {
	o := loop.Options{Record: p.record, Grace: time.Millisecond}
	o.Turn = turntest.NewScript(
		turntest.Say("", turn.Call{ID: "x", Name: "rest", Arguments: "{}"}).Spending(3, 2).Taking(time.Millisecond),
		turntest.Say("child says so")).Turn
	o.Tools = []loop.Tool{{Name: "rest", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		return loop.Text("rested"), sleep(ctx, d.Takes)
	}}}
	res, err := loop.RunToolLoop(ctx, []turn.TranscriptMessage{turn.User("child")}, o)
	if err != nil {
		return loop.Output{}, err
	}
	return loop.Text(res.Text() + " " + string(res.StopReason)), nil
}
