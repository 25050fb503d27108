package turn_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/pawl-dev/pawl/turn"
)

func TestReplayForm(t *testing.T) {
	const call = `{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}`
	const head = `{"role":"assistant","content":null,"tool_calls":[`
	invalid := func(arguments string) string { return strings.Replace(call, "{}", arguments, 1) }
	for name, c := range map[string]struct{ in, want string }{
		"plain":          {`{"role":"assistant","content":"hi"}`, ``},
		"null content":   {`{"role":"assistant","content":null}`, ``},
		"no content":     {`{"role":"assistant"}`, ``},
		"empty content":  {`{"role":"assistant","content":""}`, ``},
		"content parts":  {`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"new","x":1}]}`, ``},
		"number content": {`{"role":"assistant","content":5,"refusal":false}`, ``},
		"reasoning": {`{"role":"assistant","reasoning_content":"<think>\u003c&</think>","content":"a","reasoning_details":[{"type":"reasoning.encrypted","data":"Zm9v\/+=="}]}`,
			``},
		"extra content on a call": {head + `{"index":0,"id":"a","extra_content":{"google":{"thought_signature":"A\/b=="}},"type":"function","function":{"name":"f","arguments":"{\"n\": 1}","x":null}}]}`,
			``},
		"separators": {"{\"role\":\"assistant\",\"content\":\"\u2028\\u2028\u2029\"}", ``},
		"pretty-printed": {"{\n  \"role\": \"assistant\",\n  \"content\": \" a  b \",\n  \"tool_calls\": [\n    {\"id\": \"a\", \"type\": \"function\", \"function\": {\"name\": \"f\", \"arguments\": \"{ }\"}, \"extra_content\": {\"a\": [1, 2]} }\n  ]\n}\n",
			`{"role":"assistant","content":" a  b ","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{ }"},"extra_content":{"a":[1,2]}}]}`},

		"no role":            {`{"content":"hi"}`, `{"role":"assistant","content":"hi"}`},
		"another role":       {`{"role":"model","content":"hi"}`, `{"role":"assistant","content":"hi"}`},
		"null role":          {`{"role":null,"content":"hi"}`, `{"role":"assistant","content":"hi"}`},
		"two roles":          {`{"role":"assistant","content":"hi","role":"user"}`, `{"role":"assistant","content":"hi"}`},
		"call without type":  {head + `{"id":"a","function":{"name":"f","arguments":"{}"}}]}`, head + `{"id":"a","function":{"name":"f","arguments":"{}"},"type":"function"}]}`},
		"null type":          {head + `{"id":"a","type":null,"function":{"name":"f","arguments":"{}"}}]}`, head + call + `]}`},
		"type of a kind":     {head + `{"id":"a","type":{"is":"function"},"function":{"name":"f","arguments":"{}"}}]}`, head + call + `]}`},
		"unknown type":       {head + `{"id":"a","type":"mcp","function":{"name":"f","arguments":"{}"}}]}`, ``},
		"custom call":        {head + `{"id":"a","type":"custom","custom":{"name":"sh","input":"ls <x>","y":1},"z":2}]}`, ``},
		"custom, null field": {head + `{"id":"a","type":"custom","function":null,"custom":{"name":"sh","input":"ls"}}]}`, ``},
		"custom without all": {head + `{"id":"a","type":"custom"}]}`, head + `{"id":"a","type":"custom","custom":{"name":"","input":""}}]}`},
		"number as id":       {head + `{"id":7,"type":"function","function":{"name":"f","arguments":"{}"}}]}`, head + `{"id":"7","type":"function","function":{"name":"f","arguments":"{}"}}]}`},
		"two ids in a call":  {head + `{"id":"a","id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`, head + call + `]}`},
		"escaped name of id": {head + `{"\u0069d":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`, ``},

		"arguments as object":       {head + `{"id":"a","type":"function","function":{"name":"f","arguments":{"n":"<"}}}]}`, head + `{"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\":\"<\"}"}}]}`},
		"arguments missing":         {head + `{"id":"a","type":"function","function":{"name":"f"}}]}`, head + call + `]}`},
		"arguments null":            {head + `{"id":"a","type":"function","function":{"name":"f","arguments":null}}]}`, head + call + `]}`},
		"arguments empty":           {head + `{"id":"a","type":"function","function":{"name":"f","arguments":""}}]}`, head + call + `]}`},
		"arguments blank":           {head + `{"id":"a","type":"function","function":{"name":"f","arguments":" \n"}}]}`, head + call + `]}`},
		"arguments cut":             {head + `{"id":"a","type":"function","function":{"name":"f","arguments":"{\"p\":\"/et"}}]}`, head + invalid(`{\"_invalid_arguments\":\"{\\\"p\\\":\\\"/et\"}`) + `]}`},
		"arguments twice":           {head + `{"id":"a","type":"function","function":{"name":"f","arguments":"{}{}"}}]}`, head + invalid(`{\"_invalid_arguments\":\"{}{}\"}`) + `]}`},
		"arguments with raw breaks": {head + `{"id":"a","type":"function","function":{"name":"f","arguments":"{\"p\":\"a\nb\"}"}}]}`, head + invalid(`{\"_invalid_arguments\":\"{\\\"p\\\":\\\"a\\nb\\\"}\"}`) + `]}`},
		"arguments as string again": {head + `{"id":"a","type":"function","function":{"name":"f","arguments":"\"{}\""}}]}`, ``},
		"function missing":          {head + `{"id":"a","type":"function"}]}`, head + `{"id":"a","type":"function","function":{"name":"","arguments":"{}"}}]}`},
		"function null":             {head + `{"id":"a","type":"function","function":null}]}`, head + `{"id":"a","type":"function","function":{"name":"","arguments":"{}"}}]}`},

		"null calls":          {`{"role":"assistant","content":"hi","tool_calls":null}`, `{"role":"assistant","content":"hi"}`},
		"no calls":            {`{"role":"assistant","content":"hi","tool_calls":[]}`, `{"role":"assistant","content":"hi"}`},
		"a null among calls":  {head + `null,` + call + `]}`, head + call + `]}`},
		"only null calls":     {`{"role":"assistant","content":"hi","tool_calls":[null]}`, `{"role":"assistant","content":"hi"}`},
		"calls that are none": {`{"role":"assistant","content":"hi","tool_calls":[5,"x",[]]}`, `{"role":"assistant","content":"hi"}`},
		"calls of a kind":     {`{"role":"assistant","content":"hi","tool_calls":{"id":"a"}}`, `{"role":"assistant","content":"hi"}`},
		"lone surrogate":      {`{"role":"assistant","content":"\ud800 x","y\udfff":1}`, ``},
		"no UTF-8":            {"{\"role\":\"assistant\",\"content\":\"a\xff\xfeb\",\"z\":\"\xc3\"}", "{\"role\":\"assistant\",\"content\":\"a\ufffdb\",\"z\":\"\ufffd\"}"},
		"no UTF-8 in a call": {head + "{\"id\":\"a\xff\",\"type\":\"function\",\"function\":{\"name\":\"f\xff\",\"arguments\":\"{\\\"x\\\":\\\"\xff\\\"}\"}}]}",
			head + "{\"id\":\"a\ufffd\",\"type\":\"function\",\"function\":{\"name\":\"f\ufffd\",\"arguments\":\"{\\\"x\\\":\\\"\ufffd\\\"}\"}}]}"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want == "" {
				c.want = c.in
			}
			got := bytesOf(t, turn.ReplayForm(reply(t, c.in)))
			require.Equal(t, c.want, got)
			require.Equal(t, c.want, bytesOf(t, turn.ReplayForm(reply(t, got))))
		})
	}
}

