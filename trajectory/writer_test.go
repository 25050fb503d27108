package trajectory

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/turn"
)

func titled(s string) Event { return Event{Body: Title{s}} }

func TestWriterWritesOneLineAWrite(t *testing.T) {
	w := &countingWriter{}
	s := NewWriter(w, Header{Title: "fix <it>", Host: json.RawMessage(`{"pid": 7}`)}, Tail{})
	require.Empty(t, w.writes, "nothing before the first entry")
	at := time.Date(2026, 3, 4, 5, 6, 7, 8000, time.FixedZone("", 3600))
	require.NoError(t, s.Append(Event{At: at, Agent: "1.a", Body: Message{turn.User("<hi>"), nil}}))
	require.NoError(t, s.Append(Event{Body: RunEnd{Reason: turn.Done}}))
	require.Equal(t, []string{
		`{"t":"session","seq":1,"v":1,"title":"fix <it>","host":{"pid":7}}` + "\n",
		`{"t":"message","seq":2,"at":"2026-03-04T04:06:07.000008Z","agent":"1.a","message":{"content":"<hi>","role":"user"}}` + "\n",
		`{"t":"run.end","seq":3,"reason":"done"}` + "\n",
	}, w.writes)
}

type countingWriter struct {
	writes []string
	syncs  int
	err    error
}

func (w *countingWriter) Write(p []byte) (int, error) {
	w.writes = append(w.writes, string(p))
	return len(p), nil
}

func (w *countingWriter) Sync() error { w.syncs++; return w.err }

func TestWriterSyncsWhatMustLast(t *testing.T) {
	for _, c := range []struct {
		body Body
		want int
	}{
		{RunStart{}, 0}, {Message{Message: turn.User("x")}, 0}, {CallEnd{Message: turn.ToolResult("a", "")}, 0}, {Title{"x"}, 0}, {Spend{}, 0}, {Custom{Name: "x.a.b"}, 0},
		{RunEnd{}, 1}, {PlanChange{plan.Plan{}}, 1}, {Compact{}, 1}, {Suspend{}, 1},
		{CallStart{}, 1}, {CallStart{Kind: KindEdit}, 1}, {CallStart{Kind: KindFetch}, 1}, {CallStart{Kind: KindRead}, 0}, {CallStart{Kind: KindSearch}, 0},
	} {
		w := &countingWriter{}
		require.NoError(t, NewWriter(w, Header{}, Tail{}).Append(Event{Body: c.body}))
		require.Equal(t, c.want, w.syncs, "%T", c.body)
	}
	failing := &countingWriter{err: errors.New("disk full")}
	require.ErrorIs(t, NewWriter(failing, Header{}, Tail{}).Append(Event{Body: RunEnd{}}), failing.err)
	for _, err := range []error{errors.ErrUnsupported, &os.PathError{Op: "sync", Err: syscall.EINVAL}} {
		require.NoError(t, NewWriter(&countingWriter{err: err}, Header{}, Tail{}).Append(Event{Body: RunEnd{}}), "a pipe cannot sync")
	}
}

func TestWriterCarriesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	for _, end := range []string{"", `{"t":"title","seq":9,"ti`} {
		for range 2 {
			data, err := os.ReadFile(path)
			if !errors.Is(err, os.ErrNotExist) {
				require.NoError(t, err)
			}
			r, _, _ := read2(data)
			f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			require.NoError(t, err)
			w := NewWriter(f, Header{Title: "s"}, r.Tail())
			require.NoError(t, w.Append(titled("a")))
			require.NoError(t, w.Append(titled("b")))
			_, err = f.WriteString(end)
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	r, entries, problems := read(t, data)
	require.Equal(t, "abababab", titles(entries))
	require.Equal(t, []Fault{Torn, Torn}, faults(problems))
	require.Equal(t, Tail{9, true}, r.Tail())
	require.Equal(t, 1, strings.Count(string(data), `"session"`))
	for i, e := range entries {
		require.Equal(t, int64(i+2), e.Seq)
	}
}

func TestWriterAfterATornHeader(t *testing.T) {
	data := []byte(header[:20])
	r, _, _ := read2(data)
	var b bytes.Buffer
	require.NoError(t, NewWriter(&b, Header{Title: "s"}, r.Tail()).Append(titled("a")))
	r, entries, problems := read(t, append(data, b.Bytes()...))
	require.Equal(t, "a", titles(entries))
	require.Equal(t, []Fault{Torn}, faults(problems))
	require.Equal(t, "s", r.Header().Title)
}

// brokenWriter takes as many bytes as its plan says, then fails.
type brokenWriter struct {
	bytes.Buffer
	takes []int // of each Write; -1 is all
	quiet bool  // say nothing of a short write
}

func (w *brokenWriter) Write(p []byte) (int, error) {
	take := -1
	if len(w.takes) > 0 {
		take, w.takes = w.takes[0], w.takes[1:]
	}
	if take < 0 || take > len(p) {
		return w.Buffer.Write(p)
	}
	n, _ := w.Buffer.Write(p[:take])
	if w.quiet {
		return n, nil
	}
	return n, errors.New("no space left")
}

// Whatever part of a line got out, the next is not glued to it, every entry that
// was taken without an error is read back, and none is read twice.
func TestShortWritesCostNoOtherEntry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &brokenWriter{takes: rapid.SliceOf(rapid.IntRange(-1, 60)).Draw(t, "takes"), quiet: rapid.Bool().Draw(t, "quiet")}
		s := NewWriter(w, Header{}, Tail{})
		var taken []string
		for i := range 40 {
			if title := strconv.Itoa(i); s.Append(titled(title)) == nil {
				taken = append(taken, title)
			}
		}
		r, entries, problems := read(t, w.Bytes())
		for _, p := range problems {
			require.Equal(t, Torn, p.Fault, "%v", p)
		}
		counts := make(map[string]int)
		for _, e := range entries {
			counts[e.Body.(Title).Title]++
		}
		for title, n := range counts { // more than were taken: some failed with all their bytes out
			require.Equal(t, 1, n, title)
		}
		for _, title := range taken {
			require.Equal(t, 1, counts[title], title)
		}
		require.Equal(t, r.Tail().Seq, s.tail.Seq)
		require.Equal(t, r.Tail().Torn, s.tail.Torn)
	})
}

