package coretest

import (
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
