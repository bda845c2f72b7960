package httpapi

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/idempotency"
)

const (
	// maxBuckets bounds the principals whose requests are counted, and so the memory.
	maxBuckets = 100_000
	// keepBuckets is how long the buckets of a principal are kept that are not used. Those
	// that were not used for a minute are full, as new ones are.
	keepBuckets = 2 * time.Minute
)

// The limits, as the metric names them.
const (
	requestLimit  = "requests"
	keyLimit      = "keys"
	inFlightLimit = "in_flight"
)

// LimitsConfig says what one principal may do in this process. A limit of zero is none.
type LimitsConfig struct {
	// RequestsPerMinute and KeysPerMinute bound the requests and the new idempotency keys
	// in a minute. All of them may come at once.
	RequestsPerMinute int
	KeysPerMinute     int
	// InFlight bounds the requests that are being answered.
	InFlight int
	// UnlimitedRoles free a principal that has one of them from all limits above.
	UnlimitedRoles []core.Role
	// Share bounds the commands without a key that run at the same time, and the reads. More
	// of them wait. Nobody is free from it. The store of the guard shares out those with a
	// key.
	Share int
	// Now is the clock.
	Now func() time.Time
	// OnRefusal is called with the name of the limit when a request is refused.
	OnRefusal func(limit string)
}

// Limits keeps one principal from taking the service away from others. It counts in this
// process: with N replicas, a principal may do N times as much.
type Limits struct {
	cfg     LimitsConfig
	buckets *otter.Cache[idempotency.Scope, *buckets]

	mu sync.Mutex
	// present are the principals with requests in flight.
	present map[idempotency.Scope]*principal
}

// buckets are the token buckets of one principal.
type buckets struct{ requests, keys *rate.Limiter }

// principal is what the requests in flight of one principal share.
type principal struct {
	inFlight        int
	commands, reads *semaphore.Weighted
}

// NewLimits returns limits that nobody has used yet.
func NewLimits(cfg LimitsConfig) *Limits {
	return &Limits{
		cfg: cfg, present: map[idempotency.Scope]*principal{},
		buckets: otter.Must(&otter.Options[idempotency.Scope, *buckets]{
			MaximumSize:      maxBuckets,
			ExpiryCalculator: otter.ExpiryAccessing[idempotency.Scope, *buckets](keepBuckets),
		}),
	}
}

// Close stops the background work of the limits.
func (l *Limits) Close() { l.buckets.StopAllGoroutines() }

// admission is the permission to answer one request.
type admission struct {
	limits    *Limits
	scope     idempotency.Scope
	buckets   *buckets // nil for a principal without limits
	principal *principal
}

// admit counts a request, or refuses it. The caller ends the admission when the request
// is answered.
func (l *Limits) admit(scope idempotency.Scope, actor core.Actor) (*admission, error) {
	a := &admission{limits: l, scope: scope}
	if !actor.Has(l.cfg.UnlimitedRoles...) {
		a.buckets = l.bucketsOf(scope)
		if err := l.take(a.buckets.requests, requestLimit, "requests"); err != nil {
			return nil, err
		}
	}
	a.principal = l.enter(scope, a.buckets != nil)
	if a.principal == nil {
		return nil, l.refuse(inFlightLimit, time.Second,
			fmt.Sprintf("at most %d requests may be in progress; wait for the responses, then retry", l.cfg.InFlight))
	}
	return a, nil
}

// bucketsOf returns the buckets of a principal, full ones for a principal that is new.
func (l *Limits) bucketsOf(scope idempotency.Scope) *buckets {
	if known, ok := l.buckets.GetIfPresent(scope); ok {
		return known
	}
	found, _ := l.buckets.ComputeIfAbsent(scope, func() (*buckets, bool) {
		return &buckets{perMinute(l.cfg.RequestsPerMinute), perMinute(l.cfg.KeysPerMinute)}, false
	})
	return found
}

// perMinute returns a full bucket of n tokens that takes a minute to fill.
func perMinute(n int) *rate.Limiter {
	if n == 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(n)/60, n)
}

// take takes a token out of a bucket. If there is none, it refuses until there is.
func (l *Limits) take(bucket *rate.Limiter, limit, counted string) error {
	now := l.cfg.Now()
	if bucket.AllowN(now, 1) {
		return nil
	}
	missing := 1 - bucket.TokensAt(now)
	wait := time.Duration(missing / float64(bucket.Limit()) * float64(time.Second))
	return l.refuse(limit, wait, fmt.Sprintf("at most %d %s a minute; retry after the time in Retry-After", bucket.Burst(), counted))
}

// refuse returns a refusal that says after how many seconds to retry, one at least.
func (l *Limits) refuse(limit string, wait time.Duration, detail string) *problem {
	l.cfg.OnRefusal(limit)
	p := newProblem(wire.ProblemCodeRateLimited, detail)
	seconds := max(1, (wait+time.Second-1)/time.Second)
	p.header.Set("Retry-After", strconv.Itoa(int(seconds)))
	return p
}

// enter counts one more request in flight. It returns nil if a limited principal has too
// many.
func (l *Limits) enter(scope idempotency.Scope, limited bool) *principal {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.present[scope]
	if p == nil {
		share := int64(l.cfg.Share)
		p = &principal{commands: semaphore.NewWeighted(share), reads: semaphore.NewWeighted(share)}
		l.present[scope] = p
	}
	if limited && l.cfg.InFlight > 0 && p.inFlight >= l.cfg.InFlight {
		return nil
	}
	p.inFlight++
	return p
}

// end ends the request. A principal without requests leaves nothing behind.
func (a *admission) end() {
	l := a.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	a.principal.inFlight--
	if a.principal.inFlight == 0 {
		delete(l.present, a.scope)
	}
}

// takeKey counts a new idempotency key, or refuses it.
func (a *admission) takeKey() error {
	if a.buckets == nil {
		return nil
	}
	return a.limits.take(a.buckets.keys, keyLimit, "new idempotency keys")
}
