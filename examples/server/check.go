package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/pawl-dev/pawl/resume"
)

func (s *story) check(what string, holds bool, got any) {
	if holds {
		s.printf("  ok  %s", what)
		return
	}
	s.failed = true
	s.printf("  NO  %s: %v", what, got)
}

func (s *story) ended(err error) { s.check("told to end, it ended in peace", err == nil, err) }

// stand counts the sessions by how they stand. No server is at work, so the files say
// all.
func (s *story) stand(what string, want map[string]int) {
	got := map[string]int{}
	for l, err := range resume.List(s.dir) {
		if err != nil || l.ProblemCount > 0 {
			s.check(l.File+" can be read", false, err)
		}
		got[string(l.Assessment.Verdict)]++
	}
	s.check(fmt.Sprintf("%s %v", what, want), maps.Equal(got, want), got)
}

// heard: the stand-in's last words hold all that it was told.
func (s *story) heard(end []state) {
	messages, wrong := 0, []string(nil)
	for i, told := range s.told {
		for _, text := range told {
			messages++
			if n := strings.Count(end[i].Said, text); n != 1 {
				wrong = append(wrong, fmt.Sprintf("%s: %q %d times", customer(i), text, n))
			}
		}
	}
	s.check(fmt.Sprintf("each of the %d messages that were accepted was heard, and once", messages), len(wrong) == 0, wrong)
}

// payments are how often each session paid, by the ledger, which knows nothing of
// what the sessions say.
func (s *story) payments() map[string]int {
	text, _ := os.ReadFile(filepath.Join(s.dir, ledgerFile)) // there is none before the first
	n := map[string]int{}
	for line := range strings.Lines(string(text)) {
		id, _, _ := strings.Cut(line, " ")
		n[id]++
	}
	return n
}

func (s *story) paidOnce() {
	var wrong []string
	n := s.payments()
	for i := range customers {
		if id := customer(i); i == declines && n[id] != 0 || i != declines && n[id] != 1 {
			wrong = append(wrong, fmt.Sprintf("%s %d times", id, n[id]))
		}
	}
	s.check("each order was paid once, and the one that was too dear was not", len(wrong) == 0, wrong)
}
