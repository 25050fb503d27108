package loop_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite what the scripts say happened")

// TestScripts tells every script and compares what happened with what it says.
// Read the difference before committing an update.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			got := tellAll(t, parseArchive(string(data))).String()
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			require.Equal(t, string(data), got)
		})
	}
}

// tellAll is the archive with the sections that its scripts lead to.
func tellAll(t *testing.T, a archive) archive {
	require.NotEmpty(t, strings.TrimSpace(a.title), "a script begins with what matters in it")
	out := archive{title: a.title}
	synctest.Test(t, func(t *testing.T) {
		s := &story{t: t}
		for _, part := range a.sections {
			switch part.name {
			case "events", "transcript", "result":
				continue
			case "script", "continue":
			default:
				require.Fail(t, "unknown section", part.name)
			}
			sc, err := parseScene(part.body)
			require.NoError(t, err)
			events, transcript, result := s.tell(sc)
			out.sections = append(out.sections, part,
				section{"events", events}, section{"transcript", transcript}, section{"result", result})
		}
		s.end()
	})
	require.NotEmpty(t, out.sections, "a script without a script")
	return out
}

// FuzzScript makes sure that no text brings the script parser down, and that an
// archive is written as it was read.
func FuzzScript(f *testing.F) {
	files, _ := filepath.Glob("testdata/script/*.txtar")
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(string(data))
	}
	f.Add("title\n-- script --\nmodel hi\n  call a \"re ad\" {}\n  times 3\n")
	f.Add("-- x --\n-- y --")
	f.Add("tools a timeout\nbatch stops after x\nstop after 1")
	f.Fuzz(func(t *testing.T, text string) {
		a := parseArchive(text)
		again := parseArchive(a.String())
		require.Equal(t, len(a.sections), len(again.sections))
		require.Equal(t, a.String(), again.String())
		for _, s := range a.sections {
			sc, err := parseScene(s.body)
			if err != nil {
				continue
			}
			for _, m := range sc.model {
				require.LessOrEqual(t, len(m.Result.Message.ToolCalls), len(s.body))
			}
		}
	})
}
