// Package chat is a [turn.TurnFn] for any server that speaks OpenAI's
// chat-completions protocol: OpenAI, Azure, vLLM, llama.cpp, Ollama, LM Studio,
// OpenRouter, DeepSeek, Groq, Gemini's compatible endpoint and their like.
//
//	service := openai.NewChatCompletionService(option.WithBaseURL("http://127.0.0.1:8080/v1/"))
//	model := chat.New(service, "qwen3", chat.Options{})
//	res, err := loop.RunToolLoop(ctx, messages, loop.Options{Turn: model, Tools: tools})
//	fmt.Println(res.Text(), res.Stats.OutputTokens, err) // It is noon. 9 <nil>
//
// # Which server, which key
//
// The host builds the service, and the service's client does all I/O: address,
// credentials, headers, proxies and middleware are its options. Build it with
// NewChatCompletionService and not with NewClient, which also takes what the
// OPENAI_* environment variables hold, a key and an organisation among them, and
// would send it to whatever address it was given.
//
// # Showing a reply as it comes
//
// Replies are streamed. Options.OnDelta is told of each piece, on a goroutine of its
// own, so that a slow screen delays no reading; the reply itself is returned whole.
//
// # What is a success
//
// A reply that the server reported as complete, by a finish reason or by [DONE].
// Anything else is an error, also with the status 200: an error object inside the
// stream, a finish reason that reports a failure, a page, an empty body, no choices,
// half a tool call, a stream that ends early. The *[Error] says what arrived, and
// beside it stand the text so far and the usage known so far. The calls of a reply that
// did not end are never handed over. The finish reason itself is passed on as reported;
// what "length" or "content_filter" mean for a run is the loop's business.
//
// # What comes back to the server
//
// A reply keeps every field that the server sent, also those that the wire types
// do not know, such as reasoning_content or a call's extra_content, and goes back
// with the bytes it came with. Where an endpoint wants something else, an option
// says so: [Options] has one for each such habit, and none is guessed.
//
// # Retries
//
// The SDK's retries are off, and this package's take their place, since only it
// sees a stream that breaks. A request is sent again only while the host was told
// nothing of its reply. What failed attempts spent is in the usage of the call, as
// far as servers report it.
//
// # Costs
//
// A server's own figure is taken where it gives one, else Options.Price is asked.
// There is no price list here: an unknown price stays unknown.
package chat
