package e2e

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

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/dev/fakestripe"
	pgtest "example.com/orders/internal/test/pg"
)

// Secrets that a replica shares with the card provider.
const (
	StripeKey     = "sk_test_double"
	WebhookSecret = "whsec_double"
)

// CardSettings returns the settings for a replica that accepts cards.
func CardSettings(providerURL string) []string {
	return []string{
		"ORDERS_STRIPE_KEY=" + StripeKey, "ORDERS_STRIPE_WEBHOOK_SECRET=" + WebhookSecret, "ORDERS_STRIPE_URL=" + providerURL,
	}
}

// SilentProvider is the URL for a card provider that never answers.
const SilentProvider = "http://127.0.0.1:1"

// StartCardShop starts the service with products in stock, a card provider, and the
// jobs that charge cards.
func StartCardShop(t testing.TB, stock Stock) *Service {
	t.Helper()
	provider := StartCardProvider(t, pgtest.New(t))
	s := StartShop(t, stock, CardSettings(provider.URL)...)
	s.Run(t)
	return s
}

// MustPayByCard pays Alice's order by card. The payment is processing then.
func (s *Service) MustPayByCard(t testing.TB, orderID int, cardToken string) Payment {
	t.Helper()
	p := Want[Payment](t, s, http.StatusOK, s.CardCall(t, orderID, cardToken))
	if p.Status != "processing" || p.Failure != nil {
		t.Errorf("a card payment begins as %s, failure %q; want processing", p.Status, p.Reason())
	}
	return p
}

// PaymentKey returns the key under which the card provider knows a payment.
func (e *Env) PaymentKey(t testing.TB, id int) string {
	t.Helper()
	return scan[string](t, e, `SELECT 'payment-' || uuid FROM payment WHERE id = $1`, []any{id})
}

// RefundKey returns the key under which the card provider knows a refund.
func (e *Env) RefundKey(t testing.TB, id int) string {
	t.Helper()
	return scan[string](t, e, `SELECT 'refund-' || uuid FROM refund WHERE id = $1`, []any{id})
}

// ReplaceJobs replaces the jobs that a condition selects by ones that have not run.
func (e *Env) ReplaceJobs(t testing.TB, condition string, args ...any) {
	t.Helper()
	e.Exec(t, `WITH lost AS (DELETE FROM river.river_job WHERE `+condition+` RETURNING kind, args, max_attempts, priority, queue)
		INSERT INTO river.river_job (kind, args, max_attempts, priority, queue, state) SELECT lost.*, 'available' FROM lost`, args...)
}

// WebhookCall sends a provider event.
func WebhookCall(payload, signature string) Call {
	return Call{Method: http.MethodPost, Path: "/webhooks/stripe", Body: payload}.WithHeader("Stripe-Signature", signature)
}

// SendWebhook sends an event as the card provider does.
func (s *Service) SendWebhook(t testing.TB, payload string) {
	t.Helper()
	signature := fakestripe.Sign(WebhookSecret, []byte(payload), time.Now())
	Want[struct{}](t, s, http.StatusOK, WebhookCall(payload, signature))
}

// CardProvider is a double for the card provider. It keeps the data in a separate database
// and outlives every service, as the real one does. It sends webhooks when the test
// says so.
type CardProvider struct {
	*fakestripe.Server
	URL string
	DB  *pgxpool.Pool

	double http.Handler
	hook   atomic.Pointer[ProviderHook]
}

// ProviderHook handles a service call instead of the double.
type ProviderHook func(w http.ResponseWriter, r *http.Request, double http.Handler)

// StartCardProvider starts the double on a database, until the test ends.
func StartCardProvider(t testing.TB, databaseURL string) *CardProvider {
	t.Helper()
	p := &CardProvider{}
	var err error
	p.Server, err = fakestripe.Open(t.Context(), fakestripe.Config{
		DatabaseURL: databaseURL, Key: StripeKey, WebhookSecret: WebhookSecret, Late: 300 * time.Millisecond, Settlement: "rub",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	p.double = p.Handler()
	if p.DB, err = pgxpool.New(t.Context(), databaseURL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.DB.Close)
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// ServeHTTP lets the hook or the double handle a call.
func (p *CardProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if hook := p.hook.Load(); hook != nil {
		(*hook)(w, r, http.HandlerFunc(p.breakHangingCall))
		return
	}
	p.breakHangingCall(w, r)
}

// breakHangingCall lets the double handle a call, but breaks the connection when the
// call hangs, because the service timeout is longer than a test should take.
func (p *CardProvider) breakHangingCall(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil || r.PostForm.Get("payment_method") != "pm_hang" {
		p.double.ServeHTTP(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), 300*time.Millisecond)
	defer cancel()
	response := httptest.NewRecorder()
	p.double.ServeHTTP(response, r.WithContext(ctx))
	if ctx.Err() != nil {
		panic(http.ErrAbortHandler) // breaks the connection
	}
	w.WriteHeader(response.Code)
	_, _ = w.Write(response.Body.Bytes()) // a caller that is gone calls again
}

// SetHook lets a hook handle all further calls; nil lets the double handle them again.
func (p *CardProvider) SetHook(h ProviderHook) {
	if h == nil {
		p.hook.Store(nil)
		return
	}
	p.hook.Store(&h)
}

// Capture captures kopecks at the provider, without our service, for a payment that is
// ours or of a different database.
func (p *CardProvider) Capture(t testing.TB, of Payment, reference string, kopecks int, key string) {
	t.Helper()
	form := url.Values{
		"amount": {fmt.Sprint(kopecks)}, "currency": {"rub"}, "payment_method": {"pm_card_visa"}, "confirm": {"true"},
		"metadata[orders_payment]": {reference}, "metadata[payment_id]": {fmt.Sprint(of.ID)}, "metadata[order_id]": {fmt.Sprint(of.OrderID)},
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+"/v1/payment_intents", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+StripeKey)
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

// InsertDispute lets a bank dispute the payment of an order, as if the provider had reported
// it. An answer is due in nine days.
func (e *Env) InsertDispute(t testing.TB, orderID int) {
	t.Helper()
	e.Exec(t, `INSERT INTO dispute (external_id, payment_id, order_id, amount, currency, reason, status, due_by, created_at)
		SELECT 'dp_1', id, order_id, amount, currency, 'general', 'needs_response', now() + interval '9 days', now()
		FROM payment WHERE order_id = $1`, orderID)
}
