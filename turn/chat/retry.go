package chat

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// wait is how long to wait before another attempt, and whether there is to be
// one at all. What the server asks for is kept, unless it is more than the host
// is ready to wait: asking sooner would only be refused again.
func (o *Options) wait(attempt int, e *Error) (time.Duration, bool) {
	if attempt > o.MaxRetries {
		return 0, false
	}
	if e.RetryAfter > 0 {
		return e.RetryAfter, o.MaxWait < 0 || e.RetryAfter <= o.MaxWait
	}
	ceiling := min(o.Backoff, time.Hour) << min(attempt-1, 16)
	if o.MaxWait > 0 {
		ceiling = min(ceiling, o.MaxWait)
	}
	return rand.N(ceiling + 1), true
}

// retryAfter reads what a server asks to wait: milliseconds, seconds or a date.
// What is no such thing, or lies in the past, counts as not asked.
func retryAfter(h http.Header) time.Duration {
	if d := parseSeconds(h.Get("Retry-After-Ms"), time.Millisecond); d > 0 {
		return d
	}
	v := h.Get("Retry-After")
	if d := parseSeconds(v, time.Second); d > 0 {
		return d
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(time.Until(t), 0)
	}
	return 0
}

func parseSeconds(s string, unit time.Duration) time.Duration {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(f > 0) {
		return 0
	}
	const longest = 365 * 24 * time.Hour
	return time.Duration(min(f*float64(unit), float64(longest)))
}

// sleep returns early, and false, when ctx is done.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return ctx.Err() == nil
	}
}
