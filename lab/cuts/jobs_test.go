package cuts_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/e2e"
)

// work is one run of a job, prepared.
type work struct {
	run func(ctx context.Context) error
	// check checks that the work was done once.
	check func()
}

// jobsByName are the functions that River, the relay and the consumers call. Each begins
// where River's own statements end: a job whose row is not marked as done runs again, which
// every cut here is followed by.
var jobsByName = map[string]func(t *testing.T, f *jobFixture) work{
	"settle_payment":                settlePayment,
	"settle_refund":                 settleRefund,
	"release_expired_reservations":  releaseReservation,
	"restore_intents":               restoreIntent,
	"clean_idempotency_records":     cleanRecords,
	"clean_outbox":                  cleanOutbox,
	"clean_processed_messages":      cleanMessages,
	"reconcile":                     reconcilePage,
	"reconcile with a late capture": reconcileLateCapture,
	"relay":                         relay,
	"restock":                       restock,
	"webhook":                       webhook,
}

// cutJob cuts a job, and lets River run it again.
func cutJob(prepare func(t *testing.T, f *jobFixture) work) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		f := newJobFixture(t)
		f.cutEverywhere(t, func() attempt { return f.attempt(t, prepare) })
	}
}

// attempt warms the connection up with one run of the job, and prepares another.
func (f *jobFixture) attempt(t *testing.T, prepare func(*testing.T, *jobFixture) work) attempt {
	t.Helper()
	warm := prepare(t, f)
	f.mustRun(t, warm)
	warm.check()
	w := prepare(t, f)
	f.awaitIdle(t)
	return attempt{
		run: func() string {
			if err := w.run(t.Context()); err != nil {
				return err.Error()
			}
			return ""
		},
		resolve: func(_ cut, learned string) {
			if learned != "" {
				f.mustRun(t, w)
			}
			w.check() // a run without an error has done the work
			f.mustRun(t, w)
			w.check()
		},
	}
}

// mustRun runs a job until it succeeds, as River does.
func (f *jobFixture) mustRun(t *testing.T, w work) {
	t.Helper()
	var err error
	e2e.Eventually(t, "the job succeeds", func() bool {
		err = w.run(t.Context())
		return err == nil
	})
}

func settlePayment(t *testing.T, f *jobFixture) work {
	t.Helper()
	p := f.askToPay(t, "pm_card_visa")
	return work{
		run: func(ctx context.Context) error { return f.cutPayments.SettlePayment(ctx, int64(p.ID)) },
		check: func() {
			f.wantCount(t, 1, "a captured payment", `SELECT count(*) FROM payment WHERE id = $1 AND status = 'captured'`, p.ID)
			f.wantCount(t, 1, "an entry of the payment", `SELECT count(*) FROM ledger_entry WHERE payment_id = $1`, p.ID)
			if charge := f.chargeOf(t, p); charge.Count != 1 || charge.Amount != 20000 {
				t.Errorf("the provider charged %+v, want 200.00 once", charge)
			}
		},
	}
}

func settleRefund(t *testing.T, f *jobFixture) work {
	t.Helper()
	p := f.askToPay(t, "pm_card_visa")
	f.settle(t, p)
	r := e2e.Want[e2e.Refund](t, f.Service, http.StatusOK, f.RefundCall(f.AdminToken(t), p.OrderID, "50.00"))
	return work{
		run: func(ctx context.Context) error { return f.cutPayments.SettleRefund(ctx, int64(r.ID)) },
		check: func() {
			f.wantCount(t, 1, "a refund", `SELECT count(*) FROM refund WHERE id = $1 AND status = 'succeeded'`, r.ID)
			f.wantCount(t, 1, "an entry of the refund", `SELECT count(*) FROM ledger_entry WHERE refund_id = $1`, r.ID)
			if charge := f.chargeOf(t, p); charge.Refunded != 5000 {
				t.Errorf("the provider refunded %+v, want 50.00 once", charge)
			}
		},
	}
}

func releaseReservation(t *testing.T, f *jobFixture) work {
	t.Helper()
	sku := f.newProduct(t)
	o := f.MustCreateOrder(t, f.UniqueName("customer"), sku, 2)
	f.ExpireReservation(t, o.ID)
	orders := e2e.OrderService(f.cutDB)
	return work{
		run: func(ctx context.Context) error {
			_, _, err := orders.ReleaseExpiredReservations(ctx, order.Expiry{}, 10)
			return err
		},
		check: func() {
			f.WantStock(t, sku, stockOfProduct, 0)
			f.wantCount(t, 1, "an event", `SELECT count(*) FROM outbox WHERE aggregate = 'order/' || $1::bigint AND type = 'order.reservation_expired'`, o.ID)
		},
	}
}

