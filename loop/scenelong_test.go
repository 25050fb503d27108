package loop_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/turn"
)

// longRun is what a script says of a run that is to last.
type longRun struct {
	summary             *loop.SummaryOptions
	prune               *loop.PruneOptions
	budget              loop.Budget
	finalTurn           bool
	planNudge           int
	maxDepth, maxOutput int
}

func (r *sceneReader) readLong(word, rest string) (err error) {
	switch word {
	case "window":
		r.summary = &loop.SummaryOptions{}
		if r.summary.Window, rest, err = number(rest); err != nil {
			return err
		}
		return pairs(rest, func(name, value string) (err error) {
			switch name {
			case "at":
				r.summary.At, err = strconv.ParseFloat(value, 64)
			case "keep":
				r.summary.Keep, err = strconv.ParseFloat(value, 64)
			case "timeout":
				r.summary.Timeout, err = time.ParseDuration(value)
			default:
				err = fmt.Errorf("a window has no %q", name)
			}
			return err
		})
	case "prune":
		r.prune = &loop.PruneOptions{}
		if r.prune.Window, rest, err = number(rest); err != nil {
			return err
		}
		return pairs(rest, func(name, value string) (err error) {
			switch name {
			case "at":
				r.prune.At, err = strconv.ParseFloat(value, 64)
			case "turns":
				r.prune.KeepTurns, err = strconv.Atoi(value)
			case "bytes":
				r.prune.MaxBytes, err = strconv.Atoi(value)
			default:
				err = fmt.Errorf("a pruning has no %q", name)
			}
			return err
		})
	case "budget":
		return pairs(rest, func(name, value string) (err error) {
			switch name {
			case "tokens":
				r.budget.Tokens, err = strconv.ParseInt(value, 10, 64)
			case "calls":
				r.budget.ToolCalls, err = strconv.ParseInt(value, 10, 64)
			case "cost":
				r.budget.Cost, err = turn.ParseCents(value)
			case "notice":
				r.budget.NoticeAt, err = strconv.ParseFloat(value, 64)
			default:
				err = fmt.Errorf("a budget has no %q", name)
			}
			return err
		})
	case "final-turn":
		r.finalTurn = true
	case "plan-nudge":
		r.planNudge, err = strconv.Atoi(rest)
	case "max-depth":
		r.maxDepth, err = strconv.Atoi(rest)
	case "max-output":
		r.maxOutput, err = strconv.Atoi(rest)
	default:
		return errors.New("unknown word")
	}
	return err
}

func number(s string) (n int64, rest string, err error) {
	word, rest := cut(s)
	n, err = strconv.ParseInt(word, 10, 64)
	return n, rest, err
}

func pairs(s string, put func(name, value string) error) error {
	words := strings.Fields(s)
	if len(words)%2 != 0 {
		return errors.New("a name has no value")
	}
	for i := 0; i < len(words); i += 2 {
		if err := put(words[i], words[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// longOptions adds what a script says of a long run.
func (r *telling) longOptions(o *loop.Options) {
	o.Budget, o.FinalTurn, o.MaxDepth, o.MaxOutput = r.budget, r.finalTurn, r.maxDepth, r.maxOutput
	if r.planNudge > 0 {
		o.OnTurnWouldEnd = loop.PlanNudge(r.planNudge)
	}
	if r.summary != nil {
		s := *r.summary
		s.Turn = r.summarise
		o.Compact = loop.Summarise(s)
	} else if r.prune != nil {
		o.Compact = loop.Prune(*r.prune)
	}
	for name, child := range r.story.agents {
		c := r.child(child)
		i := 0
		for i < len(o.Tools) && o.Tools[i].Name != name {
			i++
		}
		if i < len(o.Tools) {
			o.Tools[i] = loop.NewSubAgent(loop.Tool{Name: name, Timeout: o.Tools[i].Timeout, ReplaySafe: o.Tools[i].ReplaySafe}, "You are "+name+".", c.childOptions())
		}
	}
}

// child tells the runs of an agent. Its tools and replies are its own.
func (r *telling) child(sc scene) *telling {
	inner := &story{t: r.t, tools: sc.tools, agents: sc.agents}
	c := newTelling(inner, sc, r.start)
	c.root = r.root
	r.children = append(r.children, c)
	return c
}

func (r *telling) childOptions() loop.Options {
	o := r.options()
	o.Record, o.Replies = r.root.record, nil
	return o
}

// summarise plays the model that summarises.
func (r *telling) summarise(ctx context.Context, messages []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	require.Empty(r.t, tools)
	r.say(line{agent: agentOf(ctx), what: "ask      for a summary"})
	return r.ask(ctx, r.summing, messages, tools)
}

// allTold makes sure that all that a script says came to pass.
func (r *telling) allTold() {
	require.Empty(r.t, r.unsaid, "the script does not say")
	require.Zero(r.t, r.replying.Left(), "replies that nobody asked for")
	require.Zero(r.t, r.summing.Left(), "summaries that nobody asked for")
	for _, c := range r.children {
		c.allTold()
	}
}
