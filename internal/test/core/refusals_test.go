package coretest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	coretest "example.com/orders/internal/test/core"
)

func items(skus ...string) []order.Item {
	list := make([]order.Item, len(skus))
	for i, sku := range skus {
		list[i] = order.Item{SKU: sku, Quantity: 1}
	}
	return list
}

func create(w *coretest.World, list ...order.Item) error {
	_, _, err := w.Orders.CreateOrder(w.Context(), ann, order.CreateOrder{Items: list, Key: w.Key()})
	return err
}

func run(c command, actor core.Actor) func(*coretest.World, *order.Order) error {
	return func(w *coretest.World, o *order.Order) error {
		_, err := c(w.Context(), w, actor, o, w.Key())
		return err
	}
}

// absent is an order that does not exist.
var absent = &order.Order{ID: 404}

func TestRefusals(t *testing.T) {
	t.Parallel()
	shipped := func(w *coretest.World) *order.Order { return w.Shipped() }
	nothing := func(*coretest.World) *order.Order { return absent }
	lapsed := func(w *coretest.World) *order.Order {
		o := w.Placed()
		w.Pass(coretest.ReservationTTL)
		return o
	}
	for name, c := range map[string]struct {
		prepare func(*coretest.World) *order.Order
		do      func(*coretest.World, *order.Order) error
		want    core.Code
		pointer string
	}{
		"a price of nothing": {nothing, func(w *coretest.World, _ *order.Order) error {
			_, _, err := w.Orders.PutProduct(w.Context(), shop, order.PutProduct{SKU: "tea", Price: core.Zero("RUB")})
			return err
		}, core.CodeValidationFailed, "/price/amount"},
		"fewer on hand than reserved": {placed, func(w *coretest.World, _ *order.Order) error {
			_, _, err := w.Orders.PutProduct(w.Context(), shop, order.PutProduct{SKU: "tea", Price: coretest.Money("1", "RUB"), OnHand: 1})
			return err
		}, core.CodeStockReserved, ""},
		"a product that is not there": {nothing, func(w *coretest.World, _ *order.Order) error {
			_, err := w.Orders.GetProduct(w.Context(), "tea")
			return err
		}, core.CodeNotFound, ""},
		"a SKU twice": {placed, func(w *coretest.World, _ *order.Order) error {
			return create(w, items("tea", "cup", "tea")...)
		}, core.CodeValidationFailed, "/items/2/sku"},
		"a SKU that is not there": {placed, func(w *coretest.World, _ *order.Order) error {
			return create(w, items("tea", "cup")...)
		}, core.CodeUnknownSKU, ""},
		"two sellers": {placed, func(w *coretest.World, _ *order.Order) error {
			w.Product(coretest.OtherShop, "cup", "1.00", 10)
			return create(w, items("tea", "cup")...)
		}, core.CodeMixedSellers, ""},
		"two currencies": {placed, func(w *coretest.World, _ *order.Order) error {
			cmd := order.PutProduct{SKU: "cup", Price: coretest.Money("1", "JPY"), OnHand: 1}
			if _, _, err := w.Orders.PutProduct(w.Context(), shop, cmd); err != nil {
				return err
			}
			return create(w, items("tea", "cup")...)
		}, core.CodeMixedCurrencies, ""},
		"more than there is": {placed, func(w *coretest.World, _ *order.Order) error {
			return create(w, order.Item{SKU: "tea", Quantity: 9}) // of 10, 2 are reserved
		}, core.CodeOutOfStock, ""},
		"a total beyond all bounds": {placed, func(w *coretest.World, _ *order.Order) error {
			w.Product(shop, "gold", "999999999999999.99", 10)
			return create(w, order.Item{SKU: "gold", Quantity: 2})
		}, core.CodeValidationFailed, "/items"},
		"no such order to read": {nothing, func(w *coretest.World, o *order.Order) error {
			_, err := w.Orders.GetOrderByID(w.Context(), ann, o.ID)
			return err
		}, core.CodeNotFound, ""},
		"no such order to reserve": {nothing, func(w *coretest.World, o *order.Order) error {
			_, _, err := w.Orders.ReserveInventory(w.Context(), ann, order.ReserveInventory{OrderID: o.ID, Key: w.Key()})
			return err
		}, core.CodeNotFound, ""},
		"no such order to move on": {nothing, advance(order.Fulfilling), core.CodeNotFound, ""},
		"no such order to pay":     {nothing, run(confirm(payment.FromBalance), ann), core.CodeNotFound, ""},
		"no such order to refund":  {nothing, run(refund("", ""), ann), core.CodeNotFound, ""},
		"no such order to cancel":  {nothing, run(cancel(""), ann), core.CodeNotFound, ""},
		"no such order to list the payments of": {nothing, func(w *coretest.World, o *order.Order) error {
			_, err := w.Payments.ListPayments(w.Context(), ann, o.ID)
			return err
		}, core.CodeNotFound, ""},
		"no such profile": {nothing, func(w *coretest.World, _ *order.Order) error {
			_, err := w.Customers.GetCustomerProfile(w.Context(), ann, "ann")
			return err
		}, core.CodeNotFound, ""},
		"reserving what is paid": {paid, func(w *coretest.World, o *order.Order) error {
			_, _, err := w.Orders.ReserveInventory(w.Context(), ann, order.ReserveInventory{OrderID: o.ID, Key: w.Key()})
			return err
		}, core.CodeInvalidOrderState, ""},
		"reserving what somebody else has now": {lapsed, func(w *coretest.World, o *order.Order) error {
			if _, err := w.Orders.ReleaseExpiredReservations(w.Context(), 10); err != nil {
				return err
			}
			if err := create(w, order.Item{SKU: "tea", Quantity: 9}); err != nil {
				return err
			}
			_, _, err := w.Orders.ReserveInventory(w.Context(), ann, order.ReserveInventory{OrderID: o.ID, Key: w.Key()})
			return err
		}, core.CodeOutOfStock, ""},
		"shipping what is not paid":        {placed, advance(order.Fulfilling), core.CodeInvalidOrderState, ""},
		"delivering what is not shipped":   {paid, advance(order.Delivered), core.CodeInvalidOrderState, ""},
		"paying by a change of status":     {placed, advance(order.Paid), core.CodeValidationFailed, "/status"},
		"cancelling by a change of status": {paid, advance(order.Cancelled), core.CodeValidationFailed, "/status"},
		"paying without a hold":            {lapsed, run(confirm(payment.FromBalance), ann), core.CodeReservationExpired, ""},
		"paying twice":                     {paid, run(confirm(payment.FromBalance), ann), core.CodeInvalidOrderState, ""},
		"paying by card":                   {placed, run(confirm(payment.ByCard), ann), core.CodePaymentMethodUnavailable, ""},
		"paying without money": {placed, func(w *coretest.World, o *order.Order) error {
			if err := run(move((*payment.Service).ChargeBalance, "20.01"), billing)(w, o); err != nil {
				return err
			}
			return run(confirm(payment.FromBalance), ann)(w, o)
		}, core.CodeInsufficientFunds, ""},
		"refunding what is not paid":          {placed, run(refund("", ""), ann), core.CodeInvalidOrderState, ""},
		"refunding what is shipped":           {shipped, run(refund("1.00", ""), ann), core.CodeInvalidOrderState, ""},
		"refunding more than was paid":        {paid, run(refund("80.01", ""), ann), core.CodeRefundExceedsPayment, ""},
		"refunding nothing":                   {paid, run(refund("0.00", ""), ann), core.CodeValidationFailed, "/amount/amount"},
		"refunding more than is left":         {paid, twice(refund("40.01", ""), ann), core.CodeRefundExceedsPayment, ""},
		"refunding all of it twice":           {shipped, twice(refund("", ""), root), core.CodeRefundExceedsPayment, ""},
		"refunding what was refunded in full": {paid, twice(refund("", ""), ann), core.CodeRefundExceedsPayment, ""},
		"refunding in another currency": {paid, func(w *coretest.World, o *order.Order) error {
			amount := coretest.Money("1", "JPY")
			_, _, err := w.Payments.RefundPayment(w.Context(), ann, payment.RefundPayment{OrderID: o.ID, Amount: &amount, Key: w.Key()})
			return err
		}, core.CodeValidationFailed, "/amount/currency"},
		"cancelling what is shipped":  {shipped, run(cancel(""), root), core.CodeInvalidOrderState, ""},
		"cancelling twice":            {paid, twice(cancel(""), ann), core.CodeInvalidOrderState, ""},
		"crediting nothing":           {nothing, run(move((*payment.Service).CreditBalance, "0.00"), billing), core.CodeValidationFailed, "/amount/amount"},
		"charging nothing":            {nothing, run(move((*payment.Service).ChargeBalance, "0.00"), billing), core.CodeValidationFailed, "/amount/amount"},
		"charging more than there is": {placed, run(move((*payment.Service).ChargeBalance, "100.01"), billing), core.CodeInsufficientFunds, ""},
		"a balance beyond all bounds": {placed, run(move((*payment.Service).CreditBalance, "999999999999999.99"), billing), core.CodeValidationFailed, "/amount/amount"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := coretest.New(t)
			err := c.do(w, c.prepare(w))
			if code := coretest.CodeOf(err); code != c.want {
				t.Fatalf("got %v; want %s", err, c.want)
			}
			if pointer := coretest.PointerOf(err); pointer != c.pointer {
				t.Errorf("it points at %q; want %q", pointer, c.pointer)
			}
		})
	}
}