var minted = regexp.MustCompile(`^[a-z0-9]{9}$`)

func TestIDsAreMintedOnceForEachCall(t *testing.T) {
	message := func(text string) turn.TranscriptMessage { return turn.ReplayForm(reply(t, text)) }
	ids := func(text string) (ids []string) {
		for _, c := range turn.Calls(message(text)) {
			ids = append(ids, c.ID)
		}
		return ids
	}
	const one = `"type":"function","function":{"name":"f","arguments":"{}"}}`
	for name, c := range map[string]struct {
		text string
		keep []string // "" stands for an id of our own
	}{
		"empty":                             {`{"tool_calls":[{"id":"",` + one + `,{"id":"",` + one + `]}`, []string{"", ""}},
		"missing and null":                  {`{"tool_calls":[{` + one + `,{"id":null,` + one + `]}`, []string{"", ""}},
		"repeated":                          {`{"tool_calls":[{"id":"a",` + one + `,{"id":"a",` + one + `,{"id":"b",` + one + `,{"id":"a",` + one + `]}`, []string{"a", "", "b", ""}},
		"given":                             {`{"tool_calls":[{"id":"search:0",` + one + `,{"id":"search:1",` + one + `]}`, []string{"search:0", "search:1"}},
		"repeated, of what no server takes": {"{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\xff\",\"arguments\":\"\xff{\"}},{\"id\":\"a\",\"function\":{\"name\":\"f\xff\",\"arguments\":\"\xff{\"}}]}", []string{"a", ""}},
		"repeated but for what is no UTF-8": {"{\"tool_calls\":[{\"id\":\"a\xff\"," + one + ",{\"id\":\"a\xfe\"," + one + "]}", []string{"a\ufffd", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			got := ids(c.text)
			require.Len(t, got, len(c.keep))
			seen := map[string]bool{}
			for i, id := range got {
				require.False(t, seen[id])
				seen[id] = true
				if c.keep[i] != "" {
					require.Equal(t, c.keep[i], id)
				} else {
					require.Regexp(t, minted, id)
				}
				require.Equal(t, strings.HasPrefix(name, "repeated") && c.keep[i] == "", turn.Repeated([]turn.TranscriptMessage{message(c.text)}, id))
			}
			require.Equal(t, got, ids(c.text), "the same reply, the same ids")
		})
	}
	var byHand []string
	for _, c := range turn.Calls(turn.ReplayForm(turn.Assistant("", turn.Call{Name: "f", Arguments: "{}"}, turn.Call{Name: "f", Arguments: "{}"}))) {
		byHand = append(byHand, c.ID)
	}
	require.Equal(t, ids(`{"tool_calls":[{`+one+`,{`+one+`]}`), byHand, "built by hand or parsed, the same ids")
}

