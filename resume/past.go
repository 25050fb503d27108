package resume

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// PastSession is what one pass over a session gives. The zero value is a session
// that has not begun. Its slices and maps are the caller's.
type PastSession struct {
	Header trajectory.Header
	// Title is the latest [trajectory.Title] entry, or else that of the latest run that
	// has one, of the header, or the beginning of the first user message.
	Title string
	// Messages is the transcript, each message with the bytes it was written with.
	// Calls may be open at its end: see State.Open.
	Messages turn.Transcript
	// State is what the next run carries on from: the totals, the plan, the calls
	// that are open and what is known of each.
	State trajectory.State
	// LastRun is how the last run ended; nil when it did not: its process died, or is
	// still at work.
	LastRun *trajectory.RunEnd
	// LastTurn is what is known of the model's latest reply; nil before the first.
	LastTurn *trajectory.Turn
	// PlanTurn is how many of State.Stats.Turns there were when the plan last changed.
	PlanTurn int
	// LastAction is the call that ran or asked last; nil when none did. Keeping the
	// plan is an action only where there is no other.
	LastAction *Action
	// Unsure are the calls since the latest reply whose effects nobody knows: they
	// were running when something stopped them.
	Unsure []Action
	// LastAt is the time of the latest entry.
	LastAt time.Time
	// Tail is where the file ends, for the writer that carries it on.
	Tail trajectory.Tail
	// Problems are the first hundred things wrong with the file, ProblemCount is how
	// many there are.
	Problems     []*trajectory.Problem
	ProblemCount int
	// Unknown counts the entries of types that this program does not know.
	Unknown map[string]int

	brokenOff bool // the last line is the beginning of an entry
}

// Action is a call that was started, as the record tells it.
type Action struct {
	turn.Call
	Kind trajectory.Kind
	// ReplaySafe: the tool said that repeating the call does no harm.
	ReplaySafe bool
	// Status is how it ended; "" when it did not.
	Status trajectory.Status
	Paths  []string
	// Waits is set while it is suspended, and stays for one that a reply ended without
	// its tool: see Status then. Asked is the question, or the reason.
	Waits trajectory.Wait
	Asked string
}

// ErrNoSession is wrapped by the error for a file in which nothing is an entry of a
// session. Such a file is better not written to.
var ErrNoSession = errors.New("the file is not a session")

// ReadPast reads a session. The file is a path below cwd, "" being the current
// directory; one that leads out of it, by "..", as an absolute path or through a
// symbolic link, is refused.
//
// Each observer is handed every entry in order, children's included, as a recorder
// would have been; an error of one ends the reading. What is wrong with single
// lines is no error but stands in Problems. Beside an error the session is what was
// read until then: a missing file is [fs.ErrNotExist] and the zero session, which
// can be carried on like any other. A newer format is a *[trajectory.VersionError];
// anything but a regular file is refused. Nothing is ever written.
func ReadPast(cwd, file string, observe ...func(trajectory.Event) error) (PastSession, error) {
	root, err := openRoot(cwd)
	if err != nil {
		return PastSession{}, sessionError(file, err)
	}
	defer root.Close()
	past, err := readIn(root, file, observe)
	return past, sessionError(file, err)
}

// openRoot takes "" for the current directory, as filepath.Join does. Otherwise the
// session would not exist for the reader, and a writer would begin it a second time.
func openRoot(cwd string) (*os.Root, error) { return os.OpenRoot(cmp.Or(cwd, ".")) }

func sessionError(file string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("session %q: %w", file, err)
}

func readIn(root *os.Root, file string, observe []func(trajectory.Event) error) (PastSession, error) {
	f, err := open(root, file)
	if err != nil {
		return PastSession{}, err
	}
	defer f.Close()
	return read(f, observe)
}

