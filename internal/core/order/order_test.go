package order

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// statuses are all statuses.
var statuses = slices.Sorted(slices.Values(Statuses()))

// allowed is the life cycle of an order. Each other pair of statuses must be refused.
var allowed = map[[2]Status]bool{
	{PendingPayment, Paid}:              true,
	{PendingPayment, PaymentProcessing}: true,
	{PendingPayment, Cancelled}:         true,
	{PaymentProcessing, Paid}:           true,
	{PaymentProcessing, PendingPayment}: true,
	{Paid, Fulfilling}:                  true,
	{Paid, Cancelled}:                   true,
	{Fulfilling, Shipped}:               true,
	{Fulfilling, Cancelled}:             true,
	{Shipped, Delivered}:                true,
}

func codeOf(err error) core.Code {
	if fault, ok := errors.AsType[*core.Fault](err); ok {
		return fault.Code
	}
	return ""
}

func TestOrder_FollowsTheTableOfTransitions(t *testing.T) {
	t.Parallel()
	if len(statuses) != 7 {
		t.Errorf("%d statuses: %v", len(statuses), statuses)
	}
	for _, from := range statuses {
		for _, to := range statuses {
			o := &Order{Status: from, Version: 3}
			err := o.moveTo(to, now)
			switch {
			case allowed[[2]Status{from, to}]:
				if want := (&Order{Status: to, Version: 4, UpdatedAt: now}); err != nil || !cmp.Equal(o, want) {
					t.Errorf("%s → %s: %v, %+v", from, to, err, o)
				}
			case codeOf(err) != core.CodeInvalidOrderState:
				t.Errorf("%s → %s: %v; want %s", from, to, err, core.CodeInvalidOrderState)
			case o.Status != from || o.Version != 3 || !o.UpdatedAt.IsZero():
				t.Errorf("%s → %s was refused and changed the order: %+v", from, to, o)
			}
		}
	}
}

func TestAdvance_SetsOnlyDeliveryStatuses(t *testing.T) {
	t.Parallel()
	delivery := []Status{Fulfilling, Shipped, Delivered}
	for _, from := range statuses {
		for _, to := range append([]Status{"", "lost"}, statuses...) {
			want := core.CodeInvalidOrderState
			if !slices.Contains(delivery, to) {
				want = core.CodeValidationFailed
			} else if allowed[[2]Status{from, to}] {
				want = ""
			}
			if err := (&Order{Status: from}).Advance(to, now); codeOf(err) != want || (err == nil) != (want == "") {
				t.Errorf("%s → %s: %v; want %q", from, to, err, want)
			}
		}
	}
}

// newTestOrder returns an order of two units of tea and three of cup, and the stock that
// is reserved for it.
func newTestOrder(status Status, reservedUntil time.Time) (*Order, Stock) {
	stock := Stock{"tea": {SKU: "tea", OnHand: 10}, "cup": {SKU: "cup", OnHand: 3}}
	o := &Order{Status: status, Version: 1, ReservedUntil: reservedUntil, Lines: []Line{{SKU: "tea", Quantity: 2}, {SKU: "cup", Quantity: 3}}}
	if !reservedUntil.IsZero() {
		stock["tea"].Reserved, stock["cup"].Reserved = 2, 3
	}
	return o, stock
}

// counts returns the quantities on hand and reserved, of tea and of cup.
func counts(s Stock) [4]int64 {
	return [4]int64{s["tea"].OnHand, s["tea"].Reserved, s["cup"].OnHand, s["cup"].Reserved}
}

var (
	released = [4]int64{10, 0, 3, 0}
	reserved = [4]int64{10, 2, 3, 3}
	back     = [4]int64{12, 0, 6, 0} // what was sold returns to stock that the test has not taken it from
)

func TestReserve_ExtendsTheReservation(t *testing.T) {
	t.Parallel()
	for _, status := range statuses {
		for name, until := range map[string]time.Time{"no reservation": {}, "in force": now.Add(time.Second), "expired": now} {
			o, stock := newTestOrder(status, until)
			before := counts(stock)
			err := o.Reserve(stock, now, time.Minute)
			if status != PendingPayment {
				if codeOf(err) != core.CodeInvalidOrderState || counts(stock) != before || o.Version != 1 {
					t.Errorf("%s, %s: %v", status, name, err)
				}
				continue
			}
			if err != nil || counts(stock) != reserved || !o.ReservedUntil.Equal(now.Add(time.Minute)) || o.Version != 2 {
				t.Errorf("%s, %s: %v, %v, %+v", status, name, err, counts(stock), o)
			}
		}
	}
}

