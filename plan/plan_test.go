package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/turn"
)

// steps reads a plan from words: "+" done, ">" in progress, "." pending, "-"
// dropped, then the text.
func steps(text string) plan.Plan {
	p := plan.Plan{Steps: []plan.Step{}}
	states := map[byte]plan.State{'+': plan.Done, '>': plan.InProgress, '.': plan.Pending, '-': plan.Dropped}
	for _, word := range strings.Fields(text) {
		p.Steps = append(p.Steps, plan.Step{Text: word[1:], State: states[word[0]]})
	}
	return p
}

func TestApply(t *testing.T) {
	for name, c := range map[string]struct{ arguments, plan, note string }{
		"a plan":        {`{"steps":[{"text":"a","state":"done"},{"text":"b","state":"in_progress"},{"text":"c","state":"pending"},{"text":"d","state":"dropped"}]}`, "+a >b .c -d", "Plan updated: 1 of 3 done."},
		"no steps":      {`{"steps":[]}`, "", "The plan is empty."},
		"all dropped":   {`{"steps":[{"text":"a","state":"dropped"}]}`, "-a", "The plan is empty."},
		"encoded twice": {`"{\"steps\":[{\"text\":\"a\"}]}"`, ".a", "Plan updated: 0 of 1 done."},
		"white space":   {"{\"steps\":[{\"text\":\"  a\\n\",\"state\":\" Done \"}]}", "+a", "Plan updated: 1 of 1 done."},
		"other words": {`{"steps":[{"text":"a","state":"completed"},{"text":"b","state":"In Progress"},{"text":"c","state":"todo"},{"text":"d","state":"cancelled"},{"text":"e","state":"not-started"},{"text":"f","state":"skipped"},{"text":"g","state":""}]}`,
			"+a >b .c -d .e -f .g", "Plan updated: 1 of 5 done."},
		"no state":          {`{"steps":[{"text":"a"}]}`, ".a", "Plan updated: 0 of 1 done."},
		"two in progress":   {`{"steps":[{"text":"a","state":"in_progress"},{"text":"b","state":"in_progress"},{"text":"c","state":"active"}]}`, ">a .b .c", "Only one step can be in progress: step 1 stays so, step 2 was set to pending. Only one step can be in progress: step 1 stays so, step 3 was set to pending. Plan updated: 0 of 3 done."},
		"a step of no text": {`{"steps":[{"text":" ","state":"in_progress"},{"text":"b","state":"in_progress"},null,{}]}`, ">b", "Step 1 had no text and was left out. Step 3 had no text and was left out. Step 4 had no text and was left out. Plan updated: 0 of 1 done."},
		"more than asked":   {`{"why":"x","steps":[{"text":"a","state":"done","note":"n"}]}`, "+a", "Plan updated: 1 of 1 done."},
		"steps as texts":    {`{"steps":["a","b"]}`, ".a .b", "Plan updated: 0 of 2 done."},
	} {
		t.Run(name, func(t *testing.T) {
			p, note, err := plan.Apply(c.arguments)
			require.NoError(t, err)
			require.Equal(t, steps(c.plan), p)
			require.Equal(t, c.note, note)
		})
	}
}

