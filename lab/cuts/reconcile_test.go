package cuts_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/reconcile"
	"example.com/orders/internal/test/e2e"
)

// reconcilePage is one step of a pass. It finds one mismatch, which counts once.
func reconcilePage(t *testing.T, f *jobFixture) work {
	t.Helper()
	f.foldRows = true
	f.Exec(t, `UPDATE product SET reserved = 0`)
	sku := f.newProduct(t)
	f.Exec(t, `UPDATE product SET reserved = 1 WHERE sku = $1`, sku)
	f.beginPassAt(t, "products")
	reports := 0
	reconciliation := &reconcile.Service{
		Store: f.cutDB, Progress: f.cutDB, Payments: f.cutPayments, Now: time.Now,
		Report: func(m payment.Mismatch) {
			reports++
			if m.Resource != "product/"+sku {
				t.Errorf("reconciliation mismatch: %s: %s", m.Resource, m.Detail)
			}
		},
	}
	return work{
		run: func(ctx context.Context) error {
			_, err := reconciliation.Step(ctx, everything)
			return err
		},
		check: func() {
			f.wantCount(t, 1, "mismatches", `SELECT found + mismatches FROM reconciliation`)
			if reports == 0 {
				t.Error("the mismatch was not reported")
			}
			f.Exec(t, `UPDATE product SET reserved = 0 WHERE sku = $1`, sku)
		},
	}
}

// everything is a page that has all rows.
const everything = 100_000

// beginPassAt moves the reconciliation to the first row of a check.
func (f *jobFixture) beginPassAt(t *testing.T, check string) {
	t.Helper()
	f.Exec(t, `UPDATE reconciliation SET position = jsonb_build_object('check', $1::text)::text, found = 0, mismatches = 0`, check)
}

// reconcileLateCapture is the last step of a pass, which refunds what the provider
// captured for a payment that has failed here.
func reconcileLateCapture(t *testing.T, f *jobFixture) work {
	t.Helper()
	f.foldRows = true
	f.forgetPayments(t)
	p := f.askToPay(t, "pm_card_declined")
	f.settle(t, p)
	f.captureLate(t, p)
	f.beginPassAt(t, "balances")
	reconciliation := f.reconciliation(t, p)
	return work{
		run: func(ctx context.Context) error {
			for more := 1; more > 0; {
				var err error
				if more, err = reconciliation.Step(ctx, everything); err != nil {
					return err
				}
			}
			return nil
		},
		check: func() {
			f.wantCount(t, 1, "a refund", `SELECT count(*) FROM refund WHERE payment_id = $1`, p.ID)
			f.wantCount(t, 1, "an event for operators", `SELECT count(*) FROM outbox WHERE type = 'payment.captured_late' AND aggregate = 'payment/' || $1::bigint`, p.ID)
			f.settleRefunds(t)
			if charge := f.chargeOf(t, p); charge.Count != 1 || charge.Refunded != 20000 {
				t.Errorf("the provider has %+v, want 200.00 captured and refunded once", charge)
			}
		},
	}
}

// reconciliation compares in an hour, when nothing is recent any more. It may find only
// that the refund of the late capture, which it has just made, is still pending.
func (f *jobFixture) reconciliation(t *testing.T, late e2e.Payment) *reconcile.Service {
	t.Helper()
	return &reconcile.Service{
		Store: f.cutDB, Progress: f.cutDB, Payments: f.cutPayments, Gateway: f.cutPayments.Gateway,
		Report: func(m payment.Mismatch) {
			if m.Resource != fmt.Sprintf("payment/%d", late.ID) {
				t.Errorf("reconciliation mismatch: %s: %s", m.Resource, m.Detail)
			}
		},
		Now: func() time.Time { return time.Now().Add(time.Hour) },
	}
}
