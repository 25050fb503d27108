// Package progress says what a long run has achieved, beside what it has spent,
// and notices when it only repeats itself.
//
//	p := progress.SummariseProgress(events, nil, 0)
//	fmt.Println(progress.DescribeProgress(p)) // 14 files changed, 23 commands run, 3 of 7 steps finished
//	progress.LongRunNotice(progress.Spend(res.State, model), p, progress.NoticeOptions{})
//
// # Why tokens alone say nothing
//
// Every request reads the whole conversation again, so a token total is the size
// of a conversation times its turns. Ten million tokens over 152 requests is a
// conversation of 66,000 tokens; one or two per cent of them were written. The
// same figure belongs to a run that does its work and to one that goes round in
// circles. What tells them apart is whether anything changes, so [LongRunNotice]
// is two messages: for a run that changes things, what it did and what that took;
// for one that does not, exactly that.
//
// # While a run goes on
//
// A [Watch] fits the loop's hooks, and is made once for a session; what was
// recorded of it before goes through Record too:
//
//	watch := progress.NewWatch(progress.WatchOptions{Notice: show})
//	past, err := resume.ReadResumable(dir, file, watch.Record)
//	o.Record, o.ShouldStop, o.Inbox = watch.Record, watch.ShouldStop, watch.Inbox
//
// It looks, then tells the model once, then stops the run with a [StuckError].
// All it knows follows from the entries it was given, so a watch that was given
// those of the past stands where the earlier run stood: no notice is raised
// twice, and a repetition is counted on. A host that also writes a session has a
// recorder of two lines, which appends first and then hands the entry to the watch;
// there is no type for that.
//
// # Sub-agents
//
// A watch of the lead knows of its sub-agents that they are at work and what they
// spend; it does not judge what they do. One in a sub-agent's own options judges the
// sub-agent, since a watch judges the run that it hears first. Sub-agents that run side
// by side need a watch each: see the example.
//
// # What counts
//
// Only what succeeded. Entries of child runs count in nothing but the sub-agents
// and the tokens of the call that started them. A tool's kind is what it declares;
// a tool that declares none has the kind of its name, when that is a well-known
// one, save for a call that started child runs: that is delegated work, whatever the
// sub-agent is called. What tools of an unknown kind did is not known, and the notice
// says so.
//
// # In a test
//
// [SummariseProgress] and [DetectStuck] are pure functions of entries: a host's test
// calls them on what its recorder got.
package progress
