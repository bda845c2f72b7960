package coretest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

func TestOrder_IsPaidAndDelivered(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := placed(t, f)
	f.wantState(t, 10, 2, "100.00")
	mustRun(t, f, confirm(payment.FromBalance), ann, o)
	f.wantState(t, 8, 0, "20.00")
	for _, next := range []order.Status{order.Fulfilling, order.Shipped, order.Delivered} {
		f.advanceClock(time.Minute)
		mustRun(t, f, updateStatus(next), shop, o)
	}
	got := f.order(t, o.ID)
	if got.Status != order.Delivered || got.Version != 5 || !got.UpdatedAt.Equal(f.now()) || !got.ReservedUntil.IsZero() {
		t.Errorf("got %+v", got)
	}
	f.wantState(t, 8, 0, "20.00")
}

func TestOrder_KeepsThePricesOfItsCreation(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := placed(t, f)
	f.product(t, shop, "tea", "99.00", 10)
	want := []order.Line{{SKU: "tea", Quantity: 2, UnitPrice: money("40.00", "RUB")}}
	if diff := cmp.Diff(want, f.order(t, o.ID).Lines); diff != "" {
		t.Error(diff)
	}
	mustRun(t, f, confirm(payment.FromBalance), ann, o)
	f.wantState(t, 8, 0, "20.00")
}

func TestCancelOrder_ReturnsStockAndMoney(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t testing.TB, f *fixture) *order.Order{
		"waiting for payment": placed, "paid": paid, "refunded in part": refunded,
		"expired": expired, "expired and released": released,
		"fulfilling": func(t testing.TB, f *fixture) *order.Order {
			o := paid(t, f)
			mustRun(t, f, updateStatus(order.Fulfilling), shop, o)
			return o
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture()
			cmd := payment.CancelOrder{OrderID: prepare(t, f).ID, Reason: "sold out", Key: f.key()}
			got, _, err := f.Payments.CancelOrder(t.Context(), shop, cmd)
			if err != nil {
				t.Fatal(err)
			}
			want := &order.Cancellation{By: core.Operation{Actor: "shop", Key: cmd.Key}, Reason: "sold out"}
			if diff := cmp.Diff(want, got.Cancellation); diff != "" || got.Status != order.Cancelled {
				t.Errorf("the order is %s:\n%s", got.Status, diff)
			}
			f.wantState(t, 10, 0, "100.00")
		})
	}
}

func TestLedger_RecordsBothSidesOfEveryChange(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := refunded(t, f)
	mustRun(t, f, charge("7.00"), billing, o)
	payments, err := f.Payments.ListPayments(t.Context(), ann, o.ID)
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := f.Payments.ListBalanceTransactions(t.Context(), ann, payment.EntryFilter{CustomerID: "ann"}, core.Page{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	type entry struct {
		Kind                         payment.EntryKind
		Debit, Credit, Amount, After string
		PaymentID, RefundID          int64
	}
	var got []entry
	for _, m := range entries {
		got = append(got, entry{m.Kind, string(m.Debit), string(m.Credit), m.Amount.Decimal(), m.BalanceAfter.Decimal(), m.PaymentID, m.RefundID})
	}
	p := payments[0]
	want := []entry{ // newest first
		{"charge", "customer/ann", "world", "7.00", "43.00", 0, 0},
		{"refund", "seller/shop", "customer/ann", "30.00", "50.00", p.ID, p.Refunds[0].ID},
		{"payment", "customer/ann", "seller/shop", "80.00", "20.00", p.ID, 0},
		{"credit", "world", "customer/ann", "100.00", "100.00", 0, 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReservation_ExpiresAndReleasesItsStock(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := placed(t, f)
	f.advanceClock(reservationTTL - time.Microsecond)
	f.release(t, 0)
	f.wantState(t, 10, 2, "100.00")
	f.advanceClock(time.Microsecond)
	caused := f.effects(func() {
		f.release(t, 1)
		f.release(t, 0)
	})
	if !cmp.Equal(caused, effects{Events: []string{"order.reservation_expired"}}) {
		t.Errorf("effects: %+v", caused)
	}
	f.wantState(t, 10, 0, "100.00")
	if got := f.order(t, o.ID); got.Status != order.PendingPayment || !got.ReservedUntil.IsZero() {
		t.Errorf("the order is %s and reserved until %v", got.Status, got.ReservedUntil)
	}
}

func TestEvents_CarryNoPersonalData(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := paid(t, f)
	mustRun(t, f, updateProfile, ann, o)
	mustRun(t, f, refund("1.00", "Анна"), ann, o)
	mustRun(t, f, cancel("Анна"), ann, o)
	for _, e := range f.Store.Events() {
		for name, value := range e.Data {
			if text, ok := value.(string); ok && strings.Contains(text, "Анна") {
				t.Errorf("%s of %s is %s", name, e.Type, text)
			}
		}
	}
}

// gateway is a stub of the card provider. It succeeds, with a result that change may
// change.
type gateway struct {
	payment.Gateway
	change func(*payment.ChargeResult)
	// retries has the member Retry of each call.
	retries []bool
}

func (g *gateway) Charge(_ context.Context, c payment.ChargeRequest) (payment.ChargeResult, error) {
	g.retries = append(g.retries, c.Retry)
	result := payment.ChargeResult{Terms: c.Terms, Outcome: payment.ChargeSucceeded, Received: c.Amount, ExternalID: "pi_1"}
	if g.change != nil {
		g.change(&result)
	}
	return result, nil
}

func TestSettlePayment_LeavesAnAnswerThatDiffersUndecided(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*payment.ChargeResult){
		"another payment":  func(r *payment.ChargeResult) { r.Payment = "payment-6a1a7f0e-3f4b-4c0f-9f65-5b0e9d1f2a3b" },
		"a refund":         func(r *payment.ChargeResult) { r.Refund = "refund-6a1a7f0e-3f4b-4c0f-9f65-5b0e9d1f2a3b" },
		"another order":    func(r *payment.ChargeResult) { r.OrderID++ },
		"another amount":   func(r *payment.ChargeResult) { r.Amount = money("1.00", "RUB") },
		"less received":    func(r *payment.ChargeResult) { r.Received = money("0.01", "RUB") },
		"another currency": func(r *payment.ChargeResult) { r.Amount = money("80.00", "USD") },
		"no id":            func(r *payment.ChargeResult) { r.ExternalID = "" },
		"an id with NUL":   func(r *payment.ChargeResult) { r.ExternalID = "pi_\x00" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture()
			g := &gateway{change: change}
			f.Payments.Gateway = g
			cmd := payment.ConfirmPayment{OrderID: placed(t, f).ID, Method: payment.ByCard, CardToken: "pm_card_visa", Key: f.key()}
			p, _, err := f.Payments.ConfirmPayment(t.Context(), ann, cmd)
			if err != nil {
				t.Fatal(err)
			}
			caused := f.effects(func() {
				if err := f.Payments.SettlePayment(t.Context(), p.ID); !errors.Is(err, payment.ErrUndecided) {
					t.Errorf("err = %v, want %v", err, payment.ErrUndecided)
				}
			})
			if diff := cmp.Diff(effects{}, caused); diff != "" {
				t.Errorf("effects of the answer:\n%s", diff)
			}
			g.change = nil
			if err := f.Payments.SettlePayment(t.Context(), p.ID); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff([]bool{false, true}, g.retries); diff != "" {
				t.Errorf("calls that asked for the result of an earlier one (-want +got):\n%s", diff)
			}
		})
	}
}
