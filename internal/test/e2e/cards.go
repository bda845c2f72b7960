package e2e

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"example.com/orders/internal/dev/fakestripe"
	pgtest "example.com/orders/internal/test/pg"
)

// What a replica shares with its card provider.
const (
	StripeKey     = "sk_test_double"
	WebhookSecret = "whsec_double"
)

// CardSettings returns the settings of a replica that accepts cards of a provider.
func CardSettings(providerURL string) []string {
	return []string{
		"ORDERS_STRIPE_KEY=" + StripeKey, "ORDERS_STRIPE_WEBHOOK_SECRET=" + WebhookSecret, "ORDERS_STRIPE_URL=" + providerURL,
	}
}

// SilentProvider is the URL of a card provider that never answers.
const SilentProvider = "http://127.0.0.1:1"

// StartCardShop starts the service with products in stock, a card provider of its own, and the
// jobs that charge cards.
func StartCardShop(t testing.TB, stock Stock) *Service {
	t.Helper()
	provider, err := fakestripe.Open(t.Context(), fakestripe.Config{
		DatabaseURL: pgtest.New(t), Key: StripeKey, WebhookSecret: WebhookSecret,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(provider.Close)
	server := httptest.NewServer(provider.Handler())
	t.Cleanup(server.Close)
	s := StartShop(t, stock, CardSettings(server.URL)...)
	s.Run(t)
	return s
}

// MustPayByCard asks to pay an order of Alice by card. The payment is processing then.
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
	return e.text(t, `SELECT 'payment-' || uuid FROM payment WHERE id = $1`, id)
}

// RefundKey returns the key under which the card provider knows a refund.
func (e *Env) RefundKey(t testing.TB, id int) string {
	t.Helper()
	return e.text(t, `SELECT 'refund-' || uuid FROM refund WHERE id = $1`, id)
}

// WebhookCall is the call with which the card provider sends an event.
func WebhookCall(payload, signature string) Call {
	return Call{Method: http.MethodPost, Path: "/webhooks/stripe", Body: payload}.WithHeader("Stripe-Signature", signature)
}

// SendWebhook sends an event as the card provider does.
func (s *Service) SendWebhook(t testing.TB, payload string) {
	t.Helper()
	signature := fakestripe.Sign(WebhookSecret, []byte(payload), time.Now())
	Want[struct{}](t, s, http.StatusOK, WebhookCall(payload, signature))
}
