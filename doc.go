// Package pawl is the root of the module and holds no code: the agent loop and what
// belongs to it are in the packages below it.
//
// Start with package loop, whose documentation begins with a whole run. README.md has
// the smallest program, and how to record a run and carry it on. In reading order:
//
//   - [github.com/pawl-dev/pawl/loop] runs an agent: RunToolLoop, its Options and
//     Result, and the tools.
//   - [github.com/pawl-dev/pawl/turn] has what model and loop exchange: messages, the
//     TurnFn that a host brings, usage and prices.
//   - [github.com/pawl-dev/pawl/turn/chat] is a TurnFn for any OpenAI-compatible
//     server.
//   - [github.com/pawl-dev/pawl/turn/turntest] plays the model in tests, and checks a
//     TurnFn of one's own.
//   - [github.com/pawl-dev/pawl/trajectory] has the entries that a run records, the
//     state that follows from them, and the session file.
//   - [github.com/pawl-dev/pawl/resume] reads a session file, says how it stands, and
//     hands over what the next run carries on from.
//   - [github.com/pawl-dev/pawl/progress] says what a run achieved for what it spent,
//     and notices when it only repeats itself.
//   - [github.com/pawl-dev/pawl/stats] adds up what a run spent.
//   - [github.com/pawl-dev/pawl/plan] is the run's plan, and the tool that keeps it.
//
// Whole programs are in the folder examples. Each package has shorter ones in its files
// example*_test.go.
package pawl
