package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-dev/pawl/turn"
)

// PruneOptions say when and how [Prune] compacts. Window is required.
type PruneOptions struct {
	// Window is the context window in tokens.
	Window int64
	// At is the share of the window from which outputs are shortened; zero is 0.6.
	At float64
	// KeepTurns is how many of the latest turns keep their outputs whole; zero is
	// 3, negative none.
	KeepTurns int
	// MaxBytes is what an older output may keep; zero is 1,000, negative nothing.
	MaxBytes int
}

// Prune is a [CompactFn] that shortens old tool outputs and calls no model. Calls
// and results keep their places and their ids; a shortened output says so and how
// long it was. Each pruning changes what the server has cached, so it is only done
// where it frees at least a tenth of the window; after an overflow it always is.
// Pruning again without new messages changes nothing.
func Prune(o PruneOptions) CompactFn {
	if o.At == 0 {
		o.At = 0.6
	}
	return func(_ context.Context, in Compacting) (Compaction, error) {
		if o.Window <= 0 {
			return Compaction{}, &InvalidError{"Compact", errors.New("Prune: Window is required")}
		}
		if !in.Overflow && float64(tokensOf(in)) < o.At*float64(o.Window) {
			return Compaction{}, nil
		}
		c := prune(in.Messages, limit(o.KeepTurns, 3, 0)>>in.Try, limit(o.MaxBytes, 1000, 0)>>in.Try)
		if freed := bytesOf(in.Messages[:c.Drop]) - bytesOf(c.Head); !in.Overflow && int64(freed)/4 < o.Window/10 {
			return Compaction{}, nil
		}
		return c, nil
	}
}

// prune shortens what is worth it: the note costs something itself.
func prune(messages turn.Transcript, keepTurns, maxBytes int) Compaction {
	end := len(messages)
	for end > 0 && keepTurns > 0 {
		end--
		if messages[end].OfAssistant != nil {
			keepTurns--
		}
	}
	head := make(turn.Transcript, end)
	copy(head, messages)
	drop := 0
	for i, m := range head {
		if m.OfTool == nil {
			continue
		}
		if text := turn.Text(m); len(text) > maxBytes+200 {
			note := fmt.Sprintf("\n[shortened from %d bytes to save space; call the tool again if the rest is needed]", len(text))
			head[i] = turn.ToolResult(m.OfTool.ToolCallID, cut(text, maxBytes)+note)
			drop = i + 1
		}
	}
	return Compaction{Head: head[:drop], Drop: drop}
}
