package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/progress"
)

// result says how the run ended and what it spent, earlier runs of the session
// included.
func (p *printer) result(res loop.Result, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.printf("\nStopped: %s", cmp.Or(string(res.StopReason), "by a failure"))
	switch {
	case err != nil:
		p.printf(" (%s): %v", loop.ClassifyRunFailure(err), err)
	case res.Cause != nil:
		p.printf(" (%v)", res.Cause)
	}
	p.printf("\n")
	s := res.Total()
	_, achieved := p.watch.Progress()
	p.printf("  achieved    %s\n", cmp.Or(progress.DescribeProgress(achieved), "nothing"))
	p.printf("  turns       %d\n  tool calls  %d\n", s.Turns, s.ToolCalls)
	p.printf("  tokens      %d in (%d cached), %d out\n", s.InputTokens, s.CachedInputTokens, s.OutputTokens)
	if s.Turns > s.Unpriced {
		p.printf("  cost        %v cents\n", s.Cost)
	}
	rate := ""
	if r, ok := s.OutputTokensPerSecond(); ok {
		rate = fmt.Sprintf(" (%.0f tokens out a second)", r)
	}
	p.printf("  model time  %s%s\n  tool time   %s\n", short(s.ModelTime), rate, short(s.ToolTime))
	for _, name := range slices.Sorted(maps.Keys(s.ToolTimeBreakdown)) {
		p.printf("    %-12s %9s\n", name, short(s.ToolTimeBreakdown[name]))
	}
	for _, c := range res.Abandoned {
		p.printf("  still running when it was left: %s\n", c.Name)
	}
}
