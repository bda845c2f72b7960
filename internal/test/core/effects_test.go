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

// has checks what is on the shelf, what is reserved, and what Ann has.
func has(t *testing.T, w *coretest.World, onHand, reserved int64, balance string) {
	t.Helper()
	if p := w.Stock("tea"); p.OnHand != onHand || p.Reserved != reserved {
		t.Errorf("%d on hand, %d reserved; want %d and %d", p.OnHand, p.Reserved, onHand, reserved)
	}
	if got := w.Balance("ann"); got != balance {
		t.Errorf("ann has %s; want %s", got, balance)
	}
}

func TestOrderGoesItsWay(t *testing.T) {
	t.Parallel()
	w := coretest.New(t)
	o := w.Placed()
	has(t, w, 10, 2, "100.00")
	w.Confirm(o.ID)
	has(t, w, 8, 0, "20.00")
	for _, next := range []order.Status{order.Fulfilling, order.Shipped, order.Delivered} {
		w.Pass(time.Minute)
		w.Advance(o.ID, next)
	}
	got := w.Order(o.ID)
	if got.Status != order.Delivered || got.Version != 5 || !got.UpdatedAt.Equal(w.Now()) || !got.ReservedUntil.IsZero() {
		t.Errorf("got %+v", got)
	}
	has(t, w, 8, 0, "20.00")
}

func TestOrderKeepsThePricesItWasMadeAt(t *testing.T) {
	t.Parallel()
	w := coretest.New(t)
	o := w.Placed()
	w.Product(shop, "tea", "99.00", 10)
	want := []order.Line{{SKU: "tea", Quantity: 2, UnitPrice: coretest.Money("40.00", "RUB")}}
	if diff := cmp.Diff(want, w.Order(o.ID).Lines); diff != "" {
		t.Error(diff)
	}
	w.Confirm(o.ID)
	has(t, w, 8, 0, "20.00")
}

func TestCancellationGivesEverythingBack(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(w *coretest.World) *order.Order{
		"waiting for payment": placed,
		"paid":                paid,
		"fulfilling": func(w *coretest.World) *order.Order {
			o := w.Paid()
			w.Advance(o.ID, order.Fulfilling)
			return o
		},
		"refunded in part": func(w *coretest.World) *order.Order {
			o := w.Paid()
			if err := run(refund("30.00", ""), ann)(w, o); err != nil {
				w.Fatal(err)
			}
			return o
		},
		"lapsed": func(w *coretest.World) *order.Order {
			o := w.Placed()
			w.Pass(coretest.ReservationTTL)
			return o
		},
		"lapsed and released": func(w *coretest.World) *order.Order {
			o := w.Placed()
			w.Pass(coretest.ReservationTTL)
			if _, err := w.Orders.ReleaseExpiredReservations(w.Context(), 10); err != nil {
				w.Fatal(err)
			}
			return o
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := coretest.New(t)
			o := prepare(w)
			cmd := payment.CancelOrder{OrderID: o.ID, Reason: "sold out", Key: w.Key()}
			got, _, err := w.Payments.CancelOrder(t.Context(), shop, cmd)
			if err != nil {
				t.Fatal(err)
			}
			want := &order.Cancellation{By: core.Operation{Actor: "shop", Key: cmd.Key}, Reason: "sold out"}
			if diff := cmp.Diff(want, got.Cancellation); diff != "" || got.Status != order.Cancelled {
				t.Errorf("the order is %s:\n%s", got.Status, diff)
			}
			has(t, w, 10, 0, "100.00")
		})
	}
}

func TestRefunds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare  func(w *coretest.World) *order.Order
		by       core.Actor
		amounts  []string
		status   order.Status
		onHand   int64
		balance  string
		refunded string
	}{
		"a part leaves the order alone":             {paid, ann, []string{"30.00"}, order.Paid, 8, "50.00", "30.00"},
		"all of it cancels":                         {paid, ann, []string{""}, order.Cancelled, 10, "100.00", "80.00"},
		"all of it by its amount cancels":           {paid, ann, []string{"80.00"}, order.Cancelled, 10, "100.00", "80.00"},
		"parts that are all of it cancel":           {paid, ann, []string{"30.00", "49.99", "0.01"}, order.Cancelled, 10, "100.00", "80.00"},
		"a part and the rest cancel":                {paid, root, []string{"30.00", ""}, order.Cancelled, 10, "100.00", "80.00"},
		"what is shipped stays shipped":             {(*coretest.World).Shipped, root, []string{""}, order.Shipped, 8, "100.00", "80.00"},
		"what is shipped is refunded in parts, too": {(*coretest.World).Shipped, root, []string{"1.00", "2.00"}, order.Shipped, 8, "23.00", "3.00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := coretest.New(t)
			o := c.prepare(w)
			for _, amount := range c.amounts {
				if err := run(refund(amount, ""), c.by)(w, o); err != nil {
					t.Fatal(err)
				}
			}
			if got := w.Order(o.ID).Status; got != c.status {
				t.Errorf("the order is %s; want %s", got, c.status)
			}
			has(t, w, c.onHand, 0, c.balance)
			found, err := w.Payments.ListPayments(t.Context(), ann, o.ID)
			if err != nil || len(found) != 1 || found[0].Refunded().Decimal() != c.refunded || len(found[0].Refunds) != len(c.amounts) {
				t.Errorf("payments %+v, %v; want %s refunded", found, err, c.refunded)
			}
		})
	}
}

