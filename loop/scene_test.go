package loop_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/turntest"
)

// scene is one run as a script tells it: what the host gives, what the model
// says, what the tools do, and what happens when. Scripts are read by people
// first, so each line is one fact and indentation is free:
//
//	tools  read, write alone, rm approval, slow timeout 1s, get replay-safe, list polls
//	max-iterations 3 · max-parallel 2 · grace 1s
//	batch  in-order | reversed | stops after N TEXT
//	system TEXT · user TEXT
//	said   TEXT                an earlier reply, with "call" lines under it
//	result ID TEXT             and the results it had
//	model  TEXT                a reply, with these under it:
//	  call ID NAME ARGUMENTS   the id - is none at all
//	  usage IN OUT [CACHED] · finish REASON · takes 2s · fails TEXT · refuses TEXT
//	  times 3                  the same reply three times over
//	  tool WHAT 30ms DOES      what the call of that id does, or any call of that tool
//	cancel at 20ms [because TEXT] · shutdown at 20ms · deadline 50ms [because TEXT]
//	stop at once because TEXT · stop after 2 turns because TEXT, or after 3 calls
//	inbox at 50ms TEXT · nudge TEXT
//	record fails at 7
//
// For long runs there are also these; a summary is a reply of the model that
// summarises, and what stands between an agent's name and "end" is a scene of the
// child runs that a tool of that name starts:
//
//	window 1000 [at 0.5] [keep 0.2] [timeout 1s] · prune 1000 [at 0.5] [turns 1] [bytes 20]
//	summary TEXT               with usage, finish, takes, fails as above
//	  overflows · cost CENTS   more of a reply
//	budget [tokens N] [calls N] [cost CENTS] [notice SHARE]
//	final-turn · plan-nudge 2 · max-depth 1 · max-output 80
//	agent NAME … end
//
// A tool does one of: ok TEXT, fail TEXT [giving OUTPUT], panic TEXT, fatal TEXT,
// exit, ignore TEXT (it sleeps through being told to stop), wait QUESTION [saving
// JSON], later 1h WHY [saving JSON]. In an ok TEXT, $args, $saved and $reply stand
// for what the call got.
//
// A continue section goes on from the state and messages of the run before it,
// through JSON, and may say:
//
//	later  1h                  so much time has passed
//	killed after 5 entries     the process died; only so much was recorded
//	forgotten                  the messages are left, the state is lost
//	answer ID TEXT · approve ID · deny ID WHY
type scene struct {
	tools    []toolLine
	exactly  bool // the script names the tools
	messages []turn.TranscriptMessage
	model    []turntest.Reply
	acts     map[string][]act
	replies  map[string]loop.Reply

	summaries []turntest.Reply
	longRun
	agents map[string]scene

	maxIterations, maxParallel int
	grace                      time.Duration
	batch                      string
	batchAfter                 int
	batchError                 string

	cancelAt, deadline time.Duration
	shutdown           bool
	because            string
	stopTurns, stopN   int // stop after so many turns, or calls
	stopCause          string
	inbox              []timedText
	nudges             []string
	recordFails        int

	later     time.Duration
	killed    int
	forgotten bool
}

type toolLine struct {
	name                               string
	alone, approval, replaySafe, polls bool
	timeout                            time.Duration
}

// act is what a tool does when it is called.
type act struct {
	after            time.Duration
	does, text, more string
	until            time.Duration
}

type timedText struct {
	at   time.Duration
	text string
}

// sceneReader reads a scene line by line; under is what call lines belong to.
type sceneReader struct {
	scene
	said  []turn.Call
	text  string
	under string
	child *sceneReader // of the agent whose lines these are
	name  string       // of that agent
}

func newSceneReader() *sceneReader {
	return &sceneReader{scene: scene{acts: map[string][]act{}, replies: map[string]loop.Reply{}, agents: map[string]scene{}}}
}

