package loop_test

import (
	"strings"
)

// archive is a script file: a title that says what matters, then named sections,
// each under a line "-- name --".
type archive struct {
	title    string
	sections []section
}

type section struct{ name, body string }

func parseArchive(text string) archive {
	var a archive
	at := &a.title
	for line := range strings.Lines(text) {
		if name, ok := marker(line); ok {
			a.sections = append(a.sections, section{name: name})
			at = &a.sections[len(a.sections)-1].body
			continue
		}
		*at += line
	}
	return a
}

func marker(line string) (name string, ok bool) {
	line = strings.TrimRight(line, "\r\n")
	if len(line) < len("-- x --") || !strings.HasPrefix(line, "-- ") || !strings.HasSuffix(line, " --") {
		return "", false
	}
	name = strings.TrimSpace(line[3 : len(line)-3])
	return name, name != ""
}

func (a archive) String() string {
	var b strings.Builder
	write := func(body string) {
		b.WriteString(body)
		if body != "" && !strings.HasSuffix(body, "\n") {
			b.WriteByte('\n')
		}
	}
	write(a.title)
	for _, s := range a.sections {
		b.WriteString("-- " + s.name + " --\n")
		write(s.body)
	}
	return b.String()
}
