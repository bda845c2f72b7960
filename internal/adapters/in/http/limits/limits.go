// Package limits keeps one principal from taking the service away from others.
package limits

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/kit/guard"
)

const (
	// maxBuckets bounds the principals with counted requests, and so the memory.
	maxBuckets = 100_000
	// keepBuckets is how long unused buckets are kept. After a minute they are full,
	// like new ones.
	keepBuckets = 2 * time.Minute
)

// The limits, as the metric names them.
const (
	requestLimit  = "requests"
	keyLimit      = "keys"
	inFlightLimit = "in_flight"
)

// Config holds one principal's limits in this process. Zero means no limit.
type Config struct {
	// RequestsPerMinute and KeysPerMinute bound requests and new idempotency keys per
	// minute. All may come at once.
	RequestsPerMinute int
	KeysPerMinute     int
	// InFlight bounds the requests that are being answered.
	InFlight int
	// UnlimitedRoles exempt a principal from all limits above.
	UnlimitedRoles []core.Role
	// Now is the clock.
	Now func() time.Time
	// OnExceeded is called with the limit's name when a request is refused.
	OnExceeded func(limit string)
}

// Limits keeps one principal from taking the service away from others. It counts in this
// process: with N replicas, a principal may do N times as much.
type Limits struct {
	cfg     Config
	buckets *otter.Cache[guard.Scope, *buckets]

	mu sync.Mutex
	// inFlight counts the requests in flight of each principal that has any.
	inFlight map[guard.Scope]int
}

// buckets are one principal's token buckets.
type buckets struct{ requests, keys *rate.Limiter }

// New returns unused limits.
func New(cfg Config) *Limits {
	return &Limits{
		cfg: cfg, inFlight: map[guard.Scope]int{},
		buckets: otter.Must(&otter.Options[guard.Scope, *buckets]{
			MaximumSize:      maxBuckets,
			ExpiryCalculator: otter.ExpiryAccessing[guard.Scope, *buckets](keepBuckets),
		}),
	}
}

// Close stops the background work.
func (l *Limits) Close() { l.buckets.StopAllGoroutines() }

// Admission is the permission to answer one request.
type Admission struct {
	limits  *Limits
	scope   guard.Scope
	buckets *buckets // nil for an unlimited principal
	tookKey bool
}

// Admit counts a request, or refuses it. The caller ends the admission when the request
// is answered.
func (l *Limits) Admit(scope guard.Scope, actor core.Actor) (*Admission, error) {
	a := &Admission{limits: l, scope: scope}
	if !actor.Has(l.cfg.UnlimitedRoles...) {
		a.buckets = l.bucketsOf(scope)
		if err := l.take(a.buckets.requests, requestLimit, "requests"); err != nil {
			return nil, err
		}
	}
	if !l.enter(scope, a.buckets != nil) {
		return nil, l.refuse(inFlightLimit, time.Second,
			fmt.Sprintf("at most %d requests may be in progress; wait for the responses, then retry", l.cfg.InFlight))
	}
	return a, nil
}

// bucketsOf returns a principal's buckets, full ones for a new principal.
func (l *Limits) bucketsOf(scope guard.Scope) *buckets {
	if known, ok := l.buckets.GetIfPresent(scope); ok {
		return known
	}
	found, _ := l.buckets.ComputeIfAbsent(scope, func() (*buckets, bool) {
		return &buckets{perMinute(l.cfg.RequestsPerMinute), perMinute(l.cfg.KeysPerMinute)}, false
	})
	return found
}

// perMinute returns a full bucket with n tokens that takes a minute to fill.
func perMinute(n int) *rate.Limiter {
	if n == 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(n)/60, n)
}

// take takes a token from a bucket. It refuses while the bucket is empty.
func (l *Limits) take(bucket *rate.Limiter, limit, counted string) error {
	now := l.cfg.Now()
	if bucket.AllowN(now, 1) {
		return nil
	}
	missing := 1 - bucket.TokensAt(now)
	wait := time.Duration(missing / float64(bucket.Limit()) * float64(time.Second))
	return l.refuse(limit, wait,
		fmt.Sprintf("at most %d %s a minute; retry after the time in Retry-After", bucket.Burst(), counted))
}

// refuse returns a refusal that says after how many seconds to retry, one at least.
func (l *Limits) refuse(limit string, wait time.Duration, detail string) *problem.Problem {
	l.cfg.OnExceeded(limit)
	p := problem.New(wire.ProblemCodeRateLimited, detail)
	seconds := max(1, (wait+time.Second-1)/time.Second)
	p.Header.Set("Retry-After", strconv.Itoa(int(seconds)))
	return p
}

// enter counts one more request in flight, and reports false if a limited principal has
// too many.
func (l *Limits) enter(scope guard.Scope, limited bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if limited && l.cfg.InFlight > 0 && l.inFlight[scope] >= l.cfg.InFlight {
		return false
	}
	l.inFlight[scope]++
	return true
}

// End ends the request. A principal is forgotten with the last request.
func (a *Admission) End() {
	l := a.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight[a.scope]--
	if l.inFlight[a.scope] == 0 {
		delete(l.inFlight, a.scope)
	}
}

// TakeKey counts a new idempotency key, or refuses it. A command that runs again counts once.
func (a *Admission) TakeKey() error {
	if a.buckets == nil || a.tookKey {
		return nil
	}
	err := a.limits.take(a.buckets.keys, keyLimit, "new idempotency keys")
	a.tookKey = err == nil
	return err
}
