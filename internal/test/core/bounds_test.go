package coretest_test

import (
	"testing"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	coretest "example.com/orders/internal/test/core"
)

// wantCode checks the code of a refusal, "" for success.
func wantCode(t *testing.T, what string, err error, want core.Code) {
	t.Helper()
	if (err == nil) != (want == "") || coretest.CodeOf(err) != want {
		t.Errorf("%s: %v; want %q", what, err, want)
	}
}

func TestCreateOrder_BoundsTheUnpaidOrdersOfAnActor(t *testing.T) {
	t.Parallel()
	f := coretest.New(t)
	f.Orders.MaxUnpaidOrders = 2
	first := f.Placed(t)
	order1 := func(actor core.Actor) error { return run(createOrder(1), actor)(t, f, nil) }
	wantCode(t, "as many as allowed", order1(ann), "")
	wantCode(t, "one more", order1(ann), core.CodeUnpaidOrdersLimit)

	wantCode(t, "the seller, for the same customer", order1(shop), "")
	wantCode(t, "the seller, as many as allowed", order1(shop), "")
	wantCode(t, "the seller, one more", order1(shop), core.CodeUnpaidOrdersLimit)

	f.AdvanceClock(coretest.ReservationTTL)
	release(t, f, 4)
	wantCode(t, "when the reservations have expired", order1(ann), core.CodeUnpaidOrdersLimit)
	wantCode(t, "reserving again what has expired", reserve(t, f, first.ID), "")
	f.Confirm(t, first.ID)
	wantCode(t, "when one is paid", order1(ann), "")
	wantCode(t, "one more than that", order1(ann), core.CodeUnpaidOrdersLimit)
}

func TestCreateOrder_FindsRoomWhenAnOrderIsCancelled(t *testing.T) {
	t.Parallel()
	f := coretest.New(t)
	f.Orders.MaxUnpaidOrders = 1
	o := f.Placed(t)
	wantCode(t, "one more", create(t, f, items("tea")...), core.CodeUnpaidOrdersLimit)
	wantCode(t, "cancelling", run(cancel(""), ann)(t, f, o), "")
	wantCode(t, "when it is cancelled", create(t, f, items("tea")...), "")
}

func TestCreateOrder_CountsAnOrderWhoseCardPaymentIsProcessing(t *testing.T) {
	t.Parallel()
	f := coretest.New(t)
	f.Orders.MaxUnpaidOrders = 1
	o := placedWithCards(t, f)
	wantCode(t, "paying by card", run(confirm(payment.ByCard), ann)(t, f, o), "")
	wantCode(t, "one more", create(t, f, items("tea")...), core.CodeUnpaidOrdersLimit)
}

// The bounds hide neither what the same operation did before, nor that the intent took
// effect, nor that the actor may not do it at all.
func TestCreateOrder_AnswersOtherwiseBeforeItsBound(t *testing.T) {
	t.Parallel()
	f := coretest.New(t)
	f.Orders.MaxUnpaidOrders = 1
	f.Product(t, shop, "tea", "40.00", 10)
	cmd := order.CreateOrder{CustomerID: ann.Subject, Reference: "A-1", Items: items("tea"), Key: f.Key()}
	made, _, err := f.Orders.CreateOrder(t.Context(), ann, cmd)
	if err != nil {
		t.Fatal(err)
	}
	again, repeated, err := f.Orders.CreateOrder(t.Context(), ann, cmd)
	if err != nil || !repeated || again.ID != made.ID {
		t.Errorf("the same operation: %+v, repeated = %v, %v", again, repeated, err)
	}
	cmd.Key = f.Key()
	_, _, err = f.Orders.CreateOrder(t.Context(), ann, cmd)
	wantCode(t, "the same intent", err, core.CodeReferenceTaken)
	_, _, err = f.Orders.CreateOrder(t.Context(), bob, cmd)
	wantCode(t, "a stranger", err, core.CodeForbiddenResource)
}

// reserve extends the reservation of an order of Ann.
func reserve(t *testing.T, f *coretest.Fixture, orderID int64) error {
	t.Helper()
	_, _, err := f.Orders.ReserveInventory(t.Context(), ann, order.ReserveInventory{OrderID: orderID, Key: f.Key()})
	return err
}

// It does not matter who extends the reservation, nor whether it has expired.
func TestReserveInventory_BoundsTheExtensionsOfAnOrder(t *testing.T) {
	t.Parallel()
	f := coretest.New(t)
	f.Orders.MaxExtensions = 3
	o := f.Placed(t)
	extend := order.ReserveInventory{OrderID: o.ID, Key: f.Key()}
	_, _, err := f.Orders.ReserveInventory(t.Context(), ann, extend)
	wantCode(t, "by the customer", err, "")
	f.AdvanceClock(coretest.ReservationTTL)
	release(t, f, 1)
	for _, actor := range []core.Actor{shop, billing} {
		_, _, err = f.Orders.ReserveInventory(t.Context(), actor, order.ReserveInventory{OrderID: o.ID, Key: f.Key()})
		wantCode(t, "by "+actor.Subject, err, "")
	}
	for _, actor := range []core.Actor{ann, shop, billing} {
		_, _, err = f.Orders.ReserveInventory(t.Context(), actor, order.ReserveInventory{OrderID: o.ID, Key: f.Key()})
		wantCode(t, "one more by "+actor.Subject, err, core.CodeReservationLimit)
	}
	_, _, err = f.Orders.ReserveInventory(t.Context(), bob, extend)
	wantCode(t, "a stranger", err, core.CodeForbiddenResource)
	if _, repeated, err := f.Orders.ReserveInventory(t.Context(), ann, extend); err != nil || !repeated {
		t.Errorf("the same operation: repeated = %v, %v", repeated, err)
	}
	f.Confirm(t, o.ID) // the order can still be paid
	wantCode(t, "when it is paid", reserve(t, f, o.ID), core.CodeInvalidOrderState)
}

// A repeated operation and a refused one do not count.
func TestReserveInventory_CountsWhatTookEffect(t *testing.T) {
	t.Parallel()
	f := coretest.New(t)
	f.Orders.MaxExtensions = 2
	o := f.Placed(t)
	f.AdvanceClock(coretest.ReservationTTL)
	release(t, f, 1)
	f.Product(t, shop, "tea", "40.00", 0)
	wantCode(t, "without stock", reserve(t, f, o.ID), core.CodeOutOfStock)
	f.Product(t, shop, "tea", "40.00", 10)
	extend := order.ReserveInventory{OrderID: o.ID, Key: f.Key()}
	for range 3 {
		_, _, err := f.Orders.ReserveInventory(t.Context(), ann, extend)
		wantCode(t, "the same operation", err, "")
	}
	wantCode(t, "the second one", reserve(t, f, o.ID), "")
	wantCode(t, "the third one", reserve(t, f, o.ID), core.CodeReservationLimit)
}