func parseScene(text string) (scene, error) {
	r := newSceneReader()
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest := cut(line)
		if err := r.read(word, rest); err != nil {
			return scene{}, fmt.Errorf("line %d (%s): %w", n, word, err)
		}
	}
	if r.child != nil {
		return scene{}, errors.New("an agent has no end")
	}
	r.closeSaid()
	r.inferTools()
	return r.scene, nil
}

// read hands a line to the agent that it belongs to.
func (r *sceneReader) read(word, rest string) error {
	switch {
	case r.child != nil && r.child.child == nil && word == "end":
		r.child.closeSaid()
		r.child.inferTools()
		r.agents[r.name], r.child = r.child.scene, nil
		return nil
	case r.child != nil:
		return r.child.read(word, rest)
	case word == "agent":
		if rest == "" {
			return errors.New("an agent has no name")
		}
		r.child, r.name = newSceneReader(), rest
		return nil
	}
	if word != "call" {
		r.closeSaid()
	}
	return r.line(word, rest)
}

// cut takes the first word off.
func cut(s string) (word, rest string) {
	word, rest, _ = strings.Cut(strings.TrimSpace(s), " ")
	return word, strings.TrimSpace(rest)
}

func (r *sceneReader) line(word, rest string) error {
	switch word {
	case "tools":
		return r.readTools(rest)
	case "system":
		r.messages = append(r.messages, turn.System(rest))
	case "user":
		r.messages = append(r.messages, turn.User(rest))
	case "said":
		r.under, r.text = "said", rest
	case "result":
		id, text := cut(rest)
		r.messages = append(r.messages, turn.ToolResult(id, text))
	case "model":
		r.under = "model"
		r.model = append(r.model, says(rest))
	case "summary":
		r.under = "summary"
		r.summaries = append(r.summaries, says(rest))
	case "call", "usage", "finish", "takes", "fails", "refuses", "times", "overflows", "cost":
		return r.detail(word, rest)
	case "tool":
		return r.readAct(rest)
	case "answer", "approve", "deny":
		id, text := cut(rest)
		r.replies[id] = map[string]loop.Reply{"answer": loop.Answer(text), "approve": loop.Approve(), "deny": loop.Deny(text)}[word]
	case "nudge":
		r.nudges = append(r.nudges, rest)
	case "forgotten":
		r.forgotten = true
	default:
		return r.event(word, rest)
	}
	return nil
}

// says is a reply without a finish reason, unless a line gives it one.
func says(text string) turntest.Reply {
	return turntest.Reply{Result: turn.ModelTurnResult{Message: turn.Assistant(text)}}
}

// closeSaid puts an earlier reply with its calls among the messages.
func (r *sceneReader) closeSaid() {
	if r.under == "said" {
		r.messages = append(r.messages, turn.ReplayForm(turn.Assistant(r.text, r.said...)))
		r.said, r.under = nil, ""
	}
}

// detail is a line that says more of a reply.
func (r *sceneReader) detail(word, rest string) (err error) {
	if word == "call" {
		return r.readCall(rest)
	}
	under := &r.model
	if r.under == "summary" {
		under = &r.summaries
	}
	if len(*under) == 0 {
		return errors.New("stands under no reply")
	}
	m := &(*under)[len(*under)-1]
	switch word {
	case "overflows":
		m.Err = turn.ErrContextOverflow
	case "cost":
		var c turn.Cost
		c, err = turn.ParseCents(rest)
		m.Result.Usage.Cost = &c
	case "usage":
		return readUsage(rest, &m.Result.Usage)
	case "finish":
		m.Result.Finish = rest
	case "fails":
		m.Err = errors.New(rest)
	case "refuses":
		m.Result.Message.Refusal = rest
	case "takes":
		m.After, err = time.ParseDuration(rest)
	case "times":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 || n > 1000 || len(*under) > 10000 {
			return fmt.Errorf("%q is no number of times", rest)
		}
		for range n - 1 {
			*under = append(*under, *m)
		}
	}
	return err
}

