package coretest

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

// The second line of defence (AUTH-19): what the core itself answers when a key is used
// again after its idempotency record has expired. A stranger learns nothing by using
// another caller's key.
func TestOperation_TakesEffectOnce(t *testing.T) {
	t.Parallel()
	for _, u := range useCases {
		if !u.keyed {
			continue
		}
		for _, actor := range u.allowed {
			t.Run(u.name+" by "+actor.Subject, func(t *testing.T) {
				t.Parallel()
				f := newFixture()
				r := request{f, actor, u.prepare(t, f), f.key()}
				if repeated, err := u.do(t.Context(), r); repeated || err != nil {
					t.Fatalf("the first time: repeated = %v, %v", repeated, err)
				}
				caused := f.effects(func() {
					if repeated, err := u.do(t.Context(), r); !repeated || err != nil {
						t.Errorf("the second time: repeated = %v, %v", repeated, err)
					}
					if u.changed != nil {
						_, err := u.changed(t.Context(), r)
						wantCode(t, "something else under the key", err, core.CodeIdempotencyKeyReused)
					}
					_, err := u.do(t.Context(), request{f, bob, r.order, r.key})
					wantCode(t, "a stranger under the key", err, core.CodeForbiddenResource)
				})
				if diff := cmp.Diff(effects{}, caused); diff != "" {
					t.Errorf("effects of a repetition:\n%s", diff)
				}
			})
		}
	}
}

func TestOperation_DiffersForTwoActorsWithOneKey(t *testing.T) {
	t.Parallel()
	for _, u := range useCases {
		switch u.name {
		case "AdjustStock", "CreateOrder", "ReserveInventory", "RefundPayment in part", "CreditBalance", "ChargeBalance":
		default:
			continue // the others can happen once, or are of one actor
		}
		f := newFixture()
		o, key := u.prepare(t, f), f.key()
		for _, actor := range u.allowed {
			if repeated, err := u.do(t.Context(), request{f, actor, o, key}); repeated || err != nil {
				t.Errorf("%s by %s: repeated = %v, %v", u.name, actor.Subject, repeated, err)
			}
		}
	}
}

// The first result is returned, whatever happened to the order since.
func TestOperation_IsRepeatedAfterTheOrderWasDelivered(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := placed(t, f)
	steps := []struct {
		command
		request
	}{
		{reserve, request{f, ann, o, f.key()}},
		{confirm(payment.FromBalance), request{f, ann, o, f.key()}},
		{refund("1.00", ""), request{f, ann, o, f.key()}},
	}
	for i, s := range steps {
		if repeated, err := s.command(t.Context(), s.request); repeated || err != nil {
			t.Fatalf("step %d: repeated = %v, %v", i, repeated, err)
		}
	}
	for _, status := range []order.Status{order.Fulfilling, order.Shipped, order.Delivered} {
		mustRun(t, f, updateStatus(status), shop, o)
	}
	f.product(t, shop, "tea", "50.00", 0)
	f.advanceClock(24 * reservationTTL)
	for i, s := range steps {
		if repeated, err := s.command(t.Context(), s.request); !repeated || err != nil {
			t.Errorf("step %d, repeated: repeated = %v, %v", i, repeated, err)
		}
	}
	cmd := order.CreateOrder{Items: []order.Item{{SKU: "tea", Quantity: 2}}, Key: o.CreatedBy.Key}
	prior, repeated, err := f.Orders.CreateOrder(t.Context(), ann, cmd)
	if err != nil || !repeated || prior.ID != o.ID {
		t.Errorf("the order: %+v, repeated = %v, %v", prior, repeated, err)
	}
	f.wantState(t, 0, 0, "21.00")
}

// intent returns a command for a customer with a reference.
type intent func(customerID, reference string) command

