package faults

import (
	"math/rand/v2"
	"net/http"
	"testing"

	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/clients"
)

// elsewhereFaults move money at the card provider that no client has asked for.
var elsewhereFaults = []Fault{
	{
		Name: "money-moves-at-provider", Number: "F13", Strikes: 2,
		Strike: moveMoneyElsewhere,
		Proof:  []string{"refunds in the dashboard", "refunds in the dashboard without a webhook", "disputes won", "disputes lost"},
	},
}

// prices have no, two and three decimals.
var prices = []e2e.Money{{Amount: "100", Currency: "JPY"}, {Amount: "100.00", Currency: "RUB"}, {Amount: "10.000", Currency: "KWD"}}

// moveMoneyElsewhere refunds card payments in the provider's dashboard, and lets banks
// dispute others, while the shop refunds as well. Webhooks come twice and later again.
func moveMoneyElsewhere(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	for _, price := range prices {
		paid, charge, amount := payForStrike(t, l, price)
		for range 2 {
			refundThere(t, l, charge, 10*(1+random.Int64N(amount/20)))
		}
		awaitProvider(t, l, paid, 2, `SELECT count(*) FROM refund WHERE payment_id = $1 AND made_at_provider AND status = 'succeeded'`)
		l.Counters.Add("refunds in the dashboard", 2)

		refundUnseen(t, l, price, random)

		disputed, charge, amount := payForStrike(t, l, price)
		dispute(t, l, charge, amount/2, fakestripe.Won)
		dispute(t, l, charge, amount/2, fakestripe.Lost)
		awaitProvider(t, l, disputed, 2, `SELECT count(*) FROM dispute WHERE payment_id = $1 AND status IN ('won', 'lost')`)
		l.Counters.Add("disputes won", 1)
		l.Counters.Add("disputes lost", 1)
	}
}

// refundUnseen refunds a payment in the dashboard without a webhook, and then here: the
// provider refuses that refund, and the service finds the other one.
func refundUnseen(t testing.TB, l *clients.Load, price e2e.Money, random *rand.Rand) {
	t.Helper()
	unseen, charge, amount := payForStrike(t, l, price)
	l.Provider.HoldWebhooks()
	refundThere(t, l, charge, amount)
	loseWebhooks(t, l)
	l.Provider.ReleaseWebhooks()
	front := l.ServiceAt(clients.OneOf(random, l.Replicas))
	e2e.Want[e2e.Refund](t, front, http.StatusOK, front.RefundCall(front.AdminToken(t), unseen.OrderID, ""))
	awaitProvider(t, l, unseen, 1, `SELECT count(*) FROM refund WHERE payment_id = $1 AND made_at_provider AND status = 'succeeded'`)
	awaitProvider(t, l, unseen, 1, `SELECT count(*) FROM refund WHERE payment_id = $1 AND failure = 'charge_already_refunded'`)
	l.Counters.Add("refunds in the dashboard without a webhook", 1)
}

// payForStrike pays a new order of two pieces by card, and returns the provider's charge and
// amount.
func payForStrike(t testing.TB, l *clients.Load, price e2e.Money) (p e2e.Payment, charge string, amount int64) {
	t.Helper()
	sku, front := l.UniqueName("priced"), l.ServiceAt(l.Replicas[0])
	front.PutProduct(t, sku, 5)
	e2e.Want[e2e.Product](t, front, http.StatusOK, front.PutPriceCall(t, sku, e2e.Shop, price))
	p = front.MustPayByCard(t, front.MustCreateOrder(t, e2e.Alice, sku, 2).ID, "pm_card_visa")
	l.AwaitPayment(t, p, "captured")
	charges, err := l.Provider.Charges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := charges[l.PaymentKey(t, p.ID)]
	return p, found.ID, found.Amount
}

func refundThere(t testing.TB, l *clients.Load, charge string, amount int64) {
	t.Helper()
	if _, err := l.Provider.RefundInDashboard(t.Context(), charge, amount, "succeeded"); err != nil {
		t.Fatal(err)
	}
}

func dispute(t testing.TB, l *clients.Load, charge string, amount int64, end string) {
	t.Helper()
	id, err := l.Provider.OpenDispute(t.Context(), charge, amount, fakestripe.NeedsResponse)
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range []string{fakestripe.UnderReview, end} {
		if err := l.Provider.StepDispute(t.Context(), id, status); err != nil {
			t.Fatal(err)
		}
	}
}

// loseWebhooks loses the webhooks about refunds that wait.
func loseWebhooks(t testing.TB, l *clients.Load) {
	t.Helper()
	err := l.Provider.ArrangeWebhooks(t.Context(), func(webhooks []fakestripe.Webhook) (kept []fakestripe.Webhook) {
		for _, w := range webhooks {
			if w.Type != "refund.created" && w.Type != "refund.updated" {
				kept = append(kept, w)
			}
		}
		return kept
	})
	if err != nil {
		t.Fatal(err)
	}
}

// awaitProvider waits until the service knows what the provider has moved.
func awaitProvider(t testing.TB, l *clients.Load, p e2e.Payment, n int, count string) {
	t.Helper()
	e2e.Eventually(t, "the service knows what the provider has moved", func() bool { return l.Count(t, count, p.ID) == n })
}
