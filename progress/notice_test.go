package progress_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/progress"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a text with testdata/name, or writes it.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update to write it")
	got, lines := strings.Split(text, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(got), len(lines)) {
		require.Equal(t, lines[i], got[i], "%s:%d", file, i+1)
	}
	require.Len(t, got, len(lines), file)
}

type noticeCase struct {
	name     string
	spend    progress.RunSpend
	progress progress.RunProgress
	options  progress.NoticeOptions
	spins    bool // the message has to be the one that warns
	told     bool // of a run that has spent little: that it fails or repeats itself is said
}

func dollars(d float64) *turn.Cost {
	c := turn.Cost(d * float64(turn.Dollar))
	return &c
}

// spent is a run's own spend: requests, prompt, completion and cached tokens.
func spent(requests, prompt, completion, cached int64) progress.RunSpend {
	return progress.RunSpend{Requests: requests, Tokens: prompt + completion, PromptTokens: prompt, CompletionTokens: completion, CachedTokens: cached}
}

// reported is the run that asked whether it was healthy.
var reported = progress.RunSpend{Requests: 152, Tokens: 10_028_873, PromptTokens: 9_905_312, CompletionTokens: 123_561, CachedTokens: 9_211_940}

func with(s progress.RunSpend, change func(*progress.RunSpend)) progress.RunSpend {
	change(&s)
	return s
}

var (
	priced    = progress.NoticeOptions{Priced: true}
	local     = progress.NoticeOptions{Local: true, Priced: true}
	million   = spent(31, 1_020_000, 14_000, 800_000)
	worked    = progress.RunProgress{Edits: 31, Files: 14, Commands: 23, Reads: 61, StepsDone: 3, StepsTotal: 7}
	onlyReads = progress.RunProgress{Reads: 140}
)

func workingCases() []noticeCase {
	costing := with(reported, func(s *progress.RunSpend) { s.Model, s.Cost = "big-model", dollars(12.345) })
	return []noticeCase{
		{name: "the report: 152 requests, two tasks done", spend: reported, progress: progress.RunProgress{Edits: 19, Files: 11, Commands: 34, Reads: 58, StepsDone: 9, StepsTotal: 9}},
		{name: "with a plan half done", spend: reported, progress: worked},
		{name: "priced", spend: costing, progress: worked, options: priced},
		{name: "priced, but some calls were not", spend: with(costing, func(s *progress.RunSpend) { s.Unpriced = true }), progress: worked, options: priced},
		{name: "a price is known, the host says it is not", spend: costing, progress: worked},
		{name: "priced, and no cost came", spend: reported, progress: worked, options: priced},
		{name: "priced at zero", spend: with(reported, func(s *progress.RunSpend) { s.Cost = dollars(0) }), progress: worked, options: priced},
		{name: "priced at a fraction of a cent", spend: with(million, func(s *progress.RunSpend) { s.Cost = dollars(0.0042) }), progress: worked, options: priced},
		{name: "priced at thousands", spend: with(reported, func(s *progress.RunSpend) { s.Cost = dollars(1234.5) }), progress: worked, options: priced},
		{name: "local", spend: costing, progress: worked, options: local},
		{name: "at the first threshold", spend: million, progress: worked},
		{name: "one of everything", spend: million, progress: progress.RunProgress{Edits: 1, Files: 1, Commands: 1, StepsDone: 1, StepsTotal: 1, Agents: 1}},
		{name: "one request", spend: spent(1, 1_000_000, 1, 0), progress: progress.RunProgress{Commands: 1}},
		{name: "a token a request", spend: spent(30, 30, 1, 0), progress: progress.RunProgress{Commands: 1}},
		{name: "edits whose tools name no file", spend: million, progress: progress.RunProgress{Edits: 3}},
		{name: "one such edit", spend: million, progress: progress.RunProgress{Edits: 1}},
		{name: "commands alone", spend: million, progress: progress.RunProgress{Commands: 1523}},
		{name: "steps alone", spend: million, progress: progress.RunProgress{StepsDone: 1, StepsTotal: 7}},
		{name: "delegated work alone", spend: with(spent(40, 1_000_000, 9000, 0), func(s *progress.RunSpend) { s.DelegatedTokens = 3_400_000 }), progress: progress.RunProgress{Agents: 4, Reads: 2}},
		{name: "delegated work with little of its own", spend: with(spent(4, 61_000, 900, 0), func(s *progress.RunSpend) { s.DelegatedTokens = 1_400_000 }), progress: progress.RunProgress{Agents: 2}},
		{name: "no cache figures", spend: spent(152, 9_905_312, 123_561, 0), progress: worked},
		{name: "all from the cache", spend: spent(15, 1_000_000, 20_000, 1_000_000), progress: worked},
		{name: "nearly all from the cache", spend: spent(15, 1_000_000, 2_000, 999_000), progress: worked},
		{name: "only a total is known", spend: progress.RunSpend{Requests: 152, Tokens: 10_028_873}, progress: worked},
		{name: "a run that mostly writes", spend: spent(12, 400_000, 700_000, 0), progress: worked},
		{name: "a hundred million", spend: spent(1520, 101_900_000, 1_300_000, 90_000_000), progress: progress.RunProgress{Edits: 910, Files: 122, Commands: 640, StepsDone: 41, StepsTotal: 44}},
		{name: "a billion", spend: spent(15_200, 1_240_000_000, 13_000_000, 1_100_000_000), progress: progress.RunProgress{Edits: 9100, Files: 1220, Commands: 6400}},
		{name: "some calls again, as in any run", spend: reported, progress: progress.RunProgress{Edits: 20, Files: 9, Commands: 40, Reads: 50, Repeats: 12}},
		{name: "failing tests on the way", spend: reported, progress: progress.RunProgress{Edits: 20, Files: 9, Commands: 40, FailedCommands: 31, Reads: 50}},
		{name: "only its own record of the price is short", spend: with(costing, func(s *progress.RunSpend) { s.DelegatedTokens, s.Unpriced = 52_000, true }), progress: worked, options: priced},
		{name: "quiet for a while", spend: reported, progress: worked, options: progress.NoticeOptions{Unchanged: 900_000}},
	}
}

