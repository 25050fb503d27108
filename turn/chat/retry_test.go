package chat_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/chat"
	"github.com/stretchr/testify/require"
)

// timed is a response in a bubble of fake time: pieces of a body, each after a while.
type timed struct {
	status int
	header http.Header
	pieces []piece
	hold   bool // the body stays open
}

type piece struct {
	after time.Duration
	text  string
}

// fake is a network without a network, so that time can be fake.
type fake struct {
	responses []timed
	sentAt    []time.Duration
	start     time.Time
}

func (f *fake) Do(r *http.Request) (*http.Response, error) {
	if f.sentAt == nil {
		f.start = time.Now()
	}
	a := f.responses[min(len(f.sentAt), len(f.responses)-1)]
	f.sentAt = append(f.sentAt, time.Since(f.start))
	reader, writer := io.Pipe()
	context.AfterFunc(r.Context(), func() { writer.CloseWithError(r.Context().Err()) })
	go func() {
		for _, p := range a.pieces {
			select {
			case <-time.After(p.after):
			case <-r.Context().Done():
				return
			}
			if _, err := io.WriteString(writer, p.text); err != nil {
				return
			}
		}
		if a.hold {
			<-r.Context().Done()
			return
		}
		writer.Close()
	}()
	h := a.header
	if h == nil {
		h = http.Header{}
	}
	return &http.Response{StatusCode: max(a.status, 200), Header: h, Body: reader, Request: r}, nil
}

func (f *fake) model(o chat.Options, options ...option.RequestOption) turn.TurnFn {
	return chat.New(openai.NewChatCompletionService(append(options, option.WithBaseURL("http://fake/"), option.WithHTTPClient(f))...), "m", o)
}

// good is a reply that comes at once.
func good() timed { return now(stream(delta(`"content":"hi"`), finish("stop"))) }

func now(body string) timed { return timed{pieces: []piece{{0, body}}} }

func header(kv ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(kv); i += 2 {
		h.Set(kv[i], kv[i+1])
	}
	return h
}

func TestWaitsWhatTheServerAsksFor(t *testing.T) {
	tests := []struct {
		header   http.Header
		body     string
		atLeast  time.Duration
		atMost   time.Duration
		requests int
	}{
		{header("Retry-After", "1"), "", time.Second, time.Second, 2},
		{header("Retry-After", "1.5"), "", 1500 * time.Millisecond, 1500 * time.Millisecond, 2},
		{header("Retry-After-Ms", "300", "Retry-After", "9"), "", 300 * time.Millisecond, 300 * time.Millisecond, 2},
		{header("Retry-After", time.Date(2000, 1, 1, 0, 0, 7, 0, time.UTC).Format(http.TimeFormat)), "", 7 * time.Second, 7 * time.Second, 2}, // the bubble begins in 2000
		{nil, `{"error":{"code":429,"message":"slow down","details":[{"@type":"x"},{"@type":"RetryInfo","retryDelay":"3s"}]}}`, 3 * time.Second, 3 * time.Second, 2},
		{header("Retry-After", "soon"), "", 0, 500 * time.Millisecond, 2},
		{header("Retry-After", "-5"), "", 0, 500 * time.Millisecond, 2},
		{header("Retry-After", "NaN"), "", 0, 500 * time.Millisecond, 2},
		{header("Retry-After", time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC).Format(http.TimeFormat)), "", 0, 500 * time.Millisecond, 2},
		{nil, "", 0, 500 * time.Millisecond, 2},
		{header("Retry-After", "61"), "", 0, 0, 1}, // more than the host is ready to wait
		{header("Retry-After", "1e300"), "", 0, 0, 1},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			limited := now(tt.body)
			limited.status, limited.header = 429, tt.header
			f := &fake{responses: []timed{limited, good()}}
			var reports []chat.Report
			res, err := f.model(chat.Options{Observe: func(_ context.Context, r chat.Report) { reports = append(reports, r) }})(t.Context(), hello(), nil)
			require.Len(t, f.sentAt, tt.requests)
			if tt.requests == 1 {
				var e *chat.Error
				require.ErrorAs(t, err, &e)
				require.Greater(t, e.RetryAfter, time.Minute)
				require.False(t, reports[0].Retrying)
				return
			}
			require.NoError(t, err)
			require.GreaterOrEqual(t, f.sentAt[1], tt.atLeast)
			require.LessOrEqual(t, f.sentAt[1], tt.atMost)
			require.Equal(t, f.sentAt[1], reports[0].RetryIn)
			require.Equal(t, f.sentAt[1], reports[1].Waited)
			require.Equal(t, f.sentAt[1], res.Timings.Generation, "waits count")
			require.Equal(t, f.sentAt[1], *res.Timings.TTFT)
		})
	}
}

