package chat

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// How servers say that the messages no longer fit, in lower case.
var overflowWords = []string{
	"context_length_exceeded", "exceed_context_size", "context_window_exceeded", "context_limit_exceeded", "contextwindowexceeded", "tokens_limit_reached", "request_too_large",
	"maximum context length", "context length of only", "context length is only", "context length exceeded", "exceeds the context length", "exceeds context length",
	"longer than the model's context length", "greater than the context length", "context shift is disabled", "context the overflows",
	"available context size", "configured context size is", "context size has been exceeded",
	"exceeds the context window", "exceed the context window", "context window exceeded", "context window exceeds", "exceeds context window", "context window limit",
	"exceed context limit", "exceeds context limit", "maximum model length", "too long to fit into the model", "too large for model with", "exceeded model token limit",
	"prompt is too long", "input is too long", "prompt too long", "prompt exceeds max length", "input length and `max_tokens` exceed", "maximum allowed input length",
	"maximum prompt length", "range of input length", "input token count", "prompt token count", "more than max tokens allowed", "too many tokens",
	"`inputs` must have less than", "`inputs` tokens + `max_new_tokens`", "reduce the length of the messages", "reduce the length of the input",
}

// Other things that are said in the same words: a limit on tokens a minute, and an
// output that is too long whatever the messages.
var otherLimits = []string{
	"per minute", "per hour", "per day", "(tpm)", "rate limit", "too many requests", "please wait", "throttl",
	"tokens is too large", "tokens' is too large", "tokens` is too large", "max_tokens must be", "max_completion_tokens must be",
}

// vLLM's "(output > context - input)", which says that the two together are too long.
var outputBesideInput = regexp.MustCompile(`\((\d+) > (\d+) ?- ?\d+\)`)

// isOverflow takes the words of an error in lower case.
func isOverflow(status int, words string) bool {
	if m := outputBesideInput.FindStringSubmatch(words); m != nil {
		output, _ := strconv.Atoi(m[1])
		context, _ := strconv.Atoi(m[2])
		return output < context // else no message is short enough
	}
	if status == http.StatusTooManyRequests || containsAny(words, otherLimits) {
		return false
	}
	return status == http.StatusRequestEntityTooLarge || containsAny(words, overflowWords)
}

// How servers say that there is no money left. Some use the status of a rate limit
// for it, and a rate limit may speak of a quota too.
var quotaWords = []string{
	"insufficient_quota", "exceeded_current_quota", "billing_hard_limit", "billing_not_active", "budget_exceeded", "budget has been exceeded",
	"spend_limit_exceeded", "spending limit", "insufficient balance", "insufficient_balance", "insufficient credits", "insufficient_credits",
	"credit balance is too low", "used all available credits", "arrearage",
}

func containsAny(text string, words []string) bool {
	for _, s := range words {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}
