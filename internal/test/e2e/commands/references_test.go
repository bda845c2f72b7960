package commands_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// referring are the routes of the table whose requests have a reference.
var referring = []string{"createOrder with a reference", "chargeBalance with a reference", "creditBalance with a reference"}

// Each request is sent under a key of its own, so no key can stop it.
func TestReference_OneOfManyKeysTakesEffect(t *testing.T) {
	t.Parallel()
	const rounds, keys = 5, 8
	a, b := e2e.StartTwoReplicas(t, nil)
	for _, route := range referring {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			for range rounds {
				c := a.Prepare(t, route)
				var requests []e2e.Request
				for i := range keys {
					requests = append(requests, []*e2e.Service{a, b}[i%2].Request(c.WithKey(c.NewKey())))
				}
				wantVerdicts(t, e2e.SendTogether(t, requests...), map[string]int{"201": 1, "409 reference_taken": keys - 1})
				c.WantEffects(t, 1)
			}
		})
	}
}

// The refusal decides the operation of its key, and the first operation keeps its own
// result.
func TestReference_RefusalIsStored(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, nil)
	for _, route := range referring {
		c := s.Prepare(t, route)
		first, second := c.NewKey(), c.NewKey()
		taken := c.MustRun(t, first)
		refused := s.WantProblem(t, http.StatusConflict, "reference_taken", c.WithKey(second))
		c.WantReplay(t, refused, s.Send(t, c.WithKey(second)))
		c.WantReplay(t, taken, s.Send(t, c.WithKey(first)))
		c.WantEffects(t, 1)
	}
}

// A seller may name any customer. An order that a seller plants must neither stop the
// customer's own order of that reference nor be found in its place.
func TestReference_CannotBeTakenBySomebodyElse(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	const body = `{"reference": "cart-2", "items": [{"sku": "tea", "quantity": 1}]%s}`
	planted := s.CreateOrderCall(t, e2e.Alice, "tea", 1).WithBody(fmt.Sprintf(body, `, "customer_id": "alice"`))
	planted.Token = s.SellerToken(t)
	theirs := e2e.Want[e2e.Order](t, s, http.StatusCreated, planted)

	own := s.CreateOrderCall(t, e2e.Alice, "tea", 1).WithBody(fmt.Sprintf(body, ""))
	ours := e2e.Want[e2e.Order](t, s, http.StatusCreated, own)

	for id, token := range map[int]string{ours.ID: s.CustomerToken(t), theirs.ID: s.SellerToken(t)} {
		found := e2e.Want[e2e.Page[e2e.Order]](t, s, http.StatusOK, e2e.Get(token, "/orders?reference=cart-2")).Data
		if len(found) != 1 || found[0].ID != id {
			t.Errorf("found %+v, want order %d only", found, id)
		}
	}
}

func TestReference_IsReturnedAndBounded(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, nil)
	longest := strings.Repeat("я", 64)
	for _, route := range referring {
		c := s.Prepare(t, route)
		with := func(reference string) e2e.Call {
			return c.WithKey(c.NewKey()).WithBody(strings.Replace(c.Call.Body, "fee/7", reference, 1))
		}
		for _, reference := range []string{"", longest + "x", `a\nb`} {
			r := s.WantProblem(t, http.StatusUnprocessableEntity, "validation_failed", with(reference))
			if at := r.Pointers(); len(at) != 1 || at[0] != "#/reference" {
				t.Errorf("%s: %q is refused at %q", route, reference, at)
			}
		}
		var made struct{ Reference *string }
		if r := s.MustSend(t, with(longest)); json.Unmarshal(r.Body, &made) != nil || made.Reference == nil || *made.Reference != longest {
			t.Errorf("%s: got %s", route, r.Body)
		}
	}
	o := s.MustSend(t, s.Prepare(t, "createOrder").WithKey(s.NewKey()))
	if !strings.Contains(string(o.Body), `"reference":null`) {
		t.Errorf("an order without a reference is %s", o.Body)
	}
}
