package coretest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	coretest "example.com/orders/internal/test/core"
)

// checkState compares the stock of the product tea and Ann's balance.
func checkState(t *testing.T, f *coretest.Fixture, onHand, reserved int64, balance string) {
	t.Helper()
	if p := f.Stock(t, "tea"); p.OnHand != onHand || p.Reserved != reserved {
		t.Errorf("%d on hand, %d reserved; want %d and %d", p.OnHand, p.Reserved, onHand, reserved)
	}
	if got := f.Balance(t, "ann"); got != balance {
		t.Errorf("ann has %s; want %s", got, balance)
	}
}

func TestOrder_IsPaidAndDelivered(t *testing.T) {
	t.Parallel()
	f := coretest.New(t)
	o := f.Placed(t)
	checkState(t, f, 10, 2, "100.00")
	f.Confirm(t, o.ID)
	checkState(t, f, 8, 0, "20.00")
	for _, next := range []order.Status{order.Fulfilling, order.Shipped, order.Delivered} {
		f.AdvanceClock(time.Minute)
		f.UpdateStatus(t, o.ID, next)
	}
	got := f.Order(t, o.ID)
	if got.Status != order.Delivered || got.Version != 5 || !got.UpdatedAt.Equal(f.Now()) || !got.ReservedUntil.IsZero() {
		t.Errorf("got %+v", got)
	}
	checkState(t, f, 8, 0, "20.00")
}

func TestOrder_KeepsThePricesOfItsCreation(t *testing.T) {
	t.Parallel()
	f := coretest.New(t)
	o := f.Placed(t)
	f.Product(t, shop, "tea", "99.00", 10)
	want := []order.Line{{SKU: "tea", Quantity: 2, UnitPrice: coretest.Money("40.00", "RUB")}}
	if diff := cmp.Diff(want, f.Order(t, o.ID).Lines); diff != "" {
		t.Error(diff)
	}
	f.Confirm(t, o.ID)
	checkState(t, f, 8, 0, "20.00")
}

func TestCancelOrder_ReturnsStockAndMoney(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t testing.TB, f *coretest.Fixture) *order.Order{
		"waiting for payment": placed,
		"paid":                paid,
		"fulfilling": func(t testing.TB, f *coretest.Fixture) *order.Order {
			o := f.Paid(t)
			f.UpdateStatus(t, o.ID, order.Fulfilling)
			return o
		},
		"refunded in part": func(t testing.TB, f *coretest.Fixture) *order.Order {
			o := f.Paid(t)
			if err := run(refund("30.00", ""), ann)(t, f, o); err != nil {
				t.Fatal(err)
			}
			return o
		},
		"expired": expired,
		"expired and released": func(t testing.TB, f *coretest.Fixture) *order.Order {
			o := f.Placed(t)
			f.AdvanceClock(coretest.ReservationTTL)
			if _, _, err := f.Orders.ReleaseExpiredReservations(t.Context(), order.Expiry{}, 10); err != nil {
				t.Fatal(err)
			}
			return o
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := coretest.New(t)
			o := prepare(t, f)
			cmd := payment.CancelOrder{OrderID: o.ID, Reason: "sold out", Key: f.Key()}
			got, _, err := f.Payments.CancelOrder(t.Context(), shop, cmd)
			if err != nil {
				t.Fatal(err)
			}
			want := &order.Cancellation{By: core.Operation{Actor: "shop", Key: cmd.Key}, Reason: "sold out"}
			if diff := cmp.Diff(want, got.Cancellation); diff != "" || got.Status != order.Cancelled {
				t.Errorf("the order is %s:\n%s", got.Status, diff)
			}
			checkState(t, f, 10, 0, "100.00")
		})
	}
}

