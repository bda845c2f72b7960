package storetest

import (
	"context"
	"strconv"
	"testing"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

var reservationCases = []storeCase{
	{"a reservation is an order with its stock", reservationRoundTrip},
	{"an extension is known by order and operation", extensions},
	{"reservations expire oldest first, and only while payment is awaited", expiredReservations},
}

func reservationRoundTrip(t *testing.T, s Stores) {
	o, tea, cup := newOrder(1, "key-1"), newProduct(1, "tea"), newProduct(2, "cup")
	s.save(t, tea, cup, newProduct(3, "spoon"), o)
	s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
		reservation, err := tx.Reservations.Lock(ctx, order.ReservationQuery{OrderID: 1, By: operation("sber-42", "key-1"), Grant: core.GrantEverybody})
		equal(t, "reservation", reservation, order.Reservation{Order: o, Stock: order.Stock{"tea": tea, "cup": cup}})
		return err
	})
}

func extensions(t *testing.T, s Stores) {
	first, second := newOrder(1, "key-1"), newOrder(2, "key-2")
	s.save(t, first, second)
	extend := func(ctx context.Context, tx payment.Tx) error {
		return tx.Reservations.AddExtension(ctx, first, operation("sber-42", "key-1"))
	}
	s.inTx(t, extend)
	for _, c := range []struct {
		orderID int64
		by      core.Operation
		want    bool
	}{
		{1, operation("sber-42", "key-1"), true},
		{1, operation("sber-42", "key-2"), false},
		{1, operation("shop-7", "key-1"), false},
		{2, operation("sber-42", "key-1"), false},
	} {
		s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
			reservation, err := tx.Reservations.Lock(ctx, order.ReservationQuery{OrderID: c.orderID, By: c.by, Grant: core.GrantEverybody})
			if reservation.Repeated != c.want {
				t.Errorf("order %d by %v: extended = %v", c.orderID, c.by, reservation.Repeated)
			}
			return err
		})
	}
	if err := s.Payments.InTx(t.Context(), extend); err == nil {
		t.Error("one operation extended twice")
	}
}

func expiredReservations(t *testing.T, s Stores) {
	s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
		for id, o := range []struct {
			status   order.Status
			reserved time.Duration
		}{
			1: {order.PendingPayment, -time.Minute},
			2: {order.PendingPayment, -time.Hour},
			3: {order.PendingPayment, -time.Second},
			4: {order.PendingPayment, time.Hour},
			5: {order.PaymentProcessing, -time.Hour},
			6: {order.PendingPayment, 0}, // has no reservation
			7: {order.Paid, 0},
			8: {order.PendingPayment, -time.Minute}, // at the same moment as the first
		} {
			if o.status == "" {
				continue
			}
			placed := newOrder(int64(id), "key-"+strconv.Itoa(id))
			if placed.Status, placed.ReservedUntil = o.status, (time.Time{}); o.reserved != 0 {
				placed.ReservedUntil = tx.Now.Add(o.reserved)
			}
			if err := tx.Orders.Save(ctx, placed); err != nil {
				return err
			}
		}
		return nil
	})
	for _, limit := range []int{1, 2, 3, 10} {
		equal(t, "expired", s.expiredInPages(t, limit), []int64{2, 1, 8, 3})
	}
}

// expiredInPages returns the orders with an expired reservation, read page by page.
func (s Stores) expiredInPages(t *testing.T, limit int) []int64 {
	t.Helper()
	var ids []int64
	var after order.Expiry
	for page := []order.Expiry{{}}; len(page) > 0; {
		s.inTx(t, func(ctx context.Context, tx payment.Tx) (err error) {
			page, err = tx.Reservations.Expired(ctx, after, limit)
			return err
		})
		if len(page) > limit {
			t.Errorf("a page of %d, want at most %d", len(page), limit)
		}
		for _, e := range page {
			ids, after = append(ids, e.OrderID), e
		}
	}
	return ids
}

// boundCases test the counts behind the bounds against hoarding.
var boundCases = []storeCase{
	{"a basket counts the unpaid orders that its actor created", basketCountsUnpaid},
	{"transactions that count the same unpaid orders run one after the other", unpaidOrdersLock},
	{"a reservation counts its extensions", reservationCountsExtensions},
}

// unpaid returns how many unpaid orders of sber-42 the actor has created, up to limit.
func (s Stores) unpaid(t *testing.T, actor string, limit int) int {
	t.Helper()
	q := basketQuery("sber-42", operation(actor, "another key"))
	q.CountUnpaid = limit
	return s.basket(t, q).Unpaid
}

func basketCountsUnpaid(t *testing.T, s Stores) {
	id := int64(0)
	save := func(customerID, actor string, status order.Status, reservedUntil time.Time) {
		id++
		o := newOrder(id, "key-"+strconv.FormatInt(id, 10))
		o.CustomerID, o.CreatedBy.Actor, o.ReservedUntil = customerID, actor, reservedUntil
		s.save(t, o)
		if o.Status = status; status == order.Cancelled {
			o.Cancellation = &order.Cancellation{By: operation(actor, "")}
		}
		s.save(t, o)
	}
	for _, status := range order.Statuses() {
		save("sber-42", "sber-42", status, time.Time{}) // two of them are unpaid
	}
	save("sber-42", "sber-42", order.PendingPayment, minute(60))
	save("sber-42", "shop-7", order.PendingPayment, minute(60))
	save("sber-43", "sber-42", order.PendingPayment, minute(60))
	for limit, want := range map[int]int{0: 0, 1: 1, 2: 2, 3: 3, 4: 3, 50: 3} {
		equal(t, "the customer's, up to "+strconv.Itoa(limit), s.unpaid(t, "sber-42", limit), want)
	}
	equal(t, "the seller's", s.unpaid(t, "shop-7", 50), 1)
	equal(t, "another seller's", s.unpaid(t, "shop-8", 50), 0)
}

func unpaidOrdersLock(t *testing.T, s Stores) {
	const limit = 5
	s.concurrently(t, 20, func(ctx context.Context, tx payment.Tx, i int) error {
		o := newOrder(int64(i+1), "key-"+strconv.Itoa(i))
		q := basketQuery(o.CustomerID, o.CreatedBy)
		q.CountUnpaid = limit
		basket, err := tx.Orders.Basket(ctx, q)
		if err != nil || basket.Unpaid == limit {
			return err
		}
		time.Sleep(time.Millisecond) // lets the rest interfere, if they can
		return tx.Orders.Save(ctx, o)
	})
	equal(t, "orders", len(s.ordersShown(t, everything)), limit)
}

func reservationCountsExtensions(t *testing.T, s Stores) {
	first, second := newOrder(1, "key-1"), newOrder(2, "key-2")
	s.save(t, first, second)
	s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
		for _, by := range []core.Operation{operation("sber-42", "key-1"), operation("sber-42", "key-2"), operation("shop-7", "key-1")} {
			if err := tx.Reservations.AddExtension(ctx, first, by); err != nil {
				return err
			}
		}
		return tx.Reservations.AddExtension(ctx, second, operation("sber-42", "key-1"))
	})
	for limit, want := range map[int]int{0: 0, 1: 1, 2: 2, 3: 3, 50: 3} {
		s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
			q := order.ReservationQuery{OrderID: 1, Grant: core.GrantEverybody, CountExtensions: limit}
			reservation, err := tx.Reservations.Lock(ctx, q)
			equal(t, "extensions, up to "+strconv.Itoa(limit), reservation.Extensions, want)
			return err
		})
	}
}
