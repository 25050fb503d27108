package turn

import "strings"

// FinishLength is the finish reason of a reply that was cut at the output limit, in
// the words of chat completions.
const FinishLength = "length"

// IsCut reports whether a finish reason says that the reply was cut at the output
// limit, in the words of any server: those of Anthropic, Google and Cohere
// (max_tokens), of OpenAI's Responses API (max_output_tokens) and of Mistral
// (model_length) count as well as [FinishLength]. The arguments of such a reply's calls
// may be half, so a loop runs none of them. It is the only finish reason with a weight.
func IsCut(finish string) bool {
	switch strings.ToLower(finish) {
	case FinishLength, "max_tokens", "max_output_tokens", "model_length":
		return true
	}
	return false
}
