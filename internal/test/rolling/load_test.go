//go:build cluster

package rolling

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/orders/client"
)

const (
	workers = 6
	seller  = "shop"
	sku     = "tea"
	units   = 1_000_000
)

// answered is a command with the first response that a client got to it.
type answered struct {
	request *http.Request
	body    []byte
	status  int
	reply   []byte
	at      time.Time
}

// load are clients that retry, and what they saw.
type load struct {
	url   string
	token func(subject, role string) string

	mu       sync.Mutex
	commands []*answered
	byKey    map[string]*answered
	attempts int
	failed   []error  // calls that failed after all their attempts
	changed  []string // replays that differ from the first response
}

// RoundTrip sends a request of a client, and notes the first response to each key.
func (l *load) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		l.note(nil)
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	reply, err := io.ReadAll(resp.Body)
	if err != nil {
		l.note(nil)
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(reply))
	l.note(&answered{request: r, body: body, status: resp.StatusCode, reply: reply, at: time.Now()})
	return resp, nil
}

// note counts an attempt, and keeps what a command was answered.
func (l *load) note(a *answered) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts++
	if a == nil || a.status >= http.StatusMultipleChoices {
		return
	}
	key := a.request.Header.Get("Idempotency-Key")
	if key == "" {
		return
	}
	if first := l.byKey[key]; first != nil {
		l.compare(first, a.status, a.reply)
		return
	}
	l.byKey[key] = a
	l.commands = append(l.commands, a)
}

func (l *load) compare(first *answered, status int, reply []byte) {
	if status != first.status || !bytes.Equal(reply, first.reply) {
		l.changed = append(l.changed, fmt.Sprintf("%s %s: first %d %s, then %d %s", first.request.Method, first.request.URL.Path,
			first.status, first.reply, status, reply))
	}
}

// decided returns how many commands have an answer.
func (l *load) decided() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.commands)
}

// client returns a client of a principal with a deadline of 30 s for each call, which is its
// default.
func (l *load) client(subject, role string) (*client.Client, error) {
	return client.New(client.Config{
		URL: l.url, Token: client.StaticToken(l.token(subject, role)), Keys: &client.MemoryStore{}, Transport: l,
	})
}

// start lets the clients work until stop is called.
func (l *load) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	for worker := range workers {
		working.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				// A purchase that has begun goes on to its end.
				if err := l.purchase(t.Context(), fmt.Sprintf("customer-%d-%d", worker, n)); err != nil {
					l.mu.Lock()
					l.failed = append(l.failed, err)
					l.mu.Unlock()
				}
			}
		})
	}
	return func() {
		cancel()
		working.Wait()
	}
}

// purchase credits a new customer, who orders a unit and pays it.
func (l *load) purchase(ctx context.Context, customer string) error {
	bank, err := l.client("bank", "system")
	if err != nil {
		return err
	}
	if _, err := bank.CreditBalance(ctx, "credit "+customer, customer, client.Credit{Amount: roubles("100.00")}); err != nil {
		return err
	}
	c, err := l.client(customer, "customer")
	if err != nil {
		return err
	}
	order, err := c.CreateOrder(ctx, "order", client.NewOrder{Items: []client.Item{{SKU: sku, Quantity: 1}}})
	if err != nil {
		return err
	}
	_, err = c.ConfirmPayment(ctx, "pay", order.ID, client.ByBalance())
	return err
}

func roubles(amount string) client.Money { return client.Money{Amount: amount, Currency: "RUB"} }

// replay sends commands to a replica again, and compares its responses with the first ones.
func (l *load) replay(t *testing.T, replica string, commands []*answered) {
	t.Helper()
	for _, first := range commands {
		again, err := http.NewRequestWithContext(t.Context(), first.request.Method, replica+first.request.URL.Path, bytes.NewReader(first.body))
		if err != nil {
			t.Fatal(err)
		}
		again.Header = first.request.Header.Clone()
		resp, err := http.DefaultClient.Do(again)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := io.ReadAll(resp.Body)
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if resp.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s %s was not replayed: %d %s", again.Method, again.URL, resp.StatusCode, reply)
		}
		l.mu.Lock()
		l.compare(first, resp.StatusCode, reply)
		l.mu.Unlock()
	}
}

// sample returns some of the commands that have an answer: the first, the last, and others
// between them.
func (l *load) sample(n int) []*answered {
	l.mu.Lock()
	defer l.mu.Unlock()
	step := max(1, len(l.commands)/n)
	var some []*answered
	for i := len(l.commands) - 1; i >= 0; i -= step {
		some = append(some, l.commands[i])
	}
	return some
}

// longestPause returns the longest time without an answer to a command.
func (l *load) longestPause() (longest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortFunc(l.commands, func(a, b *answered) int { return a.at.Compare(b.at) })
	for i := range len(l.commands) - 1 {
		longest = max(longest, l.commands[i+1].at.Sub(l.commands[i].at))
	}
	return longest
}
