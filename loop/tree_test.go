package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// branch is one run of a tree: what its model does turn by turn, and its limits.
type branch struct {
	Turns      []twig
	Iterations int
	FinalTurn  bool
	StopAfter  int64
	Window     int64
	Budget     int64
	Safe       bool // a call that starts it may be repeated
}

// twig is one turn: how it ends, and what its calls do.
type twig struct {
	Ends  string // "", "fails", "panics", "overflows"
	Does  []string
	Below []*branch // by call; nil for one that starts no run
	Usage turn.Usage
}

func drawBranch(t *rapid.T, depth int) *branch {
	b := &branch{
		Iterations: rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "iterations"),
		FinalTurn:  rapid.Bool().Draw(t, "finalTurn"),
		StopAfter:  rapid.SampledFrom([]int64{0, 0, 0, 1}).Draw(t, "stopAfter"),
		Window:     rapid.SampledFrom([]int64{0, 0, 50}).Draw(t, "window"),
		Budget:     rapid.SampledFrom([]int64{0, 0, 0, 100, 300}).Draw(t, "budget"),
		Safe:       rapid.Bool().Draw(t, "safe"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "turns") {
		w := twig{
			Ends:  rapid.SampledFrom([]string{"", "", "", "", "", "", "fails", "panics", "overflows"}).Draw(t, "ends"),
			Usage: turn.Usage{InputTokens: int64(rapid.IntRange(0, 50).Draw(t, "in")), OutputTokens: int64(rapid.IntRange(0, 9).Draw(t, "out"))},
		}
		if rapid.Bool().Draw(t, "priced") {
			c := turn.Cost(rapid.IntRange(0, 9).Draw(t, "cost"))
			w.Usage.Cost = &c
		}
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			does := rapid.SampledFrom([]string{"ok", "fail", "panic", "ask", "run", "run", "run"}).Draw(t, "does")
			var below *branch
			if does == "run" && depth > 0 {
				below = drawBranch(t, depth-1)
			}
			w.Does, w.Below = append(w.Does, does), append(w.Below, below)
		}
		b.Turns = append(b.Turns, w)
	}
	return b
}

// grown is a tree as it runs: how far each branch has come, and one record of all.
type grown struct {
	mu      sync.Mutex
	at      map[*branch]int
	entries []trajectory.Event
}

func (g *grown) record(e trajectory.Event) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.entries = append(g.entries, e)
	return nil
}

func (g *grown) next(b *branch) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at[b]++
	return g.at[b] - 1
}

func (g *grown) options(b *branch) loop.Options {
	o := loop.Options{MaxIterations: b.Iterations, FinalTurn: b.FinalTurn, Budget: loop.Budget{Tokens: b.Budget}, Record: g.record}
	o.Turn = func(_ context.Context, _ []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		n := g.next(b)
		if n >= len(b.Turns) {
			return turn.ModelTurnResult{Message: turn.Assistant("done"), Usage: turn.Usage{InputTokens: 5}}, nil
		}
		w := b.Turns[n]
		var calls []turn.Call
		for i, does := range w.Does {
			name := does
			if does == "run" && w.Below[i] != nil && w.Below[i].Safe {
				name = "again"
			}
			calls = append(calls, turn.Call{ID: fmt.Sprintf("c%d", i), Name: name, Arguments: fmt.Sprintf(`{"turn":%d,"call":%d}`, n, i)})
		}
		r := turn.ModelTurnResult{Message: turn.Assistant("a text of some length that can be summarised", calls...), Usage: w.Usage}
		switch w.Ends {
		case "fails":
			return r, errors.New("bad gateway")
		case "overflows":
			return r, turn.ErrContextOverflow
		case "panics":
			panic("the model")
		}
		return r, nil
	}
	if b.Window > 0 {
		o.Compact = loop.Summarise(loop.SummaryOptions{Window: b.Window, At: 0.2, Keep: 0.1,
			Turn: func(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
				return turn.ModelTurnResult{Message: turn.Assistant("so far"), Usage: turn.Usage{InputTokens: 7, OutputTokens: 2}}, nil
			}})
	}
	o.ShouldStop = func(s trajectory.State) error {
		if b.StopAfter > 0 && s.Stats.Turns >= b.StopAfter {
			return errors.New("enough")
		}
		return nil
	}
	o.Tools = g.tools(b)
	return o
}

