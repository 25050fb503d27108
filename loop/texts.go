package loop

import (
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/trajectory"
)

// These texts tell the model what became of a call. They say whether it had
// effects, since that decides what a model may safely do next.
const (
	textNotStarted  = "This call was not started: the run was stopped first. It had no effects."
	textCutOff      = "The run was stopped while this call was running. Its effects are unknown: check before repeating it."
	textUnknown     = "The run was interrupted and the outcome of this call is unknown. It may have had effects: check before repeating it."
	textCutOffSafe  = "The run was stopped while this call was running. Repeating it does no harm."
	textUnknownSafe = "The run was interrupted and the outcome of this call is unknown. Repeating it does no harm."
	textCutReply    = "This call did not run: the reply that made it was cut off at the output limit. Send it again, in smaller pieces if it is long."
	// A call that was suspended or cut off may go on in a run with other tools than
	// the one that began it.
	textBegan    = "This call had begun earlier and cannot go on; what it did before that stands. "
	textRepeated = "This call did not run: it came with the id of another call in the same reply. Send it again if it was meant."
)

func textUnknownTool(began bool, name string, tools []Tool) string {
	if began {
		return textBegan + textUnknownTool(false, name, tools)
	}
	if len(tools) == 0 {
		return fmt.Sprintf("There is no tool named %.80q, and no other tool either.", name)
	}
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	hint := ""
	if near := nearest(name, names); near != "" {
		hint = fmt.Sprintf(" Did you mean %q?", near)
	}
	return fmt.Sprintf("There is no tool named %.80q.%s The tools are: %s.", name, hint, strings.Join(names, ", "))
}

// nearest is the one tool that a mangled name can have meant, "" when none or
// several can. It is a hint, never a call: a guess would run the wrong tool.
func nearest(name string, names []string) string {
	name, _, _ = strings.Cut(name, "<|") // a control token that leaked
	name = strings.TrimSpace(name)
	name = name[strings.LastIndexAny(name, ".:/")+1:]
	found := ""
	for _, n := range names {
		if strings.EqualFold(n, name) {
			if found != "" {
				return ""
			}
			found = n
		}
	}
	return found
}

func textBadArguments(began bool, err error, sent string) string {
	begin := "This call did not run: its"
	if began {
		begin = textBegan + "Its"
	}
	return fmt.Sprintf("%s arguments are not valid: %v. You sent: %s", begin, err, clip(sent, 1000))
}

// textDenied must not say of a call that ran and then asked that it did not run.
func textDenied(started bool, why string) string {
	text, after := "This call was declined by a person and did not run", ""
	if started {
		text, after = "This call was waiting and was closed without an answer", " What it did before that stands."
	}
	if why == "" {
		return text + "." + after
	}
	return text + "." + after + " The reason: " + why
}

// resultText is what the model reads of a call that ran; safe says that a repeat of
// it does no harm.
func resultText(o *Outcome, safe bool) string {
	cutOff := textCutOff
	if safe {
		cutOff = textCutOffSafe
	}
	switch {
	case o.Status == trajectory.OK:
		return o.Text
	case o.Status == trajectory.CutOff && o.Abandoned:
		return cutOff + " It did not stop when it was told to, and may still be running."
	case o.Status == trajectory.CutOff && o.Error == "":
		return withOutput(cutOff, o.Text)
	case o.Status == trajectory.CutOff:
		return withOutput(cutOff+" It said: "+o.Error, o.Text)
	}
	return withOutput("Error: "+o.Error, o.Text)
}

func withOutput(text, output string) string {
	if output == "" {
		return text
	}
	return text + "\n\nIts output until then:\n" + output
}

// isOwnText tells what the loop itself says in a user's name.
func isOwnText(s string) bool {
	return s == textLastWord || s == textGoOn || strings.HasPrefix(s, noticeMark) || strings.HasPrefix(s, nudgeMark)
}
