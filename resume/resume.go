// Package resume picks up a session where it was left: it reads the record, says
// what the session was doing and whether it was finished, and hands over what the
// next run carries on from.
//
//	past, err := resume.ReadResumable(dir, "session.jsonl")
//	if err != nil && !errors.Is(err, fs.ErrNotExist) {
//		return err
//	}
//	fmt.Println(past.Assessment.Because) // 1 of 2 planned steps is not done; the next is “mend the imports”.
//
// # How to carry on
//
// The first run and every later one are the same code: past.Messages are the
// messages, past.State is where the loop begins, past.Tail is where the writer goes
// on. For a file that does not exist yet all three are zero, as for a new session, and
// the host puts in the first message. The agent is made once its recorder is there, so
// that its sub-agents can record to it too:
//
//	func work(ctx context.Context, dir, request string, agent func(record func(trajectory.Event) error) loop.Options) (loop.Result, error) {
//		past, err := resume.ReadResumable(dir, "session.jsonl")
//		if err != nil && !errors.Is(err, fs.ErrNotExist) {
//			return loop.Result{}, err
//		}
//		messages := past.Messages
//		if len(messages) == 0 { // the first start
//			messages = append(messages, turn.User(request))
//		} else {
//			fmt.Println(past.Assessment.Verdict, "-", past.Assessment.Because)
//		}
//		f, err := os.OpenFile(filepath.Join(dir, "session.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
//		if err != nil {
//			return loop.Result{}, err
//		}
//		defer f.Close()
//		session := trajectory.NewWriter(f, trajectory.Header{}, past.Tail)
//		o := agent(session.Append)
//		o.From, o.Record = past.State, session.Append
//		return loop.RunToolLoop(ctx, messages, o)
//	}
//
// A session that is finished stays so: a run over it is done at once, with the reply
// that it has, and the model is not asked. What to do with a session follows from
// past.Assessment.Verdict and past.NeedsMessage():
//
//   - [Finished]: nothing, or the host appends a new request. Where nothing was asked
//     yet, and past.Messages is empty, that is the first.
//   - [StoppedShort], and a message is needed: it appends one, such as
//     Assessment.Suggestion.
//   - [StoppedShort] otherwise: it runs the session as it is, by itself where
//     past.Interrupted() says that the process ended, and where somebody wants it where
//     the run had been stopped: past.LastRun says by what. A message may be appended
//     all the same, and is delivered after what is settled first.
//   - [WaitingForReply]: it shows what past.State.Asking() asks, and puts the answers
//     into Options.Replies. No message is accepted before that. Where the session was
//     shut down, or its process died, other calls may go on without the answer: run as
//     it is, the session settles them and pauses again.
//   - [ResumingLater]: it runs the session as it is, once the time has come.
//
// # Whether to carry on
//
// [Assess] looks at the plan, at calls that nobody answered, and at how the last run
// ended; [Unfinished] says what it found, in words to show, and what could be sent.
// It sends nothing. [List] does this for every session of a directory.
//
// # What damage costs
//
// Reading never writes. Damage costs the damaged lines and nothing else, and is
// reported in Problems.
//
// # What else wants to know
//
// Whatever follows a run by its entries, such as the watch of package progress, is
// handed those of the past while they are read: see the observers of [ReadPast].
//
// # One writer at a time
//
// A session that another process is still writing reads as what it is so far, and
// looks like one whose process died: only the host can know. Nothing here keeps two
// processes from carrying it on at once. The file then holds both, what came first
// counts, Problems tell of the rest and the assessment says so. A host that can be
// started twice takes a lock before it reads, and holds it while it writes.
package resume

import "github.com/pawl-dev/pawl/trajectory"

// Resumable is everything needed to carry on.
type Resumable struct {
	PastSession
	Assessment Unfinished
}

// ReadResumable is [ReadPast] and [Assess] in one.
func ReadResumable(cwd, file string, observe ...func(trajectory.Event) error) (Resumable, error) {
	past, err := ReadPast(cwd, file, observe...)
	return Resumable{past, Assess(past)}, err
}
