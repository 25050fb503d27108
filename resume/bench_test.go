package resume

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// long writes a session of about size bytes: rounds of a reply with a call, its
// start, and its result, with lines from 200 bytes to 100 KB, most of them short,
// and five of 5 MB.
func long(t testing.TB, w io.Writer, size int64) {
	r := rand.New(rand.NewPCG(1, 2))
	source := strings.Repeat("The quick brown fox, \"jumps\" over\n\tthe lazy dog; größer.\nif err != nil {\n\treturn err\n}\n"+strings.Repeat("plain words without anything ", 8), 1<<14)
	length := func() int { return int(200 * math.Pow(500, r.Float64())) }
	counted := &counter{Writer: w}
	s := trajectory.NewWriter(counted, trajectory.Header{Title: "long"}, trajectory.Tail{})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	add := func(b trajectory.Body) {
		at = at.Add(1234567 * time.Microsecond)
		require.NoError(t, s.Append(trajectory.Event{At: at, Body: b}))
	}
	add(trajectory.RunStart{Messages: turn.Transcript{turn.User("go")}})
	huge := 0
	for n := 1; counted.n < size; n++ {
		cost, cached := turn.Cost(123456789*n), int64(n)
		result := length()
		if size >= 100<<20 && counted.n > size/6*int64(huge+1) && huge < 5 {
			huge, result = huge+1, 5<<20
		}
		arguments, _ := json.Marshal(map[string]string{"path": "a/b.go", "text": source[:length()/4]})
		call := turn.Call{ID: "call_1", Name: "edit", Arguments: string(arguments)}
		add(trajectory.Message{Message: turn.ReplayForm(turn.Assistant(source[:length()], call)), Turn: &trajectory.Turn{Model: "m", Finish: "tool_calls",
			Usage: turn.Usage{InputTokens: int64(n), OutputTokens: 7, Cost: &cost, CachedInputTokens: &cached}, Timings: turn.Timings{Generation: 1234567890}}})
		add(trajectory.CallStart{Call: call, Turn: n, Kind: trajectory.KindEdit})
		add(trajectory.CallEnd{Call: call, Turn: n, Status: trajectory.OK, Message: turn.ToolResult(call.ID, source[:result]), Duration: 1234567, Paths: []string{"a/b.go"}})
	}
}

type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.Writer.Write(p)
}

func longFile(b *testing.B, size int64) (dir string) {
	dir = b.TempDir()
	f, err := os.Create(filepath.Join(dir, "s.jsonl"))
	require.NoError(b, err)
	w := bufio.NewWriterSize(f, 1<<20)
	long(b, w, size)
	require.NoError(b, w.Flush())
	require.NoError(b, f.Close())
	return dir
}