func (g *grown) tools(b *branch) []loop.Tool {
	run := func(ctx context.Context, c loop.Call) (loop.Output, error) {
		var in struct{ Turn, Call int }
		if err := json.Unmarshal([]byte(c.Arguments), &in); err != nil {
			return loop.Output{}, err
		}
		below := b.Turns[in.Turn].Below[in.Call]
		if below == nil {
			return loop.Text("as deep as it goes"), nil
		}
		child := loop.NewSubAgent(loop.Tool{Name: "agent", Schema: json.RawMessage(`{"type":"object"}`)}, "", g.options(below))
		return child.Run(ctx, c)
	}
	return []loop.Tool{
		{Name: "ok", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Text("worked"), nil }},
		{Name: "fail", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, errors.New("no") }},
		{Name: "panic", Run: func(context.Context, loop.Call) (loop.Output, error) { panic("the tool") }},
		{Name: "ask", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, loop.WaitForReply("?") }},
		{Name: "run", Run: run},
		{Name: "again", Run: run, ReplaySafe: true},
	}
}

// recordedSpend adds up what every single entry says, of whatever run.
func recordedSpend(entries []trajectory.Event) (s stats.RunStats) {
	for _, e := range entries {
		switch b := e.Body.(type) {
		case trajectory.Message:
			switch {
			case b.Turn == nil:
			case b.Turn.Auxiliary:
				s = stats.AccumulateAuxiliarySpend(s, stats.AuxiliarySpend{Usage: b.Turn.Usage})
			default:
				s = stats.AccumulateTurn(s, turn.ModelTurnResult{Usage: b.Turn.Usage})
			}
		case trajectory.CallStart:
			if !b.Again {
				s = stats.AccumulateToolCall(s, b.Name, 0)
			}
		case trajectory.Spend:
			s = stats.AccumulateAuxiliarySpend(s, b.AuxiliarySpend)
		case trajectory.Compact:
			if b.Spend != (stats.AuxiliarySpend{}) {
				s = stats.AccumulateAuxiliarySpend(s, b.Spend)
			}
		}
	}
	return counts(s)
}

// In a tree of runs that end in every way, are answered, killed and carried on from
// JSON, the total is what all recorded entries say, each once.
func TestTotalIsTheSumOfAllRecordedTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := drawBranch(t, 3)
		g := &grown{at: map[*branch]int{}}
		messages, state := turn.Transcript{turn.User("Go.")}, trajectory.State{}
		for range 4 {
			o := g.options(root)
			o.From, o.Replies = state, map[string]loop.Reply{}
			for _, w := range state.Waiting() {
				switch rapid.IntRange(0, 2).Draw(t, "reply") {
				case 1:
					o.Replies[w.ID] = loop.Answer("yes")
				case 2:
					o.Replies[w.ID] = loop.Deny("no")
				}
			}
			res, panicked := runSafely(t, messages, o)
			if !panicked {
				require.Equal(t, recordedSpend(g.entries), counts(res.Total()), "live")
				require.Equal(t, jsonOf(t, replay(t, g.entries).State()), jsonOf(t, res.State))
			}
			if panicked || rapid.Bool().Draw(t, "killed") {
				g.entries = g.entries[:rapid.IntRange(1, len(g.entries)).Draw(t, "left")]
			}
			f := replay(t, g.entries)
			require.Equal(t, recordedSpend(g.entries), counts(f.State().Total()), "replayed")
			messages, state = throughJSON(t, f.Messages()), throughJSON(t, f.State())
		}
	})
}

// runSafely survives a model that panics in the run at the top: there a host's panic
// is the host's.
func runSafely(t require.TestingT, messages turn.Transcript, o loop.Options) (res loop.Result, panicked bool) {
	defer func() { panicked = recover() != nil }()
	res, err := loop.RunToolLoop(context.Background(), messages, o)
	var invalid *loop.InvalidError
	if errors.As(err, &invalid) {
		require.NoError(t, err)
	}
	return res, false
}