func orderFor(quantity int) intent {
	return func(customerID, reference string) command {
		return func(ctx context.Context, r request) (bool, error) {
			cmd := order.CreateOrder{
				CustomerID: customerID, Reference: reference, Items: []order.Item{{SKU: "tea", Quantity: quantity}}, Key: r.key,
			}
			return keyed(r.Orders.CreateOrder(ctx, r.actor, cmd))
		}
	}
}

func creditFor(amount string) intent {
	return func(customerID, reference string) command {
		return func(ctx context.Context, r request) (bool, error) {
			cmd := payment.ChangeBalance{CustomerID: customerID, Amount: money(amount, "RUB"), Reference: reference, Key: r.key}
			return keyed(r.Payments.CreditBalance(ctx, r.actor, cmd))
		}
	}
}

func chargeFor(amount string) intent {
	return func(customerID, reference string) command {
		return func(ctx context.Context, r request) (bool, error) {
			cmd := payment.ChangeBalance{CustomerID: customerID, Amount: money(amount, "RUB"), Reference: reference, Key: r.key}
			return keyed(r.Payments.ChargeBalance(ctx, r.actor, cmd))
		}
	}
}

func adjustFor(change int64) intent {
	return func(_, reference string) command {
		return func(ctx context.Context, r request) (bool, error) {
			cmd := order.AdjustStock{SKU: "tea", Change: change, Reference: reference, Key: r.key}
			return keyed(r.Orders.AdjustStock(ctx, r.actor, cmd))
		}
	}
}

// refundOf refunds a part of the order of the request.
func refundOf(amount string) intent {
	return func(_, reference string) command {
		return func(ctx context.Context, r request) (bool, error) {
			cmd := payment.RefundPayment{OrderID: r.order.ID, Amount: new(money(amount, "RUB")), Reference: reference, Key: r.key}
			return keyed(r.Payments.RefundPayment(ctx, r.actor, cmd))
		}
	}
}

// intents are the commands that take a reference: who runs them, what they do, and the
// same with another request.
var intents = map[string]struct {
	actor     core.Actor
	do, other intent
}{
	"CreateOrder":   {shop, orderFor(1), orderFor(2)},
	"CreditBalance": {billing, creditFor("1.00"), creditFor("2.00")},
	"ChargeBalance": {billing, chargeFor("1.00"), chargeFor("2.00")},
	"AdjustStock":   {shop, adjustFor(-1), adjustFor(-2)},
	"RefundPayment": {ann, refundOf("1.00"), refundOf("2.00")},
}

// A new key makes a new operation, so only the reference can stop an intent that is sent
// under two keys. The client learns that its intent has taken effect before it learns any
// other reason to refuse it.
func TestReference_StopsTheSameIntentUnderAnotherKey(t *testing.T) {
	t.Parallel()
	for name, c := range intents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := withMoney(t)
			o := f.create(t, ann, order.CreateOrder{Items: items("tea")})
			mustRun(t, f, confirm(payment.FromBalance), ann, o)
			first := request{f, c.actor, o, f.key()}
			if _, err := c.do("ann", "A-1")(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			mustRun(t, f, refund("", ""), root, o)
			f.product(t, shop, "tea", "40.00", f.stock(t, "tea").Reserved) // nothing is available
			mustRun(t, f, charge(f.balance(t)), billing, nil)
			caused := f.effects(func() {
				for what, attempt := range map[string]intent{"the same": c.do, "something else": c.other} {
					wantCode(t, what, run(attempt("ann", "A-1"), c.actor)(t, f, o), core.CodeReferenceTaken)
				}
				// The second line of defence knows the operation, so its own reference is not taken.
				if repeated, err := c.do("ann", "A-1")(t.Context(), first); !repeated || err != nil {
					t.Errorf("the same under the same key: repeated = %v, %v", repeated, err)
				}
				_, err := c.do("ann", "A-2")(t.Context(), first)
				wantCode(t, "another reference under the same key", err, core.CodeIdempotencyKeyReused)
			})
			if diff := cmp.Diff(effects{}, caused); diff != "" {
				t.Errorf("effects:\n%s", diff)
			}
		})
	}
}

