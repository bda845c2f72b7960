package faults

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/history"
)

const (
	// clients work at the same time.
	clients = 8
	// patience is how long a client waits for one response.
	patience = 15 * time.Second
)

// Load is the clients of a run.
type Load struct {
	*System
	seed   uint64
	client http.Client
	// decided counts operations whose outcome the clients know.
	decided atomic.Int64
}

// operation is a command that a client sends until its outcome is known.
type operation struct {
	call          e2e.Call
	operationID   string
	scope         string
	account       string
	change, after int64
}

func newLoad(s *System, seed uint64) *Load {
	// Each request has a connection of its own: net/http sends a request with an
	// Idempotency-Key again by itself when a reused connection breaks, and the history would
	// not show it.
	return &Load{System: s, seed: seed, client: http.Client{
		Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience,
	}}
}

// start lets clients work until stop is called. stop waits until each operation that was
// begun is decided.
func (l *Load) start(t testing.TB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	for number := range clients {
		random := rand.New(rand.NewPCG(l.seed, uint64(number)))
		working.Go(func() {
			for ctx.Err() == nil {
				l.finish(t, number, random, l.draw(t, random))
			}
		})
	}
	return func() {
		cancel()
		working.Wait()
	}
}

// awaitDecided waits until n more operations are decided.
func (l *Load) awaitDecided(t testing.TB, n int64) {
	t.Helper()
	target := l.decided.Load() + n
	e2e.Eventually(t, "clients know the outcome of more operations", func() bool { return l.decided.Load() >= target })
}

// draw draws the next operation of a client.
func (l *Load) draw(t testing.TB, random *rand.Rand) operation {
	t.Helper()
	customer := []string{"customer-0", "customer-1", "customer-2"}[random.IntN(3)]
	return operation{call: l.CreditCall(t, customer, "1.00"), operationID: "creditBalance", scope: e2e.Bank, account: customer, change: 100}
}

// finish sends an operation, to any replica, until its outcome is known.
func (l *Load) finish(t testing.TB, client int, random *rand.Rand, op operation) {
	t.Helper()
	for deadline := time.Now().Add(2 * e2e.Patience); time.Now().Before(deadline); {
		attempt, _ := l.send(t, client, l.Replicas[random.IntN(len(l.Replicas))], op)
		if attempt.Outcome != history.Unknown && attempt.Code != "idempotency_in_progress" {
			l.decided.Add(1)
			return
		}
		time.Sleep(time.Duration(10+random.IntN(30)) * time.Millisecond) // as clients do between attempts
	}
	t.Errorf("%s: the outcome is not known in time", op.call.Key)
}

// send sends one attempt and adds it to the history.
func (l *Load) send(t testing.TB, client int, to *Replica, op operation) (history.Attempt, e2e.Reply) {
	t.Helper()
	a := history.Attempt{
		Client: client, Replica: to.Number, Scope: op.scope, Key: op.call.Key, Operation: op.operationID,
		Request: hash(op.call.Method, op.call.Path, op.call.Body), Account: op.account, Change: op.change,
		Start: l.History.Now(),
	}
	reply, err := l.try(t, to, op.call)
	a.End = l.History.Now()
	a.Outcome = outcomeOf(reply, err)
	if err != nil {
		a.Error = err.Error()
		l.Counters.Add("requests without a response", 1)
	} else {
		a.Status, a.Code, a.Result = reply.Status, reply.Code(), reply.Header.Get("Idempotency-Result")
		a.Response = hash(http.StatusText(reply.Status), string(reply.Body), reply.Header.Get("Location"), reply.Header.Get("Content-Type"))
	}
	l.Counters.Add("attempts", 1)
	if a.Code == "outcome_unknown" {
		l.Counters.Add("outcomes unknown", 1)
	}
	l.History.Add(a)
	return a, reply
}

// outcomeOf returns what a client knows from a response.
func outcomeOf(r e2e.Reply, err error) history.Outcome {
	switch {
	case err != nil || r.Status >= http.StatusInternalServerError:
		return history.Unknown
	case r.Status/100 == 2:
		return history.OK
	}
	return history.Refused
}

func (l *Load) try(t testing.TB, to *Replica, c e2e.Call) (e2e.Reply, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), c.Method, to.URL+c.Path, strings.NewReader(c.Body))
	if err != nil {
		return e2e.Reply{}, err
	}
	req.Header = http.Header{"Authorization": {"Bearer " + c.Token}, "Content-Type": {"application/json"}}
	if c.Key != "" {
		req.Header.Set("Idempotency-Key", c.Key)
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return e2e.Reply{}, err
	}
	defer resp.Body.Close()
	return e2e.ReadReply(resp)
}

// hash returns a short hash of several texts.
func hash(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:8])
}
