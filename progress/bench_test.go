package progress_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/progress"
	"github.com/pawl-dev/pawl/trajectory"
)

// longRun is at least n entries of a run that edits, reads and fails, with
// results of about a kilobyte.
func longRun(n int) []trajectory.Event {
	s := begin()
	text := strings.Repeat("some line of a source file\n", 40)
	for i := 0; len(s.events) < n; i++ {
		switch i % 4 {
		case 0:
			s.does(editOf(fmt.Sprintf("dir/f%d.go", i%500), fmt.Sprint(i)))
		case 1:
			s.does(command("go test ./...", text+fmt.Sprint(i)).fails())
		default:
			s.does(readOf(fmt.Sprintf("dir/f%d.go", i%500), text), readOf(fmt.Sprintf("dir/g%d.go", i%500), text))
		}
	}
	return s.events
}

func BenchmarkWatch(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		events := longRun(n)
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := progress.NewWatch(progress.WatchOptions{})
				for i := range events {
					_ = w.Record(events[i])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
		})
	}
}

func BenchmarkSummariseProgress(b *testing.B) {
	events := longRun(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		progress.SummariseProgress(events, nil, 0)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
}

func BenchmarkShouldStop(b *testing.B) {
	w := progress.NewWatch(progress.WatchOptions{})
	for _, e := range longRun(10_000) {
		_ = w.Record(e)
	}
	for b.Loop() {
		_ = w.ShouldStop(trajectory.State{})
	}
}
