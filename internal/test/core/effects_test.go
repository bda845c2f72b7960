package coretest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
)

func TestOrder_IsPaidAndDelivered(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := placed(t, f)
	f.wantState(t, 10, 2, "100.00")
	mustRun(t, f, confirm(payment.FromBalance), ann, o)
	f.wantState(t, 8, 0, "20.00")
	for _, next := range []order.Status{order.Fulfilling, order.Shipped, order.Delivered} {
		f.advanceClock(time.Minute)
		mustRun(t, f, updateStatus(next), shop, o)
	}
	got := f.order(t, o.ID)
	if got.Status != order.Delivered || got.Version != 5 || !got.UpdatedAt.Equal(f.now()) || !got.ReservedUntil.IsZero() {
		t.Errorf("got %+v", got)
	}
	f.wantState(t, 8, 0, "20.00")
}

func TestOrder_KeepsThePricesOfItsCreation(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := placed(t, f)
	f.product(t, shop, "tea", "99.00", 10)
	want := []order.Line{{SKU: "tea", Quantity: 2, UnitPrice: money("40.00", "RUB")}}
	if diff := cmp.Diff(want, f.order(t, o.ID).Lines); diff != "" {
		t.Error(diff)
	}
	mustRun(t, f, confirm(payment.FromBalance), ann, o)
	f.wantState(t, 8, 0, "20.00")
}

func TestCancelOrder_ReturnsStockAndMoney(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t testing.TB, f *fixture) *order.Order{
		"waiting for payment": placed, "paid": paid, "refunded in part": refunded,
		"expired": expired, "expired and released": released,
		"fulfilling": func(t testing.TB, f *fixture) *order.Order {
			o := paid(t, f)
			mustRun(t, f, updateStatus(order.Fulfilling), shop, o)
			return o
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture()
			cmd := payment.CancelOrder{OrderID: prepare(t, f).ID, Reason: "sold out", Key: f.key()}
			got, _, err := f.Payments.CancelOrder(t.Context(), shop, cmd)
			if err != nil {
				t.Fatal(err)
			}
			want := &order.Cancellation{By: core.Operation{Actor: "shop", Key: cmd.Key}, Reason: "sold out"}
			if diff := cmp.Diff(want, got.Cancellation); diff != "" || got.Status != order.Cancelled {
				t.Errorf("the order is %s:\n%s", got.Status, diff)
			}
			f.wantState(t, 10, 0, "100.00")
		})
	}
}

