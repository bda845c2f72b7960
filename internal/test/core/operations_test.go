package coretest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	coretest "example.com/orders/internal/test/core"
)

// The second line of defence (AUTH-19): what the core itself answers when a key is used
// again after its idempotency record has expired.

func TestOperation_TakesEffectOnce(t *testing.T) {
	t.Parallel()
	for _, u := range useCases {
		if !u.keyed {
			continue
		}
		for _, actor := range u.allowed {
			t.Run(u.name+" by "+actor.Subject, func(t *testing.T) {
				t.Parallel()
				f := coretest.New(t)
				o := u.prepare(t, f)
				key := f.Key()
				if repeated, err := u.do(t.Context(), f, actor, o, key); repeated || err != nil {
					t.Fatalf("the first time: repeated = %v, %v", repeated, err)
				}
				caused := f.Effects(t, func() {
					if repeated, err := u.do(t.Context(), f, actor, o, key); !repeated || err != nil {
						t.Errorf("the second time: repeated = %v, %v", repeated, err)
					}
					if u.changed == nil {
						return
					}
					if _, err := u.changed(t.Context(), f, actor, o, key); coretest.CodeOf(err) != core.CodeIdempotencyKeyReused {
						t.Errorf("something else under the key: %v", err)
					}
				})
				if diff := cmp.Diff(coretest.Effects{}, caused); diff != "" {
					t.Errorf("effects of a repetition:\n%s", diff)
				}
			})
		}
	}
}

// A stranger learns nothing by using somebody else's key.
func TestOperation_IsRepeatedOnlyForItsActor(t *testing.T) {
	t.Parallel()
	for _, u := range useCases {
		if !u.keyed {
			continue
		}
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			f := coretest.New(t)
			o := u.prepare(t, f)
			key := f.Key()
			if _, err := u.do(t.Context(), f, u.allowed[0], o, key); err != nil {
				t.Fatal(err)
			}
			if repeated, err := u.do(t.Context(), f, bob, o, key); repeated || coretest.CodeOf(err) != core.CodeForbiddenResource {
				t.Errorf("repeated = %v, %v; want %s", repeated, err, core.CodeForbiddenResource)
			}
		})
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
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			f := coretest.New(t)
			o := u.prepare(t, f)
			key := f.Key()
			for _, actor := range u.allowed {
				if repeated, err := u.do(t.Context(), f, actor, o, key); repeated || err != nil {
					t.Errorf("%s: repeated = %v, %v", actor.Subject, repeated, err)
				}
			}
		})
	}
}

// The first result is returned, whatever happened to the order since.
func TestOperation_IsRepeatedAfterTheOrderWasDelivered(t *testing.T) {
	t.Parallel()
	f := coretest.New(t)
	f.Product(t, shop, "tea", "40.00", 10)
	f.Credit(t, "ann", "100.00")
	create := order.CreateOrder{Items: []order.Item{{SKU: "tea", Quantity: 2}}, Key: f.Key()}
	reserve, pay, refund := f.Key(), f.Key(), f.Key()
	part := coretest.Money("1.00", "RUB")

	o, _, err := f.Orders.CreateOrder(t.Context(), ann, create)
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]func() (bool, error){
		"create": func() (bool, error) {
			prior, repeated, err := f.Orders.CreateOrder(t.Context(), ann, create)
			return repeated && prior.ID == o.ID, err
		},
		"reserve": func() (bool, error) {
			_, repeated, err := f.Orders.ReserveInventory(t.Context(), ann, order.ReserveInventory{OrderID: o.ID, Key: reserve})
			return repeated, err
		},
		"pay": func() (bool, error) {
			_, repeated, err := f.Payments.ConfirmPayment(t.Context(), ann, payment.ConfirmPayment{OrderID: o.ID, Method: payment.FromBalance, Key: pay})
			return repeated, err
		},
		"refund": func() (bool, error) {
			_, repeated, err := f.Payments.RefundPayment(t.Context(), ann, payment.RefundPayment{OrderID: o.ID, Amount: &part, Key: refund})
			return repeated, err
		},
	}
	for _, step := range []string{"reserve", "pay", "refund"} {
		if repeated, err := steps[step](); repeated || err != nil {
			t.Fatalf("%s: repeated = %v, %v", step, repeated, err)
		}
	}
	f.UpdateStatus(t, o.ID, order.Fulfilling)
	f.UpdateStatus(t, o.ID, order.Shipped)
	f.UpdateStatus(t, o.ID, order.Delivered)
	f.Product(t, shop, "tea", "50.00", 0)
	f.AdvanceClock(24 * coretest.ReservationTTL)
	for step, repeat := range steps {
		if repeated, err := repeat(); !repeated || err != nil {
			t.Errorf("%s, repeated: repeated = %v, %v", step, repeated, err)
		}
	}
	if got := f.Balance(t, "ann"); got != "21.00" {
		t.Errorf("ann has %s; want 21.00", got)
	}
}
