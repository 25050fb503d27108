package chat_test

import (
	"math"
	"testing"

	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/chat"
	"github.com/stretchr/testify/require"
)

func ptr[T any](v T) *T { return &v }

func TestUsage(t *testing.T) {
	tests := []struct {
		name      string
		usages    []string
		want      turn.Usage
		reasoning *int64
	}{
		{name: "none", want: turn.Usage{}},
		{name: "null", usages: []string{`null`}, want: turn.Usage{}},
		{name: "plain", usages: []string{`{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2}},
		{name: "cumulative", usages: []string{`{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11}`, `{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}`, `{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2}},
		{name: "zeros and null at the end", usages: []string{`{"prompt_tokens":10,"completion_tokens":2,"cost":0.01}`, `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`, `null`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2, Cost: ptr(turn.Cent)}},
		{name: "in two parts", usages: []string{`{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":4}}`, `{"completion_tokens":2}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2, CachedInputTokens: ptr(int64(4))}},
		{name: "nothing cached is not unknown", usages: []string{`{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2, CachedInputTokens: ptr(int64(0))}},
		{name: "details that are null", usages: []string{`{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":null,"completion_tokens_details":null}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2}},
		{name: "cached and reasoning", usages: []string{`{"prompt_tokens":10,"completion_tokens":9,"total_tokens":19,"prompt_tokens_details":{"cached_tokens":5},"completion_tokens_details":{"reasoning_tokens":7}}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 9, CachedInputTokens: ptr(int64(5))}, reasoning: ptr(int64(7))},
		{name: "reasoning within the completion", usages: []string{`{"prompt_tokens":2008,"completion_tokens":266,"total_tokens":2274,"completion_tokens_details":{"reasoning_tokens":261}}`}, want: turn.Usage{InputTokens: 2008, OutputTokens: 266}, reasoning: ptr(int64(261))},
		{name: "reasoning beside the completion", usages: []string{`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":115,"completion_tokens_details":{"reasoning_tokens":100}}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 105}, reasoning: ptr(int64(100))},
		{name: "reasoning in the total alone", usages: []string{`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":115}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 105}},
		{name: "cache hits", usages: []string{`{"prompt_tokens":10,"completion_tokens":2,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":2}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2, CachedInputTokens: ptr(int64(8))}},
		{name: "cached at the top", usages: []string{`{"prompt_tokens":10,"completion_tokens":2,"cached_tokens":8}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2, CachedInputTokens: ptr(int64(8))}},
		{name: "other names", usages: []string{`{"input_tokens":10,"output_tokens":2,"input_tokens_details":{"cached_tokens":1},"output_tokens_details":{"reasoning_tokens":1}}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2, CachedInputTokens: ptr(int64(1))}, reasoning: ptr(int64(1))},
		{name: "a prompt without its cache", usages: []string{`{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":80}}`}, want: turn.Usage{InputTokens: 90, OutputTokens: 2, CachedInputTokens: ptr(int64(80))}},
		{name: "a prompt without what was read and written", usages: []string{`{"input_tokens":10,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":80}`}, want: turn.Usage{InputTokens: 93, OutputTokens: 2, CachedInputTokens: ptr(int64(3))}},
		{name: "a prompt without its cache, and a total with it", usages: []string{`{"prompt_tokens":100,"completion_tokens":5,"total_tokens":185,"cached_tokens":80}`}, want: turn.Usage{InputTokens: 180, OutputTokens: 5, CachedInputTokens: ptr(int64(80))}},
		{name: "a prompt with its cache, read and written", usages: []string{`{"prompt_tokens":100,"completion_tokens":5,"total_tokens":105,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":40}}`}, want: turn.Usage{InputTokens: 100, OutputTokens: 5, CachedInputTokens: ptr(int64(60))}},
		{name: "an absurd cache", usages: []string{`{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"cached_tokens":9223372036854775807,"cache_creation_input_tokens":9223372036854775807}`}, want: turn.Usage{InputTokens: math.MaxInt64, OutputTokens: 2, CachedInputTokens: ptr(int64(math.MaxInt64))}},
		{name: "zeros for what is known", usages: []string{`{"prompt_tokens":10,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":4}}`, `{"prompt_tokens":0,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":0}}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 5, CachedInputTokens: ptr(int64(4))}},
		{name: "a price", usages: []string{`{"prompt_tokens":10,"completion_tokens":2,"cost":0.00014}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2, Cost: ptr(turn.Cent * 14 / 1000)}},
		{name: "a price with an exponent", usages: []string{`{"prompt_tokens":10,"completion_tokens":2,"cost":1.4e-5}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2, Cost: ptr(turn.Cent * 14 / 10000)}},
		{name: "a price in a string", usages: []string{`{"prompt_tokens":10,"completion_tokens":2,"cost":"1.5"}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2, Cost: ptr(turn.Dollar * 3 / 2)}},
		{name: "a price in ticks", usages: []string{`{"prompt_tokens":10,"completion_tokens":2,"cost_in_usd_ticks":37756001}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2, Cost: ptr(turn.Dollar * 37756001 / 1e10)}},
		{name: "a price in ticks that is none", usages: []string{`{"prompt_tokens":10,"completion_tokens":2,"cost_in_usd_ticks":9223372036854775807}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2}},
		{name: "an estimated price", usages: []string{`{"prompt_tokens":10,"completion_tokens":2,"estimated_cost":0.00014}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2, Cost: ptr(turn.Cent * 14 / 1000)}},
		{name: "a price list", usages: []string{`{"prompt_tokens":10,"completion_tokens":2,"cost":{"request_cost":0.5,"total_cost":1}}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2, Cost: ptr(turn.Dollar)}},
		{name: "the host's own key", usages: []string{`{"prompt_tokens":10,"completion_tokens":2,"cost":0.01,"is_byok":true,"cost_details":{"upstream_inference_cost":0.02}}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2, Cost: ptr(3 * turn.Cent)}},
		{name: "a price of nothing", usages: []string{`{"prompt_tokens":10,"completion_tokens":2,"cost":0}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2, Cost: ptr(turn.Cost(0))}},
		{name: "a price that is none", usages: []string{`{"prompt_tokens":10,"completion_tokens":2,"cost":-1}`, `{"prompt_tokens":10,"completion_tokens":2,"cost":1e99}`, `{"prompt_tokens":10,"completion_tokens":2,"cost":"free"}`}, want: turn.Usage{InputTokens: 10, OutputTokens: 2}},
		{name: "absurd", usages: []string{`{"prompt_tokens":9223372036854775807,"completion_tokens":-5,"total_tokens":-5}`}, want: turn.Usage{InputTokens: math.MaxInt64}},
		{name: "out of range", usages: []string{`{"prompt_tokens":1e99,"completion_tokens":9e18,"total_tokens":1e99}`}, want: turn.Usage{InputTokens: math.MaxInt64, OutputTokens: 9e18}},
		{name: "fractions and strings", usages: []string{`{"prompt_tokens":"12","completion_tokens":2.5}`}, want: turn.Usage{InputTokens: 12, OutputTokens: 2}},
		{name: "no numbers", usages: []string{`{"prompt_tokens":"many","completion_tokens":[],"cost":{}}`}, want: turn.Usage{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			chunks := []string{delta(`"content":"A"`), finish("stop")}
			for _, u := range tt.usages {
				chunks = append(chunks, spent(u))
			}
			bodies := []string{stream(chunks...)}
			if len(tt.usages) == 1 {
				bodies = append(bodies,
					`{"choices":[{"message":{"role":"assistant","content":"A"},"finish_reason":"stop"}],"usage":`+tt.usages[0]+`}`,
					stream(delta(`"content":"A"`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":`+tt.usages[0]+`}]}`),
					stream(delta(`"content":"A"`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"usage":`+tt.usages[0]+`}}`))
			}
			for _, body := range bodies {
				var report chat.Report
				o := chat.Options{Observe: func(_ ctx, r chat.Report) { report = r }}
				res, err := serve(t, answer{body: body}).model(o)(t.Context(), hello(), nil)
				require.NoError(t, err)
				require.Equal(t, tt.want, res.Usage)
				require.Equal(t, tt.reasoning, report.ReasoningTokens)
				require.Equal(t, tt.want != turn.Usage{}, report.UsageReported)
			}
		})
	}
}

func TestPrice(t *testing.T) {
	price := func(model string, u turn.Usage) *turn.Cost {
		require.Equal(t, "m-1", model)
		return ptr(turn.Cost(u.InputTokens) * turn.Cent)
	}
	hi := delta(`"content":"A"`)
	for usage, want := range map[string]*turn.Cost{
		`{"prompt_tokens":3,"completion_tokens":1}`:             ptr(3 * turn.Cent),
		`{"prompt_tokens":3,"completion_tokens":1,"cost":0.01}`: ptr(turn.Cent),
		`null`: nil,
	} {
		s := serve(t, answer{body: stream(hi, finish("stop"), spent(usage))})
		res, err := s.model(chat.Options{Price: price})(t.Context(), hello(), nil)
		require.NoError(t, err)
		require.Equal(t, want, res.Usage.Cost, usage)
	}
}

// What failed attempts spent is in the sum, and each attempt is reported.
func TestSpendOfFailedAttempts(t *testing.T) {
	hi := delta(`"content":"hi"`)
	s := serve(t,
		answer{body: events(hi, spent(`{"prompt_tokens":10,"completion_tokens":2,"cost":0.01}`))},
		answer{status: 503},
		answer{body: stream(hi, finish("stop"), spent(`{"prompt_tokens":10,"completion_tokens":3,"cost":0.02,"cached_tokens":7}`))})
	var reports []chat.Report
	res, err := s.model(chat.Options{Observe: func(_ ctx, r chat.Report) { reports = append(reports, r) }})(t.Context(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, turn.Usage{InputTokens: 20, OutputTokens: 5, CachedInputTokens: ptr(int64(7)), Cost: ptr(3 * turn.Cent)}, res.Usage)
	require.Len(t, reports, 3)
	for i, r := range reports {
		require.Equal(t, i+1, r.Attempt)
		require.Equal(t, i < 2, r.Retrying)
		require.Equal(t, i != 1, r.UsageReported)
	}
	require.ErrorIs(t, reports[0].Err, chat.ErrIncomplete)
	require.NoError(t, reports[2].Err)
	require.Equal(t, int64(2), reports[0].Usage.OutputTokens)

	s = serve(t, answer{body: stream(hi, finish("network_error"), spent(`{"prompt_tokens":10,"completion_tokens":2}`))})
	res, err = s.model(chat.Options{MaxRetries: -1})(t.Context(), hello(), nil)
	require.Error(t, err)
	require.Equal(t, turn.Usage{InputTokens: 10, OutputTokens: 2}, res.Usage, "the usage comes after the finish reason")

	s = serve(t, answer{body: events(hi, spent(`{"prompt_tokens":10,"completion_tokens":2}`))})
	res, err = s.model(chat.Options{MaxRetries: 1})(t.Context(), hello(), nil)
	require.ErrorIs(t, err, chat.ErrIncomplete)
	require.Equal(t, turn.Usage{InputTokens: 20, OutputTokens: 4}, res.Usage)
	require.Equal(t, "hi", res.Message.Content)
}