func TestLedger_RecordsBothSidesOfEveryChange(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := refunded(t, f)
	mustRun(t, f, charge("7.00"), billing, o)
	payments, err := f.Payments.ListPayments(t.Context(), ann, o.ID)
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := f.Payments.ListBalanceTransactions(t.Context(), ann, payment.EntryFilter{CustomerID: "ann"}, core.Page{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	type entry struct {
		Kind                         payment.EntryKind
		Debit, Credit, Amount, After string
		PaymentID, RefundID          int64
	}
	var got []entry
	for _, m := range entries {
		got = append(got, entry{m.Kind, string(m.Debit), string(m.Credit), m.Amount.Decimal(), m.BalanceAfter.Decimal(), m.PaymentID, m.RefundID})
	}
	p := payments[0]
	want := []entry{ // newest first
		{"charge", "customer/ann", "world", "7.00", "43.00", 0, 0},
		{"refund", "seller/shop", "customer/ann", "30.00", "50.00", p.ID, p.Refunds[0].ID},
		{"payment", "customer/ann", "seller/shop", "80.00", "20.00", p.ID, 0},
		{"credit", "world", "customer/ann", "100.00", "100.00", 0, 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReservation_ExpiresAndReleasesItsStock(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := placed(t, f)
	f.advanceClock(reservationTTL - time.Microsecond)
	f.release(t, 0)
	f.wantState(t, 10, 2, "100.00")
	f.advanceClock(time.Microsecond)
	caused := f.effects(func() {
		f.release(t, 1)
		f.release(t, 0)
	})
	if !cmp.Equal(caused, effects{Events: []string{"order.reservation_expired"}}) {
		t.Errorf("effects: %+v", caused)
	}
	f.wantState(t, 10, 0, "100.00")
	if got := f.order(t, o.ID); got.Status != order.PendingPayment || !got.ReservedUntil.IsZero() {
		t.Errorf("the order is %s and reserved until %v", got.Status, got.ReservedUntil)
	}
}

func TestEvents_CarryNoPersonalData(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := paid(t, f)
	mustRun(t, f, updateProfile, ann, o)
	mustRun(t, f, refund("1.00", "Анна"), ann, o)
	mustRun(t, f, cancel("Анна"), ann, o)
	for _, e := range f.Store.Events() {
		if data := fmt.Sprintf("%+v", e.Data); strings.Contains(data, "Анна") {
			t.Errorf("%s has %s", e.Type, data)
		}
	}
}

// gateway is a stub of the card provider. It succeeds, with a result that change may
// change.
type gateway struct {
	cards.Gateway
	// refusal is why it takes no amount.
	refusal string
	change  func(*cards.ChargeResult)
	// reports are those of every charge.
	reports []cards.Report
	// refused is why it makes no refund.
	refused string
	// retries has the member Retry of each call.
	retries []bool
}

func (g *gateway) AmountRefusal(core.Money) string { return g.refusal }

func (g *gateway) Charge(_ context.Context, c cards.ChargeRequest) (cards.ChargeResult, error) {
	g.retries = append(g.retries, c.Retry)
	result := cards.ChargeResult{Terms: c.Terms, Outcome: cards.ChargeSucceeded, Received: c.Amount, ExternalID: "pi_1"}
	if g.change != nil {
		g.change(&result)
	}
	return result, nil
}

func TestSettlePayment_LeavesAnAnswerThatDiffersUndecided(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*cards.ChargeResult){
		"another payment":  func(r *cards.ChargeResult) { r.Payment = "payment-6a1a7f0e-3f4b-4c0f-9f65-5b0e9d1f2a3b" },
		"a refund":         func(r *cards.ChargeResult) { r.Refund = "refund-6a1a7f0e-3f4b-4c0f-9f65-5b0e9d1f2a3b" },
		"another order":    func(r *cards.ChargeResult) { r.OrderID++ },
		"another amount":   func(r *cards.ChargeResult) { r.Amount = money("1.00", "RUB") },
		"less received":    func(r *cards.ChargeResult) { r.Received = money("0.01", "RUB") },
		"another currency": func(r *cards.ChargeResult) { r.Amount = money("80.00", "USD") },
		"no id":            func(r *cards.ChargeResult) { r.ExternalID = "" },
		"an id with NUL":   func(r *cards.ChargeResult) { r.ExternalID = "pi_\x00" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture()
			g := &gateway{change: change}
			f.Payments.Gateway = g
			cmd := payment.ConfirmPayment{OrderID: placed(t, f).ID, Method: payment.ByCard, CardToken: "pm_card_visa", Key: f.key()}
			p, _, err := f.Payments.ConfirmPayment(t.Context(), ann, cmd)
			if err != nil {
				t.Fatal(err)
			}
			caused := f.effects(func() {
				if err := f.Payments.SettlePayment(t.Context(), p.ID); !errors.Is(err, payment.ErrUndecided) {
					t.Errorf("err = %v, want %v", err, payment.ErrUndecided)
				}
			})
			if diff := cmp.Diff(effects{}, caused); diff != "" {
				t.Errorf("effects of the answer:\n%s", diff)
			}
			g.change = nil
			if err := f.Payments.SettlePayment(t.Context(), p.ID); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff([]bool{false, true}, g.retries); diff != "" {
				t.Errorf("calls that asked for the result of an earlier one (-want +got):\n%s", diff)
			}
		})
	}
}

// putStock returns the command that makes the stock of the product tea what the fixture
// gave it at first, in one of the versions.
func putStock(versions ...int64) order.PutProduct {
	return order.PutProduct{
		SKU: "tea", Name: "Good tea", Price: money("40.00", "RUB"), OnHand: new(int64(10)), Versions: versions,
	}
}

func TestPutProduct_NeedsAVersionToReplaceStock(t *testing.T) {
	t.Parallel()
	without := func(cmd order.PutProduct) order.PutProduct { cmd.OnHand = nil; return cmd }
	existing := func(cmd order.PutProduct) order.PutProduct { cmd.MustExist = true; return cmd }
	for name, c := range map[string]struct {
		prepare func(testing.TB, *fixture) *order.Order
		cmd     order.PutProduct
		want    core.Code
		pointer string
	}{
		"a new product":                        {nothing, putStock(), "", ""},
		"a new product without stock":          {nothing, without(putStock()), core.CodeValidationFailed, "/on_hand"},
		"no product where there must be one":   {nothing, existing(putStock(1)), core.CodePreconditionFailed, ""},
		"stock in the version that it has":     {placed, putStock(1), "", ""},
		"stock in one of several versions":     {placed, putStock(7, 1, 0), "", ""},
		"stock in another version":             {placed, putStock(2), core.CodePreconditionFailed, ""},
		"stock without a version":              {placed, putStock(), core.CodePreconditionRequired, ""},
		"stock of whatever is there":           {placed, existing(putStock()), core.CodePreconditionRequired, ""},
		"no stock, without a version":          {placed, without(putStock()), "", ""},
		"no stock, of whatever is there":       {placed, existing(without(putStock())), "", ""},
		"no stock, in the version that it has": {placed, without(putStock(1)), "", ""},
		"no stock, in another version":         {placed, without(putStock(2)), core.CodePreconditionFailed, ""},
	} {
		f := newFixture()
		c.prepare(t, f)
		_, _, err := f.Orders.PutProduct(t.Context(), shop, c.cmd)
		wantCode(t, name, err, c.want)
		if pointer := pointerOf(err); pointer != c.pointer {
			t.Errorf("%s: it points at %q; want %q", name, pointer, c.pointer)
		}
	}
}

// The stock is again what it was when the first command was sent, and the same command is
// late all the same.
func TestPutProduct_RefusesAnOldVersionWithTheSameStock(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.product(t, shop, "tea", "40.00", 8)
	put := putStock(f.stock(t, "tea").Version) // 10 on hand
	if _, _, err := f.Orders.PutProduct(t.Context(), shop, put); err != nil {
		t.Fatal(err)
	}
	f.credit(t, "ann", "80.00")
	o := f.create(t, ann, order.CreateOrder{Items: []order.Item{{SKU: "tea", Quantity: 2}}})
	mustRun(t, f, confirm(payment.FromBalance), ann, o)
	f.wantState(t, 8, 0, "0.00")
	_, _, err := f.Orders.PutProduct(t.Context(), shop, put)
	wantCode(t, "the repeated command", err, core.CodePreconditionFailed)
	f.wantState(t, 8, 0, "0.00")
}

// A seller's change is refused when something has changed that it could undo, and only
// then.
func TestProduct_VersionGrowsWithNamePriceAndStock(t *testing.T) {
	t.Parallel()
	put := func(change func(*order.PutProduct)) command {
		return func(ctx context.Context, r request) (bool, error) {
			cmd := putStock(1)
			change(&cmd)
			_, _, err := r.Orders.PutProduct(ctx, r.actor, cmd)
			return false, err
		}
	}
	deliver := func(ctx context.Context, r request) (bool, error) {
		return false, r.Orders.Restock(ctx, order.Restock{SKU: "tea", Quantity: 5, Message: core.Message{Source: "warehouse", ID: "1", SentAt: time.Unix(1, 0)}})
	}
	for name, c := range map[string]struct {
		prepare func(testing.TB, *fixture) *order.Order
		do      command
		by      core.Actor
		grows   int64
	}{
		"another name":         {placed, put(func(cmd *order.PutProduct) { cmd.Name = "Green tea" }), shop, 1},
		"another price":        {placed, put(func(cmd *order.PutProduct) { cmd.Price = money("41.00", "RUB") }), shop, 1},
		"another currency":     {placed, put(func(cmd *order.PutProduct) { cmd.Price = money("40", "JPY") }), shop, 1},
		"another stock":        {placed, put(func(cmd *order.PutProduct) { *cmd.OnHand = 11 }), shop, 1},
		"nothing":              {placed, put(func(*order.PutProduct) {}), shop, 0},
		"no stock":             {placed, put(func(cmd *order.PutProduct) { cmd.OnHand = nil }), shop, 0},
		"an adjustment":        {placed, adjustStock(-1), shop, 1},
		"a reservation":        {placed, createOrder(1), ann, 0},
		"the end of one":       {placed, cancel(""), ann, 0},
		"a sale":               {placed, confirm(payment.FromBalance), ann, 1},
		"goods that come back": {paid, cancel(""), ann, 1},
		"a delivery":           {placed, deliver, shop, 1},
	} {
		f := newFixture()
		o := c.prepare(t, f)
		before := f.stock(t, "tea").Version
		mustRun(t, f, c.do, c.by, o)
		if after := f.stock(t, "tea").Version; after != before+c.grows {
			t.Errorf("%s: version %d, before %d; want it to grow by %d", name, after, before, c.grows)
		}
	}
}

func TestPutProduct_KeepsTheOwner(t *testing.T) {
	t.Parallel()
	f := newFixture()
	made, isNew, err := f.Orders.PutProduct(t.Context(), shop, putStock())
	if err != nil || !isNew || made.SellerID != "shop" {
		t.Errorf("new = %v, of %s, %v", isNew, made.SellerID, err)
	}
	f.advanceClock(time.Hour)
	cmd := order.PutProduct{SKU: "tea", Name: "Green tea", Price: money("40.00", "RUB")}
	changed, isNew, err := f.Orders.PutProduct(t.Context(), root, cmd)
	if err != nil || isNew || changed.SellerID != "shop" || changed.ID != made.ID || !changed.CreatedAt.Equal(made.CreatedAt) {
		t.Errorf("an administrator's change: new = %v, %+v, %v", isNew, changed, err)
	}
	if p := f.stock(t, "tea"); p.Name != "Green tea" || !p.UpdatedAt.Equal(f.now()) {
		t.Errorf("got %+v", p)
	}
}

func TestAdjustStock_ChangesTheQuantityOnHand(t *testing.T) {
	t.Parallel()
	f := newFixture()
	placed(t, f)
	onHand := int64(10)
	for _, change := range []int64{5, -13, 1} { // 2 are reserved
		onHand += change
		cmd := order.AdjustStock{SKU: "tea", Change: change, Reason: "a count", Key: f.key()}
		a, _, err := f.Orders.AdjustStock(t.Context(), shop, cmd)
		if err != nil {
			t.Fatal(err)
		}
		want := &order.StockAdjustment{
			ID: a.ID, SKU: "tea", Change: change, OnHand: onHand, Reason: "a count",
			By: core.Operation{Actor: "shop", Key: cmd.Key}, CreatedAt: f.now(),
		}
		if diff := cmp.Diff(want, a); diff != "" || a.ID == 0 {
			t.Errorf("adjustment %d (-want +got):\n%s", a.ID, diff)
		}
		f.wantState(t, onHand, 2, "100.00")
	}
}

// A repetition finds nothing to delete. Nothing changes, so the audit log has one entry.
func TestDeleteCustomerProfile_CanBeRepeated(t *testing.T) {
	t.Parallel()
	f := newFixture()
	withProfile(t, f)
	caused := f.effects(func() {
		for range 3 {
			mustRun(t, f, deleteProfile, root, nil)
		}
	})
	if diff := cmp.Diff(effects{Audited: []string{"root DeleteCustomerProfile profile/ann"}}, caused); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	wantCode(t, "the deleted profile", run(getProfile, ann)(t, f, nil), core.CodeNotFound)
	withProfile(t, f) // a customer can have a profile again
}
