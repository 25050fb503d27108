package resume

import (
	"errors"
	"io"
	"os"
	"time"

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
	// were running when something stopped them. Of a sub-agent that was at work it is
	// the calls that it had made itself.
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

func readIn(root *os.Root, file string, observe []func(trajectory.Event) error) (PastSession, error) {
	f, err := open(root, file)
	if err != nil {
		return PastSession{}, err
	}
	defer f.Close()
	return read(f, observe)
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
	t := tracker{past: &p, running: make(map[string]Action), cut: make(map[string][]Action), waiting: make(map[string]Action)}
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
