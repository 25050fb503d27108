package trajectory

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const header = `{"t":"session","seq":1,"v":1,"title":"s"}`

func titleLine(seq int, title string) string {
	return `{"t":"title","seq":` + strconv.Itoa(seq) + `,"title":"` + title + `"}`
}

func session(lines ...string) string { return strings.Join(append(lines, ""), "\n") }

// damaged are files with something wrong, what is reported, and the titles that
// are still read, in order.
var damaged = []struct {
	name, data string
	faults     []Fault
	titles     string
	tail       Tail
}{
	{"sound", session(header, titleLine(2, "a"), titleLine(3, "b")), nil, "ab", Tail{3, false}},
	{"empty", "", nil, "", Tail{}},
	{"blank lines", session(header, "", titleLine(2, "a"), "  ", "\t"), nil, "a", Tail{2, false}},
	{"torn", header + "\n" + titleLine(2, "a") + "\n" + `{"t":"title","seq":3,"ti`, []Fault{Torn}, "a", Tail{2, true}},
	{"the last line is whole and no entry", header + "\n" + `{"a":1}`, []Fault{Unreadable}, "", Tail{1, true}},
	{"torn in the header", header[:20], []Fault{Torn}, "", Tail{0, true}},
	{"torn between bytes of a rune", header + "\n" + `{"t":"title","seq":2,"title":"` + "\xe6\xbc", []Fault{Torn}, "", Tail{1, true}},
	{"only the line feed is torn off", header + "\n" + titleLine(2, "a"), nil, "a", Tail{2, true}},
	{"torn and carried on", session(header, `{"t":"title","seq":2,"ti`, titleLine(2, "a")), []Fault{Torn}, "a", Tail{2, false}},
	{"torn after a byte and carried on", session("{", header, titleLine(2, "a")), []Fault{Torn}, "a", Tail{2, false}},
	{"torn inside a rune and carried on", session(header, `{"t":"title","seq":2,"title":"`+"\xe6\xbc", titleLine(2, "a")), []Fault{Torn}, "a", Tail{2, false}},
	{"torn inside an escape and carried on", session(header, `{"t":"title","seq":2,"title":"\`, `{"t":"title","seq":2,"title":"\u00`, titleLine(2, "a")), []Fault{Torn, Torn}, "a", Tail{2, false}},
	{"other JSON that is not whole", session(header, `{"a":`, titleLine(2, "a")), []Fault{Unreadable}, "a", Tail{2, false}},
	{"junk in the middle", session(header, titleLine(2, "a"), "junk", titleLine(4, "c")), []Fault{Unreadable, Missing}, "ac", Tail{4, false}},
	{"NULs in place of a line", session(header, titleLine(2, "a"), strings.Repeat("\x00", 50), titleLine(4, "c")), []Fault{Zeroed, Missing}, "ac", Tail{4, false}},
	{"NULs before a line", session(header, strings.Repeat("\x00", 50)+titleLine(2, "a"), titleLine(3, "b")), []Fault{Zeroed}, "ab", Tail{3, false}},
	{"NULs at the end", session(header, titleLine(2, "a")) + strings.Repeat("\x00", 50), []Fault{Zeroed}, "a", Tail{2, true}},
	{"BOM", "\uFEFF" + session(header, titleLine(2, "a")), nil, "a", Tail{2, false}},
	{"CRLF", strings.ReplaceAll(session(header, titleLine(2, "a"), titleLine(3, "b")), "\n", "\r\n"), nil, "ab", Tail{3, false}},
	{"raw line separators", session(header, titleLine(2, "\u2028"), titleLine(3, "\u2029\u0085")), nil, "\u2028\u2029\u0085", Tail{3, false}},
	{"half a surrogate pair", session(header, titleLine(2, `\ud800`)), nil, "\uFFFD", Tail{2, false}},
	{"no UTF-8", session(header, titleLine(2, "\xff")), nil, "\uFFFD", Tail{2, false}},
	{"a line repeated", session(header, titleLine(2, "a"), titleLine(2, "a"), titleLine(3, "b")), []Fault{Repeated}, "ab", Tail{3, false}},
	{"a header repeated", session(header, header, titleLine(2, "a")), []Fault{Repeated}, "a", Tail{2, false}},
	{"two lines swapped", session(header, titleLine(3, "b"), titleLine(2, "a"), titleLine(4, "c")), []Fault{Misplaced}, "abc", Tail{4, false}},
	{"the header swapped", session(titleLine(2, "a"), header, titleLine(3, "b")), []Fault{Misplaced}, "ab", Tail{3, false}},
	{"swapped at the end", session(header, titleLine(3, "b"), titleLine(2, "a")), []Fault{Misplaced}, "ab", Tail{3, false}},
	{"three turned round", session(header, titleLine(4, "c"), titleLine(3, "b"), titleLine(2, "a")), []Fault{Misplaced, Misplaced}, "abc", Tail{4, false}},
	{"a line lost", session(header, titleLine(2, "a"), titleLine(4, "c"), titleLine(5, "d")), []Fault{Missing}, "acd", Tail{5, false}},
	{"the beginning lost", session(titleLine(7, "f"), titleLine(8, "g")), []Fault{NoHeader, Missing}, "fg", Tail{8, false}},
	{"no header", session(titleLine(1, "a"), titleLine(2, "b")), []Fault{NoHeader}, "ab", Tail{2, false}},
	{"two writers", session(header, titleLine(2, "a"), titleLine(2, "x"), titleLine(3, "b"), titleLine(3, "y"), titleLine(4, "c")), []Fault{Collision, Collision}, "abc", Tail{4, false}},
	{"two sessions put together", session(header, titleLine(2, "a"), `{"t":"session","seq":1,"v":1,"title":"t"}`, titleLine(2, "b")), []Fault{Collision, Collision}, "a", Tail{2, false}},
	{"a number damaged", session(header, titleLine(2, "a"), titleLine(7000003, "b"), titleLine(4, "c"), titleLine(5, "d")), []Fault{Missing, Missing}, "acdb", Tail{7000003, false}},
	{"a number damaged beyond belief", session(header, titleLine(2, "a"), `{"t":"title","seq":9007199254740992,"title":"b"}`, `{"t":"title","seq":9223372036854775807,"title":"c"}`, titleLine(3, "d")), []Fault{Unreadable, Unreadable}, "ad", Tail{3, false}},
	{"unknown types and fields", session(header, `{"t":"telemetry","seq":2,"message":{"x":1}}`, `{"t":"title","seq":3,"title":"a","later":{"x":[1]}}`, `{"t":"telemetry","seq":4}`), nil, "a", Tail{4, false}},
	{"other JSON", session(header, `[1]`, `7`, `"x"`, `{}`, `{"t":"title"}`, `{"seq":2}`, `{"t":"title","seq":0}`, `{"t":"title","seq":-1}`, titleLine(2, "a")),
		[]Fault{Unreadable, Unreadable, Unreadable, Unreadable, Unreadable, Unreadable, Unreadable, Unreadable}, "a", Tail{2, false}},
	{"an entry without its message", session(header, `{"t":"message","seq":2}`, `{"t":"message","seq":3,"message":{"role":"robot"}}`, `{"t":"message","seq":4,"message":7}`, titleLine(5, "a")),
		[]Fault{Unreadable, Unreadable, Unreadable, Missing}, "a", Tail{5, false}},
	{"nested too deep", session(header, `{"t":"x.a.b","seq":2,"data":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+`}`, titleLine(3, "a")), []Fault{Unreadable, Missing}, "a", Tail{3, false}},
	{"a name twice", session(header, `{"t":"title","seq":9,"title":"z","seq":2,"title":"a"}`), nil, "a", Tail{2, false}},
	{"white space between tokens", session(header, ` { "t" : "title" , "seq" : 2 , "title" : "a" } `), nil, "a", Tail{2, false}},
}

func titles(entries []Entry) (s string) {
	for _, e := range entries {
		s += e.Body.(Title).Title
	}
	return s
}

func TestDamageCostsNothingElse(t *testing.T) {
	for _, c := range damaged {
		t.Run(c.name, func(t *testing.T) {
			r, entries, problems := read(t, []byte(c.data))
			require.Equal(t, c.faults, faults(problems), "%v", problems)
			require.Equal(t, c.titles, titles(entries))
			require.Equal(t, c.tail, r.Tail())

			var b bytes.Buffer // whatever was damaged, what comes after it is read
			require.NoError(t, NewWriter(&b, Header{}, r.Tail()).Append(titled("later")))
			_, entries, _ = read(t, append([]byte(c.data), b.Bytes()...))
			require.Equal(t, c.titles+"later", titles(entries))
		})
	}
}

func TestProblemsSayWhereAndWhat(t *testing.T) {
	data := session(header, "junk", titleLine(3, "b"), titleLine(3, "x"))
	_, _, problems := read(t, []byte(data))
	require.Equal(t, []string{
		`line 2 (byte 42): unreadable: invalid JSON at byte 1: invalid character 'j' looking for beginning of value: "junk"`,
		`line 4 (byte 81): collision: there is another entry 3: two programs wrote to this session`,
		`line 3 (byte 47): missing: entry 2 is missing`,
	}, []string{problems[0].Error(), problems[1].Error(), problems[2].Error()})
	require.True(t, strings.HasPrefix(data[42:], "junk"))
}

func TestUnknownTypesAreCounted(t *testing.T) {
	r, _, _ := read(t, []byte(session(header, `{"t":"telemetry","seq":2}`, `{"t":"x.odd","seq":3}`, `{"t":"telemetry","seq":4}`)))
	require.Equal(t, map[string]int{"telemetry": 2, "x.odd": 1}, r.Unknown())
	lines := []string{header}
	for i := range 300 {
		lines = append(lines, `{"t":"u`+strconv.Itoa(i)+`","seq":`+strconv.Itoa(i+2)+`}`)
	}
	r, _, _ = read(t, []byte(session(lines...)))
	require.Len(t, r.Unknown(), unknownTypes+1)
	require.Equal(t, 200, r.Unknown()[""])
}

func TestNewerVersionEndsReading(t *testing.T) {
	r := NewReader(strings.NewReader(session(`{"t":"session","seq":1,"v":2}`, titleLine(2, "a"))))
	var errs []error
	for _, err := range r.Entries() {
		errs = append(errs, err)
	}
	require.Len(t, errs, 1)
	var newer *VersionError
	require.ErrorAs(t, errs[0], &newer)
	require.EqualError(t, newer, "the session is in version 2 of the format, and this program reads up to version 1")
}

func TestReaderErrorComesLast(t *testing.T) {
	broken := errors.New("broken disk")
	r := NewReader(io.MultiReader(strings.NewReader(session(header, titleLine(2, "a"))+`{"t":"title","se`), iotest.ErrReader(broken)))
	var entries []Entry
	var last error
	for e, err := range r.Entries() {
		require.NoError(t, last)
		if last = err; err == nil {
			entries = append(entries, e)
		}
	}
	require.ErrorIs(t, last, broken)
	require.Equal(t, "a", titles(entries))
	require.Equal(t, Tail{Seq: 2}, r.Tail())
}

func TestReaderThatReturnsNothingEnds(t *testing.T) {
	for _, err := range NewReader(stalled{}).Entries() {
		require.ErrorIs(t, err, io.ErrNoProgress)
	}
}

type stalled struct{}

func (stalled) Read([]byte) (int, error) { return 0, nil }

func TestLongLines(t *testing.T) {
	long := titleLine(2, strings.Repeat("x", 5<<20))
	for _, c := range []struct {
		name   string
		max    int
		data   string
		faults []Fault
		want   int
	}{
		{"5 MB is nothing special", 0, session(header, long, titleLine(3, "b")), nil, 2},
		{"beyond the cap", 1 << 20, session(header, long, titleLine(3, "b")), []Fault{TooLong, Missing}, 1},
		{"a small cap", 60, session(header, titleLine(2, strings.Repeat("y", 100)), titleLine(3, "b")), []Fault{TooLong, Missing}, 1},
		{"beyond the cap and torn", 1 << 20, header + "\n" + long, []Fault{TooLong}, 0},
		{"no cap", -1, session(header, long, titleLine(3, "b")), nil, 2},
	} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{"at once": func(r io.Reader) io.Reader { return r }, "in halves": iotest.HalfReader, "with the error": iotest.DataErrReader} {
			t.Run(c.name+" "+name, func(t *testing.T) {
				r := NewReader(wrap(strings.NewReader(c.data)))
				r.MaxLine = c.max
				entries, problems := readAll(t, r)
				require.Equal(t, c.faults, faults(problems), "%v", problems)
				require.Len(t, entries, c.want)
				if c.want > 0 {
					last := entries[len(entries)-1]
					require.True(t, strings.HasPrefix(c.data[last.Offset:], titleLine(3, "b")))
					require.Equal(t, int64(3), last.Line)
				}
			})
		}
	}
}

// However a stream is cut into reads, the lines are the same.
func TestLinesDoNotDependOnReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"\n", "a", "\r\n", strings.Repeat("b", 70_000), "é"})).Draw(t, "pieces"), "")
		var want []string
		if text != "" {
			want = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		}
		for _, r := range []io.Reader{strings.NewReader(text), iotest.HalfReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text))} {
			l := lines{r: r}
			var got []string
			for {
				data, size, whole, err := l.read()
				if err != nil {
					require.Equal(t, io.EOF, err)
					break
				}
				require.Equal(t, int64(len(data)), size)
				require.True(t, whole || l.next == int64(len(text)))
				require.True(t, strings.HasPrefix(text[l.offset:], string(data)))
				got = append(got, string(data))
				require.Equal(t, int64(len(got)), l.number)
			}
			require.Equal(t, want, got)
		}
	})
}

