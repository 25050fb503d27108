// Turnfn brings a model of its own: a turn.TurnFn written by hand over net/http
// (model.go), for a server whose format is not the one of the transcript.
//
//	go run ./examples/turnfn
//
// needs no key and no network. The server is this program's own, on a loopback port
// (service.go). It answers by rules and is no language model.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "turnfn:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	s := httptest.NewServer(service{})
	defer s.Close()
	fmt.Fprintln(out, "The model here is a few rules behind a server, and no language model.")
	res, err := loop.RunToolLoop(ctx,
		[]turn.TranscriptMessage{turn.System("Be brief."), turn.User("How warm is it in Lima and Oslo?")},
		loop.Options{Turn: server{s.URL, "rules-1"}.Turn, Tools: tools(), Record: func(e trajectory.Event) error {
			if c, ok := e.Body.(trajectory.CallEnd); ok {
				fmt.Fprintf(out, "  %s %s: %s\n", c.Name, c.Arguments, turn.Text(c.Message))
			}
			return nil
		}})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, res.Text())
	fmt.Fprintf(out, "%s after %d turns and %d calls; %d tokens in, %d of them cached, %d out\n", res.StopReason,
		res.Stats.Turns, res.Stats.ToolCalls, res.Stats.InputTokens, res.Stats.CachedInputTokens, res.Stats.OutputTokens)
	if res.StopReason != turn.Done {
		return fmt.Errorf("the run stopped: %s", res.StopReason)
	}
	return nil
}

type place struct {
	Place string `json:"place"`
}

type degrees struct {
	Celsius float64 `json:"celsius"`
}

func tools() []loop.Tool {
	celsius := map[string]int{"Lima": 21, "Oslo": -4}
	return []loop.Tool{
		loop.NewTool(loop.Tool{Name: "temperature", Description: "How warm a place is.", Kind: trajectory.KindFetch, ReplaySafe: true},
			func(_ context.Context, in place) (string, error) {
				t, ok := celsius[in.Place]
				if !ok {
					return "", fmt.Errorf("there is no thermometer in %s", in.Place)
				}
				return fmt.Sprintf("%s has %d degrees Celsius", in.Place, t), nil
			}),
		loop.NewTool(loop.Tool{Name: "fahrenheit", Description: "Convert from Celsius.", Kind: trajectory.KindThink, ReplaySafe: true},
			func(_ context.Context, in degrees) (string, error) {
				return fmt.Sprintf("%v degrees Celsius are %v Fahrenheit", in.Celsius, in.Celsius*9/5+32), nil
			}),
	}
}