func spinningCases() []noticeCase {
	costing := with(reported, func(s *progress.RunSpend) { s.Model, s.Cost = "big-model", dollars(12.345) })
	return []noticeCase{
		{name: "reads alone", spend: reported, progress: onlyReads},
		{name: "one read", spend: million, progress: progress.RunProgress{Reads: 1}},
		{name: "reads, priced", spend: costing, progress: onlyReads, options: priced},
		{name: "reads, local", spend: costing, progress: onlyReads, options: local},
		{name: "the same read again", spend: million, progress: progress.RunProgress{Reads: 30, Repeats: 29}},
		{name: "some reads again", spend: million, progress: progress.RunProgress{Reads: 30, Repeats: 1}},
		{name: "failing commands", spend: million, progress: progress.RunProgress{Reads: 3, FailedCommands: 27}},
		{name: "one failing command", spend: million, progress: progress.RunProgress{FailedCommands: 1}},
		{name: "the same failing command", spend: million, progress: progress.RunProgress{FailedCommands: 30, Repeats: 29}},
		{name: "edits that fail", spend: million, progress: progress.RunProgress{Reads: 12, FailedEdits: 18}},
		{name: "a plan and no step of it", spend: million, progress: progress.RunProgress{Reads: 12, StepsTotal: 7}},
		{name: "nothing at all", spend: million},
		{name: "waiting", spend: million, progress: progress.RunProgress{Polls: 300}},
		{name: "tools that nobody knows", spend: million, progress: progress.RunProgress{Others: 25, Reads: 2}},
		{name: "one such call", spend: million, progress: progress.RunProgress{Others: 1}},
		{name: "the web", spend: million, progress: progress.RunProgress{Fetches: 25, Reads: 1}},
		{name: "a bit of everything", spend: reported, progress: progress.RunProgress{Reads: 80, Fetches: 2, Polls: 5, FailedCommands: 12, FailedEdits: 1, FailedOthers: 3, Others: 4, Repeats: 20}},
		{name: "commands, nearly all of them the same again", spend: reported, progress: progress.RunProgress{Commands: 150, Repeats: 149}},
		{name: "did something, then the same read again and again", spend: reported, progress: progress.RunProgress{Edits: 3, Files: 2, Reads: 149, Repeats: 140}},
		{name: "did something, long ago", spend: reported, progress: progress.RunProgress{Edits: 3, Files: 2, Reads: 149}, options: progress.NoticeOptions{Unchanged: 9_000_000}},
		{name: "did something, long ago, and repeats itself at times", spend: reported, progress: progress.RunProgress{Edits: 3, Files: 2, Commands: 2, Reads: 149, Repeats: 20}, options: progress.NoticeOptions{Unchanged: 6_040_000}},
		{name: "no requests known", spend: progress.RunSpend{Tokens: 1_000_000}, progress: onlyReads},
		{name: "priced, with delegated tokens", spend: with(costing, func(s *progress.RunSpend) { s.DelegatedTokens = 1 }), progress: progress.RunProgress{Fetches: 2, FailedOthers: 1}, options: priced},
		{name: "its children spent it", spend: with(spent(4, 61_000, 900, 0), func(s *progress.RunSpend) { s.DelegatedTokens = 1_400_000 }), progress: progress.RunProgress{Reads: 3}},
	}
}