func TestRefundPayment_ChangesOrderStockAndBalance(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare  func(t testing.TB, f *coretest.Fixture) *order.Order
		by       core.Actor
		amounts  []string
		status   order.Status
		onHand   int64
		balance  string
		refunded string
	}{
		"a part does not cancel":                    {paid, ann, []string{"30.00"}, order.Paid, 8, "50.00", "30.00"},
		"all of it cancels":                         {paid, ann, []string{""}, order.Cancelled, 10, "100.00", "80.00"},
		"all of it by its amount cancels":           {paid, ann, []string{"80.00"}, order.Cancelled, 10, "100.00", "80.00"},
		"parts that are all of it cancel":           {paid, ann, []string{"30.00", "49.99", "0.01"}, order.Cancelled, 10, "100.00", "80.00"},
		"a part and a full refund cancel":           {paid, root, []string{"30.00", ""}, order.Cancelled, 10, "100.00", "80.00"},
		"what is shipped stays shipped":             {shipped, root, []string{""}, order.Shipped, 8, "100.00", "80.00"},
		"what is shipped is refunded in parts, too": {shipped, root, []string{"1.00", "2.00"}, order.Shipped, 8, "23.00", "3.00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := coretest.New(t)
			o := c.prepare(t, f)
			for _, amount := range c.amounts {
				if err := run(refund(amount, ""), c.by)(t, f, o); err != nil {
					t.Fatal(err)
				}
			}
			if got := f.Order(t, o.ID).Status; got != c.status {
				t.Errorf("the order is %s; want %s", got, c.status)
			}
			checkState(t, f, c.onHand, 0, c.balance)
			found, err := f.Payments.ListPayments(t.Context(), ann, o.ID)
			if err != nil || len(found) != 1 || found[0].Refunded().Decimal() != c.refunded || len(found[0].Refunds) != len(c.amounts) {
				t.Errorf("payments %+v, %v; want %s refunded", found, err, c.refunded)
			}
		})
	}
}

