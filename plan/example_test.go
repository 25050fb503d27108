package plan_test

import (
	"fmt"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/turn"
)

// A model's update replaces the whole plan. What it got wrong is put right, and it
// is told so.
func ExampleApply() {
	p, note, err := plan.Apply(`{"steps":[
		{"text":"read the code","state":"completed"},
		{"text":"fix it","state":"in_progress"},
		{"text":"test it","state":"in_progress"}]}`)
	fmt.Println(note, err)
	for _, s := range p.Steps {
		fmt.Println(s.State, s.Text)
	}
	_, _, err = plan.Apply(`{"steps":[{"text":"wait","state":"blocked"}]}`)
	fmt.Println(err)
	// Output:
	// Only one step can be in progress: step 2 stays so, step 3 was set to pending. Plan updated: 1 of 3 done. <nil>
	// done read the code
	// in_progress fix it
	// pending test it
	// the plan: step 1: unknown state "blocked"; use pending, in_progress, done or dropped
}

// A host with a loop of its own advertises the tool itself.
func ExampleDefinition() {
	d := plan.Definition()
	fmt.Println(turn.ToolName(d), len(turn.ToolSchema(d)) > 0)
	// Output: update_plan true
}

func ExamplePlan_Counts() {
	p := plan.Plan{Steps: []plan.Step{{Text: "a", State: plan.Done}, {Text: "b", State: plan.Pending}, {Text: "c", State: plan.Dropped}}}
	fmt.Println(p.Counts())
	// Output: 1 2
}

func ExamplePlan_Outstanding() {
	p := plan.Plan{Steps: []plan.Step{{Text: "a", State: plan.Done}, {Text: "b", State: plan.InProgress}, {Text: "c", State: plan.Dropped}}}
	fmt.Println(p.Outstanding())
	// Output: [{b in_progress}]
}

// A copy to change while the plan itself is shown.
func ExamplePlan_Clone() {
	p := plan.Plan{Steps: []plan.Step{{Text: "a", State: plan.Pending}}}
	next := p.Clone()
	next.Steps[0].State = plan.Done
	fmt.Println(p.Steps[0].State, next.Steps[0].State)
	// Output: pending done
}