// typedLine is what somebody would decode a line into with encoding/json.
type typedLine struct {
	T       string          `json:"t"`
	Seq     int64           `json:"seq"`
	At      time.Time       `json:"at"`
	Agent   string          `json:"agent"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Status  string          `json:"status"`
	Paths   []string        `json:"paths"`
	Turn    json.RawMessage `json:"turn"`
	Message struct {
		Role       string `json:"role"`
		Content    string `json:"content"`
		ToolCallID string `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string `json:"id"`
			Type     string `json:"type"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
}

func decodeTyped(b *testing.B, path string) (all []typedLine) {
	f, err := os.Open(path)
	require.NoError(b, err)
	defer f.Close()
	r := bufio.NewScanner(f)
	r.Buffer(make([]byte, 1<<20), 64<<20)
	for r.Scan() {
		var l typedLine
		require.NoError(b, json.Unmarshal(r.Bytes(), &l))
		all = append(all, l)
	}
	require.NoError(b, r.Err())
	return all
}

const longSize = 200 << 20

// Reading a session beside decoding each of its lines with encoding/json, in turn,
// so that both meet the same machine. extra-MB is what was allocated beyond what is
// returned: memory can never have held more than that beside it.
func BenchmarkReadResumable(b *testing.B) {
	dir := longFile(b, longSize)
	path := filepath.Join(dir, "s.jsonl")
	info, err := os.Stat(path)
	require.NoError(b, err)
	b.SetBytes(info.Size())
	var ours, theirs time.Duration
	var extra uint64
	for b.Loop() {
		runtime.GC()
		runtime.GC() // what pools hold goes with the second
		var before, after, kept runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		past, err := ReadResumable(dir, "s.jsonl")
		ours += time.Since(start)
		require.NoError(b, err)
		runtime.ReadMemStats(&after)
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&kept)
		extra = max(extra, after.TotalAlloc-before.TotalAlloc-(kept.HeapAlloc-before.HeapAlloc))
		require.NotEmpty(b, past.Messages)
		past = Resumable{}
		runtime.GC()
		start = time.Now()
		require.NotEmpty(b, decodeTyped(b, path))
		theirs += time.Since(start)
	}
	n := float64(b.N) * float64(info.Size()) / 1e6
	b.ReportMetric(n/ours.Seconds(), "ours-MB/s")
	b.ReportMetric(n/theirs.Seconds(), "encoding/json-MB/s")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "times")
	b.ReportMetric(float64(extra)/(1<<20), "extra-MB")
}

// Writing a session beside encoding the same messages and nothing else.
func BenchmarkWrite(b *testing.B) {
	var session bytes.Buffer
	long(b, &session, 20<<20)
	var events []trajectory.Event
	var messages []turn.TranscriptMessage
	for e, err := range trajectory.NewReader(&session).Entries() {
		require.NoError(b, err)
		events = append(events, e.Event)
		switch body := e.Body.(type) {
		case trajectory.Message:
			messages = append(messages, body.Message)
		case trajectory.CallEnd:
			messages = append(messages, body.Message)
		}
	}
	var write, encode time.Duration
	for b.Loop() {
		start := time.Now()
		w := trajectory.NewWriter(io.Discard, trajectory.Header{}, trajectory.Tail{})
		for _, e := range events {
			require.NoError(b, w.Append(e))
		}
		write += time.Since(start)
		start = time.Now()
		for i := range messages {
			if _, err := messages[i].MarshalJSON(); err != nil {
				b.Fatal(err)
			}
		}
		encode += time.Since(start)
	}
	b.ReportMetric(write.Seconds()/encode.Seconds(), "times")
	b.ReportMetric(float64(write.Nanoseconds())/float64(b.N)/float64(len(events)), "ns/entry")
}

// The cost of an entry does not depend on how many there were before it.
func BenchmarkWriteLength(b *testing.B) {
	m := trajectory.Event{Body: trajectory.Message{Message: turn.ReplayForm(turn.Assistant("some text")), Turn: &trajectory.Turn{}}}
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				w := trajectory.NewWriter(io.Discard, trajectory.Header{}, trajectory.Tail{})
				for range n {
					if err := w.Append(m); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entry")
		})
	}
}

func BenchmarkReadLength(b *testing.B) {
	for _, size := range []int64{1 << 20, 10 << 20, 100 << 20} {
		b.Run(fmt.Sprint(size>>20, "MB"), func(b *testing.B) {
			dir := longFile(b, size)
			b.SetBytes(size)
			for b.Loop() {
				_, err := ReadResumable(dir, "s.jsonl")
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkList(b *testing.B) {
	dir := b.TempDir()
	var session bytes.Buffer
	long(b, &session, 50<<10)
	for i := range 1000 {
		require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.jsonl", i)), session.Bytes(), 0o644))
	}
	b.SetBytes(int64(1000 * session.Len()))
	for b.Loop() {
		n := 0
		for _, err := range List(dir) {
			require.False(b, errors.Is(err, fs.ErrNotExist))
			n++
		}
		require.Equal(b, 1000, n)
	}
}
