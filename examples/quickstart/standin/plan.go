package standin

import (
	"encoding/json"
	"path"
	"slices"
)

func (n *notes) withPlan(tools []string) bool {
	return n.listed && len(n.files) > 0 && slices.Contains(tools, "update_plan")
}

// problemsOf names what a run shows to be wrong, each once, in order.
func problemsOf(r testRun) []string {
	var out []string
	for _, f := range r.failures {
		p := function(f)
		switch r.stage {
		case building:
			p = path.Base(f.file) + " did not compile"
		case crashing:
			p = "a panic in " + path.Base(f.file)
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// planned is what the plan has to be now, as the arguments of update_plan: one
// step for each problem that a run has shown.
func (n *notes) planned() string {
	type step struct {
		Text  string `json:"text"`
		State string `json:"state"`
	}
	steps := []step{{"Run the tests", "done"}}
	open := problemsOf(testRun{stage: n.base.stage, failures: n.ordered(n.base.failures)})
	for _, p := range n.problems {
		s := step{"Fix: " + p, "pending"}
		if n.mended[p] {
			s.State = "done"
		}
		if len(open) > 0 && p == open[0] {
			s.State = "in_progress"
		}
		steps = append(steps, s)
	}
	steps = append(steps, step{"See all tests pass", "pending"})
	if n.passed() {
		steps[len(steps)-1].State = "done"
	}
	if len(n.problems) == 0 && !n.passed() {
		steps[0].State = "pending"
	}
	if i := slices.IndexFunc(steps, func(s step) bool { return s.State == "pending" }); i >= 0 && len(open) == 0 {
		steps[i].State = "in_progress"
	}
	data, _ := json.Marshal(map[string]any{"steps": steps})
	return string(data)
}
