package client

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"
)

// BackOff is the wait between two attempts: random between 0 and Base·2ⁿ after n retries, and
// at most Max (full jitter). It is added to Retry-After, so that clients that were refused
// together do not return together.
type BackOff struct {
	// Base is the longest wait before the first retry. The default is 100 ms.
	Base time.Duration
	// Max bounds the random wait. The default is 2 s: a failover takes some ten seconds, and
	// leaves time for several attempts before the deadline.
	Max time.Duration
}

func (b BackOff) orDefault() BackOff {
	return BackOff{Base: cmp.Or(b.Base, 100*time.Millisecond), Max: cmp.Or(b.Max, 2*time.Second)}
}

// limit returns the longest wait after so many retries.
func (b BackOff) limit(retries int) time.Duration {
	limit := b.Base
	for range retries {
		if limit >= b.Max/2 {
			return b.Max
		}
		limit *= 2
	}
	return min(limit, b.Max)
}

// do sends a request until it is answered, refused, or out of time. Every retry has the same
// key and body.
func (c *Client) do(ctx context.Context, r request, read reader) (http.Header, error) {
	ctx, until, cancel := c.withDeadline(ctx, unlimited)
	defer cancel()
	if r.until.IsZero() {
		r.until = until
	}
	unknown := false
	for retries := 0; ; retries++ {
		header, err := c.attempt(ctx, r, read)
		if err == nil {
			return header, nil
		}
		unknown = unknown || leavesUnknown(err)
		if !mayRetry(r, err) || !c.wait(ctx, r.until, retries, header) {
			return header, r.failure(err, unknown)
		}
	}
}

const unlimited = time.Duration(math.MaxInt64)

// withDeadline bounds a call by the context or the time-out, and by longest. It also returns
// the deadline by the wall clock, which goes on while the machine sleeps. Contexts and timers
// do not.
func (c *Client) withDeadline(ctx context.Context, longest time.Duration) (context.Context, time.Time, context.CancelFunc) {
	if _, bounded := ctx.Deadline(); !bounded {
		longest = min(longest, c.config.Timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	deadline, _ := ctx.Deadline()
	return ctx, c.now().Add(time.Until(deadline)).Round(0), cancel
}

// mayRetry reports whether to send a request again. The service knows best. Where it said
// nothing, a request is repeated only if that cannot take effect twice.
func mayRetry(r request, err error) bool {
	if problem, ok := errors.AsType[*Problem](err); ok {
		return problem.Retryable
	}
	_, isUnanswered := errors.AsType[*unansweredError](err)
	return isUnanswered && r.repeatable()
}

// wait waits before the next attempt. It reports whether there is time for one.
func (c *Client) wait(ctx context.Context, until time.Time, retries int, header http.Header) bool {
	now := c.now()
	left := until.Sub(now)
	asked, jitter := retryAfter(header.Get("Retry-After"), now), c.random(c.config.BackOff.limit(retries))
	if asked >= left || jitter >= left-asked { // their sum can overflow
		return false
	}
	timer := time.NewTimer(asked + jitter)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// retryAfter returns the wait that a Retry-After header asks for: seconds, or a date. A value
// that is neither is ignored, and one beyond all durations is the longest.
func retryAfter(value string, now time.Time) time.Duration {
	seconds, err := strconv.ParseUint(value, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(unlimited/time.Second))) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}
