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

// intents are the commands that take a reference: who runs them, what they do, and the
// same with another request.
var intents = map[string]struct {
	actor     core.Actor
	do, other intent
}{
	"CreateOrder":   {shop, orderFor(1), orderFor(2)},
	"CreditBalance": {billing, creditFor("1.00"), creditFor("2.00")},
	"ChargeBalance": {billing, chargeFor("1.00"), chargeFor("2.00")},
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
			first := request{f, c.actor, nil, f.key()}
			if _, err := c.do("ann", "A-1")(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			f.product(t, shop, "tea", "40.00", f.stock(t, "tea").Reserved) // nothing is available
			mustRun(t, f, charge(f.balance(t)), billing, nil)
			caused := f.effects(func() {
				for what, attempt := range map[string]intent{"the same": c.do, "something else": c.other} {
					wantCode(t, what, run(attempt("ann", "A-1"), c.actor)(t, f, nil), core.CodeReferenceTaken)
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
