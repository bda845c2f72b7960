package coretest

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

func items(skus ...string) []order.Item {
	list := make([]order.Item, len(skus))
	for i, sku := range skus {
		list[i] = order.Item{SKU: sku, Quantity: 1}
	}
	return list
}

// orderOf orders the items.
func orderOf(list ...order.Item) command {
	return func(ctx context.Context, r request) (bool, error) {
		return keyed(r.Orders.CreateOrder(ctx, r.actor, order.CreateOrder{Items: list, Key: r.key}))
	}
}

// refusal is a command that must be refused, with the code and the field that the
// refusal names.
type refusal struct {
	prepare func(testing.TB, *fixture) *order.Order
	do      func(testing.TB, *fixture, *order.Order) error
	want    core.Code
	pointer string
}

func checkRefusals(t *testing.T, cases map[string]refusal) {
	t.Helper()
	for name, c := range cases {
		f := newFixture()
		err := c.do(t, f, c.prepare(t, f))
		wantCode(t, name, err, c.want)
		if pointer := pointerOf(err); pointer != c.pointer {
			t.Errorf("%s: it points at %q; want %q", name, pointer, c.pointer)
		}
	}
}

func TestOrdersAndProducts_RefuseInvalidCommands(t *testing.T) {
	t.Parallel()
	checkRefusals(t, map[string]refusal{
		"a price of nothing": {nothing, func(t testing.TB, f *fixture, _ *order.Order) error {
			_, _, err := f.Orders.PutProduct(t.Context(), shop, order.PutProduct{SKU: "tea", Price: core.Zero("RUB")})
			return err
		}, core.CodeValidationFailed, "/price/amount"},
		"fewer on hand than reserved": {placed, func(t testing.TB, f *fixture, _ *order.Order) error {
			cmd := putStock(1)
			cmd.OnHand = new(int64(1))
			_, _, err := f.Orders.PutProduct(t.Context(), shop, cmd)
			return err
		}, core.CodeStockReserved, ""},
		"a product that is not there": {nothing, func(t testing.TB, f *fixture, _ *order.Order) error {
			_, err := f.Orders.GetProduct(t.Context(), "tea")
			return err
		}, core.CodeNotFound, ""},
		"a SKU twice":             {placed, run(orderOf(items("tea", "cup", "tea")...), ann), core.CodeValidationFailed, "/items/2/sku"},
		"a SKU that is not there": {placed, run(orderOf(items("tea", "cup")...), ann), core.CodeUnknownSKU, ""},
		"two sellers": {placed, func(t testing.TB, f *fixture, o *order.Order) error {
			f.product(t, otherShop, "cup", "1.00", 10)
			return run(orderOf(items("tea", "cup")...), ann)(t, f, o)
		}, core.CodeMixedSellers, ""},
		"two currencies": {placed, func(t testing.TB, f *fixture, o *order.Order) error {
			cmd := order.PutProduct{SKU: "cup", Price: money("1", "JPY"), OnHand: new(int64(1))}
			if _, _, err := f.Orders.PutProduct(t.Context(), shop, cmd); err != nil {
				return err
			}
			return run(orderOf(items("tea", "cup")...), ann)(t, f, o)
		}, core.CodeMixedCurrencies, ""},
		"more than there is": {placed, run(createOrder(9), ann), core.CodeOutOfStock, ""}, // of 10, 2 are reserved
		"a total beyond all bounds": {placed, func(t testing.TB, f *fixture, o *order.Order) error {
			f.product(t, shop, "gold", "999999999999999.99", 10)
			return run(orderOf(order.Item{SKU: "gold", Quantity: 2}), ann)(t, f, o)
		}, core.CodeValidationFailed, "/items"},
	})
}