// A seller may order for any customer, so a reference that a seller takes neither stops the
// customer nor shows whether the customer has used it.
func TestReference_OfAnOrderBelongsToItsCreator(t *testing.T) {
	t.Parallel()
	f := withMoney(t)
	mustRun(t, f, orderFor(1)("ann", "cart-2"), shop, nil)
	mustRun(t, f, orderFor(1)("ann", "cart-2"), ann, nil)
	for _, c := range []struct {
		reader   core.Actor
		creators []string
	}{{ann, []string{"ann"}}, {shop, []string{"shop"}}, {otherShop, nil}, {root, []string{"ann", "shop"}}} {
		found, _, err := f.Orders.ListOrders(t.Context(), c.reader, order.Filter{Reference: "cart-2"}, core.Page{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var creators []string
		for _, o := range found {
			creators = append(creators, o.CreatedBy.Actor)
		}
		slices.Sort(creators)
		if diff := cmp.Diff(c.creators, creators); diff != "" {
			t.Errorf("creators of what %s finds:\n%s", c.reader.Subject, diff)
		}
	}
}

// A reference is one of a creator, so nobody can take that of somebody else. A delivery note
// may list several products.
func TestReference_OfAnAdjustmentBelongsToProductAndCreator(t *testing.T) {
	t.Parallel()
	f := withMoney(t)
	f.product(t, shop, "cup", "5.00", 0)
	mustRun(t, f, adjustFor(1)("", "note-88"), shop, nil)

	mustRun(t, f, adjustFor(1)("", "note-88"), root, nil)
	a, _, err := f.Orders.AdjustStock(t.Context(), shop, order.AdjustStock{SKU: "cup", Change: 1, Reference: "note-88", Key: f.key()})

	if err != nil || a.Reference != "note-88" {
		t.Errorf("of another product: %+v, %v", a, err)
	}
	if p := f.stock(t, "tea"); p.OnHand != 102 {
		t.Errorf("%d of tea on hand, want 102", p.OnHand)
	}
}

// An administrator and a customer who choose one reference mean two refunds.
func TestReference_OfARefundBelongsToItsCreator(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := paid(t, f)
	mustRun(t, f, refundOf("1.00")("", "ticket-1"), root, o)

	mustRun(t, f, refundOf("1.00")("", "ticket-1"), ann, o)

	payments, err := f.Payments.ListPayments(t.Context(), ann, o.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range payments[0].Refunds {
		if r.Reference != "ticket-1" {
			t.Errorf("the refund by %s has the reference %q", r.By.Actor, r.Reference)
		}
	}
	if n := len(payments[0].Refunds); n != 2 {
		t.Errorf("%d refunds, want 2", n)
	}
}

// A cancelled order keeps its reference: a copy of the request that arrives late, under
// another key or when the record of its key has expired, makes no second order.
func TestReference_OfACancelledOrderStaysTaken(t *testing.T) {
	t.Parallel()
	f := withMoney(t)
	cmd := order.CreateOrder{Reference: "cart-2", Items: items("tea")}
	o := f.create(t, ann, cmd)
	mustRun(t, f, cancel(""), ann, o)

	cmd.Key = o.CreatedBy.Key
	again, repeated, err := f.Orders.CreateOrder(t.Context(), ann, cmd)
	if err != nil || !repeated || again.ID != o.ID {
		t.Errorf("under its key: repeated = %v, %v", repeated, err)
	}
	cmd.Key = f.key()
	_, _, err = f.Orders.CreateOrder(t.Context(), ann, cmd)
	wantCode(t, "under another key", err, core.CodeReferenceTaken)
}

// withMoney returns a fixture with tea in stock, and two customers who have 100.00 each.
func withMoney(t *testing.T) *fixture {
	t.Helper()
	f := newFixture()
	f.product(t, shop, "tea", "40.00", 100)
	f.credit(t, "ann", "100.00")
	f.credit(t, "bob", "100.00")
	return f
}
