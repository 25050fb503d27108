package chat_test

import (
	"encoding/json"
	"testing"

	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/chat"
	"github.com/stretchr/testify/require"
)

// As servers put it.
var overflowMessages = []string{
	"Your input exceeds the context window of this model. Please adjust your input and try again.",
	"The decoder prompt (length 40000) is longer than the maximum model length of 32768. Make sure that `max_model_len` is no smaller than the number of text tokens.",
	"The prompt (total length 25938) is too long to fit into the model (context length 4096).",
	"You passed 99073 input tokens and requested 32000 output tokens. However, the model's context length is only 131072 tokens, resulting in a maximum input length of 99072 tokens. Please reduce the length of the input prompt.",
	"'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 32768 tokens and your request has 30000 input tokens (4096 > 32768 - 30000). None",
	"The input (516368 tokens) is longer than the model's context length (262144 tokens).",
	"Requested token count exceeds the model's maximum context length of 4096 tokens.",
	"The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length",
	"Context size has been exceeded.",
	"prompt too long; exceeded max context length by 12 tokens",
	"Prompt has 5,958,968 tokens, but the configured context size is 256,000 tokens",
	"Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
	"Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
	"This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
	"tokens in request more than max tokens allowed",
	"Prompt exceeds max length",
	"Invalid request: Your request exceeded model token limit: 262144 (requested: 274390)",
	"invalid params, context window exceeds limit (2013)",
	"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
	"The estimated number of input and maximum output tokens (9000) exceeded this model context window limit (8000).",
	"too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs.",
	"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 200 `max_new_tokens`",
	"Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
	"prompt token count of 128432 exceeds the limit of 128000",
	"litellm.ContextWindowExceededError: the request is too big. Received Model Group=m",
	"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
}

func TestContextOverflow(t *testing.T) {
	overflows := []answer{
		{status: 400, body: `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`},
		{status: 400, body: `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`},
		{status: 500, body: `{"error":{"code":500,"message":"context shift is disabled","type":"server_error"}}`},
		{body: "event: error\ndata: {\"error\":{\"message\":\"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens\"}}\n\n"},
		{body: `{"error":"Trying to keep the first 9000 tokens when context the overflows."}`},
		{status: 400, body: `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`},
		{status: 400, body: `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).","type":"BadRequestError","code":400}`},
		{status: 400, body: `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"message\":\"prompt is too long: 210000 tokens > 200000 maximum\"}"}}}`},
		{status: 400, body: `{"message":"Input is too long for requested model."}`},
		{status: 413, body: `{"error":{"message":"Please reduce the length of the messages or completion.","code":"context_length_exceeded"}}`},
		{body: events(`{"error":{"code":"context_length_exceeded","message":"too much"}}`)},
		{body: "error: {\"code\":400,\"message\":\"the request exceeds the available context size\",\"type\":\"exceed_context_size_error\"}\n\n"},
		{status: 413, body: `{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`},
		{status: 413, body: "<html><title>413 Request Entity Too Large</title></html>"},
		{status: 413, body: `{"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-4o model. Max size: 8000 tokens."}}`},
		{body: stream(delta(`"content":"so"`), finish("model_context_window_exceeded"))},
	}
	for _, message := range overflowMessages {
		raw, err := json.Marshal(message)
		require.NoError(t, err)
		overflows = append(overflows, answer{status: 400, body: `{"error":{"message":` + string(raw) + `}}`}, answer{body: events(`{"error":{"message":` + string(raw) + `}}`)})
	}
	for _, a := range overflows {
		s := serve(t, a)
		_, err := s.model(chat.Options{})(t.Context(), hello(), nil)
		require.ErrorIs(t, err, turn.ErrContextOverflow, a.body)
		require.Len(t, s.sent(), 1, "sent again: %s", a.body)
	}
	others := []answer{
		{status: 429, body: `{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 6000, Requested 8000. Please reduce the length of the messages.","code":"rate_limit_exceeded"}}`},
		{status: 413, body: `{"error":{"message":"Request too large on tokens per minute (TPM). Please reduce the length of the messages."}}`},
		{status: 400, body: `{"error":{"message":"max_tokens is too large: 50000. This model supports at most 16384 completion tokens.","code":"invalid_value"}}`},
		{status: 400, body: `{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 100000. This model's maximum context length is 32768 tokens and your request has 10 input tokens"}}`},
		{status: 400, body: `{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length is 1000 tokens and your request has 203 input tokens (1000 > 1000 - 203)."}}`},
		{status: 400, body: `{"error":{"message":"the context is wrong"}}`},
		{status: 503, body: `{"error":{"message":"Throttling error: Too many tokens, please wait before trying again."}}`},
		{status: 429, body: `{"error":{"message":"Tokens per day limit exceeded - too many tokens processed.","type":"too_many_tokens_error"}}`},
		{body: events(`{"error":{"message":"Tokens per hour limit exceeded - too many tokens processed."}}`)},
	}
	for _, a := range others {
		s := serve(t, a)
		_, err := s.model(chat.Options{MaxRetries: -1})(t.Context(), hello(), nil)
		require.Error(t, err)
		require.NotErrorIs(t, err, turn.ErrContextOverflow, a.body)
	}
}
