package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"golang.org/x/sync/errgroup"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/turn"
)

// The benchmarks compare a run with the loop that one writes by hand over the
// same types: same model, same tool, same decoding of the arguments. Compare
// figures of one invocation; cost per turn should not hang on the number of turns.
//
//	go test ./loop -run '^$' -bench . -benchmem

type benchArgs struct {
	Path  string `json:"path"`
	Query string `json:"query"`
	Limit int    `json:"limit"`
}

const benchArguments = `{"path":"internal/server/handlers_000001.go","query":"func (s *Server) handle","limit":7}`

var benchResult = strings.Repeat("func (s *Server) handle(w http.ResponseWriter, r *http.Request) ", 16)

// benchReply makes k calls until turns replies were given.
func benchReply(given, turns, k int) openai.ChatCompletionMessage {
	if given >= turns {
		return openai.ChatCompletionMessage{Content: "done"}
	}
	calls := make([]openai.ChatCompletionMessageToolCallUnion, k)
	for i := range calls {
		calls[i].ID, calls[i].Type = benchIDs[i], "function"
		calls[i].Function.Name, calls[i].Function.Arguments = "lookup", benchArguments
	}
	return openai.ChatCompletionMessage{ToolCalls: calls}
}

var benchIDs = func() (ids [1000]string) {
	for i := range ids {
		ids[i] = fmt.Sprintf("call_%024d", i)
	}
	return ids
}()

func benchTool(arguments string, sleep time.Duration) (string, error) {
	var a benchArgs
	if err := json.Unmarshal([]byte(arguments), &a); err != nil {
		return "", err
	}
	if sleep > 0 {
		time.Sleep(sleep)
	}
	return benchResult, nil
}

// byHand is the loop without any guarantee.
func byHand(ctx context.Context, turns, k int, sleep time.Duration) error {
	messages := []openai.ChatCompletionMessageParamUnion{openai.UserMessage("go")}
	for given := 0; ; given++ {
		reply := benchReply(given, turns, k)
		messages = append(messages, reply.ToParam())
		if len(reply.ToolCalls) == 0 {
			return nil
		}
		results := make([]string, len(reply.ToolCalls))
		g, _ := errgroup.WithContext(ctx)
		for i := range reply.ToolCalls {
			one := func() (err error) {
				results[i], err = benchTool(reply.ToolCalls[i].Function.Arguments, sleep)
				return err
			}
			if k == 1 {
				if err := one(); err != nil {
					return err
				}
				continue
			}
			g.Go(one)
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for i := range reply.ToolCalls {
			messages = append(messages, openai.ToolMessage(results[i], reply.ToolCalls[i].ID))
		}
	}
}

func byPawl(ctx context.Context, turns, k int, sleep time.Duration, at func(given int)) error {
	given := 0
	res, err := loop.RunToolLoop(ctx, []turn.TranscriptMessage{turn.User("go")}, loop.Options{
		MaxIterations: -1, MaxParallel: -1,
		Turn: func(context.Context, []turn.TranscriptMessage, []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
			if at != nil {
				at(given)
			}
			given++
			return turn.ModelTurnResult{Message: benchReply(given-1, turns, k)}, nil
		},
		Tools: []loop.Tool{{Name: "lookup", Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
			text, err := benchTool(c.Arguments, sleep)
			return loop.Text(text), err
		}}},
	})
	if err == nil && (res.StopReason != turn.Done || res.Stats.ToolCalls != int64(turns*k)) {
		err = fmt.Errorf("%s after %d calls", res.StopReason, res.Stats.ToolCalls)
	}
	return err
}

func BenchmarkTurns(b *testing.B) {
	for _, turns := range []int{100, 1000, 4000} {
		each := func(b *testing.B, run func() error) {
			b.ReportAllocs()
			for b.Loop() {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*turns), "ns/turn")
		}
		b.Run(fmt.Sprintf("%d/by-hand", turns), func(b *testing.B) {
			each(b, func() error { return byHand(b.Context(), turns, 1, 0) })
		})
		b.Run(fmt.Sprintf("%d/pawl", turns), func(b *testing.B) {
			each(b, func() error { return byPawl(context.Background(), turns, 1, 0, nil) })
		})
		b.Run(fmt.Sprintf("%d/pawl-cancellable", turns), func(b *testing.B) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			each(b, func() error { return byPawl(ctx, turns, 1, 0, nil) })
		})
	}
}

// A fan-out of 5 ms tools costs little more than 5 ms.
func BenchmarkParallelTools(b *testing.B) {
	for _, k := range []int{100, 1000} {
		b.Run(fmt.Sprintf("%d/by-hand", k), func(b *testing.B) {
			for b.Loop() {
				if err := byHand(context.Background(), 1, k, 5*time.Millisecond); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N)/5, "x-of-one-tool")
		})
		b.Run(fmt.Sprintf("%d/pawl", k), func(b *testing.B) {
			for b.Loop() {
				if err := byPawl(context.Background(), 1, k, 5*time.Millisecond, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N)/5, "x-of-one-tool")
		})
	}
}

// Ten thousand runs at once, each held in its sixth model call: what they hold
// beyond what as many idle goroutines do.
func BenchmarkManyRuns(b *testing.B) {
	const runs = 10_000
	held := func(run func(wait func())) (heap, goroutines float64) {
		var reached, ended sync.WaitGroup
		hold := make(chan struct{})
		before := liveHeap()
		reached.Add(runs)
		for range runs {
			ended.Go(func() { run(func() { reached.Done(); <-hold }) })
		}
		reached.Wait()
		heap, goroutines = float64(liveHeap()-before)/runs, float64(runtime.NumGoroutine())/runs
		close(hold)
		ended.Wait()
		return heap, goroutines
	}
	for b.Loop() {
		idle, _ := held(func(wait func()) { wait() })
		heap, goroutines := held(func(wait func()) {
			_ = byPawl(context.Background(), 9, 1, 0, func(given int) {
				if given == 5 {
					wait()
				}
			})
		})
		b.ReportMetric(heap-idle, "heap-B/run")
		b.ReportMetric(goroutines, "goroutines/run")
	}
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
