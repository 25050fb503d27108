package chat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/turn"
	"github.com/pawl-dev/pawl/turn/chat"
	"github.com/pawl-dev/pawl/turn/turntest"
	"github.com/stretchr/testify/require"
)

// startMock starts a model server that was written elsewhere, and gives its
// address.
func startMock(t *testing.T) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: ", err)
	}
	cli, err := filepath.Abs("../../.ci/aimock/node_modules/@copilotkit/aimock/dist/cli.js")
	require.NoError(t, err)
	if _, err := os.Stat(cli); err != nil {
		t.Skip("the mock server is not installed; .ci/aimock/install does it: ", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	var out bytes.Buffer
	cmd := exec.Command(node, cli, "-p", fmt.Sprint(port), "-h", "127.0.0.1", "-f", "testdata/aimock/fixtures.json", "--validate-on-load", "--strict", "--log-level", "warn")
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	address := fmt.Sprintf("http://127.0.0.1:%d", port)
	for {
		if r, err := http.Get(address + "/health"); err == nil {
			_ = r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return address
			}
		}
		select {
		case <-ended:
			require.FailNow(t, "the mock server ended", out.String())
		case <-t.Context().Done():
			require.FailNow(t, "the mock server is not ready", out.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// mocked is one conversation with the mock server. It keeps the requests.
type mocked struct {
	mu       sync.Mutex
	requests []string
	service  openai.ChatCompletionService
}

func mockedService(t *testing.T, address string) *mocked {
	m := &mocked{}
	m.service = openai.NewChatCompletionService(option.WithBaseURL(address+"/v1/"), option.WithAPIKey("test"), option.WithHeader("X-Test-Id", t.Name()),
		option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			m.mu.Lock()
			m.requests = append(m.requests, string(body))
			m.mu.Unlock()
			r.Body = io.NopCloser(bytes.NewReader(body))
			return next(r)
		}))
	return m
}

var weather = loop.Tool{
	Name: "weather", Description: "Tells the weather in a city.",
	Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
		return loop.Text("weather for " + c.Arguments), nil
	},
}

// Whole runs against a server that no one here wrote, streamed and not. Every
// request is held against the published description of the API.
func TestWholeRuns(t *testing.T) {
	address := startMock(t)
	for _, noStream := range []bool{false, true} {
		name := map[bool]string{false: "streamed", true: "whole"}[noStream]
		run := func(question string, o chat.Options, check func(t *testing.T, m *mocked, res loop.Result, err error)) {
			t.Run(name+"/"+question, func(t *testing.T) {
				o := o
				o.NoStream, o.Backoff = noStream, -1
				m := mockedService(t, address)
				res, err := loop.RunToolLoop(t.Context(), []turn.TranscriptMessage{turn.System("Be brief."), turn.User(question)},
					loop.Options{Turn: chat.New(m.service, "gpt-mock", o), Tools: []loop.Tool{weather}})
				if _, missing := requestSchema(); missing == nil {
					for _, r := range m.requests {
						requireValidRequest(t, r)
					}
				}
				require.NoError(t, turn.Check(res.Messages))
				check(t, m, res, err)
			})
		}

		run("weather in two cities", chat.Options{Strict: true}, func(t *testing.T, m *mocked, res loop.Result, err error) {
			require.NoError(t, err)
			require.Equal(t, turn.Done, res.StopReason)
			require.Equal(t, "Warm in Rome, cold in Oslo. 🌍", res.Text())
			require.Len(t, m.requests, 2)
			calls := turn.Calls(res.Messages[2])
			require.Len(t, calls, 2)
			require.Equal(t, "call_rome", calls[0].ID)
			require.JSONEq(t, `{"city":"Oslo <&> \"nord\""}`, calls[1].Arguments)
			require.Equal(t, "I'll look.", turn.Text(res.Messages[2]))
			require.Equal(t, "weather for "+calls[1].Arguments, turn.Text(res.Messages[4]))
			require.Equal(t, int64(250), res.Stats.InputTokens)
			require.Equal(t, int64(29), res.Stats.OutputTokens)
			require.Equal(t, int64(2), res.Stats.ToolCalls)
			require.Equal(t, noStream, res.Last.Timings.TTFT == nil)
			require.Positive(t, res.Last.Timings.Generation)
		})
		run("tool first", chat.Options{}, func(t *testing.T, m *mocked, res loop.Result, err error) {
			require.NoError(t, err)
			require.Equal(t, "Looking it up as we speak.", turn.Text(res.Messages[2]))
			require.Equal(t, "call_first", turn.Calls(res.Messages[2])[0].ID)
			require.Equal(t, "Warm.", res.Text())
		})
		run("think", chat.Options{}, func(t *testing.T, m *mocked, res loop.Result, err error) {
			require.NoError(t, err)
			require.Equal(t, "Forty-two.", res.Text())
			require.Contains(t, res.Last.Message.RawJSON(), "The question is long, the answer is short.")
			require.Equal(t, int64(30), res.Stats.OutputTokens)
		})
		run("limited", chat.Options{}, func(t *testing.T, m *mocked, res loop.Result, err error) {
			require.NoError(t, err)
			require.Equal(t, "Here you are.", res.Text())
			require.Len(t, m.requests, 2)
			require.Equal(t, int64(1), res.Stats.Turns)
			require.GreaterOrEqual(t, res.Last.Timings.Generation, time.Second, "the server asked to wait a second")
		})
		run("limited for long", chat.Options{MaxWait: time.Millisecond}, func(t *testing.T, m *mocked, res loop.Result, err error) {
			var e *chat.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, http.StatusTooManyRequests, e.Status)
			require.Equal(t, time.Second, e.RetryAfter)
			require.Equal(t, "rate_limit_exceeded", e.Code)
			require.Equal(t, "Slow down.", e.Message)
			require.NotEmpty(t, e.RequestID)
		})
		run("hang up", chat.Options{MaxRetries: 1}, func(t *testing.T, m *mocked, res loop.Result, err error) {
			var e *chat.Error
			require.ErrorAs(t, err, &e)
			require.True(t, e.Retryable)
			require.Len(t, m.requests, 2)
		})
		run("drop", chat.Options{MaxRetries: 1}, func(t *testing.T, m *mocked, res loop.Result, err error) {
			var e *chat.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, http.StatusInternalServerError, e.Status)
			require.Len(t, m.requests, 2)
		})
		run("garble", chat.Options{MaxRetries: -1}, func(t *testing.T, m *mocked, res loop.Result, err error) {
			var e *chat.Error
			require.ErrorAs(t, err, &e)
		})
		run("too long", chat.Options{}, func(t *testing.T, m *mocked, res loop.Result, err error) {
			require.ErrorIs(t, err, turn.ErrContextOverflow)
			require.Len(t, m.requests, 1)
		})
		run("no quota", chat.Options{}, func(t *testing.T, m *mocked, res loop.Result, err error) {
			require.ErrorIs(t, err, chat.ErrQuota)
			require.Len(t, m.requests, 1)
		})
		run("by length", chat.Options{}, func(t *testing.T, m *mocked, res loop.Result, err error) {
			require.NoError(t, err)
			require.Equal(t, "length", res.Last.Finish)
			require.Equal(t, "The answer is", res.Text())
		})
		if !noStream {
			run("cut off", chat.Options{}, func(t *testing.T, m *mocked, res loop.Result, err error) {
				require.NoError(t, err)
				require.Equal(t, "The whole answer.", res.Text())
				require.Len(t, m.requests, 2)
			})
			run("cut off for good", chat.Options{MaxRetries: -1}, func(t *testing.T, m *mocked, res loop.Result, err error) {
				require.ErrorIs(t, err, chat.ErrIncomplete)
				require.True(t, strings.HasPrefix(res.Partial.Message.Content, "A long"), res.Partial.Message.RawJSON())
			})
		}
	}
}

func TestContractAgainstTheMockServer(t *testing.T) {
	address := startMock(t)
	turntest.Run(t, func(t *testing.T) turn.TurnFn {
		return chat.New(mockedService(t, address).service, "gpt-mock", chat.Options{})
	})
}

// The contract holds for each way of asking.
func TestContract(t *testing.T) {
	for name, o := range map[string]chat.Options{"streamed": {}, "whole": {NoStream: true}, "listened to": {OnDelta: func(context.Context, chat.Delta) {}, Observe: func(context.Context, chat.Report) {}}} {
		t.Run(name, func(t *testing.T) {
			turntest.Run(t, func(t *testing.T) turn.TurnFn {
				return serve(t, answer{body: stream(delta(`"content":"Blue."`), callDelta(`"index":0,"id":"","function":{"name":"clock","arguments":""}`), finish("tool_calls"),
					spent(`{"prompt_tokens":10,"completion_tokens":2,"cached_tokens":11,"cost":0.1}`))}).model(o)
			})
		})
	}
}