func TestReserve_TakesAllOrNothing(t *testing.T) {
	t.Parallel()
	o, stock := newTestOrder(PendingPayment, time.Time{})
	stock["cup"].Reserved = 1
	before := counts(stock)
	if err := o.Reserve(stock, now, time.Minute); codeOf(err) != core.CodeOutOfStock || counts(stock) != before || !o.ReservedUntil.IsZero() {
		t.Errorf("got %v, %v, reserved until %v", err, counts(stock), o.ReservedUntil)
	}
}

func TestExpireReservation_ReleasesExpiredStock(t *testing.T) {
	t.Parallel()
	for _, status := range statuses {
		for name, c := range map[string]struct {
			until time.Time
			over  bool
		}{
			"no reservation": {time.Time{}, false}, "in force": {now.Add(1), false},
			"expires now": {now, true}, "expired yesterday": {now.Add(-24 * time.Hour), true},
		} {
			o, stock := newTestOrder(status, c.until)
			before := counts(stock)
			ok, err := o.ExpireReservation(stock, now)
			want := c.over && status == PendingPayment
			if ok != want || err != nil {
				t.Errorf("%s, %s: released = %v, %v", status, name, ok, err)
			}
			if want && (counts(stock) != released || !o.ReservedUntil.IsZero() || o.Version != 2) {
				t.Errorf("%s, %s: %v, %+v", status, name, counts(stock), o)
			}
			if !want && (counts(stock) != before || !o.ReservedUntil.Equal(c.until) || o.Version != 1) {
				t.Errorf("%s, %s: changed to %v, %+v", status, name, counts(stock), o)
			}
		}
	}
}

func TestPayable_NeedsPendingPaymentAndReservation(t *testing.T) {
	t.Parallel()
	for _, status := range statuses {
		for _, c := range []struct {
			until time.Time
			want  core.Code
		}{{now.Add(1), ""}, {now, core.CodeReservationExpired}, {time.Time{}, core.CodeReservationExpired}} {
			want := c.want
			if status != PendingPayment {
				want = core.CodeInvalidOrderState
			}
			o, _ := newTestOrder(status, c.until)
			if err := o.Payable(now); codeOf(err) != want || (err == nil) != (want == "") {
				t.Errorf("%s, reserved until %v: %v; want %q", status, c.until, err, want)
			}
		}
	}
}

func TestCancel_ReturnsTheStock(t *testing.T) {
	t.Parallel()
	why := Cancellation{By: core.Operation{Actor: "ann", Key: "key-1"}, Reason: "too late"}
	for _, c := range []struct {
		status Status
		until  time.Time
		want   [4]int64
	}{
		{PendingPayment, now.Add(1), released}, {PendingPayment, now, released}, {PendingPayment, time.Time{}, released},
		{Paid, time.Time{}, back}, {Fulfilling, time.Time{}, back},
	} {
		o, stock := newTestOrder(c.status, c.until)
		err := o.Cancel(why, stock, now)
		if err != nil || o.Status != Cancelled || *o.Cancellation != why || counts(stock) != c.want || !o.ReservedUntil.IsZero() || o.Version != 2 {
			t.Errorf("%s, reserved until %v: %v, %v, %+v", c.status, c.until, err, counts(stock), o)
		}
	}
	for _, status := range []Status{PaymentProcessing, Shipped, Delivered, Cancelled} {
		o, stock := newTestOrder(status, now.Add(1))
		err := o.Cancel(why, stock, now)
		if codeOf(err) != core.CodeInvalidOrderState || o.Cancellation != nil || counts(stock) != reserved || o.Cancellable() {
			t.Errorf("%s: %v, %v, %+v", status, err, counts(stock), o)
		}
	}
}

func TestStock_NeitherReleasesNorSellsWhatIsNotReserved(t *testing.T) {
	t.Parallel()
	lines := []Line{{SKU: "tea", Quantity: 3}}
	for name, act := range map[string]func(Stock) error{
		"release": func(s Stock) error { return s.release(lines) },
		"sell":    func(s Stock) error { return s.sell(lines) },
	} {
		stock := Stock{"tea": {SKU: "tea", OnHand: 10, Reserved: 2}}
		if err := act(stock); err == nil || codeOf(err) != "" || stock["tea"].OnHand != 10 || stock["tea"].Reserved != 2 {
			t.Errorf("%s: %v, %+v; want an error that is no refusal, and nothing changed", name, err, stock["tea"])
		}
	}
}