// restoreIntent inserts the job of a payment again that somebody deleted.
func restoreIntent(t *testing.T, f *jobFixture) work {
	t.Helper()
	f.settleAll(t)
	p := f.askToPay(t, "pm_card_visa")
	f.Exec(t, `DELETE FROM river.river_job`)
	f.Exec(t, `UPDATE payment SET created_at = created_at - interval '1 hour' WHERE id = $1`, p.ID)
	return work{
		run: func(ctx context.Context) error {
			_, err := f.cutDB.RestorePaymentJobs(ctx, core.Position{}, 500)
			return err
		},
		check: func() {
			f.wantCount(t, 1, "a job", `SELECT count(*) FROM river.river_job WHERE kind = 'settle_payment' AND (args->>'id')::bigint = $1`, p.ID)
		},
	}
}

func cleanRecords(t *testing.T, f *jobFixture) work {
	t.Helper()
	expired, kept := f.mustCredit(t), f.mustCredit(t)
	f.Exec(t, `UPDATE idempotency_record SET expires_at = now() - interval '1 second' WHERE key = $1`, expired)
	return work{
		run: func(ctx context.Context) error {
			_, err := f.cutDB.Keys().DeleteExpired(ctx, 500)
			return err
		},
		check: func() {
			f.wantCount(t, 0, "an expired record", `SELECT count(*) FROM idempotency_record WHERE key = $1`, expired)
			f.wantCount(t, 1, "a record", `SELECT count(*) FROM idempotency_record WHERE key = $1`, kept)
		},
	}
}

// cleanOutbox deletes an event of this test: those of the service stay, so that the
// invariants can be checked.
func cleanOutbox(t *testing.T, f *jobFixture) work {
	t.Helper()
	f.Exec(t, `INSERT INTO outbox (event_id, type, aggregate, data, created_at, published_at)
		VALUES (gen_random_uuid(), 'old', 'old/1', '{}', now() - interval '2 days', now() - interval '2 days')`)
	kept := f.Count(t, `SELECT count(*) FROM outbox WHERE type <> 'old'`)
	return work{
		run: func(ctx context.Context) error {
			_, err := f.cutDB.Outbox().DeletePublished(ctx, 24*time.Hour, 500)
			return err
		},
		check: func() {
			f.wantCount(t, 0, "an old event", `SELECT count(*) FROM outbox WHERE type = 'old'`)
			f.wantCount(t, kept, "events", `SELECT count(*) FROM outbox`)
		},
	}
}

func cleanMessages(t *testing.T, f *jobFixture) work {
	t.Helper()
	f.Exec(t, `DELETE FROM processed_message`)
	f.Exec(t, `INSERT INTO processed_message (source, message_id, processed_at) VALUES ('old', '1', now() - interval '1 year'), ('new', '1', now())`)
	return work{
		run: func(ctx context.Context) error {
			_, err := f.cutDB.DeleteOldMessages(ctx, 500)
			return err
		},
		check: func() {
			f.wantCount(t, 0, "an old message", `SELECT count(*) FROM processed_message WHERE source = 'old'`)
			f.wantCount(t, 1, "a new message", `SELECT count(*) FROM processed_message WHERE source = 'new'`)
		},
	}
}

// restock processes a message of the warehouse. Its product is not among those whose
// stock may only be sold.
func restock(t *testing.T, f *jobFixture) work {
	t.Helper()
	sku, message := f.UniqueName("tea"), f.UniqueName("message")
	f.MustSend(t, f.PutProductCall(t, sku, e2e.Shop, e2e.Roubles("100.00"), stockOfProduct))
	orders := e2e.OrderService(f.cutDB)
	return work{
		run: func(ctx context.Context) error {
			return orders.Restock(ctx, order.Restock{SKU: sku, Quantity: 3, Source: "warehouse", MessageID: message})
		},
		check: func() {
			f.wantCount(t, stockOfProduct+3, "units", `SELECT on_hand FROM product WHERE sku = $1`, sku)
		},
	}
}

// webhook applies a provider event, which the provider sends until it is accepted.
func webhook(t *testing.T, f *jobFixture) work {
	t.Helper()
	p := f.askToPay(t, "pm_card_visa")
	payload := f.charge(t, p)
	call := e2e.WebhookCall(payload, fakestripe.Sign(e2e.WebhookSecret, []byte(payload), time.Now()))
	return work{
		run: func(context.Context) error {
			if r := f.cutReplica.Send(t, call); r.Status != http.StatusOK {
				return fmt.Errorf("webhook: %s", r.Verdict())
			}
			return nil
		},
		check: func() {
			f.wantCount(t, 1, "a captured payment", `SELECT count(*) FROM payment WHERE id = $1 AND status = 'captured'`, p.ID)
			f.wantCount(t, 1, "an entry of the payment", `SELECT count(*) FROM ledger_entry WHERE payment_id = $1`, p.ID)
			f.wantCount(t, 1, "an event", `SELECT count(*) FROM outbox WHERE type = 'payment.captured' AND aggregate = 'payment/' || $1::bigint`, p.ID)
		},
	}
}