// A repeated call is known as one, and is read alike before and after it was stored,
// whatever it is made of and whoever made it.
func TestRepeatedCallsOfAnyMake(t *testing.T) {
	custom := turn.WireToolCall{ID: "a", Type: "custom"}
	custom.Custom.Name, custom.Custom.Input = "f\xff\xfe", "{\"n\":\"\xff\xfe\"}"
	byHand := turn.Assistant("", turn.Call{ID: "a", Name: "f\xff\xfe", Arguments: "{\"n\":\"\xff\xfe\"}"}).ToolCalls[0]
	noJSON := turn.Assistant("", turn.Call{ID: "a\xff", Name: "f", Arguments: "\xff{"}).ToolCalls[0]
	came := reply(t, "{\"tool_calls\":[{\"id\":\"a\",\"type\":\"custom\",\"custom\":{\"name\":\"f\xff\xfe\",\"input\":\"\xff\xfe\"}}]}").ToolCalls[0]
	for name, call := range map[string]turn.WireToolCall{"custom": custom, "by hand": byHand, "no JSON": noJSON, "parsed": came} {
		t.Run(name, func(t *testing.T) {
			m := turn.AssistantTurnMessage{ToolCalls: []turn.WireToolCall{call, call}}
			live := turn.Transcript{turn.ReplayForm(m)}
			require.NoError(t, turn.Check(live))
			calls := turn.Calls(live[0])
			require.False(t, turn.Repeated(live, calls[0].ID))
			require.True(t, turn.Repeated(live, calls[1].ID))
			stored, err := json.Marshal(live)
			require.NoError(t, err)
			var read turn.Transcript
			require.NoError(t, json.Unmarshal(stored, &read))
			require.Equal(t, calls, turn.Calls(read[0]))
			require.True(t, turn.Repeated(read, calls[1].ID))
		})
	}
}

