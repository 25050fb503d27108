package main

import (
	"cmp"
	"net/netip"
	"net/url"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/chat"
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

// newModel streams to the printer, if there is one. The service is built by hand: the SDK's NewClient would send
// what other OPENAI_ variables hold to whatever server this is.
func newModel(e endpoint, p *printer) turn.TurnFn {
	options := []option.RequestOption{option.WithBaseURL(e.url)}
	if e.key != "" {
		options = append(options, option.WithAPIKey(e.key))
	}
	var o chat.Options
	if p != nil {
		o.OnDelta, o.Observe = p.delta, p.observe
	}
	return chat.New(openai.NewChatCompletionService(options...), e.model, o)
}

// local reports a model on this machine, which costs no money.
func (e endpoint) local() bool {
	u, err := url.Parse(e.url)
	if err != nil {
		return false
	}
	address, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && address.IsLoopback()
}
