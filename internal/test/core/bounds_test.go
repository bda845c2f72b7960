package coretest

import (
	"testing"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

func TestCreateOrder_BoundsTheUnpaidOrdersOfAnActor(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.Orders.MaxUnpaidOrders = 2
	first := placed(t, f)
	order1 := func(actor core.Actor) error { return run(createOrder(1), actor)(t, f, nil) }
	wantCode(t, "as many as allowed", order1(ann), "")
	wantCode(t, "one more", order1(ann), core.CodeUnpaidOrdersLimit)

	wantCode(t, "the seller, for the same customer", order1(shop), "")
	wantCode(t, "the seller, as many as allowed", order1(shop), "")
	wantCode(t, "the seller, one more", order1(shop), core.CodeUnpaidOrdersLimit)

	f.advanceClock(reservationTTL)
	f.release(t, 4)
	wantCode(t, "when the reservations have expired", order1(ann), core.CodeUnpaidOrdersLimit)
	mustRun(t, f, reserve, ann, first)
	mustRun(t, f, cancel(""), ann, first)
	wantCode(t, "when one is cancelled", order1(ann), "")
	wantCode(t, "one more than that", order1(ann), core.CodeUnpaidOrdersLimit)
}

func TestCreateOrder_CountsAnOrderUntilItIsPaid(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.Orders.MaxUnpaidOrders = 1
	o := placedWithCards(t, f)
	wantCode(t, "before the payment", run(createOrder(1), ann)(t, f, o), core.CodeUnpaidOrdersLimit)
	mustRun(t, f, confirm(payment.ByCard), ann, o)
	wantCode(t, "while a card payment is processing", run(createOrder(1), ann)(t, f, o), core.CodeUnpaidOrdersLimit)
}

// The bounds hide neither what the same operation did before, nor that the intent took
// effect, nor that the actor may not do it at all.
func TestCreateOrder_AnswersOtherwiseBeforeItsBound(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.Orders.MaxUnpaidOrders = 1
	f.product(t, shop, "tea", "40.00", 10)
	cmd := order.CreateOrder{CustomerID: "ann", Reference: "A-1", Items: items("tea")}
	made := f.create(t, ann, cmd)
	cmd.Key = made.CreatedBy.Key
	again, repeated, err := f.Orders.CreateOrder(t.Context(), ann, cmd)
	if err != nil || !repeated || again.ID != made.ID {
		t.Errorf("the same operation: %+v, repeated = %v, %v", again, repeated, err)
	}
	cmd.Key = f.key()
	_, _, err = f.Orders.CreateOrder(t.Context(), ann, cmd)
	wantCode(t, "the same intent", err, core.CodeReferenceTaken)
	_, _, err = f.Orders.CreateOrder(t.Context(), bob, cmd)
	wantCode(t, "a stranger", err, core.CodeForbiddenResource)
}

// It does not matter who extends the reservation, nor whether it has expired.
func TestReserveInventory_BoundsTheExtensionsOfAnOrder(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.Orders.MaxExtensions = 3
	o := placed(t, f)
	first := request{f, ann, o, f.key()}
	_, err := reserve(t.Context(), first)
	wantCode(t, "by the customer", err, "")
	f.advanceClock(reservationTTL)
	f.release(t, 1)
	mustRun(t, f, reserve, shop, o)
	mustRun(t, f, reserve, billing, o)
	for _, actor := range []core.Actor{ann, shop, billing} {
		wantCode(t, "one more by "+actor.Subject, run(reserve, actor)(t, f, o), core.CodeReservationLimit)
	}
	wantCode(t, "a stranger", run(reserve, bob)(t, f, o), core.CodeForbiddenResource)
	if repeated, err := reserve(t.Context(), first); err != nil || !repeated {
		t.Errorf("the same operation: repeated = %v, %v", repeated, err)
	}
	mustRun(t, f, confirm(payment.FromBalance), ann, o) // the order can still be paid
	wantCode(t, "when it is paid", run(reserve, ann)(t, f, o), core.CodeInvalidOrderState)
}

// A repeated operation and a refused one do not count.
func TestReserveInventory_CountsWhatTookEffect(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.Orders.MaxExtensions = 2
	o := released(t, f)
	f.product(t, shop, "tea", "40.00", 0)
	wantCode(t, "without stock", run(reserve, ann)(t, f, o), core.CodeOutOfStock)
	f.product(t, shop, "tea", "40.00", 10)
	first := request{f, ann, o, f.key()}
	for range 3 {
		_, err := reserve(t.Context(), first)
		wantCode(t, "the same operation", err, "")
	}
	wantCode(t, "the second one", run(reserve, ann)(t, f, o), "")
	wantCode(t, "the third one", run(reserve, ann)(t, f, o), core.CodeReservationLimit)
}
