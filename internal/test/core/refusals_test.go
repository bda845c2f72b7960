package coretest_test

import (
	"math"
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

func create(t testing.TB, f *coretest.Fixture, list ...order.Item) error {
	_, _, err := f.Orders.CreateOrder(t.Context(), ann, order.CreateOrder{Items: list, Key: f.Key()})
	return err
}

func run(c command, actor core.Actor) func(testing.TB, *coretest.Fixture, *order.Order) error {
	return func(t testing.TB, f *coretest.Fixture, o *order.Order) error {
		_, err := c(t.Context(), f, actor, o, f.Key())
		return err
	}
}

// nothing prepares no order. Commands name one that does not exist.
func nothing(testing.TB, *coretest.Fixture) *order.Order { return &order.Order{ID: 404} }

// refusal is a command that must be refused, with the code and the field that the
// refusal names.
type refusal struct {
	prepare func(testing.TB, *coretest.Fixture) *order.Order
	do      func(testing.TB, *coretest.Fixture, *order.Order) error
	want    core.Code
	pointer string
}

func checkRefusals(t *testing.T, cases map[string]refusal) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := coretest.New(t)
			err := c.do(t, f, c.prepare(t, f))
			if code := coretest.CodeOf(err); code != c.want {
				t.Fatalf("got %v; want %s", err, c.want)
			}
			if pointer := coretest.PointerOf(err); pointer != c.pointer {
				t.Errorf("it points at %q; want %q", pointer, c.pointer)
			}
		})
	}
}

func TestOrdersAndProducts_RefuseInvalidCommands(t *testing.T) {
	t.Parallel()
	checkRefusals(t, map[string]refusal{
		"a price of nothing": {nothing, func(t testing.TB, f *coretest.Fixture, _ *order.Order) error {
			_, _, err := f.Orders.PutProduct(t.Context(), shop, order.PutProduct{SKU: "tea", Price: core.Zero("RUB")})
			return err
		}, core.CodeValidationFailed, "/price/amount"},
		"fewer on hand than reserved": {placed, func(t testing.TB, f *coretest.Fixture, _ *order.Order) error {
			_, _, err := f.Orders.PutProduct(t.Context(), shop, order.PutProduct{
				SKU: "tea", Price: coretest.Money("1", "RUB"), OnHand: new(int64(1)), Versions: []int64{f.Stock(t, "tea").Version},
			})
			return err
		}, core.CodeStockReserved, ""},
		"a product that is not there": {nothing, func(t testing.TB, f *coretest.Fixture, _ *order.Order) error {
			_, err := f.Orders.GetProduct(t.Context(), "tea")
			return err
		}, core.CodeNotFound, ""},
		"a SKU twice": {placed, func(t testing.TB, f *coretest.Fixture, _ *order.Order) error {
			return create(t, f, items("tea", "cup", "tea")...)
		}, core.CodeValidationFailed, "/items/2/sku"},
		"a SKU that is not there": {placed, func(t testing.TB, f *coretest.Fixture, _ *order.Order) error {
			return create(t, f, items("tea", "cup")...)
		}, core.CodeUnknownSKU, ""},
		"two sellers": {placed, func(t testing.TB, f *coretest.Fixture, _ *order.Order) error {
			f.Product(t, coretest.OtherShop, "cup", "1.00", 10)
			return create(t, f, items("tea", "cup")...)
		}, core.CodeMixedSellers, ""},
		"two currencies": {placed, func(t testing.TB, f *coretest.Fixture, _ *order.Order) error {
			cmd := order.PutProduct{SKU: "cup", Price: coretest.Money("1", "JPY"), OnHand: new(int64(1))}
			if _, _, err := f.Orders.PutProduct(t.Context(), shop, cmd); err != nil {
				return err
			}
			return create(t, f, items("tea", "cup")...)
		}, core.CodeMixedCurrencies, ""},
		"more than there is": {placed, func(t testing.TB, f *coretest.Fixture, _ *order.Order) error {
			return create(t, f, order.Item{SKU: "tea", Quantity: 9}) // of 10, 2 are reserved
		}, core.CodeOutOfStock, ""},
		"a total beyond all bounds": {placed, func(t testing.TB, f *coretest.Fixture, _ *order.Order) error {
			f.Product(t, shop, "gold", "999999999999999.99", 10)
			return create(t, f, order.Item{SKU: "gold", Quantity: 2})
		}, core.CodeValidationFailed, "/items"},
	})
}