func TestEntriesThatCannotBeWritten(t *testing.T) {
	for name, c := range map[string]struct {
		event Event
		err   string
	}{
		"no body":           {Event{}, "record: the entry has no body"},
		"empty message":     {Event{Body: Message{}}, "record message: the message is empty: it has no role"},
		"empty in a list":   {Event{Body: RunStart{Messages: turn.Transcript{{}}}}, "record run.start: the message is empty: it has no role"},
		"a pointer":         {Event{Body: &Title{"x"}}, "record title: *trajectory.Title is no entry"},
		"a type of ours":    {Event{Body: Custom{Name: "message"}}, `record message: the name "message" is not of the form x.<vendor>.<name>`},
		"no vendor":         {Event{Body: Custom{Name: "x.name"}}, `record x.name: the name "x.name" is not of the form x.<vendor>.<name>`},
		"a quote in it":     {Event{Body: Custom{Name: `x.a."`}}, "record x.a.\": the name \"x.a.\\\"\" is not of the form x.<vendor>.<name>"},
		"data is no JSON":   {Event{Body: Custom{Name: "x.a.b", Data: json.RawMessage("{")}}, "record x.a.b: the data of \"x.a.b\": invalid JSON at byte 1: unexpected end of JSON input"},
		"far in the future": {Event{At: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC), Body: Title{"x"}}, "record title: at is in the year 12000"},
	} {
		var b bytes.Buffer
		w := NewWriter(&b, Header{}, Tail{})
		require.EqualError(t, w.Append(c.event), c.err, name)
		require.Empty(t, b.Bytes(), "a bad entry leaves no trace")
		require.NoError(t, w.Append(titled("a")))
		_, entries, problems := read(t, b.Bytes())
		require.Empty(t, problems, "%s: it takes no number", name)
		require.Equal(t, "a", titles(entries))
	}
	require.EqualError(t, NewWriter(nil, Header{}, Tail{}).Append(titled("a")), "record: there is no writer")
	require.ErrorContains(t, NewWriter(io.Discard, Header{Host: json.RawMessage("{")}, Tail{}).Append(titled("a")), "record session: ")
}

// A pretty-printed value would otherwise cut its line in two.
func TestLineFeedsBetweenTokensAreTakenOut(t *testing.T) {
	data := write(t, Event{Body: Custom{"x.a.b", json.RawMessage("{\n\t\"a\": 1\n}")}},
		Event{Body: Suspend{Suspension: Suspension{For: ForReply, Saved: json.RawMessage("[\n1\n]")}}})
	_, entries, problems := read(t, data)
	require.Empty(t, problems)
	require.Equal(t, Custom{"x.a.b", json.RawMessage(`{"a":1}`)}, entries[0].Body)
	require.JSONEq(t, `[1]`, string(entries[1].Body.(Suspend).Saved))
}

func TestWriterIsSafeForConcurrentUse(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, Header{}, Tail{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := w.Append(Event{Body: Message{Message: turn.User(strings.Repeat("x", 300))}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	_, entries, problems := read(t, b.Bytes())
	require.Empty(t, problems)
	require.Len(t, entries, 400)
}

func TestTwoWritersAreNoticed(t *testing.T) {
	var b bytes.Buffer
	one := NewWriter(&b, Header{}, Tail{})
	require.NoError(t, one.Append(titled("start")))
	two := NewWriter(&b, Header{}, Tail{Seq: 2})
	for range 3 {
		require.NoError(t, one.Append(titled("1")))
		require.NoError(t, two.Append(titled("2")))
	}
	_, entries, problems := read(t, b.Bytes())
	require.Equal(t, "start111", titles(entries))
	require.Equal(t, []Fault{Collision, Collision, Collision}, faults(problems))
	require.ErrorContains(t, problems[0], "two programs wrote to this session")
}