func TestBackoffGrowsUpToItsLimit(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{responses: []timed{{status: 500}}}
			_, err := f.model(chat.Options{MaxRetries: 9, MaxWait: 4 * time.Second})(t.Context(), hello(), nil)
			require.Error(t, err)
			require.Len(t, f.sentAt, 10)
			ceiling := 500 * time.Millisecond
			for i := 1; i < len(f.sentAt); i++ {
				require.LessOrEqual(t, f.sentAt[i]-f.sentAt[i-1], min(ceiling, 4*time.Second))
				ceiling *= 2
			}
		})
	}
	for retries, want := range map[int]int{0: 5, -1: 1, 1: 2} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{responses: []timed{{status: 500}}}
			_, err := f.model(chat.Options{MaxRetries: retries})(t.Context(), hello(), nil)
			require.Error(t, err)
			require.Len(t, f.sentAt, want)
		})
	}
}

// Every wait ends at once with the context, and the error matches its cause.
func TestContextEndsEveryWait(t *testing.T) {
	because := errors.New("the budget is spent")
	half := events(delta(`"content":"hi"`), spent(`{"prompt_tokens":10,"completion_tokens":2}`))
	for name, response := range map[string]timed{
		"backoff":      {status: 500, header: header("Retry-After", "30")},
		"first byte":   {hold: true},
		"next event":   {pieces: []piece{{0, half}}, hold: true},
		"error's body": {status: 500, pieces: []piece{{0, `{"err`}}, hold: true},
		"one object":   {pieces: []piece{{0, `{"cho`}}, hold: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{responses: []timed{response}}
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(50*time.Millisecond, func() { cancel(because) })
				start := time.Now()
				res, err := f.model(chat.Options{})(ctx, hello(), nil)
				require.Equal(t, 50*time.Millisecond, time.Since(start))
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorIs(t, err, because)
				require.Len(t, f.sentAt, 1)
				require.Equal(t, 50*time.Millisecond, res.Timings.Generation)
				if name == "next event" {
					require.Equal(t, "hi", res.Message.Content)
					require.Equal(t, turn.Usage{InputTokens: 10, OutputTokens: 2}, res.Usage)
				}
				if name == "backoff" {
					var e *chat.Error
					require.ErrorAs(t, err, &e)
					require.Equal(t, 500, e.Status)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		f := &fake{responses: []timed{{hold: true}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := f.model(chat.Options{})(ctx, hello(), nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = f.model(chat.Options{})(ctx, hello(), nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Len(t, f.sentAt, 1, "nothing is sent when the context is done")
	})
}

func TestTimings(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	at := func(n int, text string) piece { return piece{ms(n), text} }
	end := at(100, stream(finish("stop")))
	tests := []struct {
		name       string
		pieces     []piece
		noStream   bool
		ttft       *time.Duration
		generation time.Duration
	}{
		{"a role and an empty text are no token", []piece{at(5, ": hi\n\n"), at(5, events(delta(`"role":"assistant","content":""`))), at(10, events(delta(`"content":null`))), at(80, events(delta(`"content":"Hi"`))), end}, false, ptr(ms(100)), ms(200)},
		{"a call is one", []piece{at(5, events(delta(`"role":"assistant"`))), at(75, events(callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":""}`))), end}, false, ptr(ms(80)), ms(180)},
		{"reasoning is one", []piece{at(30, events(delta(`"reasoning_content":"hm"`))), at(50, events(delta(`"content":"Hi"`))), end}, false, ptr(ms(30)), ms(180)},
		{"reasoning in parts is one", []piece{at(30, events(delta(`"reasoning_details":[{"type":"reasoning.text","text":"hm","index":0}]`))), end}, false, ptr(ms(30)), ms(130)},
		{"nothing is none", []piece{at(30, events(delta(`"role":"assistant"`))), end}, false, nil, ms(130)},
		{"one object has none", []piece{at(200, `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`)}, true, nil, ms(200)},
		{"one object for a stream has none", []piece{at(200, `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`)}, false, nil, ms(200)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{responses: []timed{{pieces: tt.pieces}}}
				res, err := f.model(chat.Options{NoStream: tt.noStream})(t.Context(), hello(), nil)
				require.NoError(t, err)
				require.Equal(t, turn.Timings{TTFT: tt.ttft, Generation: tt.generation}, res.Timings)
			})
		})
	}
}

func TestTimeouts(t *testing.T) {
	hi := events(delta(`"content":"hi"`))
	role := events(delta(`"role":"assistant","content":""`))
	o := chat.Options{FirstToken: time.Minute, Idle: 10 * time.Second, MaxRetries: -1}
	tests := []struct {
		name     string
		pieces   []piece
		noStream bool
		after    time.Duration // zero: no timeout
	}{
		{"no byte", nil, false, time.Minute},
		{"only comments", []piece{{30 * time.Second, ": hi\n\n"}, {20 * time.Second, ": hi\n\n"}}, false, time.Minute},
		{"only the role", []piece{{30 * time.Second, role}}, false, time.Minute},
		{"a late first token", []piece{{59 * time.Second, hi}}, false, 69 * time.Second},
		{"idle, with comments", []piece{{0, hi}, {9 * time.Second, ": hi\n\n"}}, false, 10 * time.Second},
		{"never idle for long", []piece{{0, hi}, {9 * time.Second, hi}, {9 * time.Second, role}, {9 * time.Second, stream(finish("stop"))}}, false, 0},
		{"half of one object", []piece{{50 * time.Second, `{"choices":`}}, true, time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{responses: []timed{{pieces: tt.pieces, hold: true}}}
				o := o
				o.NoStream = tt.noStream
				start := time.Now()
				_, err := f.model(o)(t.Context(), hello(), nil)
				if tt.after == 0 {
					require.NoError(t, err)
					return
				}
				require.Equal(t, tt.after, time.Since(start))
				require.ErrorIs(t, err, chat.ErrTimeout)
				require.NotErrorIs(t, err, context.DeadlineExceeded)
				var e *chat.Error
				require.ErrorAs(t, err, &e)
				require.True(t, e.Retryable)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // without limits
		f := &fake{responses: []timed{{pieces: []piece{{time.Hour, hi}, {time.Hour, stream(finish("stop"))}}}}}
		_, err := f.model(chat.Options{FirstToken: -1, Idle: -1})(t.Context(), hello(), nil)
		require.NoError(t, err)
	})
}

// The host's own limit on a request is a failure of the request, not the end of
// the host's context.
func TestRequestTimeoutOfTheService(t *testing.T) {
	for name, pieces := range map[string][]piece{"hi": {{0, events(delta(`"content":"hi"`))}}, "": nil} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{responses: []timed{{pieces: pieces, hold: true}}}
			res, err := f.model(chat.Options{MaxRetries: 1, Backoff: -1}, option.WithRequestTimeout(time.Minute))(t.Context(), hello(), nil)
			require.ErrorIs(t, err, chat.ErrIncomplete)
			require.Equal(t, name, res.Message.Content)
			require.Equal(t, []time.Duration{0, time.Minute}, f.sentAt)
			require.Equal(t, 2*time.Minute, res.Timings.Generation)
		})
	}
}

// A host that was told of a delta is not told the reply twice, unless it asks.
func TestNoRetryAfterADelta(t *testing.T) {
	half, whole := events(delta(`"content":"hi"`)), stream(delta(`"content":"hi"`), finish("stop"))
	for _, allowed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{responses: []timed{now(half), now(whole)}}
			var told []string
			o := chat.Options{RetryDelivered: allowed, OnDelta: func(_ context.Context, d chat.Delta) {
				told = append(told, fmt.Sprint(d.Attempt, d.Text))
			}}
			_, err := f.model(o)(t.Context(), hello(), nil)
			if allowed {
				require.NoError(t, err)
				require.Equal(t, []string{"1hi", "2hi"}, told)
				return
			}
			require.ErrorIs(t, err, chat.ErrIncomplete)
			require.Equal(t, []string{"1hi"}, told)
			require.Len(t, f.sentAt, 1)
		})
	}
	synctest.Test(t, func(t *testing.T) { // the role alone is not told
		f := &fake{responses: []timed{now(events(delta(`"role":"assistant","content":""`))), now(whole)}}
		o := chat.Options{OnDelta: func(context.Context, chat.Delta) {}}
		_, err := f.model(o)(t.Context(), hello(), nil)
		require.NoError(t, err)
	})
}