func (r *sceneReader) readCall(rest string) error {
	id, rest := cut(rest)
	name, arguments := cut(rest)
	if name == "" {
		return errors.New("want an id, a tool and its arguments")
	}
	if id == "-" {
		id = ""
	}
	if name[0] == '"' { // a name that is no word
		var err error
		if name, err = strconv.QuotedPrefix(rest); err != nil {
			return err
		}
		arguments = strings.TrimSpace(rest[len(name):])
		if name, err = strconv.Unquote(name); err != nil {
			return err
		}
	}
	c := turn.Call{ID: id, Name: name, Arguments: arguments}
	switch {
	case r.under == "said":
		r.said = append(r.said, c)
	case r.under == "model" && len(r.model) > 0:
		m := &r.model[len(r.model)-1]
		m.Result.Message.ToolCalls = append(m.Result.Message.ToolCalls, turn.Assistant("", c).ToolCalls...)
	default:
		return errors.New("stands under no reply")
	}
	return nil
}

func readUsage(rest string, u *turn.Usage) error {
	var n [3]int64
	fields := strings.Fields(rest)
	if len(fields) < 2 || len(fields) > 3 {
		return errors.New("want input, output and perhaps cached tokens")
	}
	for i, f := range fields {
		var err error
		if n[i], err = strconv.ParseInt(f, 10, 64); err != nil {
			return err
		}
	}
	u.InputTokens, u.OutputTokens = n[0], n[1]
	if len(fields) == 3 {
		u.CachedInputTokens = &n[2]
	}
	return nil
}

func (r *sceneReader) readAct(rest string) (err error) {
	who, rest := cut(rest)
	after, rest := cut(rest)
	a := act{}
	if a.after, err = time.ParseDuration(after); err != nil {
		return err
	}
	a.does, a.text = cut(rest)
	switch a.does {
	case "ok", "panic", "fatal", "ignore", "exit":
	case "fail":
		a.text, a.more, _ = strings.Cut(a.text, " giving ")
	case "later":
		until, why := cut(a.text)
		if a.until, err = time.ParseDuration(until); err != nil {
			return err
		}
		a.text, a.more, _ = strings.Cut(why, " saving ")
	case "wait":
		a.text, a.more, _ = strings.Cut(a.text, " saving ")
	default:
		return fmt.Errorf("a tool cannot %q", a.does)
	}
	r.acts[who] = append(r.acts[who], a)
	return nil
}

func (r *sceneReader) readTools(rest string) (err error) {
	r.tools, r.exactly = nil, true
	if rest == "none" {
		return nil
	}
	for _, item := range strings.Split(rest, ",") {
		words := strings.Fields(item)
		if len(words) == 0 {
			return errors.New("a tool has no name")
		}
		t := toolLine{name: words[0]}
		for i := 1; i < len(words); i++ {
			switch words[i] {
			case "alone":
				t.alone = true
			case "approval":
				t.approval = true
			case "replay-safe":
				t.replaySafe = true
			case "polls":
				t.polls = true
			case "timeout":
				if i++; i == len(words) {
					return errors.New("a timeout without a duration")
				}
				if t.timeout, err = time.ParseDuration(words[i]); err != nil {
					return err
				}
			default:
				return fmt.Errorf("a tool is not %q", words[i])
			}
		}
		r.tools = append(r.tools, t)
	}
	return nil
}

// inferTools are those that calls name, where the script does not say.
func (r *sceneReader) inferTools() {
	if r.exactly {
		return
	}
	known := map[string]bool{}
	add := func(calls []turn.Call) {
		for _, c := range calls {
			if !known[c.Name] {
				known[c.Name] = true
				r.tools = append(r.tools, toolLine{name: c.Name})
			}
		}
	}
	for _, m := range r.messages {
		add(turn.Calls(m))
	}
	for _, m := range r.model {
		add(turn.Calls(turn.ReplayForm(m.Result.Message)))
	}
}
