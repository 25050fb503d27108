package chat_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
)

// The published description of the API, where it stands beside the repository.
const description = "../../../shared/openai/chat-completions.json"

var requestSchema = sync.OnceValues(func() (*jsonschema.Resolved, error) {
	data, err := os.ReadFile(description)
	if err != nil {
		return nil, err
	}
	var document struct {
		Components struct{ Schemas json.RawMessage }
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	defs := strings.ReplaceAll(string(document.Components.Schemas), "#/components/schemas/", "#/$defs/")
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(`{"$ref":"#/$defs/CreateChatCompletionRequest","$defs":`+defs+`}`), &schema); err != nil {
		return nil, err
	}
	return schema.Resolve(nil)
})

// requireValidRequest holds a request against the published description.
func requireValidRequest(t testing.TB, body string) {
	t.Helper()
	schema, err := requestSchema()
	require.NoError(t, err)
	require.NoError(t, check(schema, body), body)
}

func check(schema *jsonschema.Resolved, body string) error {
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		return err
	}
	return schema.Validate(v)
}

func needDescription(t testing.TB) {
	t.Helper()
	if _, err := requestSchema(); errors.Is(err, fs.ErrNotExist) {
		t.Skip("the published description of the API is not at ", description)
	}
}

// The description finds what is wrong with a request, so that it means something
// when it finds nothing.
func TestDescriptionRejects(t *testing.T) {
	needDescription(t)
	requireValidRequest(t, `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"reasoning_content":"r","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":""}]}`)
	schema, err := requestSchema()
	require.NoError(t, err)
	for _, body := range []string{
		`{"model":"m"}`,
		`{"model":"m","messages":[]}`,
		`{"model":"m","messages":[{"role":"nobody","content":"hi"}]}`,
		`{"model":"m","messages":[{"role":"assistant","tool_calls":[null]}]}`,
		`{"model":"m","messages":[{"role":"tool","content":"1"}]}`,
		`{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function"}]}`,
		`{"model":"m","messages":[{"role":"user","content":"hi"}],"tool_choice":"never"}`,
	} {
		require.Error(t, check(schema, body), body)
	}
}
