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
		what = fmt.Sprintf("the last %d turns made the same call and got the same result: %s.", e.Turns, e.Detail)
	case Cycle:
		what = fmt.Sprintf("the same few turns have come round %d times, with the same results: %s.", e.Times, e.Detail)
	case SameError:
		tool := e.Tools[0]
		what = fmt.Sprintf("%s has failed in the same way in %d turns: %s.", tool, e.Times, strings.TrimSuffix(strings.TrimPrefix(e.Detail, tool+": "), "."))
	case SameText:
		what = fmt.Sprintf("the last %d turns called no tool and said the same: %s", e.Turns, e.Detail)
		if e.Detail == `""` {
			what = fmt.Sprintf("the last %d turns called no tool and said nothing.", e.Turns)
		}
	}
	return tellPrefix + what + " Doing it again will give the same. Try another way; if there is none, say what stands in your way and end."
}
