package turn_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/turn"
)

func TestIsCut(t *testing.T) {
	for _, finish := range []string{"length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_length"} {
		require.True(t, turn.IsCut(finish), finish)
	}
	for _, finish := range []string{"", "stop", "tool_calls", "end_turn", "content_filter", "length_exceeded"} {
		require.False(t, turn.IsCut(finish), finish)
	}
}

func ExampleIsCut() {
	fmt.Println(turn.IsCut("MAX_TOKENS"), turn.IsCut("tool_calls"))
	// Output: true false
}
