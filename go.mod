module github.com/pawl-dev/pawl

go 1.25.0

require (
	github.com/google/jsonschema-go v0.4.3
	github.com/openai/openai-go/v3 v3.44.0
	github.com/stretchr/testify v1.12.1
	github.com/tidwall/gjson v1.18.0
	golang.org/x/sync v0.22.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
