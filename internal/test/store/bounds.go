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
		time.Sleep(time.Millisecond) // lets the others interfere, if they can
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
