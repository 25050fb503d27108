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
	own := s.Stats
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
