package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/resume"
)

func TestWhatIsAnsweredWithWhich(t *testing.T) {
	dir := t.TempDir()
	c, _ := serveIn(t, dir, "")
	ctx := patient(t)
	require.NoError(t, c.say(ctx, "a", "A chair"))
	asked, err := c.until(ctx, "a", asks(colour))
	require.NoError(t, err)
	before, err := os.ReadFile(filepath.Join(dir, "a.jsonl"))
	require.NoError(t, err)
	for _, test := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "a", ``, 200, ""},
		{"GET", "b", ``, 404, "b.jsonl"},
		{"GET", "A", ``, 400, "an id is"},
		{"GET", "..%2Fa", ``, 400, "an id is"},
		{"POST", "a/messages", `{"text":""}`, 400, "the text is empty"},
		{"POST", "a/messages", `{"txet":"A table"}`, 400, "unknown field"},
		{"POST", "a/messages", `A table`, 400, "invalid character"},
		{"POST", "a/messages", `{"text":"` + strings.Repeat("x", 1<<20) + `"}`, 400, "too large"},
		{"POST", "b/replies", `{"call":"call_1","kind":"answer"}`, 404, "b.jsonl"},
		{"POST", "a/replies", `{"call":"call_1","kind":"approve"}`, 409, "waits for an answer to a question"},
		{"POST", "a/replies", `{"call":"call_1","kind":"perhaps"}`, 409, "unknown kind of reply"},
		{"POST", "a/replies", `{"call":"call_2","kind":"answer"}`, 409, "no call of that id is open"},
		{"POST", "a/replies", `{"call":"call_1","kind":"answer","ticket":"7.1.call_1"}`, 409, "the reply is to pause"},
		{"DELETE", "a/run", ``, 409, "no run is at work"},
	} {
		t.Run(test.method+" "+test.path+" "+test.body[:min(len(test.body), 40)], func(t *testing.T) {
			req, err := http.NewRequestWithContext(ctx, test.method, c.url+"/sessions/"+test.path, strings.NewReader(test.body))
			require.NoError(t, err)
			now, status, err := answer(req)
			require.Equal(t, test.status, status, now)
			require.Contains(t, now.Error, test.says)
			require.Equal(t, test.says == "", err == nil)
		})
	}
	after, err := os.ReadFile(filepath.Join(dir, "a.jsonl"))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "what was refused changed nothing")

	require.NoError(t, c.answer(ctx, "a", colour, loop.Answer("blue")))
	require.NoError(t, c.answer(ctx, "a", price, loop.Approve()))
	end, err := c.until(ctx, "a", finished)
	require.NoError(t, err)
	require.Equal(t, "You told me: A chair. The colour: blue. It is paid.", end.Said)
	require.Equal(t, "2 commands run", end.Progress)
	require.EqualValues(t, 4, end.Spend.Turns)
	status, err := c.reply(ctx, "a", "call_1", loop.Reply{Kind: "answer", Text: "red", Ticket: asked.Waiting[0].Ticket})
	require.Equal(t, 409, status, err)
}

// A page that a customer has open may send what a form can send, and must not approve.
func TestAnotherSitesPageMayNotPost(t *testing.T) {
	c, _ := serveIn(t, t.TempDir(), "")
	req, err := http.NewRequestWithContext(patient(t), "POST", c.url+"/sessions/a/messages", strings.NewReader(`{"text":"A chair"}`))
	require.NoError(t, err)
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	_, status, _ := answer(req)
	require.Equal(t, 403, status)
}

func TestManyPostsAtOnce(t *testing.T) {
	dir := t.TempDir()
	c, _ := serveIn(t, dir, "")
	ctx := patient(t)
	atOnce := func(n int, do func(i int)) {
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { do(i) })
		}
		wg.Wait()
	}
	texts := []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"}
	post := func(i int) {
		if err := c.say(ctx, "a", texts[i]); err != nil {
			t.Error(err)
		}
	}
	atOnce(4, post) // that begin the session
	asked, err := c.until(ctx, "a", asks(colour))
	require.NoError(t, err)

	status := make([]int, 8) // of one reply that comes eight times
	atOnce(8, func(i int) {
		status[i], _ = c.reply(ctx, "a", asked.Waiting[0].ID, loop.Reply{Kind: "answer", Text: "blue", Ticket: asked.Waiting[0].Ticket})
	})
	require.ElementsMatch(t, []int{202, 409, 409, 409, 409, 409, 409, 409}, status)

	require.NoError(t, c.answer(ctx, "a", price, loop.Approve()))
	atOnce(4, func(i int) { post(i + 4) }) // at work or finished, as it comes
	end, err := c.until(ctx, "a", func(s state) bool { return finished(s) && len(s.Queued) == 0 })
	require.NoError(t, err)
	for _, text := range texts {
		require.Equal(t, 1, strings.Count(end.Said, text), end.Said)
	}
	past, err := resume.ReadPast(dir, "a.jsonl")
	require.NoError(t, err)
	require.Empty(t, past.Problems)
}

func finished(s state) bool { return s.Status == string(resume.Finished) }