func advance(to order.Status) func(*coretest.World, *order.Order) error {
	return func(w *coretest.World, o *order.Order) error {
		_, err := w.Orders.UpdateOrderStatus(w.Context(), shop, order.UpdateOrderStatus{OrderID: o.ID, Status: to})
		return err
	}
}

// twice runs a command under two keys; the first one has to succeed.
func twice(c command, actor core.Actor) func(*coretest.World, *order.Order) error {
	return func(w *coretest.World, o *order.Order) error {
		if err := run(c, actor)(w, o); err != nil {
			w.Fatal(err)
		}
		return run(c, actor)(w, o)
	}
}

// What is refused leaves no trace and changes nothing.
func TestRefusalChangesNothing(t *testing.T) {
	t.Parallel()
	w := coretest.New(t)
	o := w.Placed()
	tea, balance := w.Stock("tea"), w.Balance("ann")
	left := w.Traces(func() {
		_ = create(w, order.Item{SKU: "tea", Quantity: 9})
		_ = run(refund("", ""), root)(w, o)
		_ = run(move((*payment.Service).ChargeBalance, "100.01"), root)(w, o)
		_ = advance(order.Shipped)(w, o)
		_ = run(confirm(payment.ByCard), ann)(w, o)
		_ = run(cancel(""), bob)(w, o)
	})
	if diff := cmp.Diff(coretest.Traces{}, left); diff != "" {
		t.Errorf("traces:\n%s", diff)
	}
	if diff := cmp.Diff(tea, w.Stock("tea")); diff != "" {
		t.Errorf("stock:\n%s", diff)
	}
	if diff := cmp.Diff(o, w.Order(o.ID)); diff != "" {
		t.Errorf("order:\n%s", diff)
	}
	if w.Balance("ann") != balance {
		t.Errorf("ann has %s; want %s", w.Balance("ann"), balance)
	}
}
