package loop_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func readme(t *testing.T) string {
	data, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	return string(data)
}

// The smallest program of the README is this package's example, word for word, and
// every other piece of Go in it stands in an example.
func TestTheReadmeShowsTheExamples(t *testing.T) {
	files, err := filepath.Glob("example_*_test.go")
	require.NoError(t, err)
	sources := ""
	for _, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		sources += string(data)
	}
	source, err := os.ReadFile("example_readme_test.go")
	require.NoError(t, err)
	program, output, ok := strings.Cut(string(source), "\t// Output:\n")
	require.True(t, ok)
	program = strings.NewReplacer("package loop_test", "package main", "func Example() {", "func main() {").Replace(program) + "}\n"
	output = strings.ReplaceAll(strings.TrimSuffix(output, "}\n"), "\t// ", "")
	require.Contains(t, readme(t), "```\n"+output+"```\n")

	blocks := regexp.MustCompile("(?s)```go\n(.*?)```\n").FindAllStringSubmatch(readme(t), -1)
	require.GreaterOrEqual(t, len(blocks), 2)
	require.Equal(t, program, blocks[0][1])
	for _, b := range blocks[1:] {
		require.Contains(t, sources, b[1])
	}
}

func TestTheReadmesLinksLeadSomewhere(t *testing.T) {
	links := regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(readme(t), -1)
	require.NotEmpty(t, links)
	for _, l := range links {
		_, err := os.Stat(filepath.Join("..", filepath.FromSlash(l[1])))
		require.NoError(t, err)
	}
}