func TestLedger_RecordsBothSidesOfEveryChange(t *testing.T) {
	t.Parallel()
	f := coretest.New(t)
	o := f.Paid(t)
	if err := run(refund("30.00", ""), ann)(t, f, o); err != nil {
		t.Fatal(err)
	}
	if err := run(changeBalance((*payment.Service).ChargeBalance, "7.00"), billing)(t, f, o); err != nil {
		t.Fatal(err)
	}
	type entry struct{ Kind, Debit, Credit, Amount, After string }
	var got []entry
	entries, _, err := f.Payments.ListBalanceTransactions(t.Context(), ann, payment.EntryFilter{CustomerID: "ann"}, core.Page{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range entries {
		got = append(got, entry{string(m.Kind), string(m.Debit), string(m.Credit), m.Amount.Decimal(), m.BalanceAfter.Decimal()})
	}
	want := []entry{ // newest first
		{"charge", "customer/ann", "world", "7.00", "43.00"},
		{"refund", "seller/shop", "customer/ann", "30.00", "50.00"},
		{"payment", "customer/ann", "seller/shop", "80.00", "20.00"},
		{"credit", "world", "customer/ann", "100.00", "100.00"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLedger_NamesPaymentAndRefund(t *testing.T) {
	t.Parallel()
	f := coretest.New(t)
	o := f.Paid(t)
	if err := run(refund("", ""), ann)(t, f, o); err != nil {
		t.Fatal(err)
	}
	payments, err := f.Payments.ListPayments(t.Context(), ann, o.ID)
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := f.Payments.ListBalanceTransactions(t.Context(), ann, payment.EntryFilter{CustomerID: "ann"}, core.Page{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	p := payments[0]
	if back := entries[0]; back.PaymentID != p.ID || back.RefundID != p.Refunds[0].ID {
		t.Errorf("the refund moved money for payment %d and refund %d", back.PaymentID, back.RefundID)
	}
	if there := entries[1]; there.PaymentID != p.ID || there.RefundID != 0 {
		t.Errorf("the payment moved money for payment %d and refund %d", there.PaymentID, there.RefundID)
	}
}

func TestReservation_ExpiresAndReleasesItsStock(t *testing.T) {
	t.Parallel()
	f := coretest.New(t)
	o := f.Placed(t)
	f.AdvanceClock(coretest.ReservationTTL - time.Microsecond)
	release(t, f, 0)
	checkState(t, f, 10, 2, "100.00")
	f.AdvanceClock(time.Microsecond)
	if caused := f.Effects(t, func() { release(t, f, 1) }); !cmp.Equal(caused, coretest.Effects{Events: []string{"order.reservation_expired"}}) {
		t.Errorf("effects: %+v", caused)
	}
	checkState(t, f, 10, 0, "100.00")
	if caused := f.Effects(t, func() { release(t, f, 0) }); !cmp.Equal(caused, coretest.Effects{}) {
		t.Errorf("effects of a second run: %+v", caused)
	}
	checkState(t, f, 10, 0, "100.00")
	if got := f.Order(t, o.ID); got.Status != order.PendingPayment || !got.ReservedUntil.IsZero() {
		t.Errorf("the order is %s and reserved until %v", got.Status, got.ReservedUntil)
	}
}

func release(t *testing.T, f *coretest.Fixture, want int) {
	t.Helper()
	if _, n, err := f.Orders.ReleaseExpiredReservations(t.Context(), order.Expiry{}, 10); n != want || err != nil {
		t.Errorf("released %d reservations, %v; want %d", n, err, want)
	}
}

func TestReserveInventory_ExtendsTheReservation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after    time.Duration
		released bool
	}{
		"while it is in force":       {coretest.ReservationTTL / 2, false},
		"when it has expired":        {coretest.ReservationTTL, false},
		"when its stock is released": {coretest.ReservationTTL, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := coretest.New(t)
			o := f.Placed(t)
			f.AdvanceClock(c.after)
			if c.released {
				release(t, f, 1)
			}
			cmd := order.ReserveInventory{OrderID: o.ID, Key: f.Key()}
			extended, _, err := f.Orders.ReserveInventory(t.Context(), billing, cmd)
			if err != nil {
				t.Fatal(err)
			}
			if want := f.Now().Add(coretest.ReservationTTL); !extended.ReservedUntil.Equal(want) {
				t.Errorf("reserved until %v; want %v", extended.ReservedUntil, want)
			}
			checkState(t, f, 10, 2, "100.00")
			f.Confirm(t, o.ID)
			checkState(t, f, 8, 0, "20.00")
		})
	}
}

func TestAdjustStock_ChangesTheQuantityOnHand(t *testing.T) {
	t.Parallel()
	f := coretest.New(t)
	f.Placed(t)
	onHand := int64(10)
	for _, change := range []int64{5, -13, 1} { // 2 are reserved
		onHand += change
		cmd := order.AdjustStock{SKU: "tea", Change: change, Reason: "a count", Key: f.Key()}
		a, _, err := f.Orders.AdjustStock(t.Context(), shop, cmd)
		if err != nil {
			t.Fatal(err)
		}
		want := &order.StockAdjustment{
			ID: a.ID, SKU: "tea", Change: change, OnHand: onHand, Reason: "a count",
			By: core.Operation{Actor: "shop", Key: cmd.Key}, CreatedAt: f.Now(),
		}
		if diff := cmp.Diff(want, a); diff != "" || a.ID == 0 {
			t.Errorf("adjustment %d (-want +got):\n%s", a.ID, diff)
		}
		checkState(t, f, onHand, 2, "100.00")
	}
}

func TestPutProduct_KeepsTheOwner(t *testing.T) {
	t.Parallel()
	f := coretest.New(t)
	put := func(actor core.Actor, name string, onHand *int64) (*order.Product, bool) {
		p, isNew, err := f.Orders.PutProduct(t.Context(), actor, order.PutProduct{SKU: "tea", Name: name, Price: coretest.Money("1", "RUB"), OnHand: onHand})
		if err != nil {
			t.Fatal(err)
		}
		return p, isNew
	}
	made, isNew := put(shop, "Tea", new(int64(1)))
	if !isNew || made.SellerID != "shop" {
		t.Errorf("new = %v, of %s", isNew, made.SellerID)
	}
	f.AdvanceClock(time.Hour)
	if changed, isNew := put(root, "Green tea", nil); isNew || changed.SellerID != "shop" || changed.ID != made.ID || !changed.CreatedAt.Equal(made.CreatedAt) {
		t.Errorf("an administrator's change: new = %v, %+v", isNew, changed)
	}
	if p := f.Stock(t, "tea"); p.Name != "Green tea" || !p.UpdatedAt.Equal(f.Now()) {
		t.Errorf("got %+v", p)
	}
}

func TestEvents_CarryNoPersonalData(t *testing.T) {
	t.Parallel()
	const private = "Анна Аннина"
	f := coretest.New(t)
	o := f.Paid(t)
	for _, err := range []error{
		run(updateProfile, ann)(t, f, o),
		run(refund("1.00", private), ann)(t, f, o),
		run(cancel(private), ann)(t, f, o),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range f.Store.Events() {
		for name, value := range e.Data {
			if text, ok := value.(string); ok && text == private {
				t.Errorf("%s of %s is %s", name, e.Type, text)
			}
		}
	}
}
