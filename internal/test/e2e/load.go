package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/orders/internal/test/invariants"
)

// Load is clients that credit customers, each time with a new key. They retry every
// request until it is answered, as AUTH-19 asks of clients.
type Load struct {
	*Env
	client http.Client
	url    atomic.Pointer[string] // URL to send requests to

	// Answered counts operations. The rest count requests that did not reach the
	// process, got no response, a status other than 201, or a replay.
	Answered, Unsent, Broken, Refused, Replayed atomic.Int64

	mu         sync.Mutex
	operations []credit
}

// credit is an operation that has been answered.
type credit struct {
	call     Call
	customer string
	roubles  int
	first    Reply
}

// NewLoad returns a load that has no process yet. Each request opens a connection, so that
// the transport does not retry and the counts are true.
func NewLoad(env *Env) *Load {
	transport := &http.Transport{DisableKeepAlives: true}
	return &Load{Env: env, client: http.Client{Transport: transport, Timeout: 20 * time.Second}}
}

// SendTo directs all further requests to a process.
func (l *Load) SendTo(p *Process) { l.url.Store(&p.URL) }

// Start starts clients. They work until stop is called, which waits for their last
// responses.
func (l *Load) Start(t testing.TB, clients int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				customer, roubles := fmt.Sprintf("customer-%d", client%3), 1+i%7
				c := l.CreditCall(t, customer, strconv.Itoa(roubles))
				l.finish(t, credit{call: c, customer: customer, roubles: roubles})
			}
		})
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// finish retries an operation until it is answered, and then sends it one more time.
func (l *Load) finish(t testing.TB, op credit) {
	t.Helper()
	first, answered := l.retry(t, op.call)
	if !answered {
		return
	}
	op.first = first
	if replay, err := l.Send(t, op.call); err == nil && replay.Status == http.StatusCreated && !replay.SameAs(first) {
		t.Errorf("%s: first %s, then %s", op.call.Key, first.Body, replay.Body)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.operations = append(l.operations, op)
	l.Answered.Add(1)
}

// retry sends a call until it gets a 201.
func (l *Load) retry(t testing.TB, c Call) (_ Reply, answered bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		r, err := l.Send(t, c)
		if err == nil && r.Status == http.StatusCreated {
			return r, true
		}
		if err == nil && r.Status != http.StatusServiceUnavailable && r.Code() != "idempotency_in_progress" {
			t.Errorf("%s: status %d: %s", c.Key, r.Status, r.Body)
			return r, false
		}
		if time.Now().After(deadline) || t.Context().Err() != nil {
			t.Errorf("%s: not answered within a minute, last %d %v", c.Key, r.Status, err)
			return r, false
		}
		time.Sleep(25 * time.Millisecond) // as clients do between attempts
	}
}

// Send sends a call once and counts the outcome. Unlike [Service.Send], it does not
// check the response against the contract, which costs more than the response itself.
func (l *Load) Send(t testing.TB, c Call) (Reply, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), c.Method, *l.url.Load()+c.Path, strings.NewReader(c.Body))
	if err != nil {
		return Reply{}, err
	}
	req.Header = http.Header{"Authorization": {"Bearer " + c.Token}, "Idempotency-Key": {c.Key}, "Content-Type": {"application/json"}}
	resp, err := l.client.Do(req)
	var r Reply
	if err == nil {
		defer resp.Body.Close()
		r, err = ReadReply(resp)
	}
	l.countOutcome(r, err)
	return r, err
}

func (l *Load) countOutcome(r Reply, err error) {
	var dial *net.OpError
	switch {
	case errors.As(err, &dial) && dial.Op == "dial":
		l.Unsent.Add(1)
	case err != nil:
		l.Broken.Add(1)
	case r.Status != http.StatusCreated:
		l.Refused.Add(1)
	case r.Replayed():
		l.Replayed.Add(1)
	}
}

// AwaitAnswers waits until the load has done n more operations.
func (l *Load) AwaitAnswers(t testing.TB, n int64) {
	t.Helper()
	target := l.Answered.Load() + n
	Eventually(t, "operations are answered", func() bool { return l.Answered.Load() >= target })
}

// Check compares the responses that the clients got with the database, and retries
// every operation: all of them must be replayed.
func (l *Load) Check(t testing.TB, s *Service) {
	t.Helper()
	sums := map[string]int{}
	for _, op := range l.operations {
		sums[op.customer] += op.roubles
		if replay := s.Send(t, op.call); !replay.SameAs(op.first) || !replay.Replayed() {
			t.Errorf("%s: the first response was %s, a retry gets %d %s %v",
				op.call.Key, op.first.Body, replay.Status, replay.Body, replay.Header)
		}
	}
	if n := l.Count(t, `SELECT count(*) FROM ledger_entry`); n != len(l.operations) {
		t.Errorf("%d ledger entries for %d operations", n, len(l.operations))
	}
	for customer, sum := range sums {
		s.WantBalance(t, customer, fmt.Sprintf("%d.00", sum))
	}
	invariants.Check(t, l.DB, nil)
	t.Logf("%d operations: %d requests without a response, %d refused, %d not sent, %d replayed",
		len(l.operations), l.Broken.Load(), l.Refused.Load(), l.Unsent.Load(), l.Replayed.Load())
}