// smallCases are runs that have spent little, whatever they did.
func smallCases() []noticeCase {
	few := spent(9, 17_000, 900, 0)
	return []noticeCase{
		{name: "one request", spend: spent(1, 441, 20, 0)},
		{name: "nothing yet"},
		{name: "one request, and a plan", spend: spent(1, 441, 20, 0), progress: progress.RunProgress{StepsTotal: 3}},
		{name: "a token below the threshold", spend: spent(30, 999_000, 999, 0), progress: onlyReads},
		{name: "tools that nobody knows", spend: few, progress: progress.RunProgress{Others: 3}},
		{name: "failing commands", spend: few, progress: progress.RunProgress{FailedCommands: 9}, told: true},
		{name: "the same again", spend: few, progress: progress.RunProgress{Commands: 9, Repeats: 8}, told: true},
		{name: "the same read again", spend: few, progress: progress.RunProgress{Reads: 9, Repeats: 8}, told: true},
		{name: "did something a while ago", spend: few, progress: progress.RunProgress{Commands: 1, Reads: 9}, options: progress.NoticeOptions{Unchanged: 17_000}},
		{name: "a higher threshold", spend: reported, progress: onlyReads, options: progress.NoticeOptions{Threshold: 20_000_000}},
	}
}

func allCases() []noticeCase {
	cases := workingCases()
	for _, c := range spinningCases() {
		c.spins = true
		cases = append(cases, c)
	}
	return cases
}

func TestLongRunNotice(t *testing.T) {
	cases := allCases()
	require.GreaterOrEqual(t, len(cases), 40)
	var b strings.Builder
	for _, c := range cases {
		kind := "working"
		if c.spins {
			kind = "spinning"
		}
		fmt.Fprintf(&b, "-- %s: %s --\n%s\n\n", kind, c.name, progress.LongRunNotice(c.spend, c.progress, c.options))
	}
	for _, c := range smallCases() {
		fmt.Fprintf(&b, "-- spent little: %s --\n%s\n\n", c.name, progress.LongRunNotice(c.spend, c.progress, c.options))
	}
	golden(t, "notices.txt", b.String())
}

