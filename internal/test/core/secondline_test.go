package coretest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	coretest "example.com/orders/internal/test/core"
)

// What the business itself answers to a key whose record is gone (AUTH-19, the second
// line).

func TestOperationTakesEffectOnce(t *testing.T) {
	t.Parallel()
	for _, u := range useCases {
		if !u.keyed {
			continue
		}
		for _, actor := range u.allowed {
			t.Run(u.name+" by "+actor.Subject, func(t *testing.T) {
				t.Parallel()
				w := coretest.New(t)
				o := u.prepare(w)
				key := w.Key()
				if repeated, err := u.do(t.Context(), w, actor, o, key); repeated || err != nil {
					t.Fatalf("the first time: repeated = %v, %v", repeated, err)
				}
				left := w.Traces(func() {
					if repeated, err := u.do(t.Context(), w, actor, o, key); !repeated || err != nil {
						t.Errorf("the second time: repeated = %v, %v", repeated, err)
					}
					if u.changed == nil {
						return
					}
					if _, err := u.changed(t.Context(), w, actor, o, key); coretest.CodeOf(err) != core.CodeIdempotencyKeyReused {
						t.Errorf("something else under the key: %v", err)
					}
				})
				if diff := cmp.Diff(coretest.Traces{}, left); diff != "" {
					t.Errorf("traces of a repetition:\n%s", diff)
				}
			})
		}
	}
}

// A key that somebody else used says nothing to a stranger.
func TestRepetitionIsForTheOneWhoAsked(t *testing.T) {
	t.Parallel()
	for _, u := range useCases {
		if !u.keyed {
			continue
		}
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			w := coretest.New(t)
			o := u.prepare(w)
			key := w.Key()
			if _, err := u.do(t.Context(), w, u.allowed[0], o, key); err != nil {
				t.Fatal(err)
			}
			if repeated, err := u.do(t.Context(), w, bob, o, key); repeated || coretest.CodeOf(err) != core.CodeForbiddenResource {
				t.Errorf("repeated = %v, %v; want %s", repeated, err, core.CodeForbiddenResource)
			}
		})
	}
}

func TestEqualKeysOfTwoActorsAreTwoOperations(t *testing.T) {
	t.Parallel()
	for _, u := range useCases {
		switch u.name {
		case "CreateOrder", "ReserveInventory", "RefundPayment in part", "CreditBalance", "ChargeBalance":
		default:
			continue // the others can happen once, or are of one actor
		}
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			w := coretest.New(t)
			o := u.prepare(w)
			key := w.Key()
			for _, actor := range u.allowed {
				if repeated, err := u.do(t.Context(), w, actor, o, key); repeated || err != nil {
					t.Errorf("%s: repeated = %v, %v", actor.Subject, repeated, err)
				}
			}
		})
	}
}

// The first result is the answer, whatever became of the order since.
func TestRepetitionAnswersAfterTheOrderHasMovedOn(t *testing.T) {
	t.Parallel()
	w := coretest.New(t)
	w.Product(shop, "tea", "40.00", 10)
	w.Credit("ann", "100.00")
	create := order.CreateOrder{Items: []order.Item{{SKU: "tea", Quantity: 2}}, Key: w.Key()}
	reserve, pay, refund := w.Key(), w.Key(), w.Key()
	part := coretest.Money("1.00", "RUB")

	o, _, err := w.Orders.CreateOrder(t.Context(), ann, create)
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]func() (bool, error){
		"create": func() (bool, error) {
			again, repeated, err := w.Orders.CreateOrder(t.Context(), ann, create)
			return repeated && again.ID == o.ID, err
		},
		"reserve": func() (bool, error) {
			_, repeated, err := w.Orders.ReserveInventory(t.Context(), ann, order.ReserveInventory{OrderID: o.ID, Key: reserve})
			return repeated, err
		},
		"pay": func() (bool, error) {
			_, repeated, err := w.Payments.ConfirmPayment(t.Context(), ann, payment.ConfirmPayment{OrderID: o.ID, Method: payment.FromBalance, Key: pay})
			return repeated, err
		},
		"refund": func() (bool, error) {
			_, repeated, err := w.Payments.RefundPayment(t.Context(), ann, payment.RefundPayment{OrderID: o.ID, Amount: &part, Key: refund})
			return repeated, err
		},
	}
	for _, step := range []string{"reserve", "pay", "refund"} {
		if repeated, err := steps[step](); repeated || err != nil {
			t.Fatalf("%s: repeated = %v, %v", step, repeated, err)
		}
	}
	w.Advance(o.ID, order.Fulfilling)
	w.Advance(o.ID, order.Shipped)
	w.Advance(o.ID, order.Delivered)
	w.Product(shop, "tea", "50.00", 0)
	w.Pass(24 * coretest.ReservationTTL)
	for step, again := range steps {
		if repeated, err := again(); !repeated || err != nil {
			t.Errorf("%s, again: repeated = %v, %v", step, repeated, err)
		}
	}
	if got := w.Balance("ann"); got != "21.00" {
		t.Errorf("ann has %s; want 21.00", got)
	}
}
