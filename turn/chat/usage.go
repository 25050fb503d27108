package chat

import (
	"math"
	"strconv"
	"strings"

	"github.com/pawl-dev/pawl/turn"
	"github.com/tidwall/gjson"
)

// usage is what a server reported so far; a nil field was not reported.
type usage struct {
	input, output, total, cached, reasoning *int64
	cost                                    *turn.Cost
}

// Where servers put the figures, the most usual place first.
var (
	inputPaths     = []string{"prompt_tokens", "input_tokens"}
	outputPaths    = []string{"completion_tokens", "output_tokens"}
	totalPaths     = []string{"total_tokens"}
	cachedPaths    = []string{"prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens", "prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens"}
	reasoningPaths = []string{"completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens", "reasoning_tokens"}
)

// readFrom looks for a usage object in a chunk or a whole response.
func (u *usage) readFrom(root fields, choice gjson.Result) {
	for _, v := range [...]gjson.Result{root.usage, choice.Get("usage"), root.groq.Get("usage")} {
		if v.IsObject() {
			u.add(v)
			return
		}
	}
}

// add takes a later report. Reports are cumulative, so it replaces the one before
// and is never added to it; what it leaves out stays, and one that is all zero
// says nothing.
func (u *usage) add(v gjson.Result) {
	n := usage{firstCount(v, inputPaths), firstCount(v, outputPaths), firstCount(v, totalPaths),
		firstCount(v, cachedPaths), firstCount(v, reasoningPaths), readCost(v)}
	if n.isZero() && u.reported() {
		return
	}
	replace(&u.input, n.input)
	replace(&u.output, n.output)
	replace(&u.total, n.total)
	replace(&u.cached, n.cached)
	replace(&u.reasoning, n.reasoning)
	replace(&u.cost, n.cost)
}

func replace[T any](old **T, new *T) {
	if new != nil {
		*old = new
	}
}

func (u *usage) reported() bool { return u.input != nil || u.output != nil || u.cost != nil }

func (u *usage) isZero() bool {
	for _, p := range [...]*int64{u.input, u.output, u.total, u.cached, u.reasoning} {
		if p != nil && *p != 0 {
			return false
		}
	}
	return u.cost == nil || *u.cost == 0
}

// turnUsage puts the figures into the terms of a turn.
func (u *usage) turnUsage() turn.Usage {
	t := turn.Usage{InputTokens: orZero(u.input), OutputTokens: orZero(u.output), Cost: u.cost}
	if u.cached != nil {
		n := min(*u.cached, t.InputTokens)
		t.CachedInputTokens = &n
	}
	// Some servers leave the reasoning out of the completion and count it in the
	// total alone.
	if u.total != nil && u.output != nil && t.InputTokens <= *u.total {
		if hidden := *u.total - t.InputTokens - t.OutputTokens; hidden > 0 && (u.reasoning == nil || *u.reasoning == hidden) {
			t.OutputTokens += hidden
		}
	}
	return t
}

func orZero(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}

func firstCount(v gjson.Result, paths []string) *int64 {
	for _, path := range paths {
		if n, ok := count(v.Get(path)); ok {
			return &n
		}
	}
	return nil
}

// count reads a number of tokens. What can be none is taken as not reported, and
// what is out of range as the largest number there is.
func count(v gjson.Result) (int64, bool) {
	if v.Type != gjson.Number && v.Type != gjson.String {
		return 0, false
	}
	text := strings.TrimSpace(v.String())
	if v.Type == gjson.Number {
		text = v.Raw
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, n >= 0
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case f >= math.MaxInt64:
		return math.MaxInt64, true
	case err != nil || !(f >= 0):
		return 0, false
	}
	return int64(f), true
}

// readCost reads a price in dollars.
func readCost(v gjson.Result) *turn.Cost {
	cost := v.Get("cost")
	if cost.IsObject() {
		cost = cost.Get("total_cost")
	}
	price, ok := dollars(cost)
	if !ok {
		return nil
	}
	if v.Get("is_byok").Bool() { // the host pays the provider beside the router
		if upstream, ok := dollars(v.Get("cost_details.upstream_inference_cost")); ok && price <= math.MaxInt64-upstream {
			price += upstream
		}
	}
	return &price
}

func dollars(v gjson.Result) (turn.Cost, bool) {
	text := v.Raw
	if v.Type == gjson.String {
		text = strings.TrimSpace(v.Str)
	} else if v.Type != gjson.Number {
		return 0, false
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	power, err := strconv.Atoi(strings.TrimPrefix(exponent, "+"))
	if exponent == "" {
		power, err = 0, nil
	}
	if err != nil {
		return 0, false
	}
	cents, err := turn.ParseCents(mantissa + "e" + strconv.Itoa(power+2))
	return cents, err == nil && cents >= 0
}

// sum adds what several attempts of one call spent.
func sum(a, b turn.Usage) turn.Usage {
	a.InputTokens = add(a.InputTokens, b.InputTokens)
	a.OutputTokens = add(a.OutputTokens, b.OutputTokens)
	a.CachedInputTokens = addReported(a.CachedInputTokens, b.CachedInputTokens)
	a.Cost = addReported(a.Cost, b.Cost)
	return a
}

func addReported[T ~int64](a, b *T) *T {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	n := add(*a, *b)
	return &n
}

func add[T ~int64](a, b T) T {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
