// Package turn is the vocabulary of one model turn: the wire types, the seam to
// a model, what a turn cost, and the pure functions that keep a transcript valid.
//
//	reply := turn.ModelTurnResult{Message: turn.Assistant("hello")}
//	fmt.Println(turn.Text(turn.ReplayForm(reply.Message))) // hello
//
// # A model of your own
//
// A host brings its model as a [TurnFn], a function of the messages and the tools
// that returns one completed turn. The smallest, which ignores its context:
//
//	func(ctx context.Context, messages []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
//		return turn.ModelTurnResult{Message: turn.Assistant("hello")}, nil
//	}
//
// Package chat is one for any OpenAI-compatible server, package turntest checks
// that one keeps the contract, and has a scripted one for tests.
//
// For a wire format other than OpenAI's, read messages with [Role], [Text], [Calls]
// and [CallID], which says what call a tool message answers; read tools with
// [ToolName], [ToolDescription] and [ToolSchema]. The reply is built with [Assistant].
//
// # Messages in, messages out
//
// The wire format is the OpenAI chat-completions message, and the types are
// openai-go's own, under aliases. Two of its conversions lose data without an
// error: decoding a [TranscriptMessage] drops every field that the type does not
// know, and every call without a type; turning a reply into a parameter drops
// reasoning_content and a call's extra_content. So there are two ways into a
// transcript, and only two: [ParseMessage] for a message read as JSON, and
// [ReplayForm] for a reply of a model. Both keep the bytes as they came (compacted
// once) and fill the typed fields beside them: the bytes go out, the typed fields
// are a view for readers, and editing the view changes nothing.
//
// For a TurnFn over a server of that format this means: json.Marshal of the messages
// and of the tool definitions is what goes out, and json.Unmarshal of the reply's
// message into an [AssistantTurnMessage] is what comes back, with all its bytes. The
// loop takes it from there.
//
// An alias can carry no methods. Hence [Transcript], a list of messages that reads
// itself that way, and can be assigned to and from a plain slice; and hence
// functions, not methods, for what there is to ask of a message.
//
// # Calls and results
//
// A call is paired with its result inside one assistant message, never over the
// whole history, because some servers use the same ids again in every turn.
// [Check] names the first fault of a transcript, [OpenCalls] says what is still
// unanswered at its end, [Close] answers that.
//
// What a model writes as arguments need not be JSON. [Arguments] makes one object
// of it or says why not, and is what tools, approvals and logs should all read. In
// a transcript such a text stands inside an object, since a strict server refuses
// every later request otherwise; [InvalidArguments] gets it out again.
//
// # What a turn cost
//
// What is not known is not zero: CachedInputTokens, Cost and TTFT are nil then. A
// [Cost] is an integer, so sums are exact in any order; both clocks of [Timings]
// start when the TurnFn is called, retries and waits included.
package turn
