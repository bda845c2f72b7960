package cuts_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	outnats "example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/adapters/out/stripe"
	"example.com/orders/internal/core/payment"
	devbroker "example.com/orders/internal/dev/broker"
	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/outbox"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
)

// jobFixture is a shop that accepts cards and runs no job by itself. Its jobs reach the
// database through the proxy, everything else directly.
type jobFixture struct {
	*cutter
	*e2e.Service
	cutReplica            *e2e.Service
	cutDB                 *postgres.DB
	cutPayments, payments *payment.Service

	provider  *e2e.CardProvider
	broker    *devbroker.Broker
	publisher *outnats.Publisher
}

func newJobFixture(t *testing.T) *jobFixture {
	t.Helper()
	f := &jobFixture{provider: e2e.StartCardProvider(t, pgtest.New(t))}
	settings := e2e.CardSettings(f.provider.URL)
	r := startShop(t, settings...)
	f.cutter, f.cutReplica, f.Service = r.cutter, r.cut, r.direct
	var err error
	if f.cutDB, err = postgres.Open(t.Context(), postgres.Config{URL: f.cutter.URL(), MaxConns: 1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.cutDB.Close)
	gateway := stripe.New(stripe.Config{Key: e2e.StripeKey, URL: f.provider.URL, Timeout: e2e.Patience})
	f.cutPayments = &payment.Service{Store: f.cutDB.Payments(), Gateway: gateway}
	f.payments = &payment.Service{Store: f.OpenStore(t).Payments(), Gateway: gateway}
	return f
}

// wantCount checks a number in the database.
func (f *jobFixture) wantCount(t *testing.T, want int, what, query string, args ...any) {
	t.Helper()
	if n := f.Count(t, query, args...); n != want {
		t.Errorf("%s: %d, want %d", what, n, want)
	}
}

// stockOfProduct is how many units a new product has.
const stockOfProduct = 10

func (f *jobFixture) newProduct(t *testing.T) (sku string) {
	t.Helper()
	sku = f.UniqueName("tea")
	f.PutProduct(t, sku, stockOfProduct)
	return sku
}

// mustCredit credits a new customer and returns the key of the command.
func (f *jobFixture) mustCredit(t *testing.T) (key string) {
	t.Helper()
	c := f.CreditCall(t, f.UniqueName("customer"), "1.00")
	f.MustSend(t, c)
	return c.Key
}

// askToPay creates an order of 200.00 and asks to pay it by card.
func (f *jobFixture) askToPay(t *testing.T, cardToken string) e2e.Payment {
	t.Helper()
	customer := f.UniqueName("customer")
	o := f.MustCreateOrder(t, customer, f.newProduct(t), 2)
	call := f.CardCall(t, o.ID, cardToken).WithToken(f.Token(t, customer, "customer"))
	return e2e.Want[e2e.Payment](t, f.Service, http.StatusOK, call)
}

// settle runs the job of a payment past the proxy.
func (f *jobFixture) settle(t *testing.T, p e2e.Payment) {
	t.Helper()
	if err := f.payments.SettlePayment(t.Context(), int64(p.ID)); err != nil {
		t.Fatal(err)
	}
}

// settleAll settles the payments that are not decided.
func (f *jobFixture) settleAll(t *testing.T) {
	t.Helper()
	for _, id := range f.ids(t, `SELECT id FROM payment WHERE status = 'processing'`) {
		f.settle(t, e2e.Payment{ID: id})
	}
}

// settleRefunds settles the refunds that are not decided.
func (f *jobFixture) settleRefunds(t *testing.T) {
	t.Helper()
	for _, id := range f.ids(t, `SELECT id FROM refund WHERE status = 'pending'`) {
		if err := f.payments.SettleRefund(t.Context(), int64(id)); err != nil {
			t.Fatal(err)
		}
	}
}

func (f *jobFixture) ids(t *testing.T, query string, args ...any) []int {
	t.Helper()
	rows, _ := f.DB.Query(t.Context(), query, args...)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func (f *jobFixture) chargeOf(t *testing.T, p e2e.Payment) fakestripe.Charge {
	t.Helper()
	charges, err := f.provider.Charges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return charges[f.PaymentKey(t, p.ID)]
}

// captureLate lets the provider capture a payment under another key than ours.
func (f *jobFixture) captureLate(t *testing.T, p e2e.Payment) {
	t.Helper()
	f.provider.Capture(t, p, f.PaymentKey(t, p.ID), 20000, f.NewKey())
}

// charge lets the provider charge a payment, and returns the event that reports it.
func (f *jobFixture) charge(t *testing.T, p e2e.Payment) (payload string) {
	t.Helper()
	f.captureLate(t, p)
	webhooks, err := f.provider.Webhooks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range webhooks {
		if w.Type == "payment_intent.succeeded" && strings.Contains(w.Payload, f.PaymentKey(t, p.ID)) {
			return w.Payload
		}
	}
	t.Fatal("the provider has no event")
	return ""
}

// forgetPayments moves all payments out of the window of the reconciliation, on both
// sides, so that each pass compares equally many.
func (f *jobFixture) forgetPayments(t *testing.T) {
	t.Helper()
	f.settleRefunds(t)
	f.Exec(t, `UPDATE payment SET created_at = created_at - interval '100 days'`)
	if _, err := f.provider.DB.Exec(t.Context(), `TRUNCATE fakestripe.intent CASCADE`); err != nil {
		t.Fatal(err)
	}
}

// relay publishes one event.
func relay(t *testing.T, f *jobFixture) work {
	t.Helper()
	if f.broker == nil {
		f.broker = natstest.New(t)
		f.publisher = natstest.Publisher(t, f.broker)
	}
	// The lease of a relay whose release was cut lasts for 15 s.
	f.Exec(t, `UPDATE relay_lease SET until = '-infinity'`)
	f.Exec(t, `UPDATE outbox SET published_at = now() WHERE published_at IS NULL`)
	f.mustCredit(t)
	var event string
	if err := f.DB.QueryRow(t.Context(), `SELECT event_id FROM outbox WHERE published_at IS NULL`).Scan(&event); err != nil {
		t.Fatal(err)
	}
	return work{
		run: func(ctx context.Context) error {
			ctx, stop := context.WithCancel(ctx)
			defer stop()
			r := &outbox.Relay{Store: &marked{f.cutDB.Outbox(), stop}, Publisher: f.publisher}
			if f.Count(t, `SELECT count(*) FROM outbox WHERE published_at IS NULL`) > 0 {
				r.Run(ctx)
			}
			return nil
		},
		check: func() {
			f.wantCount(t, 0, "unpublished events", `SELECT count(*) FROM outbox WHERE published_at IS NULL`)
			n := 0
			for _, body := range natstest.Messages(t, f.broker, outnats.Stream) {
				if strings.Contains(string(body), event) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("event %s is %d times in the stream, want once", event, n)
			}
		},
	}
}

// marked is an outbox whose relay stops when all events are marked.
type marked struct {
	*postgres.Outbox
	stop func()
}

// Unpublished stops the relay when there is no event.
func (m *marked) Unpublished(ctx context.Context, limit int) ([]outbox.Event, error) {
	events, err := m.Outbox.Unpublished(ctx, limit)
	if err == nil && len(events) == 0 {
		m.stop()
	}
	return events, err
}

// MarkPublished stops the relay when it has succeeded.
func (m *marked) MarkPublished(ctx context.Context, ids []uuid.UUID) error {
	err := m.Outbox.MarkPublished(ctx, ids)
	if err == nil {
		m.stop()
	}
	return err
}