// open opens a regular file. The check comes first, because opening can have an
// effect on a device and would wait for a writer of a pipe; and once more after it,
// because the file may have been replaced in between.
func open(root *os.Root, file string) (*os.File, error) {
	if !filepath.IsLocal(file) || slices.Contains(strings.Split(filepath.ToSlash(file), "/"), "..") {
		return nil, errors.New("the path leads out of the directory")
	}
	info, err := root.Stat(file)
	if err != nil {
		return nil, err
	}
	if err := regular(info); err != nil {
		return nil, err
	}
	f, err := root.Open(file)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = regular(info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func regular(info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return errors.New("it is a directory")
	case mode&fs.ModeNamedPipe != 0:
		return errors.New("it is a pipe")
	default:
		return fmt.Errorf("it is no regular file (%s)", mode.Type())
	}
}

const keptProblems = 100

func (p *PastSession) problem(problem *trajectory.Problem) {
	if p.ProblemCount++; len(p.Problems) < keptProblems {
		p.Problems = append(p.Problems, problem)
	}
}

// read is the one pass: the fold, the observers and the assessment's facts all come
// from it.
func read(r io.Reader, observe []func(trajectory.Event) error) (p PastSession, err error) {
	reader := trajectory.NewReader(r)
	t := tracker{past: &p, running: make(map[string]Action), waiting: make(map[string]Action)}
	foreign := false
	var lastLine, lastTorn int64
	for e, entryErr := range reader.Entries() {
		var problem *trajectory.Problem
		if errors.As(entryErr, &problem) {
			p.problem(problem)
			if lastLine = max(lastLine, problem.Line); problem.Fault == trajectory.Torn {
				lastTorn = problem.Line
			}
			foreign = foreign || problem.Fault == trajectory.Unreadable || problem.Fault == trajectory.TooLong
			continue
		}
		if err = entryErr; err != nil {
			break
		}
		lastLine = max(lastLine, e.Line)
		if foldErr := t.fold.Add(e.Event); foldErr != nil {
			p.problem(&trajectory.Problem{Fault: trajectory.Misfit, Line: e.Line, Offset: e.Offset, Err: foldErr})
		}
		t.see(e.Event)
		for _, o := range observe {
			if err = o(e.Event); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	p.Header, p.Tail, p.Unknown = reader.Header(), reader.Tail(), reader.Unknown()
	p.brokenOff = p.Tail.Torn && lastTorn > 0 && lastTorn == lastLine
	t.finish()
	if err == nil && foreign && p.Tail.Seq == 0 {
		err = ErrNoSession
	}
	return p, err
}

// tracker gathers what a fold does not keep.
type tracker struct {
	past    *PastSession
	fold    trajectory.Fold
	running map[string]Action // of the latest batch, by id
	waiting map[string]Action // and those that are suspended
	turns   int
	named   bool   // a title entry was read
	title   string // of the latest run that has one
	request string // the first user message
}

func (t *tracker) see(e trajectory.Event) {
	p := t.past
	if e.At.After(p.LastAt) {
		p.LastAt = e.At
	}
	if e.Agent != "" {
		return
	}
	switch b := e.Body.(type) {
	case trajectory.RunStart:
		p.LastRun = nil
		if b.Title != "" {
			t.title = b.Title
		}
		for _, m := range b.Messages {
			t.given(m)
		}
	case trajectory.RunEnd:
		p.LastRun = &b
	case trajectory.Message:
		t.given(b.Message)
		if b.Turn != nil {
			p.LastTurn, p.Unsure = b.Turn, nil
			clear(t.running)
			clear(t.waiting)
			if !b.Turn.Auxiliary {
				t.turns++
			}
		}
	case trajectory.CallStart:
		delete(t.waiting, b.ID)
		t.running[b.ID] = Action{Call: b.Call, Kind: b.Kind, ReplaySafe: b.ReplaySafe}
		t.acted(t.running[b.ID])
	case trajectory.Suspend:
		a := t.running[b.ID]
		delete(t.running, b.ID)
		a.Call, a.Waits, a.Asked = b.Call, b.For, b.Question
		t.waiting[b.ID] = a
		t.acted(a)
	case trajectory.CallEnd:
		t.ended(b)
	case trajectory.PlanChange:
		p.PlanTurn = t.turns
	case trajectory.Title:
		p.Title, t.named = b.Title, true
	}
}

func (t *tracker) ended(b trajectory.CallEnd) {
	a, ran := t.running[b.ID]
	waited, asked := t.waiting[b.ID]
	if asked {
		a = waited
	} else if !ran {
		return
	}
	delete(t.running, b.ID)
	delete(t.waiting, b.ID)
	a.Status, a.Paths = b.Status, b.Paths
	t.acted(a)
	if a.Status == trajectory.CutOff || a.Status == trajectory.Unknown {
		t.past.Unsure = append(t.past.Unsure, a)
	}
}

func (t *tracker) acted(a Action) {
	if a.Name == plan.ToolName && t.past.LastAction != nil && t.past.LastAction.Name != plan.ToolName {
		return
	}
	t.past.LastAction = &a
}

// given takes a message that no model wrote. A result among them is what a host
// itself answered a call that waited.
func (t *tracker) given(m turn.TranscriptMessage) {
	if m.OfTool != nil {
		if a, ok := t.waiting[m.OfTool.ToolCallID]; ok {
			delete(t.waiting, a.ID)
			a.Status = trajectory.OK
			t.acted(a)
		}
	}
	if t.request == "" && m.OfUser != nil {
		t.request = brief(turn.Text(m), titleLength)
	}
}

func (t *tracker) finish() {
	p := t.past
	p.Messages, p.State = t.fold.Messages(), t.fold.State()
	for _, c := range p.State.Open {
		if a, ok := t.running[c.ID]; ok && c.Child == nil { // a child goes on, with calls of its own to settle
			p.Unsure = append(p.Unsure, a)
		} else if c.Imported {
			p.Unsure = append(p.Unsure, Action{Call: c.Call})
		}
	}
	for _, title := range []string{t.title, p.Header.Title, t.request} {
		if !t.named && p.Title == "" {
			p.Title = title
		}
	}
}
