// Package turntest plays the model in tests, and checks that a [turn.TurnFn] keeps
// its contract.
//
//	model := turntest.NewScript(
//		turntest.Say("I'll look.", turn.Call{ID: "a", Name: "clock"}),
//		turntest.Say("It is noon."),
//	)
//	res, err := loop.RunToolLoop(ctx, messages, loop.Options{Turn: model.Turn, Tools: tools})
//	fmt.Println(res.Text(), model.Left(), err) // It is noon. 0 <nil>
//
// # Testing an agent without a model
//
// A [Script] answers with what it was given, in order, and remembers what it was
// asked. Its method Turn is the model of the run under test:
//
//	func TestTellsTheTime(t *testing.T) {
//		model := turntest.NewScript(
//			turntest.Say("I'll look.", turn.Call{ID: "a", Name: "clock"}).Spending(40, 9),
//			turntest.Say("It is noon."),
//		)
//		res, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.User("What time is it?")},
//			loop.Options{Turn: model.Turn, Tools: []loop.Tool{clock}})
//		if err != nil || res.Text() != "It is noon." || model.Left() != 0 {
//			t.Errorf("%q, %v, %d replies left", res.Text(), err, model.Left())
//		}
//		if got := model.Asked()[1].Result("a"); got != "12:00" {
//			t.Errorf("the model was given %q as the tool's result", got)
//		}
//	}
//
// What the agent did shows in the run's result, what it asked in [Script.Asked],
// and that it asked all it was meant to in [Script.Left]. An agent that asks once
// more gets an error that says what it asked. A model that has to look at what it is
// asked is written as a function, like any other.
//
// [Say] sets the finish reason too. Replies can fail ([Fail]), spend ([Reply.Spending],
// [Reply.Costing]) and take their time ([Reply.Taking]). In a bubble of
// testing/synctest that costs none, and every duration of a run is exact:
//
//	synctest.Test(t, func(t *testing.T) {
//		model := turntest.NewScript(turntest.Say("", turn.Call{ID: "a", Name: "sleep"}).Taking(time.Second), turntest.Say("Done."))
//		sleep := loop.Tool{Name: "sleep", Run: func(context.Context, loop.Call) (loop.Output, error) {
//			time.Sleep(time.Minute)
//			return loop.Text(""), nil
//		}}
//		res, err := loop.RunToolLoop(t.Context(), messages, loop.Options{Turn: model.Turn, Tools: []loop.Tool{sleep}})
//		fmt.Println(res.Stats.ModelTime, res.Stats.ToolTime, err) // 1s 1m0s <nil>
//	})
//
// # A process that dies
//
// What a kill leaves is the beginning of what was recorded, so a test makes one without
// a process: it records to a file with trajectory.NewWriter, copies the file while a
// tool runs, and reads the copy with package resume.
//
// # Checking a TurnFn
//
//	func TestModel(t *testing.T) {
//		turntest.Run(t, func(t *testing.T) turn.TurnFn { return mymodel.New(server(t).URL) })
//	}
//
// [Run] asks the function a handful of questions, and any answer will do: the
// model behind it may be real, recorded or invented, as long as it answers each
// time it is asked. Each check has a rule, and a failure quotes it. Run under the
// race detector it also finds functions that several runs cannot share.
package turntest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/turn"
)

// patience is how long a function may take to notice that its context is done.
const patience = 5 * time.Second

// Run checks the function that model makes, once for each rule. It fails t with
// the rule that is broken.
func Run(t *testing.T, model func(t *testing.T) turn.TurnFn) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if err := c.check(model(t)); err != nil {
				t.Errorf("%v\nthe rule: %s", err, c.rule)
			}
		})
	}
}

type check struct {
	name, rule string
	check      func(turn.TurnFn) error
}

var checks = []check{
	{"a question", "a TurnFn returns one completed turn: a message that says or calls something, and no error", asksOnce},
	{"a conversation", "a TurnFn takes any valid transcript: calls with their results, a reply that says nothing, tools that were not called yet", continues},
	{"calls", "each call of a reply has a name, and the reply can stand in a transcript", checksCalls},
	{"numbers", "usage and timings are never negative, cached tokens are part of the input, and no clock runs longer than the call took", checksNumbers},
	{"JSON", "a result is plain data: its JSON reads back to the same result", roundTrips},
	{"a context that is done", "a TurnFn whose context is done returns soon, with an error that matches the context's", obeysCancelled},
	{"a deadline that passed", "a TurnFn whose context is done returns soon, with an error that matches the context's", obeysDeadline},
	{"a context that ends meanwhile", "a TurnFn whose context is done returns soon: with the turn, or with an error that matches the context's", obeysMeanwhile},
	{"the caller's slices", "a TurnFn writes to neither slice, nor behind its end", leavesSlices},
	{"several at once", "a TurnFn may be called from several goroutines", runsConcurrently},
}

func question() []turn.TranscriptMessage {
	return []turn.TranscriptMessage{turn.System("Answer in one word."), turn.User("Which colour has the sky?")}
}

func tools() []turn.WireToolDefinition {
	d, err := turn.FunctionTool("clock", "Tells the time.", json.RawMessage(`{"type":"object","properties":{"zone":{"type":"string"}}}`))
	if err != nil {
		panic(err) // the schema is a constant, and a test reads it
	}
	return []turn.WireToolDefinition{d}
}

func asksOnce(model turn.TurnFn) error {
	res, err := model(context.Background(), question(), nil)
	if err != nil {
		return fmt.Errorf("an error: %w", err)
	}
	if turn.IsEmpty(turn.ReplayForm(res.Message)) {
		return errors.New("the reply says nothing and calls nothing")
	}
	return nil
}

