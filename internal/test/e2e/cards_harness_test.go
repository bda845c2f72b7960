package e2e_test

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

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/adapters/out/stripe"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/dev/fakestripe"
	pgtest "example.com/orders/internal/test/pg"
)

const (
	providerKey   = "sk_test_double"
	webhookSecret = "whsec_double"
)

// provider is the double of the card provider, with a database of its own: it outlives
// every service, as the real one does.
type provider struct {
	*fakestripe.Server
	url  string
	db   *pgxpool.Pool
	gate atomic.Pointer[gate]
}

// A gate stands before the provider and does with a call what it likes.
type gate func(w http.ResponseWriter, r *http.Request, provider http.Handler)

// openProvider starts the double. Webhooks are sent when the test says so.
func (w *world) openProvider(database string) *provider {
	w.Helper()
	p := &provider{}
	var err error
	p.Server, err = fakestripe.Open(w.Context(), fakestripe.Config{
		DatabaseURL: database, Key: providerKey, WebhookSecret: webhookSecret, Late: 300 * time.Millisecond,
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(p.Close)
	if p.db, err = pgxpool.New(w.Context(), database); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(p.db.Close)
	handler := p.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g := p.gate.Load(); g != nil {
			(*g)(w, r, handler)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	w.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// setGate puts a gate before the provider from now on.
func (p *provider) setGate(g gate) { p.gate.Store(&g) }

// await stops a call at a gate until the test lets it go, or is over.
func await(t testing.TB, release <-chan struct{}) {
	t.Helper()
	select {
	case <-release:
	case <-t.Context().Done():
	}
}

// settings are those of a replica that asks the double.
func (p *provider) settings() []string {
	return []string{
		"ORDERS_STRIPE_KEY=" + providerKey, "ORDERS_STRIPE_WEBHOOK_SECRET=" + webhookSecret, "ORDERS_STRIPE_URL=" + p.url,
	}
}

// sendWebhooks sends them to a service from now on, until the test ends.
func (p *provider) sendWebhooks(to *service) {
	p.SendTo(to.url + "/webhooks/stripe")
	ctx, cancel := context.WithCancel(to.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		p.SendWebhooks(ctx)
	}()
	to.Cleanup(func() {
		cancel()
		<-stopped
	})
}

// cardShop is a shop that takes cards.
type cardShop struct {
	*service
	provider *provider
}

// newCardShop starts a shop and its provider. No job runs yet and no webhook is sent.
func newCardShop(t testing.TB, stock shelf) cardShop {
	t.Helper()
	w := newWorld(t)
	p := w.openProvider(pgtest.New(t))
	s := w.replica(p.settings()...)
	s.stockUp(stock)
	return cardShop{s, p}
}

// work starts the jobs, until the test ends.
func (c cardShop) work() {
	c.Helper()
	c.run()
}

// in lends the shop to a subtest.
func (c cardShop) in(t testing.TB) cardShop {
	t.Helper()
	return cardShop{c.service.in(t), c.provider}
}

// cardPayment is a payment as those who pay by card look at it.
type cardPayment struct {
	ID      int
	OrderID int `json:"order_id"`
	Amount  money
	Status  string
	Failure *string
}

// why is the reason of a refusal.
func (p cardPayment) why() string {
	if p.Failure == nil {
		return ""
	}
	return *p.Failure
}

func (s *service) cardCall(orderID int, token, key string) call {
	c := s.confirmCall(alice, orderID, key)
	c.body = fmt.Sprintf(`{"method": "card", "payment_method": %q}`, token)
	return c
}

// payByCard asks to pay an order of alice's.
func (s *service) payByCard(orderID int, token string) cardPayment {
	s.Helper()
	p := want[cardPayment](s, http.StatusOK, s.cardCall(orderID, token, s.newKey()))
	if p.Status != "processing" || p.Failure != nil {
		s.Errorf("a card payment begins as %s, failure %q; want processing", p.Status, p.why())
	}
	return p
}

// decided waits until a payment is, and reads it.
func (s *service) decided(p cardPayment) cardPayment {
	s.Helper()
	eventually(s, fmt.Sprintf("payment %d is decided", p.ID), func() bool {
		return s.count(`SELECT count(*) FROM payment WHERE id = $1 AND status <> 'processing'`, p.ID) == 1
	})
	path := fmt.Sprintf("/orders/%d/payments", p.OrderID)
	for _, found := range want[struct{ Data []cardPayment }](s, http.StatusOK, get(s.asSeller(), path)).Data {
		if found.ID == p.ID {
			return found
		}
	}
	s.Fatalf("payment %d is not among those of its order", p.ID)
	panic("unreachable")
}

// boughtByCard makes an order and pays it with a card that captures in the end.
func (s *service) boughtByCard(sku string, quantity int, token string) (orderBody, cardPayment) {
	s.Helper()
	o := s.order(alice, sku, quantity)
	p := s.decided(s.payByCard(o.ID, token))
	if p.Status != "captured" {
		s.Fatalf("%s: the payment is %s, want captured", token, p.Status)
	}
	return s.readOrder(o.ID), p
}

// refundDecided waits until a refund is, and gives its status.
func (s *service) refundDecided(r refundBody) string {
	s.Helper()
	eventually(s, fmt.Sprintf("refund %d is decided", r.ID), func() bool {
		return s.count(`SELECT count(*) FROM refund WHERE id = $1 AND status <> 'pending'`, r.ID) == 1
	})
	var status string
	if err := s.db.QueryRow(s.Context(), `SELECT status FROM refund WHERE id = $1`, r.ID).Scan(&status); err != nil {
		s.Fatal(err)
	}
	return status
}

// theirCharges is what the provider has captured, by payment.
func (c cardShop) theirCharges() map[int64]fakestripe.Charge {
	c.Helper()
	charges, err := c.provider.Charges(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	return charges
}

// transfer is a refund that was made: its name at the provider, and how much.
type transfer struct {
	ID     string
	Amount int64
}

// sameBooks compares our captured payments and refunds with what the provider's own
// table says, by reference, amount and currency.
func (c cardShop) sameBooks() {
	c.Helper()
	rows, _ := c.db.Query(c.Context(), `
		SELECT p.id, 1, coalesce(p.external_payment_id, ''), (p.amount * 100)::bigint, lower(p.currency),
		       (100 * coalesce((SELECT sum(r.amount) FROM refund r WHERE r.payment_id = p.id AND r.status = 'succeeded'), 0))::bigint
		FROM payment p WHERE p.method = 'card' AND p.status = 'captured'`)
	ours, err := pgx.CollectRows(rows, pgx.RowToStructByPos[fakestripe.Charge])
	if err != nil {
		c.Fatal(err)
	}
	books := map[int64]fakestripe.Charge{}
	for _, charge := range ours {
		books[charge.PaymentID] = charge
	}
	if diff := cmp.Diff(c.theirCharges(), books); diff != "" {
		c.Errorf("captured payments (-the provider's +ours):\n%s", diff)
	}
	theirs := transfers(c, c.provider.db, `SELECT id, amount FROM fakestripe.refund WHERE status = 'succeeded' ORDER BY id`)
	refunds := transfers(c, c.db, `
		SELECT coalesce(r.external_refund_id, ''), (r.amount * 100)::bigint
		FROM refund r JOIN payment p ON p.id = r.payment_id
		WHERE p.method = 'card' AND r.status = 'succeeded' ORDER BY 1`)
	if diff := cmp.Diff(theirs, refunds); diff != "" {
		c.Errorf("refunds (-the provider's +ours):\n%s", diff)
	}
}

func transfers(t testing.TB, db *pgxpool.Pool, query string) map[string]int64 {
	t.Helper()
	rows, _ := db.Query(t.Context(), query)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[transfer])
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]int64{}
	for _, f := range found {
		byID[f.ID] += f.Amount
	}
	return byID
}

// reconciled gives what the comparison of the books finds, once all has had its time.
func (c cardShop) reconciled() []payment.Mismatch {
	c.Helper()
	later := func() time.Time { return time.Now().Add(time.Hour) }
	gateway := stripe.New(stripe.Config{Key: providerKey, URL: c.provider.url, Timeout: 4 * time.Second})
	reconciliation := &payment.Reconciliation{Store: c.store(), Gateway: gateway, Now: later}
	found, err := reconciliation.Run(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	return found
}

// chargeBehindUs has the provider capture roubles that name a payment of ours, as nobody
// here would.
func (c cardShop) chargeBehindUs(p cardPayment, kopecks int) {
	c.Helper()
	form := url.Values{
		"amount": {fmt.Sprint(kopecks)}, "currency": {"rub"}, "payment_method": {"pm_card_visa"}, "confirm": {"true"},
		"metadata[payment_id]": {fmt.Sprint(p.ID)}, "metadata[order_id]": {fmt.Sprint(p.OrderID)},
	}
	req, err := http.NewRequestWithContext(c.Context(), http.MethodPost, c.provider.url+"/v1/payment_intents", strings.NewReader(form.Encode()))
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+providerKey)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Idempotency-Key", c.newKey())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		c.Fatalf("the provider answered %s", resp.Status)
	}
}