func TestCommands_RefuseWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	checkRefusals(t, map[string]refusal{
		"no such order to read": {nothing, func(t testing.TB, f *coretest.Fixture, o *order.Order) error {
			_, err := f.Orders.GetOrderByID(t.Context(), ann, o.ID)
			return err
		}, core.CodeNotFound, ""},
		"no such order to reserve": {nothing, func(t testing.TB, f *coretest.Fixture, o *order.Order) error {
			_, _, err := f.Orders.ReserveInventory(t.Context(), ann, order.ReserveInventory{OrderID: o.ID, Key: f.Key()})
			return err
		}, core.CodeNotFound, ""},
		"no such order to move on": {nothing, advance(order.Fulfilling), core.CodeNotFound, ""},
		"no such order to pay":     {nothing, run(confirm(payment.FromBalance), ann), core.CodeNotFound, ""},
		"no such order to refund":  {nothing, run(refund("", ""), ann), core.CodeNotFound, ""},
		"no such order to cancel":  {nothing, run(cancel(""), ann), core.CodeNotFound, ""},
		"no such order to list the payments of": {nothing, func(t testing.TB, f *coretest.Fixture, o *order.Order) error {
			_, err := f.Payments.ListPayments(t.Context(), ann, o.ID)
			return err
		}, core.CodeNotFound, ""},
		"no such payment": {nothing, func(t testing.TB, f *coretest.Fixture, _ *order.Order) error {
			_, err := f.Payments.GetPayment(t.Context(), ann, 1)
			return err
		}, core.CodeNotFound, ""},
		"no such refund": {nothing, func(t testing.TB, f *coretest.Fixture, _ *order.Order) error {
			_, err := f.Payments.GetRefund(t.Context(), ann, 1)
			return err
		}, core.CodeNotFound, ""},
		"no such profile": {nothing, func(t testing.TB, f *coretest.Fixture, _ *order.Order) error {
			_, err := f.Customers.GetCustomerProfile(t.Context(), ann, "ann")
			return err
		}, core.CodeNotFound, ""},
	})
}

func TestOrderLifeCycle_RefusesWhatTheStateForbids(t *testing.T) {
	t.Parallel()
	checkRefusals(t, map[string]refusal{
		"reserving what is paid": {paid, func(t testing.TB, f *coretest.Fixture, o *order.Order) error {
			_, _, err := f.Orders.ReserveInventory(t.Context(), ann, order.ReserveInventory{OrderID: o.ID, Key: f.Key()})
			return err
		}, core.CodeInvalidOrderState, ""},
		"reserving what somebody else has now": {expired, func(t testing.TB, f *coretest.Fixture, o *order.Order) error {
			if _, _, err := f.Orders.ReleaseExpiredReservations(t.Context(), order.Expiry{}, 10); err != nil {
				return err
			}
			if err := create(t, f, order.Item{SKU: "tea", Quantity: 9}); err != nil {
				return err
			}
			_, _, err := f.Orders.ReserveInventory(t.Context(), ann, order.ReserveInventory{OrderID: o.ID, Key: f.Key()})
			return err
		}, core.CodeOutOfStock, ""},
		"shipping what is not paid":        {placed, advance(order.Fulfilling), core.CodeInvalidOrderState, ""},
		"delivering what is not shipped":   {paid, advance(order.Delivered), core.CodeInvalidOrderState, ""},
		"paying by a change of status":     {placed, advance(order.Paid), core.CodeValidationFailed, "/status"},
		"cancelling by a change of status": {paid, advance(order.Cancelled), core.CodeValidationFailed, "/status"},
		"paying without a reservation":     {expired, run(confirm(payment.FromBalance), ann), core.CodeReservationExpired, ""},
		"paying twice":                     {paid, run(confirm(payment.FromBalance), ann), core.CodeInvalidOrderState, ""},
		"paying by card":                   {placed, run(confirm(payment.ByCard), ann), core.CodePaymentMethodUnavailable, ""},
		"paying without money": {placed, func(t testing.TB, f *coretest.Fixture, o *order.Order) error {
			if err := run(changeBalance((*payment.Service).ChargeBalance, "20.01"), billing)(t, f, o); err != nil {
				return err
			}
			return run(confirm(payment.FromBalance), ann)(t, f, o)
		}, core.CodeInsufficientFunds, ""},
	})
}

