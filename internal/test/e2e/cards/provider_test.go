package cards_test

import (
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
)

// provider is the card provider of a shop.
type provider struct{ *e2e.CardProvider }

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
	natstest.Run(t, p.SendWebhooks)
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
	rows, _ := p.DB.Query(t.Context(), query)
	amounts, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	return amounts
}

// refuseCalls answers further calls with 503 until release is called.
func (p *provider) refuseCalls() (release func()) {
	p.SetHook(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	return func() { p.SetHook(nil) }
}
