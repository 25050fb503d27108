package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/progress"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/chat"
)

// printer shows a run as it happens: its record is told of each entry, its delta
// of each piece of a reply that streams in.
type printer struct {
	mu    sync.Mutex
	out   io.Writer
	watch *progress.Watch
	turns int
	said  string // of the progress
	begun bool   // the reply that streams in has a line of its own
}

func (p *printer) printf(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

func (p *printer) intro(h *host) {
	p.printf("Directory  %s\n", h.ws.dir)
	if h.goOn {
		p.printf("Goes on    %s\n           %s %s\n", h.past.Title, h.past.Assessment.LastAction, h.past.Assessment.Because)
	}
	if h.task != "" {
		p.printf("Task       %s\n", h.task)
	}
	if h.endpoint.standin {
		p.printf("Model      a stand-in at %s: a small rule-based program that reacts to\n", h.url)
		p.printf("           what the tools return. It is no language model. Set OPENAI_API_KEY to use one.\n")
		return
	}
	p.printf("Model      %s at %s\n", h.model, h.url)
}

// notice is said between two turns.
func (p *printer) notice(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.printf("\n  !  %s\n", text)
}

func (p *printer) record(e trajectory.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch b := e.Body.(type) {
	case trajectory.Message:
		if b.Turn != nil {
			p.reply(turn.Text(b.Message), b.Turn)
		}
	case trajectory.CallStart:
		if b.Kind == trajectory.KindExecute { // the one kind that may take a while
			p.printf("  …  %s %s\n", b.Name, subject(b.Arguments))
		}
	case trajectory.CallEnd:
		p.callEnd(b)
	case trajectory.Compact:
		if b.Failed != "" {
			p.printf("\n  ~  There is less room, and making some failed: %s\n", b.Failed)
			break
		}
		p.printf("\n  ~  %d messages are now a summary of them, to make room (%d tokens in, %d out).\n", b.Drop, b.Spend.InputTokens, b.Spend.OutputTokens)
	case trajectory.PlanChange:
		p.plan(b.Plan)
	}
	return nil
}

// delta shows what the model says as it comes. Calls are shown when they ran.
func (p *printer) delta(_ context.Context, d chat.Delta) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d.Kind == chat.Text {
		p.begin()
		p.printf("%s", indent(d.Text))
	}
}

// observe tells of an attempt that failed and is made again.
func (p *printer) observe(_ context.Context, r chat.Report) {
	if r.Retrying {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.printf("  …  the model did not answer (%v); again in %s\n", r.Err, short(r.RetryIn))
	}
}

func (p *printer) begin() {
	if !p.begun {
		p.begun = true
		_, progressed := p.watch.Progress()
		if text := progress.DescribeProgress(progressed); text != p.said {
			p.said = text
			p.printf("     so far: %s\n", text)
		}
		p.printf("\nTurn %d  ", p.turns+1)
	}
}

func (p *printer) reply(text string, t *trajectory.Turn) {
	if !p.begun {
		p.begin()
		p.printf("%s", indent(text))
	}
	p.turns, p.begun = p.turns+1, false
	cached, first := "", ""
	if t.Usage.CachedInputTokens != nil {
		cached = fmt.Sprintf(" (%d cached)", *t.Usage.CachedInputTokens)
	}
	if t.Timings.TTFT != nil {
		first = fmt.Sprintf(" (%s to the first token)", short(*t.Timings.TTFT))
	}
	p.printf("\n     %d tokens in%s, %d out, %s%s\n", t.Usage.InputTokens, cached, t.Usage.OutputTokens, short(t.Timings.Generation), first)
}

func (p *printer) callEnd(c trajectory.CallEnd) {
	line := fmt.Sprintf("%-12s %s", c.Name, subject(c.Arguments))
	p.printf("  %-2s %-56s %9s\n", mark(c.Status), line, short(c.Duration))
	if c.Status != trajectory.OK {
		first, _, _ := strings.Cut(turn.Text(c.Message), "\n")
		p.printf("       %s\n", clip(first, 100))
	}
}

func mark(s trajectory.Status) string {
	if s == trajectory.OK {
		return "ok"
	}
	return "no"
}

func (p *printer) plan(now plan.Plan) {
	for _, s := range now.Steps {
		box := map[plan.State]string{plan.Done: "[x]", plan.InProgress: "[>]", plan.Dropped: "[-]"}[s.State]
		p.printf("       %s %s\n", cmp.Or(box, "[ ]"), s.Text)
	}
}

// subject is what a call is about, in a few words.
func subject(arguments string) string {
	var a struct{ Path, Pattern, Command string }
	_ = json.Unmarshal([]byte(arguments), &a) // what it cannot read it does not show
	return clip(strings.Join(strings.Fields(cmp.Or(a.Command, a.Pattern, a.Path)), " "), 42)
}

// short rounds a duration to what a person reads.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-3], "") + "…"
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n        ") }