func TestMoney_RefusesAmountsOutOfBounds(t *testing.T) {
	t.Parallel()
	checkRefusals(t, map[string]refusal{
		"refunding what is not paid":          {placed, run(refund("", ""), ann), core.CodeInvalidOrderState, ""},
		"refunding what is shipped":           {shipped, run(refund("1.00", ""), ann), core.CodeInvalidOrderState, ""},
		"refunding more than was paid":        {paid, run(refund("80.01", ""), ann), core.CodeRefundExceedsPayment, ""},
		"refunding nothing":                   {paid, run(refund("0.00", ""), ann), core.CodeValidationFailed, "/amount/amount"},
		"refunding more than is refundable":   {paid, twice(refund("40.01", ""), ann), core.CodeRefundExceedsPayment, ""},
		"refunding all of it twice":           {shipped, twice(refund("", ""), root), core.CodeRefundExceedsPayment, ""},
		"refunding what was refunded in full": {paid, twice(refund("", ""), ann), core.CodeRefundExceedsPayment, ""},
		"refunding in another currency": {paid, func(t testing.TB, f *coretest.Fixture, o *order.Order) error {
			amount := coretest.Money("1", "JPY")
			_, _, err := f.Payments.RefundPayment(t.Context(), ann, payment.RefundPayment{OrderID: o.ID, Amount: &amount, Key: f.Key()})
			return err
		}, core.CodeValidationFailed, "/amount/currency"},
		"cancelling what is shipped":  {shipped, run(cancel(""), root), core.CodeInvalidOrderState, ""},
		"cancelling twice":            {paid, twice(cancel(""), ann), core.CodeInvalidOrderState, ""},
		"crediting nothing":           {nothing, run(changeBalance((*payment.Service).CreditBalance, "0.00"), billing), core.CodeValidationFailed, "/amount/amount"},
		"charging nothing":            {nothing, run(changeBalance((*payment.Service).ChargeBalance, "0.00"), billing), core.CodeValidationFailed, "/amount/amount"},
		"charging more than there is": {placed, run(changeBalance((*payment.Service).ChargeBalance, "100.01"), billing), core.CodeInsufficientFunds, ""},
		"a balance beyond all bounds": {placed, run(changeBalance((*payment.Service).CreditBalance, "999999999999999.99"), billing), core.CodeValidationFailed, "/amount/amount"},
	})
}

func advance(to order.Status) func(testing.TB, *coretest.Fixture, *order.Order) error {
	return func(t testing.TB, f *coretest.Fixture, o *order.Order) error {
		_, err := f.Orders.UpdateOrderStatus(t.Context(), shop, order.UpdateOrderStatus{OrderID: o.ID, Status: to})
		return err
	}
}

func TestAdjustStock_RefusesStockOutOfBounds(t *testing.T) {
	t.Parallel()
	const available, room = 8, 1_000_000_000 - 10 // of 10, 2 are reserved
	checkRefusals(t, map[string]refusal{
		"no such product":              {nothing, run(adjustStock(1), shop), core.CodeNotFound, ""},
		"a change of nothing":          {placed, run(adjustStock(0), shop), core.CodeValidationFailed, "/change"},
		"fewer than are reserved":      {placed, run(adjustStock(-available-1), shop), core.CodeStockReserved, ""},
		"fewer than any number":        {placed, run(adjustStock(math.MinInt64), shop), core.CodeStockReserved, ""},
		"more than a product may have": {placed, run(adjustStock(room+1), shop), core.CodeValidationFailed, "/change"},
		"more than any number":         {placed, run(adjustStock(math.MaxInt64), shop), core.CodeValidationFailed, "/change"},
		"all that is available, twice": {placed, twice(adjustStock(-available), shop), core.CodeStockReserved, ""},
		"a delivery of more than that": {placed, func(t testing.TB, f *coretest.Fixture, _ *order.Order) error {
			return f.Orders.Restock(t.Context(), order.Restock{SKU: "tea", Quantity: room + 1, Source: "warehouse", MessageID: "1"})
		}, core.CodeValidationFailed, "/quantity"},
		"as much as there may be, twice": {placed, twice(adjustStock(room), shop), core.CodeValidationFailed, "/change"},
	})
}

// twice runs a command under two keys. The first one must succeed.
func twice(c command, actor core.Actor) func(testing.TB, *coretest.Fixture, *order.Order) error {
	return func(t testing.TB, f *coretest.Fixture, o *order.Order) error {
		if err := run(c, actor)(t, f, o); err != nil {
			t.Fatal(err)
		}
		return run(c, actor)(t, f, o)
	}
}

// Refused commands change nothing and cause no effects.
func TestRefusal_ChangesNothing(t *testing.T) {
	t.Parallel()
	f := coretest.New(t)
	o := f.Placed(t)
	tea, balance := f.Stock(t, "tea"), f.Balance(t, "ann")
	caused := f.Effects(t, func() {
		_ = create(t, f, order.Item{SKU: "tea", Quantity: 9})
		_ = run(refund("", ""), root)(t, f, o)
		_ = run(changeBalance((*payment.Service).ChargeBalance, "100.01"), root)(t, f, o)
		_ = advance(order.Shipped)(t, f, o)
		_ = run(confirm(payment.ByCard), ann)(t, f, o)
		_ = run(cancel(""), bob)(t, f, o)
	})
	if diff := cmp.Diff(coretest.Effects{}, caused); diff != "" {
		t.Errorf("effects:\n%s", diff)
	}
	if diff := cmp.Diff(tea, f.Stock(t, "tea")); diff != "" {
		t.Errorf("stock:\n%s", diff)
	}
	if diff := cmp.Diff(o, f.Order(t, o.ID)); diff != "" {
		t.Errorf("order:\n%s", diff)
	}
	if f.Balance(t, "ann") != balance {
		t.Errorf("ann has %s; want %s", f.Balance(t, "ann"), balance)
	}
}
