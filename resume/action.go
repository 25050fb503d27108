package resume

import (
	"encoding/json"
	"strings"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// Action is a call that was started, as the record tells it.
type Action struct {
	turn.Call
	// Agent is the child run that made the call, as its entries name it; "" for the
	// session's own.
	Agent string
	Kind  trajectory.Kind
	// ReplaySafe: the tool said that repeating the call does no harm.
	ReplaySafe bool
	// Status is how it ended; "" when it did not.
	Status trajectory.Status
	Paths  []string
	// Waits is set while it is suspended, and stays for one that a reply ended without
	// its tool: see Status then. Asked is the question, or the reason.
	Waits trajectory.Wait
	Asked string

	agentTool string // the name of the sub-agent that made the call
}

// hasEffects says of a call that was stopped whether somebody should look what it did.
func (a Action) hasEffects() bool {
	return a.Kind != trajectory.KindRead && a.Kind != trajectory.KindSearch && !a.ReplaySafe
}

// verbs of the kinds, for what is over and for what was still going on.
var verbs = map[trajectory.Kind][2]string{
	trajectory.KindExecute: {"ran", "running"},
	trajectory.KindEdit:    {"edited", "editing"},
	trajectory.KindDelete:  {"deleted", "deleting"},
	trajectory.KindMove:    {"moved", "moving"},
	trajectory.KindRead:    {"read", "reading"},
	trajectory.KindSearch:  {"searched for", "searching for"},
	trajectory.KindFetch:   {"fetched", "fetching"},
}

// objects are the arguments that say what a call of a kind was about, under the
// names that tools commonly give them.
var objects = map[trajectory.Kind][]string{
	trajectory.KindExecute: {"command", "cmd", "script", "code"},
	trajectory.KindSearch:  {"query", "pattern", "regex", "q"},
	trajectory.KindFetch:   {"url", "uri"},
}

var pathNames = []string{"path", "file_path", "filePath", "file", "filename", "paths", "files"}

// phrase is what the call did, or (index 1) was doing: "ran `go test`".
func (a Action) phrase(tense int) string {
	if a.Name == plan.ToolName {
		return [2]string{"updated the plan", "updating the plan"}[tense]
	}
	if verb, ok := verbs[a.Kind]; ok {
		if object := a.object(); object != "" {
			return verb[tense] + " " + object
		}
	}
	phrase := [2]string{"called ", "calling "}[tense] + code(a.Name)
	if arguments := strings.TrimSpace(a.Arguments); arguments != "" && arguments != "{}" {
		phrase += " with " + code(arguments)
	}
	return phrase
}

// object is what the call was about; "" when neither the call nor its arguments say.
func (a Action) object() string {
	names, ofKind := objects[a.Kind]
	var found []string
	if !ofKind {
		found, names = a.Paths, pathNames
	}
	if len(found) == 0 {
		found = argument(a.Arguments, names)
	}
	if a.Kind == trajectory.KindExecute && len(found) > 1 {
		found = []string{strings.Join(found, " ")} // a command given as words
	}
	marked := make([]string, len(found))
	for i, s := range found {
		marked[i] = code(s)
	}
	return list(marked)
}

// argument is the first of the named arguments that is a string or strings.
func argument(arguments string, names []string) []string {
	var object map[string]any
	if json.Unmarshal([]byte(arguments), &object) != nil {
		return nil
	}
	for _, name := range names {
		switch v := object[name].(type) {
		case string:
			if v != "" {
				return []string{v}
			}
		case []any:
			var out []string
			for _, item := range v {
				if s, ok := item.(string); ok {
					out = append(out, s)
				}
			}
			if len(out) > 0 {
				return out
			}
		}
	}
	return nil
}

// sentence tells of the call.
func (a Action) sentence() string {
	if a.Waits != "" {
		return a.question() + a.replied() + "."
	}
	switch a.Status {
	case "":
		return "Was " + a.phrase(1) + " when it stopped."
	case trajectory.Failed:
		return capital(a.phrase(0)) + ", which failed."
	case trajectory.CutOff:
		return capital(a.phrase(0)) + ", which was cut off."
	case trajectory.Unknown:
		return capital(a.phrase(0)) + ", and its outcome is unknown."
	}
	return capital(a.phrase(0)) + "."
}

func (a Action) question() string {
	switch a.Waits {
	case trajectory.ForReply:
		return "Asked " + quoted(a.Asked)
	case trajectory.ForApproval:
		return "Asked for approval: " + quoted(a.Asked)
	}
	if a.Asked == "" {
		return "Paused"
	}
	return "Paused: " + quoted(a.Asked)
}

// replied is what became of a question without the tool having run again. One that
// was approved, or came to its time, is told of as a call that ran.
func (a Action) replied() string {
	switch {
	case a.Status == "":
		return "" // it still waits
	case a.Status == trajectory.OK:
		return ", which was answered"
	case a.Status != trajectory.Denied:
		return ", and could not go on" // its tool is gone, or takes other arguments now
	case a.Waits == trajectory.ForReply:
		return ", which was not answered"
	case a.Waits == trajectory.ForApproval:
		return ", which was denied"
	}
	return ", and was called off"
}