// conversation has in it what a host's transcript may have.
func conversation() []turn.TranscriptMessage {
	called := turn.ReplayForm(turn.Assistant("", turn.Call{ID: "call_1", Name: "clock", Arguments: `{"zone":"UTC"}`}))
	silent := turn.ReplayForm(turn.Assistant(""))
	return append(question(), called, turn.ToolResult("call_1", ""), silent, turn.User("And at night?"))
}

func continues(model turn.TurnFn) error {
	messages := conversation()
	res, err := model(context.Background(), messages, tools())
	if err != nil {
		return fmt.Errorf("an error: %w", err)
	}
	return turn.Check(append(messages, turn.ReplayForm(res.Message)))
}

func checksCalls(model turn.TurnFn) error {
	res, err := model(context.Background(), question(), tools())
	if err != nil {
		return fmt.Errorf("an error: %w", err)
	}
	m := turn.ReplayForm(res.Message)
	for i, c := range turn.Calls(m) {
		if c.Name == "" {
			return fmt.Errorf("call %d has no name", i)
		}
	}
	raw, err := turn.MessageJSON(m)
	if err != nil {
		return err
	}
	if _, err := turn.ParseMessage(raw); err != nil {
		return fmt.Errorf("the reply on the wire: %w", err)
	}
	return turn.Check(append(question(), m))
}

func checksNumbers(model turn.TurnFn) error {
	start := time.Now()
	res, err := model(context.Background(), question(), nil)
	took := time.Since(start)
	if err != nil {
		return fmt.Errorf("an error: %w", err)
	}
	u, g := res.Usage, res.Timings
	switch {
	case u.InputTokens < 0 || u.OutputTokens < 0:
		return fmt.Errorf("negative usage: %d in, %d out", u.InputTokens, u.OutputTokens)
	case u.CachedInputTokens != nil && (*u.CachedInputTokens < 0 || *u.CachedInputTokens > u.InputTokens):
		return fmt.Errorf("%d cached of %d input tokens", *u.CachedInputTokens, u.InputTokens)
	case u.Cost != nil && *u.Cost < 0:
		return fmt.Errorf("a negative cost: %v", *u.Cost)
	case g.Generation < 0 || g.Generation > took:
		return fmt.Errorf("a generation of %v in a call of %v", g.Generation, took)
	case g.TTFT != nil && (*g.TTFT < 0 || *g.TTFT > took):
		return fmt.Errorf("a first token after %v in a call of %v", *g.TTFT, took)
	case g.TTFT != nil && g.Generation > 0 && *g.TTFT > g.Generation:
		return fmt.Errorf("a first token after %v of a generation of %v", *g.TTFT, g.Generation)
	}
	return nil
}

func roundTrips(model turn.TurnFn) error {
	res, err := model(context.Background(), question(), nil)
	if err != nil {
		return fmt.Errorf("an error: %w", err)
	}
	first, err := json.Marshal(res)
	if err != nil {
		return err
	}
	var back turn.ModelTurnResult
	if err := json.Unmarshal(first, &back); err != nil {
		return err
	}
	second, err := json.Marshal(back)
	if err != nil {
		return err
	}
	if !bytes.Equal(first, second) {
		return fmt.Errorf("read back it is another result:\n%s\n%s", first, second)
	}
	return nil
}

func obeysCancelled(model turn.TurnFn) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return returnsSoon(ctx, model, false)
}

func obeysDeadline(model turn.TurnFn) error {
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	return returnsSoon(ctx, model, false)
}

func obeysMeanwhile(model turn.TurnFn) error {
	for _, after := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond} {
		ctx, cancel := context.WithCancel(context.Background())
		timer := time.AfterFunc(after, cancel)
		err := returnsSoon(ctx, model, true)
		timer.Stop()
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

func returnsSoon(ctx context.Context, model turn.TurnFn, mayAnswer bool) error {
	done := make(chan error, 1)
	go func() {
		_, err := model(ctx, question(), nil)
		done <- err
	}()
	<-ctx.Done()
	select {
	case err := <-done:
		if err == nil && mayAnswer || errors.Is(err, ctx.Err()) {
			return nil
		}
		return fmt.Errorf("the error is %v, and the context's is %w", err, ctx.Err())
	case <-time.After(patience):
		return fmt.Errorf("it did not return within %v", patience)
	}
}

func leavesSlices(model turn.TurnFn) error {
	backing := append(conversation(), turn.User("behind the end"))
	messages := backing[:len(backing)-1]
	definitions := append(tools(), tools()...)
	before, err := snapshot(backing, definitions)
	if err != nil {
		return err
	}
	if _, err := model(context.Background(), messages, definitions[:1]); err != nil {
		return fmt.Errorf("an error: %w", err)
	}
	after, err := snapshot(backing, definitions)
	if err != nil {
		return err
	}
	if before != after {
		return fmt.Errorf("before the call:\n%s\nafter it:\n%s", before, after)
	}
	return nil
}

func snapshot(messages []turn.TranscriptMessage, tools []turn.WireToolDefinition) (string, error) {
	m, err := json.Marshal(turn.Transcript(messages))
	if err != nil {
		return "", err
	}
	t, err := json.Marshal(tools)
	return string(m) + "\n" + string(t), err
}

func runsConcurrently(model turn.TurnFn) error {
	const callers = 8
	messages, definitions := conversation(), tools()
	errs := make([]error, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() { _, errs[i] = model(context.Background(), messages, definitions) })
	}
	group.Wait()
	return errors.Join(errs...)
}
