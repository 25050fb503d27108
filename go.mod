module github.com/pawl-dev/pawl

go 1.25.0

require (
	github.com/openai/openai-go/v3 v3.44.0
	github.com/tidwall/gjson v1.18.0
)

require (
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
)
