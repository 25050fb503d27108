package progress

import "strings"

// DescribeProgress says what was achieved, in the order in which a person would
// ask: "14 files changed, 23 commands run, 3 of 7 steps finished, 2 sub-agents
// started". Edits by tools that name no files are "2 edits made", and a plan that is
// through is "all 7 steps finished", or "the only step finished". It is empty when
// nothing was achieved; reads, and steps of which none is finished, are not in it.
func DescribeProgress(p RunProgress) string { return strings.Join(achieved(p), ", ") }

func achieved(p RunProgress) []string {
	var parts []string
	switch {
	case p.Files > 0:
		parts = append(parts, count(p.Files, "file changed", "files changed"))
	case p.Edits > 0: // by tools that do not say what they touched
		parts = append(parts, count(p.Edits, "edit made", "edits made"))
	}
	if p.Commands > 0 {
		parts = append(parts, count(p.Commands, "command run", "commands run"))
	}
	switch {
	case p.StepsDone <= 0:
	case p.StepsDone == 1 && p.StepsTotal <= 1:
		parts = append(parts, "the only step finished")
	case p.StepsDone >= p.StepsTotal:
		parts = append(parts, "all "+count(p.StepsDone, "step", "steps")+" finished")
	default:
		parts = append(parts, grouped(int64(p.StepsDone))+" of "+count(p.StepsTotal, "step", "steps")+" finished")
	}
	if p.Agents > 0 {
		parts = append(parts, count(p.Agents, "sub-agent started", "sub-agents started"))
	}
	return parts
}

// lookedAt says what a run did that changes nothing.
func lookedAt(p RunProgress) []string {
	var parts []string
	add := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, count(n, one, many))
		}
	}
	add(p.Reads, "read", "reads")
	add(p.Fetches, "fetch", "fetches")
	add(p.Polls, "check on something running", "checks on something running")
	add(p.FailedCommands, "failed command", "failed commands")
	add(p.FailedEdits, "failed edit", "failed edits")
	add(p.FailedOthers, "other call that failed", "other calls that failed")
	add(p.Others, "call to a tool that does not say what it does", "calls to tools that do not say what they do")
	return parts
}
