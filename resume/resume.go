// Package resume picks up a session where it was left: it reads the record, says
// what the session was doing and whether it was finished, and hands over what the
// next run carries on from.
//
//	func work(ctx context.Context, dir, request string, o loop.Options) (loop.Result, error) {
//		past, err := resume.ReadResumable(dir, "session.jsonl")
//		if err != nil && !errors.Is(err, fs.ErrNotExist) {
//			return loop.Result{}, err
//		}
//		fmt.Println(past.Assessment.Verdict, "-", past.Assessment.Because)
//		messages := past.Messages
//		if len(messages) == 0 { // the first start
//			messages = append(messages, turn.User(request))
//		}
//		f, err := os.OpenFile(filepath.Join(dir, "session.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
//		if err != nil {
//			return loop.Result{}, err
//		}
//		defer f.Close()
//		session := trajectory.NewWriter(f, trajectory.Header{}, past.Tail)
//		o.From, o.Record = past.State, session.Append
//		return loop.RunToolLoop(ctx, messages, o)
//	}
//
// The first run and every later one are then the same code: past.Messages are the
// messages, past.State is where the loop begins, past.Tail is where the writer goes
// on. For a file that does not exist yet all three are zero, as for a new session.
//
// A session that is finished stays so: a run over it is done at once, with the reply
// that it has, and the model is not asked. To go on with something new, append a user
// message where past.Assessment.Verdict is [Finished]. Where it is [WaitingForReply],
// show what past.State.Waiting() asks and put the answers into Options.Replies.
//
// Reading never writes. Damage costs the damaged lines and nothing else, and is
// reported in Problems.
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
