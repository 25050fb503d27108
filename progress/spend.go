package progress

import (
	"math"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// RunSpend is what a run has spent, in the figures that a notice speaks of.
type RunSpend struct {
	// Requests counts the model turns of the run itself.
	Requests int64 `json:"requests"`
	// Tokens is what the run itself spent: PromptTokens, which include those from a
	// cache, and CompletionTokens.
	Tokens           int64 `json:"tokens"`
	PromptTokens     int64 `json:"promptTokens"`
	CompletionTokens int64 `json:"completionTokens"`
	CachedTokens     int64 `json:"cachedTokens"`
	// DelegatedTokens is what child runs spent, beside Tokens.
	DelegatedTokens int64 `json:"delegatedTokens"`
	// Model is the model that answered, "" when unknown.
	Model string `json:"model"`
	// Cost is what run and child runs cost; nil when no price is known. Unpriced
	// says that calls without a price are missing from it.
	Cost     *turn.Cost `json:"costCents"`
	Unpriced bool       `json:"unpriced"`
}

// Spend is what a run in state s has spent. A cost of zero counts as unknown,
// since that is what a missing price looks like once it is added up.
func Spend(s trajectory.State, model string) RunSpend {
	children := s.Children
	for _, c := range s.Open {
		if c.Children != nil {
			children = stats.AccumulateRun(children, *c.Children)
		}
	}
	return spendOf(s.Stats, children, model)
}

func spendOf(own, children stats.RunStats, model string) RunSpend {
	r := RunSpend{
		Requests:         own.Turns,
		Tokens:           plus(own.InputTokens, own.OutputTokens),
		PromptTokens:     own.InputTokens,
		CompletionTokens: own.OutputTokens,
		CachedTokens:     own.CachedInputTokens,
		DelegatedTokens:  plus(children.InputTokens, children.OutputTokens),
		Model:            model,
		Unpriced:         plus(own.Unpriced, children.Unpriced) > 0,
	}
	if cost := turn.Cost(plus(int64(own.Cost), int64(children.Cost))); cost > 0 {
		r.Cost = &cost
	}
	return r
}

// all is every token that was spent.
func (s RunSpend) all() int64 { return plus(s.Tokens, s.DelegatedTokens) }

// plus is a sum that takes a negative term as nothing and cannot wrap.
func plus(a, b int64) int64 {
	a, b = max(a, 0), max(b, 0)
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// addSpend adds what one entry says was spent.
func addSpend(s stats.RunStats, body trajectory.Body) stats.RunStats {
	switch b := body.(type) {
	case trajectory.Message:
		if b.Turn != nil {
			return addReply(s, b.Turn)
		}
	case trajectory.Spend:
		return stats.AccumulateAuxiliarySpend(s, b.AuxiliarySpend)
	case trajectory.Compact:
		return addCompaction(s, b)
	}
	return s
}

func addReply(s stats.RunStats, t *trajectory.Turn) stats.RunStats {
	if t.Auxiliary {
		return stats.AccumulateAuxiliarySpend(s, stats.AuxiliarySpend{Usage: t.Usage, ModelTime: t.Timings.Generation})
	}
	return stats.AccumulateTurn(s, turn.ModelTurnResult{Usage: t.Usage, Timings: t.Timings})
}

func addCompaction(s stats.RunStats, b trajectory.Compact) stats.RunStats {
	if b.Spend == (stats.AuxiliarySpend{}) {
		return s // no model was asked
	}
	return stats.AccumulateAuxiliarySpend(s, b.Spend)
}