// A word of alarm in the first message, or of comfort in the second, would undo
// what the two are for.
func TestNoticeCannotBeMistaken(t *testing.T) {
	alarm := regexp.MustCompile(`(?i)\b(stop|stopp\w+|stuck|wrong|wast\w+|warn\w*|alarm\w*|limit\w*|nothing|fail\w*|problem\w*|worth|however|but|still|only (?:read|look)\w*|expensive|circles|again and again|same)\b`)
	comfort := regexp.MustCompile(`(?i)\b(done so far|working|works|good|normal\w*|usual\w*|fine|healthy|well|whole conversation|newly written|cache)\b`)
	for _, c := range allCases() {
		text := progress.LongRunNotice(c.spend, c.progress, c.options)
		if c.spins {
			require.NotRegexp(t, comfort, text, c.name)
			require.Contains(t, text, "run worth stopping.", c.name)
		} else {
			require.NotRegexp(t, alarm, text, c.name)
		}
		require.NotRegexp(t, `(?i)turn limit|max\w* turns|iteration`, text, c.name)
		require.NotRegexp(t, `\b1 (?:requests|tokens|files|commands|reads|steps|calls)\b|  |\.\.|%!|about about|^[a-z]`, text, c.name)
		if c.options.Local || !c.options.Priced || c.spend.Cost == nil || *c.spend.Cost == 0 {
			require.NotRegexp(t, `(?i)\$|\bcosts?\b|\bcents?\b|\bprice|money|cheap|dollar`, text, c.name)
		}
	}
}

// A run that has just begun, or waits for a person, is not one worth stopping.
func TestNoJudgementBelowTheThreshold(t *testing.T) {
	for _, c := range smallCases() {
		text := progress.LongRunNotice(c.spend, c.progress, c.options)
		require.NotRegexp(t, `(?i)\b(stop\w*|worth|instead|circles|unless)\b|  |\.\.`, text, c.name)
		if !c.told {
			require.NotRegexp(t, `(?i)\b(fail\w*|same)\b`, text, c.name)
		}
		c.options.Threshold = -1
		judged := progress.LongRunNotice(c.spend, c.progress, c.options)
		require.Contains(t, strings.ToLower(judged), "this is a run worth stopping.", c.name)
	}
	s := begin(turn.User("go"))
	s.usage = turn.Usage{InputTokens: 441, OutputTokens: 20}
	s.reply("", turn.Call{ID: "a", Name: "rm", Arguments: "{}"})
	s.put(trajectory.Suspend{Call: turn.Call{ID: "a", Name: "rm"}, Turn: 1, Suspension: trajectory.Suspension{For: trajectory.ForApproval}})
	for at, judged := range map[int64]bool{0: false, -1: false, 462: false, 461: true} {
		w := progress.NewWatch(progress.WatchOptions{NoticeAt: at})
		for _, e := range s.events {
			require.NoError(t, w.Record(e))
		}
		require.Equal(t, judged, strings.Contains(w.Notice(), "worth stopping"), "%d: %s", at, w.Notice())
	}
}

func TestDescribeProgress(t *testing.T) {
	for _, c := range []struct {
		p    progress.RunProgress
		want string
	}{
		{progress.RunProgress{}, ""},
		{progress.RunProgress{Reads: 40, Polls: 3, FailedCommands: 2, StepsTotal: 7}, ""},
		{progress.RunProgress{Edits: 2, Files: 1}, "1 file changed"},
		{progress.RunProgress{Edits: 2}, "2 edits made"},
		{worked, "14 files changed, 23 commands run, 3 of 7 steps finished"},
		{progress.RunProgress{StepsDone: 7, StepsTotal: 7, Agents: 2}, "all 7 steps finished, 2 sub-agents started"},
		{progress.RunProgress{StepsDone: 1, StepsTotal: 1}, "the only step finished"},
		{progress.RunProgress{StepsDone: 1, StepsTotal: 2}, "1 of 2 steps finished"},
		{progress.RunProgress{Commands: 1234, Agents: 1}, "1,234 commands run, 1 sub-agent started"},
	} {
		require.Equal(t, c.want, progress.DescribeProgress(c.p))
	}
}

func TestProgressJSON(t *testing.T) {
	data, err := json.Marshal(worked)
	require.NoError(t, err)
	require.JSONEq(t, `{"edits":31,"files":14,"commands":23,"reads":61,"stepsDone":3,"stepsTotal":7,"agents":0,
		"fetches":0,"polls":0,"others":0,"failedCommands":0,"failedEdits":0,"failedOthers":0,"repeats":0}`, string(data))
}
