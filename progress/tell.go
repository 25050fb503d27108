package progress

import (
	"fmt"
	"strings"
)

// tellPrefix begins what a watch tells the model, and is how a watch knows its own
// words again when it reads a record.
const tellPrefix = "You are repeating yourself: "

func ownWords(text string) bool { return strings.HasPrefix(text, tellPrefix) }

// tell is what the model hears of its repetition.
func tell(e *StuckError) string {
	var what string
	switch e.What {
	case SameCall:
		what = fmt.Sprintf("the last %d turns made the same call and got the same result: %s.", e.Times, e.Detail)
	case Cycle:
		what = fmt.Sprintf("the same turns have come round %d times, with the same results: %s.", e.Times, e.Detail)
	case SameError:
		what = fmt.Sprintf("%s has failed in the same way in %d turns: %s.", strings.Join(e.Tools, ", "), e.Times, e.Detail)
	case SameText:
		what = fmt.Sprintf("the last %d turns said the same and called no tool: %s.", e.Times, e.Detail)
	}
	return tellPrefix + what + " Doing it again will give the same. Try another way; if there is none, say what stands in your way and end."
}
