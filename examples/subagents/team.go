package main

import (
	"context"
	"fmt"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
)

// lead are the options of the run at the top. Its only tools are the other two. The
// budget is for all three: the agents spend from it while they run side by side.
func lead(record func(trajectory.Event) error) loop.Options {
	return loop.Options{
		Turn:   leadModel,
		Tools:  []loop.Tool{surveyor(record), buyer(record)},
		Budget: loop.Budget{Tokens: 50_000, ToolCalls: 50},
		Record: record,
	}
}

func surveyor(record func(trajectory.Event) error) loop.Tool {
	type in struct {
		Room string `json:"room" jsonschema:"living room or hall"`
	}
	size := loop.NewTool(loop.Tool{Name: "size", Description: "Measure the walls of a room, in square metres.", Kind: trajectory.KindRead, ReplaySafe: true},
		func(_ context.Context, in in) (string, error) {
			area, ok := map[string]int{"living room": 43, "hall": 21}[in.Room]
			if !ok {
				return "", fmt.Errorf("there is no room %q", in.Room)
			}
			return fmt.Sprintf("%d m²", area), nil
		})
	return loop.NewSubAgent(
		loop.Tool{Name: "surveyor", Description: "Measures rooms."},
		"You measure rooms. Answer with the sum, in square metres.",
		loop.Options{Turn: surveyorModel, Tools: []loop.Tool{size}, MaxIterations: 10, Record: record})
}

func buyer(record func(trajectory.Event) error) loop.Tool {
	type none struct{}
	catalogue := loop.NewTool(loop.Tool{Name: "catalogue", Description: "List the paints and their prices.", Kind: trajectory.KindRead, ReplaySafe: true},
		func(context.Context, none) (string, error) { return "matt: $9 a litre; silk: $12 a litre", nil })
	type question struct {
		Question string `json:"question"`
	}
	ask := loop.NewTool(loop.Tool{Name: "ask", Description: "Ask the user what nobody else can know.", ReplaySafe: true},
		func(_ context.Context, in question) (string, error) { return "", loop.WaitForReply(in.Question) })
	return loop.NewSubAgent(
		loop.Tool{Name: "buyer", Description: "Chooses paint and knows its price."},
		"You choose paint. Ask the user which sort it is to be. Answer with the price of a litre.",
		loop.Options{Turn: buyerModel, Tools: []loop.Tool{catalogue, ask}, MaxIterations: 10, Record: record})
}