func TestApplyRefuses(t *testing.T) {
	for arguments, want := range map[string]string{
		``:                                   `the plan: "steps" is missing`,
		`{}`:                                 `the plan: "steps" is missing`,
		`{"steps":null}`:                     `the plan: "steps" is missing`,
		`{"steps":{}}`:                       `the plan: "steps" is no list`,
		`{"steps":"a"}`:                      `the plan: "steps" is no list`,
		`[{"text":"a"}]`:                     "the arguments are no JSON object",
		`{"steps":[{"text":"a"}`:             "invalid JSON at byte",
		`{"steps":[{"text":"a"},5]}`:         "the plan: step 2: want an object with text and state",
		`{"steps":[{"text":["a"]}]}`:         "the plan: step 1: want an object with text and state",
		`{"steps":[{"text":"a","state":1}]}`: "the plan: step 1: want an object with text and state",
		`{"steps":[{"text":"a"},{"text":"b","state":"half"}]}`: `the plan: step 2: unknown state "half"; use pending, in_progress, done or dropped`,
		`{"steps":[{"text":"a","text":"b"}]}`:                  `the name "text" stands twice`,
	} {
		p, note, err := plan.Apply(arguments)
		require.ErrorContains(t, err, want, arguments)
		require.NotContains(t, err.Error(), "Go ", "the model knows no Go")
		require.Zero(t, p)
		require.Empty(t, note)
	}
}

func TestPlan(t *testing.T) {
	p := steps("+a >b .c -d")
	require.Equal(t, steps(">b .c").Steps, p.Outstanding())
	done, all := p.Counts()
	require.Equal(t, []int{1, 3}, []int{done, all})

	c := p.Clone()
	c.Steps[0].Text = "changed"
	require.Equal(t, steps("+a >b .c -d"), p)

	var zero plan.Plan
	require.Nil(t, zero.Outstanding())
	done, all = zero.Counts()
	require.Zero(t, done+all)
	require.Equal(t, zero, zero.Clone())
}

func TestPlanLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := rapid.SampledFrom([]string{"pending", "in_progress", "in_progress", "done", "dropped", ""})
		var in struct {
			Steps []map[string]string `json:"steps"`
		}
		in.Steps = []map[string]string{}
		for range rapid.IntRange(0, 6).Draw(t, "steps") {
			in.Steps = append(in.Steps, map[string]string{"text": rapid.String().Draw(t, "text"), "state": state.Draw(t, "state")})
		}
		arguments, err := json.Marshal(in)
		require.NoError(t, err)
		p, note, err := plan.Apply(string(arguments))
		require.NoError(t, err)
		require.NotEmpty(t, note)

		working := 0
		for _, s := range p.Steps {
			require.NotEmpty(t, s.Text)
			if s.State == plan.InProgress {
				working++
			}
		}
		require.LessOrEqual(t, working, 1)
		done, all := p.Counts()
		require.Equal(t, all-done, len(p.Outstanding()))

		// A plan is its own update.
		data, err := json.Marshal(p)
		require.NoError(t, err)
		again, _, err := plan.Apply(string(data))
		require.NoError(t, err)
		require.Equal(t, p, again)
	})
}

func TestDefinition(t *testing.T) {
	body, err := openai.ChatCompletionNewParams{Model: "m", Tools: []turn.WireToolDefinition{plan.Definition()}}.MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf(`[{"type":"function","function":{"name":"update_plan","description":%q,"parameters":`+
		`{"type":"object","properties":{"steps":{"type":"array","description":"all steps, in order","items":{"type":"object","properties":{`+
		`"text":{"type":"string","description":"what is to be done"},"state":{"type":"string","enum":["pending","in_progress","done","dropped"]}},`+
		`"required":["text","state"],"additionalProperties":false}}},"required":["steps"],"additionalProperties":false}}}]`, turn.ToolDescription(plan.Definition())),
		gjson.GetBytes(body, "tools").Raw)
}

func FuzzApply(f *testing.F) {
	f.Add(`{"steps":[{"text":"a","state":"in progress"},"b",null]}`)
	f.Add(`"{\"steps\":[]}"`)
	f.Add(`{"Steps":5,"steps":[[]]}`)
	f.Fuzz(func(t *testing.T, arguments string) {
		p, note, err := plan.Apply(arguments)
		require.Equal(t, err == nil, note != "")
		if err == nil {
			data, err := json.Marshal(p)
			require.NoError(t, err)
			again, _, err := plan.Apply(string(data))
			require.NoError(t, err)
			require.Equal(t, p, again)
		}
	})
}