func TestCommands_RefuseWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	getPayment := func(ctx context.Context, r request) (bool, error) {
		return unkeyed(r.Payments.GetPayment(ctx, r.actor, 1))
	}
	getRefund := func(ctx context.Context, r request) (bool, error) {
		return unkeyed(r.Payments.GetRefund(ctx, r.actor, 1))
	}
	checkRefusals(t, map[string]refusal{
		"no such order to read":                 {nothing, run(getOrder, ann), core.CodeNotFound, ""},
		"no such order to reserve":              {nothing, run(reserve, ann), core.CodeNotFound, ""},
		"no such order to move on":              {nothing, run(updateStatus(order.Fulfilling), shop), core.CodeNotFound, ""},
		"no such order to pay":                  {nothing, run(confirm(payment.FromBalance), ann), core.CodeNotFound, ""},
		"no such order to refund":               {nothing, run(refund("", ""), ann), core.CodeNotFound, ""},
		"no such order to cancel":               {nothing, run(cancel(""), ann), core.CodeNotFound, ""},
		"no such order to list the payments of": {nothing, run(listPayments, ann), core.CodeNotFound, ""},
		"no such payment":                       {nothing, run(getPayment, ann), core.CodeNotFound, ""},
		"no such refund":                        {nothing, run(getRefund, ann), core.CodeNotFound, ""},
		"no such profile":                       {nothing, run(getProfile, ann), core.CodeNotFound, ""},
		"no such product to adjust":             {nothing, run(adjustStock(1), shop), core.CodeNotFound, ""},
	})
}

