// Package loop runs an agent: model turn, tool batch, model turn, until the model
// replies without calling a tool or something stops it.
//
//	res, err := loop.RunToolLoop(ctx, []turn.TranscriptMessage{turn.User("Which files are here?")}, loop.Options{
//		Turn:  model,             // a turn.TurnFn
//		Tools: []loop.Tool{list}, // advertised in this order, always
//	})
//	fmt.Println(res.Text(), res.StopReason, err) // a.go and b.go. done <nil>
//
// # What a host brings
//
// A model, as a [turn.TurnFn]: package chat has one for any OpenAI-compatible
// server, package turntest a scripted one, and any function will do. Tools: a [Tool]
// with a Run of its own takes any JSON object, one made by [NewTool] takes a struct
// and has its schema and its check from there. Everything else is optional; see
// [Options], in which zero is the default and, for a limit, a negative value is none.
//
// # What a run guarantees
//
// Every call that the model makes is answered exactly once, and results stand in
// call order, so the transcript can be sent as it stands at every moment between
// batches. Messages are only appended: what was sent once is sent byte for byte
// the same ever after, so prompt caches hit. Whatever ends a run, the [Result]
// has the transcript, the statistics and the reason reached so far.
//
// # What a tool's answer means
//
// A tool's error is told to the model and the run goes on; one made by [Fatal]
// ends the run; one made by [WaitForReply] or [ResumeLater] suspends the call. A
// panic is a failed call: one line for the model, the stack for the host. A tool
// that ignores cancellation is left after a grace period and named in the result.
//
// # How it ends
//
// A reply without calls is done, also when it is empty, refused or filtered:
// Result.Last says so. The iteration limit, a pause, and a stop by the host or by
// the context's cancellation are no errors. An expired deadline is one,
// *[RunTimeoutError], beside a full Result; so is a failure of the model, of a
// tool that was fatal, or of the recorder. [ClassifyRunFailure] maps any of them, and
// Result.Cause, onto one word.
//
// Result.Last is the model's latest reply. What a call of the model that failed or
// was cancelled left behind is Result.Partial, a pointer, since most runs have no such
// call, and not part of [ModelError], since an abort has no such error.
//
// # Asking a person
//
// A tool that returns [WaitForReply], or a call that [Tool.Approval] holds back,
// pauses the run: it returns waiting_for_reply, and Result.Waiting says which calls
// wait for what. The reply goes into Options.Replies of the next run, which may be
// another process's: [Answer], [Approve] or [Deny], by call id. Some servers use ids
// again, so a host in which a reply may come twice or late sets its Ticket too.
//
// # How it goes on
//
// Result.State and Result.Messages are all that the next run needs, in another
// process or on another day: Options.From and the messages. Calls left open are
// settled by what is known of them. One that never started runs; one that was
// running when its process died runs again only where its tool says that a repeat
// is safe, and is reported to the model as unknown otherwise; one that waits is
// continued by Options.Replies. The words in which the model hears of this may change:
// code goes by the Status in the record of a call's end.
//
// Where the process ends, cancel the run with [ErrShutdown]: what the next one can go
// on with then stays open, as after a crash, where any other cause has each call
// answered that does not wait.
//
// A user message may be appended while calls are open that do not wait, or whose time
// has come: it is delivered after their results. While a call waits for a reply or
// for a time yet to come it may not: answer the call first, or close it with [Deny].
// No message is needed to go on with open calls, with results that the model never
// spoke to, or with a request that has no reply. Over a plain reply one is: a run
// over it is done at once. After a [RecorderError] continue from the record
// rather than from the result: the two no longer agree.
//
// # Child runs
//
// A tool that calls RunToolLoop with the context it was given starts a child run.
// Its totals are added to the parent's Result.Children once, however it ended, and
// its entries carry the call's name. Its depth, its grace period and what it may
// spend stay within what its parent has left. [NewSubAgent] makes a tool of a run,
// and lets its questions surface in the parent.
//
// # Long runs
//
// Options.Compact makes room when the window fills: [Summarise], [Prune], or both
// in a function of the host's, a [CompactFn]. It decides from a struct, [Compacting],
// rather than from messages and state alone: how deep to cut depends on whether the
// model has refused the transcript, and how often. Compacting is the one place where
// what was sent before is not sent again. When it fails, the record says so and the run
// goes on; only where the model refused the transcript does the run depend on it.
// Options.Budget bounds what is spent, Options.FinalTurn asks for a last word at a limit.
//
// # Where time, chance and goroutines are
//
// The loop is deterministic outside four seams: Options.Turn, Options.Batch (or
// the loop's own batch and [Tool.Do]), the compaction and Options.Now. The same
// answers always give the same sequence of questions, in whatever order tools
// finish, so the same code runs inside a durable workflow: [BatchFn] hands it the
// calls of a turn, [Tool.Do] is the body of each, and [Outcome] is plain data, so
// a fatal error is in it as a text and a flag.
//
// # Testing a host without a model
//
// Script the model with package turntest, keep what Options.Record is handed, and ask
// the result and the folds of the other packages what came of it. What a process that
// dies leaves is the beginning of its record.
package loop