func TestDeltas(t *testing.T) {
	body := stream(
		delta(`"role":"assistant","content":""`), delta(`"reasoning":"r","reasoning_content":"r"`), delta("\"content\":\"\xf0\x9f\""), delta("\"content\":\"\x8c\x8d \\ud83c\""), delta(`"content":"\udf0d"`),
		callDelta(`"index":0,"id":"a","function":{"name":"f","arguments":""}`), callDelta(`"index":0,"function":{"arguments":"{\"n\":"}`, `"index":1,"id":"b","function":{"name":"g","arguments":"{}"}`), callDelta(`"index":0,"function":{"arguments":"1}"}`),
		finish("tool_calls"))
	want := []chat.Delta{
		{Attempt: 1, Kind: chat.Reasoning, Text: "r"},
		{Attempt: 1, Kind: chat.Text, Text: "🌍 🌍"},
		{Attempt: 1, Kind: chat.ToolCall, ID: "a", Name: "f", Text: `{"n":`},
		{Attempt: 1, Kind: chat.ToolCall, Index: 1, ID: "b", Name: "g", Text: `{}`},
		{Attempt: 1, Kind: chat.ToolCall, ID: "a", Name: "f", Text: `1}`},
	}
	synctest.Test(t, func(t *testing.T) {
		var got []chat.Delta
		o := chat.Options{OnDelta: func(_ context.Context, d chat.Delta) {
			if n := len(got); n > 0 && got[n-1].Kind == d.Kind && got[n-1].Index == d.Index {
				got[n-1].Text += d.Text
				return
			}
			got = append(got, d)
		}}
		f := &fake{responses: []timed{now(body)}}
		_, err := f.model(o)(t.Context(), hello(), nil)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

// A host that is slow with its deltas delays neither the reading nor the result
// for long, and hears nothing after the call returned.
func TestSlowListener(t *testing.T) {
	var pieces []piece
	for i := range 100 {
		pieces = append(pieces, piece{10 * time.Millisecond, events(delta(fmt.Sprintf(`"content":"%d "`, i)))})
	}
	pieces = append(pieces, piece{0, stream(finish("stop"))})
	t.Run("slow", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{responses: []timed{{pieces: pieces}}}
			var told strings.Builder
			calls := 0
			o := chat.Options{OnDelta: func(_ context.Context, d chat.Delta) {
				time.Sleep(200 * time.Millisecond)
				told.WriteString(d.Text)
				calls++
			}}
			res, err := f.model(o)(t.Context(), hello(), nil)
			require.NoError(t, err)
			require.Equal(t, time.Second, res.Timings.Generation)
			require.Equal(t, res.Message.Content, told.String())
			require.Less(t, calls, 10, "pieces that it is late for are joined")
		})
	})
	t.Run("stuck", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{responses: []timed{{pieces: pieces}}}
			release := make(chan struct{})
			calls := 0
			o := chat.Options{OnDelta: func(context.Context, chat.Delta) { calls++; <-release }}
			start := time.Now()
			res, err := f.model(o)(t.Context(), hello(), nil)
			require.NoError(t, err)
			require.Equal(t, "0 1 2", res.Message.Content[:5])
			require.Equal(t, 2*time.Second, time.Since(start))
			close(release)
			synctest.Wait()
			require.Equal(t, 1, calls)
		})
	})
	t.Run("panicking", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{responses: []timed{{pieces: pieces}}}
			o := chat.Options{OnDelta: func(context.Context, chat.Delta) { panic("oh") }}
			require.PanicsWithValue(t, "oh", func() { _, _ = f.model(o)(t.Context(), hello(), nil) })
		})
	})
}
