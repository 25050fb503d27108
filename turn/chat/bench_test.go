package chat_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/pawl-dev/pawl/turn/chat"
)

// longStream is n chunks of text, the way that servers write them.
func longStream(n int) string {
	chunks := []string{delta(`"role":"assistant","content":""`)}
	for i := range n {
		chunks = append(chunks, delta(fmt.Sprintf(`"content":" word%d"`, i)))
	}
	return stream(append(chunks, finish("stop"), spent(`{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}`))...)
}

func longCall(n int) string {
	chunks := []string{callDelta(`"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"[0"}`)}
	for i := range n {
		chunks = append(chunks, callDelta(fmt.Sprintf(`"index":0,"function":{"arguments":",%d"}`, i)))
	}
	return stream(append(chunks, callDelta(`"index":0,"function":{"arguments":"]"}`), finish("tool_calls"))...)
}

// The cost of a stream is linear in its chunks, and is compared with reading the
// same stream by the SDK alone, which decodes each chunk and adds nothing up.
func BenchmarkStream(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		for kind, text := range map[string]string{"text": longStream(n), "call": longCall(n)} {
			b.Run(fmt.Sprintf("%s/%d/chat", kind, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					model := chat.New(openai.NewChatCompletionService(option.WithBaseURL("http://fake/"), option.WithHTTPClient(body{strings.NewReader(text)})), "m", chat.Options{})
					if _, err := model(context.Background(), hello(), nil); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/chunk")
			})
			b.Run(fmt.Sprintf("%s/%d/sdk", kind, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					service := openai.NewChatCompletionService(option.WithBaseURL("http://fake/"), option.WithHTTPClient(body{strings.NewReader(text)}))
					s := service.NewStreaming(context.Background(), openai.ChatCompletionNewParams{Model: "m", Messages: hello()})
					for s.Next() {
						_ = s.Current()
					}
					if s.Err() != nil {
						b.Fatal(s.Err())
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/chunk")
			})
		}
	}
}