func TestBooksBalance(t *testing.T) {
	t.Parallel()
	w := coretest.New(t)
	o := w.Paid()
	if err := run(refund("30.00", ""), ann)(w, o); err != nil {
		t.Fatal(err)
	}
	if err := run(move((*payment.Service).ChargeBalance, "7.00"), billing)(w, o); err != nil {
		t.Fatal(err)
	}
	type entry struct{ Kind, Debit, Credit, Amount, After string }
	var got []entry
	entries, _, err := w.Payments.ListBalanceTransactions(t.Context(), ann, "ann", core.Page{Limit: 10})
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

func TestEntriesOfAnOrderNameWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	w := coretest.New(t)
	o := w.Paid()
	if err := run(refund("", ""), ann)(w, o); err != nil {
		t.Fatal(err)
	}
	payments, err := w.Payments.ListPayments(t.Context(), ann, o.ID)
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := w.Payments.ListBalanceTransactions(t.Context(), ann, "ann", core.Page{Limit: 2})
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

func TestHoldLapses(t *testing.T) {
	t.Parallel()
	w := coretest.New(t)
	o := w.Placed()
	w.Pass(coretest.ReservationTTL - time.Microsecond)
	release(t, w, 0)
	has(t, w, 10, 2, "100.00")
	w.Pass(time.Microsecond)
	if left := w.Traces(func() { release(t, w, 1) }); !cmp.Equal(left, coretest.Traces{Events: []string{"order.reservation_expired"}}) {
		t.Errorf("traces: %+v", left)
	}
	has(t, w, 10, 0, "100.00")
	if left := w.Traces(func() { release(t, w, 0) }); !cmp.Equal(left, coretest.Traces{}) {
		t.Errorf("traces of releasing again: %+v", left)
	}
	has(t, w, 10, 0, "100.00")
	if got := w.Order(o.ID); got.Status != order.PendingPayment || !got.ReservedUntil.IsZero() {
		t.Errorf("the order is %s and held until %v", got.Status, got.ReservedUntil)
	}
}

func release(t *testing.T, w *coretest.World, want int) {
	t.Helper()
	if n, err := w.Orders.ReleaseExpiredReservations(t.Context(), 10); n != want || err != nil {
		t.Errorf("released %d holds, %v; want %d", n, err, want)
	}
}

func TestHoldIsRenewed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after    time.Duration
		released bool
	}{
		"while it is alive":          {coretest.ReservationTTL / 2, false},
		"when it has lapsed":         {coretest.ReservationTTL, false},
		"when its stock is released": {coretest.ReservationTTL, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := coretest.New(t)
			o := w.Placed()
			w.Pass(c.after)
			if c.released {
				release(t, w, 1)
			}
			cmd := order.ReserveInventory{OrderID: o.ID, Key: w.Key()}
			renewed, _, err := w.Orders.ReserveInventory(t.Context(), billing, cmd)
			if err != nil {
				t.Fatal(err)
			}
			if want := w.Now().Add(coretest.ReservationTTL); !renewed.ReservedUntil.Equal(want) {
				t.Errorf("held until %v; want %v", renewed.ReservedUntil, want)
			}
			has(t, w, 10, 2, "100.00")
			w.Confirm(o.ID)
			has(t, w, 8, 0, "20.00")
		})
	}
}

func TestProductBelongsToWhoMadeIt(t *testing.T) {
	t.Parallel()
	w := coretest.New(t)
	put := func(actor core.Actor, name string) (*order.Product, bool) {
		p, isNew, err := w.Orders.PutProduct(t.Context(), actor, order.PutProduct{SKU: "tea", Name: name, Price: coretest.Money("1", "RUB"), OnHand: 1})
		if err != nil {
			t.Fatal(err)
		}
		return p, isNew
	}
	made, isNew := put(shop, "Tea")
	if !isNew || made.SellerID != "shop" {
		t.Errorf("new = %v, of %s", isNew, made.SellerID)
	}
	w.Pass(time.Hour)
	if changed, isNew := put(root, "Green tea"); isNew || changed.SellerID != "shop" || changed.ID != made.ID || !changed.CreatedAt.Equal(made.CreatedAt) {
		t.Errorf("an administrator's change: new = %v, %+v", isNew, changed)
	}
	if p := w.Stock("tea"); p.Name != "Green tea" || !p.UpdatedAt.Equal(w.Now()) {
		t.Errorf("got %+v", p)
	}
}

func TestEventsCarryNoPersonalData(t *testing.T) {
	t.Parallel()
	const private = "Анна Аннина"
	w := coretest.New(t)
	o := w.Paid()
	for _, err := range []error{
		run(updateProfile, ann)(w, o),
		run(refund("1.00", private), ann)(w, o),
		run(cancel(private), ann)(w, o),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range w.Store.Events() {
		for name, value := range e.Data {
			if text, ok := value.(string); ok && text == private {
				t.Errorf("%s of %s is %s", name, e.Type, text)
			}
		}
	}
}
