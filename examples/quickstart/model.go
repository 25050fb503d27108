package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/pawl-dev/pawl/turn"
)

// endpoint is a chat-completions server and the model on it.
type endpoint struct {
	url, key, model string
	standin         bool
}

const defaultURL, defaultModel = "https://api.openai.com/v1", "gpt-5-mini"

// fromEnvironment is the server that the environment names, if it names one. A
// server of one's own may need no key.
func fromEnvironment(getenv func(string) string) (endpoint, bool) {
	key, url := getenv("OPENAI_API_KEY"), getenv("OPENAI_BASE_URL")
	return endpoint{url: cmp.Or(url, defaultURL), key: key, model: cmp.Or(getenv("PAWL_MODEL"), defaultModel)}, key != "" || url != ""
}

func (e endpoint) service() openai.ChatCompletionService {
	options := []option.RequestOption{option.WithBaseURL(e.url)}
	if e.key != "" {
		options = append(options, option.WithAPIKey(e.key))
	}
	return openai.NewChatCompletionService(options...)
}

// newModel is the plainest TurnFn there is: one request, one reply.
func newModel(e endpoint) turn.TurnFn {
	service := e.service()
	return func(ctx context.Context, messages []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
		c, err := service.New(ctx, openai.ChatCompletionNewParams{Model: e.model, Messages: messages, Tools: tools})
		if err != nil {
			return turn.ModelTurnResult{}, err
		}
		if len(c.Choices) == 0 {
			return turn.ModelTurnResult{}, errors.New("the server gave no choice")
		}
		u := turn.Usage{InputTokens: c.Usage.PromptTokens, OutputTokens: c.Usage.CompletionTokens}
		if cached := c.Usage.PromptTokensDetails; cached.JSON.CachedTokens.Valid() {
			u.CachedInputTokens = &cached.CachedTokens
		}
		return turn.ModelTurnResult{Message: c.Choices[0].Message, Usage: u, Finish: c.Choices[0].FinishReason, Model: c.Model}, nil
	}
}
