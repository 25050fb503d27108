package main

import (
	"cmp"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/chat"
)

const defaultURL, defaultModel = "https://api.openai.com/v1", "gpt-5-mini"

// newModel is the model that the environment names, or else the stand-in. A server
// of one's own may need no key.
func newModel(getenv func(string) string) (_ turn.TurnFn, name string) {
	key, url := getenv("OPENAI_API_KEY"), getenv("OPENAI_BASE_URL")
	if key == "" && url == "" {
		return standIn, "a stand-in: a small set of rules, no language model. Set OPENAI_API_KEY to use one."
	}
	url, model := cmp.Or(url, defaultURL), cmp.Or(getenv("PAWL_MODEL"), defaultModel)
	options := []option.RequestOption{option.WithBaseURL(url)}
	if key != "" {
		options = append(options, option.WithAPIKey(key))
	}
	return chat.New(openai.NewChatCompletionService(options...), model, chat.Options{}), model + " at " + url
}