func TestReplyEditedByTheHost(t *testing.T) {
	const text = `{"role":"assistant","reasoning_content":"r","content":"old","tool_calls":[` +
		`{"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\":1}"},"extra_content":{"s":"1"}},` +
		`{"id":"b","type":"function","function":{"name":"g","arguments":"{}"},"extra_content":{"s":"2"}}]}`
	for name, c := range map[string]struct {
		edit        func(*turn.AssistantTurnMessage)
		replacement []string // old, new, …
	}{
		"nothing":           {func(*turn.AssistantTurnMessage) {}, nil},
		"content":           {func(m *turn.AssistantTurnMessage) { m.Content = "a <b> \"c\"" }, []string{`"old"`, `"a <b> \"c\""`}},
		"content emptied":   {func(m *turn.AssistantTurnMessage) { m.Content = "" }, []string{`"old"`, `""`}},
		"refusal added":     {func(m *turn.AssistantTurnMessage) { m.Refusal = "no" }, []string{`}}]}`, `}}],"refusal":"no"}`}},
		"arguments":         {func(m *turn.AssistantTurnMessage) { m.ToolCalls[0].Function.Arguments = `{"n":2}` }, []string{`{\"n\":1}`, `{\"n\":2}`}},
		"arguments spoiled": {func(m *turn.AssistantTurnMessage) { m.ToolCalls[0].Function.Arguments = `{"n` }, []string{`{\"n\":1}`, `{\"_invalid_arguments\":\"{\\\"n\"}`}},
		"name":              {func(m *turn.AssistantTurnMessage) { m.ToolCalls[1].Function.Name = "h" }, []string{`"g"`, `"h"`}},
		"id":                {func(m *turn.AssistantTurnMessage) { m.ToolCalls[1].ID = "c" }, []string{`"b"`, `"c"`}},
		"type":              {func(m *turn.AssistantTurnMessage) { m.ToolCalls[1].Type = "mcp" }, []string{`"b","type":"function"`, `"b","type":"mcp"`}},
		"first call taken out": {func(m *turn.AssistantTurnMessage) { m.ToolCalls = m.ToolCalls[1:] },
			[]string{`{"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\":1}"},"extra_content":{"s":"1"}},`, ``}},
		"all calls taken out": {func(m *turn.AssistantTurnMessage) { m.ToolCalls = nil },
			[]string{text[strings.Index(text, `,"tool_calls"`) : len(text)-1], ``}},
		"calls swapped": {func(m *turn.AssistantTurnMessage) {
			m.ToolCalls[0], m.ToolCalls[1] = m.ToolCalls[1], m.ToolCalls[0]
		}, []string{text[strings.Index(text, `[`):], `[{"id":"b","type":"function","function":{"name":"g","arguments":"{}"},"extra_content":{"s":"2"}},` +
			`{"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\":1}"},"extra_content":{"s":"1"}}]}`}},
		"call added": {func(m *turn.AssistantTurnMessage) {
			m.ToolCalls = append(m.ToolCalls, turn.Assistant("", turn.Call{ID: "c", Name: "h", Arguments: "{}"}).ToolCalls...)
		}, []string{`}}]`, `}},{"id":"c","type":"function","function":{"name":"h","arguments":"{}"}}]`}},
	} {
		t.Run(name, func(t *testing.T) {
			m := reply(t, text)
			c.edit(&m)
			require.Equal(t, strings.NewReplacer(c.replacement...).Replace(text), bytesOf(t, turn.ReplayForm(m)))
		})
	}
}

