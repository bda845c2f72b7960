package coretest_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	coretest "example.com/orders/internal/test/core"
)

// intent runs a command of the actor for a customer with a reference, under a key.
type intent func(ctx context.Context, f *coretest.Fixture, actor core.Actor, customerID, reference, key string) (repeated bool, err error)

func createFor(quantity int) intent {
	return func(ctx context.Context, f *coretest.Fixture, actor core.Actor, customerID, reference, key string) (bool, error) {
		cmd := order.CreateOrder{
			CustomerID: customerID, Reference: reference, Items: []order.Item{{SKU: "tea", Quantity: quantity}}, Key: key,
		}
		_, repeated, err := f.Orders.CreateOrder(ctx, actor, cmd)
		return repeated, err
	}
}

func changeFor(by func(*payment.Service, context.Context, core.Actor, payment.ChangeBalance) (*payment.LedgerEntry, bool, error), amount string) intent {
	return func(ctx context.Context, f *coretest.Fixture, actor core.Actor, customerID, reference, key string) (bool, error) {
		cmd := payment.ChangeBalance{CustomerID: customerID, Amount: coretest.Money(amount, "RUB"), Reference: reference, Key: key}
		_, repeated, err := by(f.Payments, ctx, actor, cmd)
		return repeated, err
	}
}

// intents are the commands that take a reference: who runs them, what they do, and the
// same with another request.
var intents = map[string]struct {
	actor core.Actor
	do    intent
	other intent
}{
	"CreateOrder":   {shop, createFor(1), createFor(2)},
	"CreditBalance": {billing, changeFor((*payment.Service).CreditBalance, "1.00"), changeFor((*payment.Service).CreditBalance, "2.00")},
	"ChargeBalance": {billing, changeFor((*payment.Service).ChargeBalance, "1.00"), changeFor((*payment.Service).ChargeBalance, "2.00")},
}

// A new key makes a new operation, so only the reference can stop an intent that is sent
// under two keys.
func TestReference_StopsTheSameIntentUnderAnotherKey(t *testing.T) {
	t.Parallel()
	for name, c := range intents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := withMoney(t)
			first := f.Key()
			if _, err := c.do(t.Context(), f, c.actor, "ann", "A-1", first); err != nil {
				t.Fatal(err)
			}
			caused := f.Effects(t, func() {
				for what, attempt := range map[string]intent{"the same": c.do, "something else": c.other} {
					if _, err := attempt(t.Context(), f, c.actor, "ann", "A-1", f.Key()); coretest.CodeOf(err) != core.CodeReferenceTaken {
						t.Errorf("%s with the reference under another key: %v; want %s", what, err, core.CodeReferenceTaken)
					}
				}
				// The second line of defence knows the operation, so its own reference is not taken.
				if repeated, err := c.do(t.Context(), f, c.actor, "ann", "A-1", first); !repeated || err != nil {
					t.Errorf("the same under the same key: repeated = %v, %v", repeated, err)
				}
				if _, err := c.do(t.Context(), f, c.actor, "ann", "A-2", first); coretest.CodeOf(err) != core.CodeIdempotencyKeyReused {
					t.Errorf("another reference under the same key: %v; want %s", err, core.CodeIdempotencyKeyReused)
				}
			})
			if diff := cmp.Diff(coretest.Effects{}, caused); diff != "" {
				t.Errorf("effects:\n%s", diff)
			}
		})
	}
}

func TestReference_IsOfOneCustomerAndKind(t *testing.T) {
	t.Parallel()
	f := withMoney(t)
	for name, c := range intents {
		for _, intent := range []struct{ customerID, reference string }{
			{"ann", "A-1"}, {"bob", "A-1"}, {"ann", "a-1"}, {"ann", ""}, {"ann", ""},
		} {
			if repeated, err := c.do(t.Context(), f, c.actor, intent.customerID, intent.reference, f.Key()); repeated || err != nil {
				t.Errorf("%s with %+v: repeated = %v, %v", name, intent, repeated, err)
			}
		}
	}
}

// A seller may order for any customer, so a reference that a seller takes neither stops the
// customer nor shows whether the customer has used it.
func TestReference_OfAnOrderBelongsToItsCreator(t *testing.T) {
	t.Parallel()
	f := withMoney(t)
	create := createFor(1)
	for _, actor := range []core.Actor{shop, ann} {
		if repeated, err := create(t.Context(), f, actor, "ann", "cart-2", f.Key()); repeated || err != nil {
			t.Errorf("cart-2 of %s: repeated = %v, %v", actor.Subject, repeated, err)
		}
	}

	for _, c := range []struct {
		reader   core.Actor
		creators []string
	}{{ann, []string{"ann"}}, {shop, []string{"shop"}}, {coretest.OtherShop, nil}, {root, []string{"ann", "shop"}}} {
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
	cmd := order.CreateOrder{Reference: "cart-2", Items: items("tea"), Key: f.Key()}
	o, _, err := f.Orders.CreateOrder(t.Context(), ann, cmd)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Payments.CancelOrder(t.Context(), ann, payment.CancelOrder{OrderID: o.ID, Key: f.Key()}); err != nil {
		t.Fatal(err)
	}

	again, repeated, err := f.Orders.CreateOrder(t.Context(), ann, cmd)
	if err != nil || !repeated || again.ID != o.ID {
		t.Errorf("under its key: repeated = %v, %v", repeated, err)
	}
	cmd.Key = f.Key()
	_, _, err = f.Orders.CreateOrder(t.Context(), ann, cmd)
	wantCode(t, "under another key", err, core.CodeReferenceTaken)
}

// The client learns that its intent has taken effect, whatever has happened since.
func TestReference_IsTakenBeforeAnotherReasonIsGiven(t *testing.T) {
	t.Parallel()
	f := withMoney(t)
	for name, c := range intents {
		if _, err := c.do(t.Context(), f, c.actor, "ann", "A-1", f.Key()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	f.Product(t, shop, "tea", "40.00", 1)                                                                      // the one that is reserved
	if err := run(changeBalance((*payment.Service).ChargeBalance, "100.00"), billing)(t, f, nil); err != nil { // all that is left
		t.Fatal(err)
	}
	for name, c := range intents {
		if _, err := c.do(t.Context(), f, c.actor, "ann", "A-1", f.Key()); coretest.CodeOf(err) != core.CodeReferenceTaken {
			t.Errorf("%s: %v; want %s", name, err, core.CodeReferenceTaken)
		}
	}
}

// withMoney returns a fixture with tea in stock, and two customers who have 100.00 each.
func withMoney(t *testing.T) *coretest.Fixture {
	t.Helper()
	f := coretest.New(t)
	f.Product(t, shop, "tea", "40.00", 100)
	f.Credit(t, "ann", "100.00")
	f.Credit(t, "bob", "100.00")
	return f
}
