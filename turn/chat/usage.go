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
	input, output, total, cached, written, reasoning *int64
	cost                                             *turn.Cost
}

// Where servers put the figures, the most usual place first.
var (
	inputPaths     = []string{"prompt_tokens", "input_tokens"}
	outputPaths    = []string{"completion_tokens", "output_tokens"}
	totalPaths     = []string{"total_tokens"}
	cachedPaths    = []string{"prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens", "prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens"}
	writtenPaths   = []string{"cache_creation_input_tokens", "prompt_tokens_details.cache_creation_tokens", "prompt_tokens_details.cache_write_tokens"}
	reasoningPaths = []string{"completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens", "reasoning_tokens"}
)

// readFrom looks for a usage object in a chunk or a whole response.
func (u *usage) readFrom(root fields, choices []gjson.Result) {
	var choice gjson.Result
	if len(choices) > 0 {
		choice = choices[0]
	}
	for _, v := range [...]gjson.Result{root.usage, choice.Get("usage"), root.groq.Get("usage")} {
		if v.IsObject() {
			u.add(v)
			return
		}
	}
}

// add takes a later report. Reports are cumulative, so it replaces the one before
// and is never added to it. What it leaves out stays, and so does what it gives as
// zero: some servers know only a part of the figures at the end.
func (u *usage) add(v gjson.Result) {
	replace(&u.input, firstCount(v, inputPaths))
	replace(&u.output, firstCount(v, outputPaths))
	replace(&u.total, firstCount(v, totalPaths))
	replace(&u.cached, firstCount(v, cachedPaths))
	replace(&u.written, firstCount(v, writtenPaths))
	replace(&u.reasoning, firstCount(v, reasoningPaths))
	replace(&u.cost, readCost(v))
}

func replace[T ~int64](old **T, new *T) {
	if new != nil && (*old == nil || *new != 0) {
		*old = new
	}
}

func (u *usage) reported() bool { return u.input != nil || u.output != nil || u.cost != nil }

// turnUsage puts the figures into the terms of a turn.
func (u *usage) turnUsage() turn.Usage {
	t := turn.Usage{InputTokens: orZero(u.input), OutputTokens: orZero(u.output), Cost: u.cost}
	cache := add(orZero(u.cached), orZero(u.written))
	if cache > t.InputTokens || u.reasoning == nil && cache == u.hidden(t) { // a prompt that leaves its cache out
		t.InputTokens = add(t.InputTokens, cache)
	}
	if u.cached != nil {
		n := *u.cached
		t.CachedInputTokens = &n
	}
	if hidden := u.hidden(t); u.reasoning == nil || *u.reasoning == hidden {
		t.OutputTokens += hidden
	}
	return t
}

// hidden is what is counted in the total alone: some servers leave the reasoning
// out of the completion.
func (u *usage) hidden(t turn.Usage) int64 {
	if u.total == nil || u.output == nil || t.InputTokens > *u.total {
		return 0
	}
	return max(*u.total-t.InputTokens-t.OutputTokens, 0)
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
	switch {
	case cost.IsObject():
		cost = cost.Get("total_cost")
	case !cost.Exists():
		cost = v.Get("estimated_cost")
	}
	price, ok := dollars(cost)
	if !ok {
		return readTicks(v.Get("cost_in_usd_ticks"))
	}
	if v.Get("is_byok").Bool() { // the host pays the provider beside the router
		if upstream, ok := dollars(v.Get("cost_details.upstream_inference_cost")); ok && price <= math.MaxInt64-upstream {
			price += upstream
		}
	}
	return &price
}

// readTicks reads a price in units of 10⁻¹⁰ dollars, which xAI calls ticks.
func readTicks(v gjson.Result) *turn.Cost {
	const tick = turn.Dollar / 1e10
	n, ok := count(v)
	if !ok || n > math.MaxInt64/int64(tick) {
		return nil
	}
	price := turn.Cost(n) * tick
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
