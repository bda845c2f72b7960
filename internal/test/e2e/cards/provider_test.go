package cards_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/e2e"
)

// provider is the stub of the card provider. It has a database of its own and outlives
// every service, as the real one does.
type provider struct {
	*fakestripe.Server
	url  string
	db   *pgxpool.Pool
	hook atomic.Pointer[hook]
}

// hook handles a call of the service instead of the stub.
type hook func(w http.ResponseWriter, r *http.Request, stub http.Handler)

// startProvider starts the stub. It sends webhooks when the test says so.
func startProvider(t testing.TB, databaseURL string) *provider {
	t.Helper()
	p := &provider{}
	var err error
	p.Server, err = fakestripe.Open(t.Context(), fakestripe.Config{
		DatabaseURL: databaseURL, Key: e2e.StripeKey, WebhookSecret: e2e.WebhookSecret, Late: 300 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if p.db, err = pgxpool.New(t.Context(), databaseURL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.db.Close)
	stub := p.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := p.hook.Load(); h != nil {
			(*h)(w, r, stub)
			return
		}
		stub.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// setHook lets a hook handle all further calls.
func (p *provider) setHook(h hook) { p.hook.Store(&h) }

// waitFor blocks a hook until the test continues it, or ends.
func waitFor(t testing.TB, release <-chan struct{}) {
	t.Helper()
	select {
	case <-release:
	case <-t.Context().Done():
	}
}

// sendWebhooks sends webhooks to a service until the test ends.
func (p *provider) sendWebhooks(t testing.TB, to *e2e.Service) {
	t.Helper()
	p.SendTo(to.URL + "/webhooks/stripe")
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		p.SendWebhooks(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-stopped
	})
}

// chargesByPayment returns what the provider captured, by the key of our payment.
func (p *provider) chargesByPayment(t testing.TB) map[string]fakestripe.Charge {
	t.Helper()
	charges, err := p.Charges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return charges
}

// intents returns the amounts that the provider captured, in order.
func (p *provider) intents(t testing.TB) []int {
	t.Helper()
	return p.amounts(t, `SELECT amount FROM fakestripe.intent WHERE status = 'succeeded' ORDER BY number`)
}

// refunds returns the amounts that the provider refunded, in order.
func (p *provider) refunds(t testing.TB) []int {
	t.Helper()
	return p.amounts(t, `SELECT amount FROM fakestripe.refund WHERE status = 'succeeded' ORDER BY number`)
}

func (p *provider) amounts(t testing.TB, query string) []int {
	t.Helper()
	rows, _ := p.db.Query(t.Context(), query)
	amounts, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	return amounts
}

// refuseCalls answers further calls with 503 until release is called.
func (p *provider) refuseCalls() (release func()) {
	p.setHook(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	return func() { p.hook.Store(nil) }
}

// charge captures roubles for a payment of ours, or of another database, without our
// service.
func (p *provider) charge(t testing.TB, of e2e.Payment, payment string, kopecks int, key string) {
	t.Helper()
	form := url.Values{
		"amount": {fmt.Sprint(kopecks)}, "currency": {"rub"}, "payment_method": {"pm_card_visa"}, "confirm": {"true"},
		"metadata[orders_payment]": {payment}, "metadata[payment_id]": {fmt.Sprint(of.ID)}, "metadata[order_id]": {fmt.Sprint(of.OrderID)},
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/v1/payment_intents", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+e2e.StripeKey)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Idempotency-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the provider answered %s", resp.Status)
	}
}
