package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/pawl-dev/pawl/turn"
)

// These rules play the models: each is a function of the transcript and nothing else.

func leadModel(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	results := toolResults(messages)
	if len(results) == 0 {
		return reply(messages, "",
			turn.Call{ID: "measure", Name: "surveyor", Arguments: `{"task":"Measure the living room and the hall."}`},
			turn.Call{ID: "paint", Name: "buyer", Arguments: `{"task":"Find paint for a living room and a hall, and its price."}`})
	}
	area, areaOK := number(`(\d+) m²`, results[0])
	price, priceOK := number(`\$(\d+) a litre`, results[1])
	if !areaOK || !priceOK {
		return reply(messages, "I cannot say: "+results[0]+" "+results[1])
	}
	litres := (2*area + 9) / 10
	return reply(messages, fmt.Sprintf("Two coats on %d m² take %d litres, at ten square metres a litre: $%d.", area, litres, litres*price))
}

func surveyorModel(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	results := toolResults(messages)
	if len(results) == 0 {
		return reply(messages, "",
			turn.Call{ID: "1", Name: "size", Arguments: `{"room":"living room"}`},
			turn.Call{ID: "2", Name: "size", Arguments: `{"room":"hall"}`})
	}
	sum := 0
	for _, r := range results {
		area, _ := number(`(\d+) m²`, r)
		sum += area
	}
	return reply(messages, fmt.Sprintf("%d m² in all.", sum))
}

func buyerModel(_ context.Context, messages []turn.TranscriptMessage, _ []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	results := toolResults(messages)
	if len(results) == 0 {
		return reply(messages, "",
			turn.Call{ID: "1", Name: "catalogue", Arguments: `{}`},
			turn.Call{ID: "2", Name: "ask", Arguments: `{"question":"Matt or silk?"}`})
	}
	price, ok := number(regexp.QuoteMeta(results[1])+`: \$(\d+)`, results[0])
	if !ok {
		return reply(messages, fmt.Sprintf("There is no paint called %q.", results[1]))
	}
	return reply(messages, fmt.Sprintf("%s, at $%d a litre.", results[1], price))
}

func toolResults(messages []turn.TranscriptMessage) (out []string) {
	for _, m := range messages {
		if m.OfTool != nil {
			out = append(out, turn.Text(m))
		}
	}
	return out
}

func number(pattern, text string) (n int, ok bool) {
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		return 0, false
	}
	n, err := strconv.Atoi(found[1])
	return n, err == nil
}

// reply has a price, as from a server that tells one: four bytes are a token, and
// a million of them cost a dollar to read and five to write.
func reply(messages []turn.TranscriptMessage, text string, calls ...turn.Call) (turn.ModelTurnResult, error) {
	in, out := 0, len(text)
	for _, m := range messages {
		in += len(turn.Text(m))
	}
	for _, c := range calls {
		out += len(c.Name) + len(c.Arguments)
	}
	const cent = turn.Cost(1e9)
	u := turn.Usage{InputTokens: int64(in / 4), OutputTokens: int64(out / 4)}
	cost := (turn.Cost(u.InputTokens) + 5*turn.Cost(u.OutputTokens)) * 100 * cent / 1e6
	u.Cost = &cost
	return turn.ModelTurnResult{Message: turn.Assistant(text, calls...), Usage: u}, nil
}
