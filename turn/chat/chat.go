package chat

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/pawl-dev/pawl/turn"
)

// New is a [turn.TurnFn] that asks one model through a chat-completions service,
// which the host built and whose client does all I/O. The SDK's own retries are
// off for it: see [Options].
//
// An error is a *[Error], the context's, or says what is wrong with the request.
// Beside an error stands what is known: the text so far, without its tool calls,
// and what was spent. The function may be called from several goroutines.
func New(service openai.ChatCompletionService, model string, o Options) turn.TurnFn {
	c := &client{service: service, options: o.withDefaults()}
	c.base, c.baseErr = newTemplate(model, &c.options)
	return c.turn
}

type client struct {
	service openai.ChatCompletionService
	options Options
	base    template
	baseErr error

	listening sync.Mutex // held while OnDelta runs
	observing sync.Mutex // held while Observe runs
}

// turnCall is one call of the TurnFn: its attempts, and what they spent together.
type turnCall struct {
	*client
	ctx    context.Context
	start  time.Time
	body   []byte
	out    *outlet
	spent  turn.Usage
	waited time.Duration
}

func (c *client) turn(ctx context.Context, messages []turn.TranscriptMessage, tools []turn.WireToolDefinition) (turn.ModelTurnResult, error) {
	start := time.Now()
	if c.baseErr != nil {
		return turn.ModelTurnResult{}, fmt.Errorf("chat: parameters: %w", c.baseErr)
	}
	body, err := c.base.request(&c.options, messages, tools)
	if err != nil {
		return turn.ModelTurnResult{}, fmt.Errorf("chat: request: %w", err)
	}
	if ctx.Err() != nil {
		return turn.ModelTurnResult{}, stopped(ctx, nil)
	}
	t := &turnCall{client: c, ctx: ctx, start: start, body: body}
	if c.options.OnDelta != nil {
		t.out = newOutlet(ctx, &c.listening, c.options.OnDelta)
	}
	result, err := t.run()
	if t.out != nil {
		t.out.close(ctx)
	}
	return result, err
}

func (t *turnCall) run() (turn.ModelTurnResult, error) {
	for n := 1; ; n++ {
		a := attempt{turnCall: t, number: n}
		result, err := a.do()
		t.spent = sum(t.spent, a.spent)
		result.Usage = t.spent
		var failed *Error
		if errors.As(err, &failed) {
			failed.Attempts = n
		}
		delay, again := time.Duration(0), false
		if failed != nil && failed.Retryable && t.ctx.Err() == nil && (!a.delivered || t.options.RetryDelivered) {
			delay, again = t.options.wait(n, failed)
		}
		t.observe(&a, err, again, delay)
		if !again {
			return result, err
		}
		before := time.Now()
		ok := sleep(t.ctx, delay)
		t.waited += time.Since(before)
		if !ok {
			result.Timings.Generation = time.Since(t.start)
			return result, stopped(t.ctx, failed)
		}
	}
}

func (t *turnCall) observe(a *attempt, err error, again bool, delay time.Duration) {
	if t.options.Observe == nil {
		return
	}
	t.observing.Lock()
	defer t.observing.Unlock()
	t.options.Observe(t.ctx, Report{Attempt: a.number, Err: err, Retrying: again, RetryIn: delay, Waited: t.waited,
		Usage: a.spent, UsageReported: a.reply.usage.reported(), ReasoningTokens: a.reply.usage.reasoning, RequestID: a.requestID})
}

// stopped is the error of a call whose context is done. It matches the context's
// error and its cause, and the failure that was being waited out, if there was one.
func stopped(ctx context.Context, failed *Error) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause != err {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	if failed != nil {
		return fmt.Errorf("chat: %w, while waiting to try again after: %w", err, failed)
	}
	return fmt.Errorf("chat: %w", err)
}