func TestReplyEditedWhereItHadNothing(t *testing.T) {
	for text, want := range map[string]string{
		`{"role":"assistant","x":1}`:                               `{"role":"assistant","x":1,"content":"c","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
		`{"role":"assistant","content":null,"tool_calls":null}`:    `{"role":"assistant","content":"c","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
		`{"role":"assistant","content":[{"type":"text"}],"x":"y"}`: `{"role":"assistant","content":"c","x":"y","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
	} {
		m := reply(t, text)
		m.Content = "c"
		m.ToolCalls = turn.Assistant("", turn.Call{ID: "a", Name: "f", Arguments: "{}"}).ToolCalls
		require.Equal(t, want, bytesOf(t, turn.ReplayForm(m)))
	}
}

func TestReplyBuiltByHand(t *testing.T) {
	for want, m := range map[string]turn.AssistantTurnMessage{
		`{"content":"","role":"assistant"}`:      turn.Assistant(""),
		`{"content":"a<b>&","role":"assistant"}`: turn.Assistant("a<b>&"),
		`{"tool_calls":[{"id":"a","function":{"arguments":"{\"_invalid_arguments\":\"not JSON\"}","name":"f"},"type":"function"}],"role":"assistant"}`: turn.Assistant("", turn.Call{ID: "a", Name: "f", Arguments: "not JSON"}),
		`{"content":"x","tool_calls":[{"id":"a","function":{"arguments":"[1]","name":"f"},"type":"function"}],"role":"assistant"}`:                     turn.Assistant("x", turn.Call{ID: "a", Name: "f", Arguments: "[1]"}),
	} {
		got := turn.ReplayForm(m)
		require.JSONEq(t, want, bytesOf(t, got))
		parsed, err := turn.ParseMessage([]byte(bytesOf(t, got)))
		require.NoError(t, err)
		require.Equal(t, turn.Calls(parsed), turn.Calls(got), "the view is what goes out")
	}
	refused := turn.Assistant("")
	refused.Refusal = "no"
	require.JSONEq(t, `{"role":"assistant","content":"","refusal":"no"}`, bytesOf(t, turn.ReplayForm(refused)))
}

// An adapter may put calls that it parsed into a reply that it built.
func TestParsedCallsInABuiltReply(t *testing.T) {
	const list = `[{"id":"a","type":"custom","custom":{"name":"sh","input":"ls"},"x":1},{"id":"a","function":{"name":"f","arguments":"{\"n\": 1}"},"extra_content":{"s":[1]}}]`
	m := turn.Assistant("hi")
	m.ToolCalls = reply(t, `{"tool_calls":`+strings.ReplaceAll(list, `,`, ` , `)+`}`).ToolCalls
	form := turn.ReplayForm(m)
	calls := turn.Calls(form)
	require.Equal(t, turn.Call{ID: "a", Name: "sh", Arguments: "ls"}, calls[0])
	require.Equal(t, "f", calls[1].Name)
	require.Regexp(t, minted, calls[1].ID)
	sent := gjson.Parse(bytesOf(t, form))
	require.Equal(t, `{"id":"a","type":"custom","custom":{"name":"sh","input":"ls"},"x":1}`, sent.Get("tool_calls.0").Raw)
	require.Equal(t, `{"s":[1]}`, sent.Get("tool_calls.1.extra_content").Raw)

	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	m.ToolCalls = reply(t, `{"tool_calls":[{"id":"a","x":`+deep+`,"function":{"name":"f","arguments":"{}"}}]}`).ToolCalls
	require.JSONEq(t, `{"role":"assistant","content":"hi","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
		bytesOf(t, turn.ReplayForm(m)), "what nests too deep is left out, and the call stays")
}

func TestReplyNestedTooDeepKeepsWhatIsKnown(t *testing.T) {
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	form := turn.ReplayForm(reply(t, `{"role":"assistant","content":"hi","x":`+deep+`}`))
	require.JSONEq(t, `{"role":"assistant","content":"hi"}`, bytesOf(t, form))
	form = turn.ReplayForm(reply(t, `{"tool_calls":[{"id":"a","function":{"name":"f","arguments":`+deep+`}}]}`))
	written, ok := turn.InvalidArguments(turn.Calls(form)[0].Arguments)
	require.True(t, ok)
	require.True(t, written == deep)
	bytesOf(t, form)
}

// The typed fields are a view: writing to them changes nothing that is sent.
func TestEditingTheViewChangesNothing(t *testing.T) {
	form := turn.ReplayForm(reply(t, `{"role":"assistant","content":"hi","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`))
	want := bytesOf(t, form)
	form.OfAssistant.ToolCalls[0].OfFunction.ID = "b"
	form.OfAssistant.ToolCalls = nil
	form.OfAssistant.Content.OfString.Value = "other"
	require.Equal(t, want, bytesOf(t, form))
}

func TestModelTurnResultJSON(t *testing.T) {
	in := turn.ModelTurnResult{Message: reply(t, `{"role":"assistant","content":"a<b","reasoning_content":"\u003c"}`), Finish: "stop", Model: "m-1"}
	data, err := json.Marshal(in)
	require.NoError(t, err)
	require.Equal(t, []string{"message", "usage", "timings", "finish", "model"}, keysOf(string(data)))

	var zero, out turn.ModelTurnResult
	require.NoError(t, json.Unmarshal([]byte(`{"message":null}`), &out))
	require.Equal(t, zero, out)
	require.NoError(t, json.Unmarshal([]byte(`{}`), &out))
	require.Equal(t, zero, out)
	for _, text := range []string{`[]`, `{"message":5}`, `{"message":"{"}`, `{"message":[]}`, `{"usage":{"costCents":"1"}}`} {
		require.Error(t, json.Unmarshal([]byte(text), &out), text)
	}
}

func keysOf(object string) (keys []string) {
	gjson.Parse(object).ForEach(func(key, _ gjson.Result) bool {
		keys = append(keys, key.Str)
		return true
	})
	return keys
}