// Lines that were shuffled within the window come back in order, and each is
// reported at most once.
func TestShuffledLinesAreSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "lines")
		want, lines := "", make([]string, n)
		for i := range n {
			want += string(rune('A' + i))
			lines[i] = titleLine(i+2, string(rune('A'+i)))
		}
		lines = rapid.Permutation(lines).Draw(t, "order")
		_, entries, problems := read(t, []byte(session(append([]string{header}, lines...)...)))
		require.Equal(t, strings.ReplaceAll(want, `\`, ""), titles(entries))
		require.LessOrEqual(t, len(problems), n)
	})
}

func TestManyLinesBehindAGap(t *testing.T) {
	lines := []string{header}
	for i := 3; i < 500; i++ {
		lines = append(lines, titleLine(i, "x"))
	}
	_, entries, problems := read(t, []byte(session(lines...)))
	require.Len(t, entries, 497)
	require.Equal(t, []Fault{Missing}, faults(problems))
}

// Files of other programs are full of problems, each of them reported.
func TestOtherProgramsFiles(t *testing.T) {
	root := filepath.Join("..", "..", "shared", "sessions")
	if _, err := os.Stat(root); err != nil {
		t.Skip("no session files of other programs here: ", err)
	}
	files := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		r, entries, problems := read(t, data)
		require.Empty(t, entries, path)
		require.Equal(t, int64(0), r.Tail().Seq)
		require.Len(t, problems, bytes.Count(bytes.TrimSpace(data), []byte("\n"))+1, path)
		for _, p := range problems {
			require.Contains(t, []Fault{Unreadable, Torn}, p.Fault)
		}
		return nil
	}))
	require.NotZero(t, files)
}
