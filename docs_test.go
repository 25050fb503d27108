package pawl_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// page is one Markdown file of the repository.
type page struct {
	name string // from the root, with slashes
	text string
}

// pages are all of them, those of nested modules and dot-folders included.
func pages(t *testing.T) (out []page) {
	t.Helper()
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".md") {
			return nil
		}
		data, err := os.ReadFile(file)
		out = append(out, page{filepath.ToSlash(file), string(data)})
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, out)
	return out
}

var (
	fence   = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$|^(?: {4}|\t)[^\n]*$")
	code    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]*)[^)]*\)|(?m)^\[[^\]]+\]:\s+(\S+)`)
	outside = regexp.MustCompile(`^[a-z]+:`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *#*$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// links are the targets in a page, those in code aside.
func (p page) links() (out []string) {
	for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(fence.ReplaceAllString(p.text, ""), ""), -1) {
		out = append(out, m[1]+m[2])
	}
	return out
}

// anchors are the names by which a page's headings can be linked to.
func (p page) anchors() map[string]bool {
	out := map[string]bool{"": true}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(p.text, ""), -1) {
		words := link.ReplaceAllString(strings.ToLower(m[1]), "]")
		out[strings.ReplaceAll(dropped.ReplaceAllString(words, ""), " ", "-")] = true
	}
	return out
}

func TestLinksLeadSomewhere(t *testing.T) {
	all := map[string]page{}
	for _, p := range pages(t) {
		all[p.name] = p
	}
	for _, p := range all {
		for _, target := range p.links() {
			if outside.MatchString(target) {
				continue
			}
			file, anchor, anchored := strings.Cut(target, "#")
			to := p.name
			if file != "" {
				to = path.Join(path.Dir(p.name), file)
			}
			_, err := os.Stat(filepath.FromSlash(to))
			require.NoError(t, err, "%s links to %q", p.name, target)
			if anchored {
				require.Contains(t, all, to, "%s links to %q: an anchor in what is no page", p.name, target)
				require.True(t, all[to].anchors()[anchor], "%s links to %q: there is no such heading", p.name, target)
			}
		}
	}
}

func TestTheLinksOfAPage(t *testing.T) {
	p := page{text: "# A `first` one: it's [here](a)\n\n" +
		"See [b](b/c.go), [`d`](d.md#e-f \"title\") and `[no](no)`.\n\n```\n[no](no)\n# no\n```\n\n    [no](no)\n\n[ref]: g.md\n\n## H_i 2\n"}
	require.Equal(t, []string{"a", "b/c.go", "d.md#e-f", "g.md"}, p.links())
	require.Equal(t, map[string]bool{"": true, "a-first-one-its-here": true, "h_i-2": true}, p.anchors())
}

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```\n")

// The smallest program of the README is the first example of package loop, word for
// word, with its output. Every other piece of Go in a page stands in a source file,
// so what a reader copies is what was compiled and run.
func TestPagesShowTheSource(t *testing.T) {
	example, err := os.ReadFile("loop/example_readme_test.go")
	require.NoError(t, err)
	program, output, ok := strings.Cut(string(example), "\t// Output:\n")
	require.True(t, ok)
	program = strings.NewReplacer("package loop_test", "package main", "func Example() {", "func main() {").Replace(program) + "}\n"
	output = strings.ReplaceAll(strings.TrimSuffix(output, "}\n"), "\t// ", "")

	texts := []string{program}
	for _, s := range sources(t) {
		data, err := os.ReadFile(s.name)
		require.NoError(t, err)
		texts = append(texts, string(data))
	}
	all := strings.Join(texts, "\x00")
	for _, p := range pages(t) {
		blocks := goBlock.FindAllStringSubmatch(p.text, -1)
		for _, b := range blocks {
			require.True(t, strings.Contains(all, b[1]), "%s shows Go that stands nowhere in the source:\n%s", p.name, b[1])
		}
		if p.name == "README.md" {
			require.GreaterOrEqual(t, len(blocks), 2)
			require.Equal(t, program, blocks[0][1])
			require.Contains(t, p.text, "```\n"+output+"```\n")
		}
	}
}

// Each row of the README's table of promises names a test that holds it.
func TestEveryPromiseHasAProof(t *testing.T) {
	data, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(data), "\n## Why not just a for-loop\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| .*$`).FindAllString(section, -1)
	require.Greater(t, len(rows), 10)
	for _, row := range rows[1:] {
		require.Regexp(t, `\((\S+_test\.go|loop/testdata/script/\S+\.txtar)\)`, row)
	}
}

func TestEveryExampleIsInTheIndex(t *testing.T) {
	index, err := os.ReadFile("examples/README.md")
	require.NoError(t, err)
	entries, err := os.ReadDir("examples")
	require.NoError(t, err)
	for _, e := range entries {
		if e.IsDir() {
			require.Contains(t, string(index), "\n| ["+e.Name()+"]("+e.Name()+"/main.go) |")
		}
	}
}
