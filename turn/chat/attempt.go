package chat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/pawl-dev/pawl/turn"
)

// attempt is one request and its reply.
type attempt struct {
	*turnCall
	number    int
	reply     reply
	watch     *watch
	spent     turn.Usage
	ttft      *time.Duration
	delivered bool // the host was told of a delta
	requestID string
}

func (a *attempt) do() (turn.ModelTurnResult, error) {
	ctx, cancel := context.WithCancelCause(a.ctx)
	defer cancel(nil)
	a.watch = newWatch(a.options.FirstToken, cancel)
	defer a.watch.stop()
	if a.out != nil {
		a.reply.delta = a.deliver
	}
	response, err := a.send(ctx)
	var complete bool
	if response != nil {
		a.requestID = requestID(response.Header)
	}
	if err == nil {
		err = a.read(response.Body)
		complete = err == nil
		if complete {
			err = a.reply.end()
		}
	}
	result, buildErr := a.result(err == nil)
	if err == nil {
		err = buildErr
	}
	if complete {
		drain(response.Body, cancel)
	}
	if response != nil && response.Body != nil {
		_ = response.Body.Close()
	}
	return result, a.explain(ctx, response, err)
}

// send gives a response whose body is still to be read, or an error that already
// tells all that there is.
func (a *attempt) send(ctx context.Context) (*http.Response, error) {
	var response *http.Response
	params := param.Override[openai.ChatCompletionNewParams](rawJSON(a.body))
	_, err := a.service.New(ctx, params, option.WithMaxRetries(0), option.WithResponseBodyInto(&response),
		option.WithMiddleware(boundErrors))
	switch {
	case response == nil && err == nil:
		return nil, &Error{Message: "the service gave no response", Retryable: true}
	case response == nil:
		var e *Error
		if errors.As(err, &e) {
			return nil, err
		}
		return nil, &Error{Message: "no response", Retryable: true, Err: err}
	case response.StatusCode >= 400:
		body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
		return response, statusError(response, body)
	case err != nil:
		return response, &Error{Status: response.StatusCode, Message: "no response", Retryable: true, Err: err}
	}
	return response, nil
}

// rawJSON is a body that is sent as it is.
type rawJSON []byte

// MarshalJSON hands the bytes over unchanged.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

const maxErrorBody = 1 << 20

// boundErrors keeps the SDK from reading the body of an error without a bound,
// and from losing the status when that body breaks off.
func boundErrors(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	response, err := next(r)
	if err != nil || response == nil || response.StatusCode < 400 {
		return response, err
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

func statusError(response *http.Response, body []byte) *Error {
	v, ok := parseJSON(body)
	if !ok { // who asked for a stream may get its error as an event
		events := eventReader{body: bytes.NewReader(body)}
		_, data, _ := events.next()
		v, _ = parseJSON(data)
	}
	e := errorInBody(v, body)
	e.Status = response.StatusCode
	e.classify()
	if e.Err == nil {
		switch response.Header.Get("X-Should-Retry") {
		case "true":
			e.Retryable = true
		case "false":
			e.Retryable = false
		}
	}
	if d := retryAfter(response.Header); d > 0 {
		e.RetryAfter = d
	}
	return e
}

// read takes in the body, whichever form it has: servers answer a request for a
// stream with one object, and the other way round.
func (a *attempt) read(body io.Reader) error {
	r := &eventReader{body: body}
	c, ok := r.peek()
	if !ok {
		return a.cut(r.failure(), "the body of the response is empty")
	}
	if c == '{' || c == '[' || c == '<' {
		data, err := r.rest()
		if err != nil {
			return a.cut(err, "the response broke off")
		}
		a.watch.stop()
		return a.reply.whole(data)
	}
	events := 0
	for !a.reply.done {
		name, data, ok := r.next()
		if !ok {
			break
		}
		events++
		if err := a.reply.event(name, data, r.tail); err != nil {
			return err
		}
		a.heard()
	}
	if err := r.failure(); err != nil && !a.reply.done && a.reply.finish == "" {
		return a.cut(err, "the stream broke off")
	}
	if events == 0 {
		return &Error{Message: "the response is no stream of events: " + plainText(r.head), Body: clip(r.head), Retryable: true, Err: ErrIncomplete}
	}
	return nil
}

// heard keeps the time of the first token, and the idle clock from running out.
func (a *attempt) heard() {
	if a.ttft == nil && a.reply.spoken {
		d := time.Since(a.start)
		a.ttft = &d
	}
	if a.ttft != nil {
		a.watch.again(a.options.Idle)
	}
}

func (a *attempt) cut(err error, what string) error {
	if err == nil {
		err = ErrIncomplete
	} else {
		err = fmt.Errorf("%w: %w", ErrIncomplete, err)
	}
	return &Error{Message: what + ", after " + a.reply.arrived(), Retryable: !errors.Is(err, errTooLarge), Err: err}
}

func (a *attempt) deliver(d Delta) {
	d.Attempt = a.number
	a.delivered = true
	a.out.put(d)
}

func (a *attempt) result(complete bool) (turn.ModelTurnResult, error) {
	if a.reply.delta != nil {
		a.reply.flush()
	}
	message, err := a.reply.result(complete)
	a.spent = a.reply.usage.turnUsage()
	if a.spent.Cost == nil && a.reply.usage.reported() && a.options.Price != nil {
		a.spent.Cost = a.options.Price(first(a.reply.model, a.base.model), a.spent)
	}
	return turn.ModelTurnResult{Message: message, Finish: a.reply.finish, Model: a.reply.model,
		Timings: turn.Timings{TTFT: a.ttft, Generation: time.Since(a.start)}}, err
}

// explain turns what a done context did to the request into what it means: the
// host's context is the host's, and a clock that ran out is a timeout.
func (a *attempt) explain(ctx context.Context, response *http.Response, err error) error {
	if err == nil {
		return nil
	}
	if a.ctx.Err() != nil {
		return stopped(a.ctx, nil)
	}
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Message: err.Error(), Retryable: true, Err: err}
	}
	if cause := context.Cause(ctx); errors.Is(cause, ErrTimeout) {
		e = &Error{Message: cause.Error() + ", after " + a.reply.arrived(), Retryable: true, Err: ErrTimeout}
	}
	e.RequestID = a.requestID
	if response != nil && e.Status == 0 && response.StatusCode != http.StatusOK {
		e.Status = response.StatusCode
	}
	return e
}

func requestID(h http.Header) string {
	return first(h.Get("X-Request-Id"), h.Get("Request-Id"), h.Get("Apim-Request-Id"), h.Get("X-Ms-Request-Id"))
}

// drain reads the end of a body whose last event came, so that the connection can
// be used again. A server that keeps the body open is not waited for.
func drain(body io.Reader, cancel context.CancelCauseFunc) {
	t := time.AfterFunc(50*time.Millisecond, func() { cancel(nil) })
	defer t.Stop()
	_, _ = io.CopyN(io.Discard, body, 4<<10)
}