func TestOrderLifeCycle_RefusesWhatTheStateForbids(t *testing.T) {
	t.Parallel()
	checkRefusals(t, map[string]refusal{
		"reserving what is paid": {paid, run(reserve, ann), core.CodeInvalidOrderState, ""},
		"reserving what somebody else has now": {released, func(t testing.TB, f *fixture, o *order.Order) error {
			mustRun(t, f, createOrder(9), ann, nil)
			return run(reserve, ann)(t, f, o)
		}, core.CodeOutOfStock, ""},
		"shipping what is not paid":        {placed, run(updateStatus(order.Fulfilling), shop), core.CodeInvalidOrderState, ""},
		"delivering what is not shipped":   {paid, run(updateStatus(order.Delivered), shop), core.CodeInvalidOrderState, ""},
		"paying by a change of status":     {placed, run(updateStatus(order.Paid), shop), core.CodeValidationFailed, "/status"},
		"cancelling by a change of status": {paid, run(updateStatus(order.Cancelled), shop), core.CodeValidationFailed, "/status"},
		"paying without a reservation":     {expired, run(confirm(payment.FromBalance), ann), core.CodeReservationExpired, ""},
		"paying twice":                     {paid, run(confirm(payment.FromBalance), ann), core.CodeInvalidOrderState, ""},
		"paying by card":                   {placed, run(confirm(payment.ByCard), ann), core.CodePaymentMethodUnavailable, ""},
		"paying without money": {placed, func(t testing.TB, f *fixture, o *order.Order) error {
			mustRun(t, f, charge("20.01"), billing, nil)
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
		"refunding without saying how much": {paid, func(t testing.TB, f *fixture, o *order.Order) error {
			_, _, err := f.Payments.RefundPayment(t.Context(), ann, payment.RefundPayment{OrderID: o.ID, Key: f.key()})
			return err
		}, core.CodeValidationFailed, "/amount"},
		"refunding an amount and in full": {paid, func(t testing.TB, f *fixture, o *order.Order) error {
			cmd := payment.RefundPayment{OrderID: o.ID, Full: true, Amount: new(money("1.00", "RUB")), Key: f.key()}
			_, _, err := f.Payments.RefundPayment(t.Context(), ann, cmd)
			return err
		}, core.CodeValidationFailed, "/full"},
		"paying what no card takes": {placed, func(t testing.TB, f *fixture, o *order.Order) error {
			f.Payments.Gateway = &gateway{refusal: "cards take multiples of 0.01 KWD"}
			return run(confirm(payment.ByCard), ann)(t, f, o)
		}, core.CodePaymentMethodUnavailable, ""},
		"refunding what no card takes": {paidByCard, func(t testing.TB, f *fixture, o *order.Order) error {
			f.Payments.Gateway = &gateway{refusal: "cards take multiples of 0.01 KWD"}
			return run(refund("1.00", ""), ann)(t, f, o)
		}, core.CodeValidationFailed, "/amount/amount"},
		"refunding in another currency": {paid, func(t testing.TB, f *fixture, o *order.Order) error {
			cmd := payment.RefundPayment{OrderID: o.ID, Amount: new(money("1", "JPY")), Key: f.key()}
			_, _, err := f.Payments.RefundPayment(t.Context(), ann, cmd)
			return err
		}, core.CodeValidationFailed, "/amount/currency"},
		"refunding in part at the maximum": {paidByTheRichest, run(refund("1.00", ""), ann), core.CodeValidationFailed, "/amount/amount"},
		"refunding in full at the maximum": {paidByTheRichest, run(refund("", ""), ann), core.CodeValidationFailed, ""},
		"cancelling at the maximum":        {paidByTheRichest, run(cancel(""), ann), core.CodeValidationFailed, ""},
		"cancelling what is shipped":       {shipped, run(cancel(""), root), core.CodeInvalidOrderState, ""},
		"cancelling twice":                 {paid, twice(cancel(""), ann), core.CodeInvalidOrderState, ""},
		"crediting nothing":                {nothing, run(credit("0.00"), billing), core.CodeValidationFailed, "/amount/amount"},
		"charging nothing":                 {nothing, run(charge("0.00"), billing), core.CodeValidationFailed, "/amount/amount"},
		"charging more than there is":      {placed, run(charge("100.01"), billing), core.CodeInsufficientFunds, ""},
		"a balance beyond all bounds":      {placed, run(credit("999999999999999.99"), billing), core.CodeValidationFailed, "/amount/amount"},
	})
}

func TestAdjustStock_RefusesStockOutOfBounds(t *testing.T) {
	t.Parallel()
	const available, room = 8, 1_000_000_000 - 10 // of 10, 2 are reserved
	checkRefusals(t, map[string]refusal{
		"a change of nothing":          {placed, run(adjustStock(0), shop), core.CodeValidationFailed, "/change"},
		"fewer than are reserved":      {placed, run(adjustStock(-available-1), shop), core.CodeStockReserved, ""},
		"fewer than any number":        {placed, run(adjustStock(math.MinInt64), shop), core.CodeStockReserved, ""},
		"more than a product may have": {placed, run(adjustStock(room+1), shop), core.CodeValidationFailed, "/change"},
		"more than any number":         {placed, run(adjustStock(math.MaxInt64), shop), core.CodeValidationFailed, "/change"},
		"all that is available, twice": {placed, twice(adjustStock(-available), shop), core.CodeStockReserved, ""},
		"a delivery of more than that": {placed, func(t testing.TB, f *fixture, _ *order.Order) error {
			return f.Orders.Restock(t.Context(), order.Restock{SKU: "tea", Quantity: room + 1, Message: core.Message{Source: "warehouse", ID: "1", SentAt: time.Unix(1, 0)}})
		}, core.CodeValidationFailed, "/quantity"},
		"as much as there may be, twice": {placed, twice(adjustStock(room), shop), core.CodeValidationFailed, "/change"},
	})
}

// twice runs a command under two keys. The first one must succeed.
func twice(c command, actor core.Actor) func(testing.TB, *fixture, *order.Order) error {
	return func(t testing.TB, f *fixture, o *order.Order) error {
		mustRun(t, f, c, actor, o)
		return run(c, actor)(t, f, o)
	}
}

// Refused commands change nothing and cause no effects.
func TestRefusal_ChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := f.order(t, placed(t, f).ID)
	tea := f.stock(t, "tea")
	caused := f.effects(func() {
		_ = run(createOrder(9), ann)(t, f, o)
		_ = run(refund("", ""), root)(t, f, o)
		_ = run(charge("100.01"), root)(t, f, o)
		_ = run(updateStatus(order.Shipped), shop)(t, f, o)
		_ = run(confirm(payment.ByCard), ann)(t, f, o)
		_ = run(cancel(""), bob)(t, f, o)
	})
	if diff := cmp.Diff(effects{}, caused); diff != "" {
		t.Errorf("effects:\n%s", diff)
	}
	if diff := cmp.Diff([]any{tea, o}, []any{f.stock(t, "tea"), f.order(t, o.ID)}); diff != "" {
		t.Errorf("stock and order:\n%s", diff)
	}
	f.wantState(t, 10, 2, "100.00")
}

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
