package coretest

import (
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
