package canaries_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// notations are ways to write a card number that differ from those of the canaries. The
// unit test of the adapter has all.
var notations = []string{"4242424242424242", "4242-4242-4242-4242", "4242.4242.4242.4242", "4242%204242%204242%204242"}

func TestCardNumber_IsRefusedAsKeyAndNotRepeated(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, id := range e2e.GuardedRoutes() {
		c := s.Prepare(t, id)
		for _, number := range notations {
			r := s.WantProblem(t, http.StatusBadRequest, "idempotency_key_invalid", c.WithKey(number))
			if r.Header.Get("Idempotency-Key") != "" || strings.Contains(string(r.Body), number) {
				t.Errorf("%s: the key is repeated: %v %s", id, r.Header, r.Body)
			}
		}
		c.WantKeyFree(t, s.NewKey())
	}
}

// Free texts, references and ids of every body of the contract.
func TestCardNumber_IsRefusedInEveryTextOfABody(t *testing.T) {
	t.Parallel()
	p := newPlanter(t, e2e.Start(t), &nest{})
	tried := 0
	for id, op := range p.operations() {
		if op.RequestBody == nil {
			continue
		}
		for _, member := range members(op.RequestBody.Value.Content.Get("application/json").Schema.Value, nil) {
			name := member[len(member)-1]
			if name == "amount" || name == "customer_id" {
				continue // the form of one is fixed, and the other is the issuer's
			}
			call := p.prepared(t, id)
			for _, number := range append(slices.Clone(notations), "4242 4242 4242 4242", "４２４２４２４２４２４２４２４２", "4242\u00a04242\u00a04242\u00a04242", "٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢") {
				tried++
				r := p.WantProblem(t, http.StatusUnprocessableEntity, "validation_failed",
					call.WithKey(p.NewKey()).WithBody(withMember(t, call.Body, member, number)))
				if want := "#/" + strings.Join(member, "/"); !slices.Contains(r.Pointers(), want) || strings.Contains(string(r.Body), number) {
					t.Errorf("%s %s: %s", id, want, r.Body)
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d were tried", tried)
	}
}

func TestCardNumber_IsRefusedAsID(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	const number = "4242424242424242"
	admin := s.AdminToken(t)
	for _, c := range []e2e.Call{
		{Method: "PUT", Path: "/products/" + number, Token: s.SellerToken(t), Body: `{"name": "tea", "price": {"amount": "1.00", "currency": "RUB"}, "on_hand": 1}`},
		e2e.Get(admin, "/products/4242-4242-4242-4242"),
		e2e.Get(admin, "/products?cursor="+number),
		e2e.Get(admin, "/orders?reference=4242%204242%204242%204242"),
	} {
		r := s.WantProblem(t, http.StatusUnprocessableEntity, "validation_failed", c)
		if len(r.Pointers()) != 1 || strings.Contains(string(r.Body), "4242") {
			t.Errorf("%s: %s", c.Path, r.Body)
		}
	}
	for _, path := range []string{"/orders/" + number, "/" + number} {
		if r := s.WantProblem(t, http.StatusNotFound, "not_found", e2e.Get(admin, path)); strings.Contains(string(r.Body), "4242") {
			t.Errorf("%s: %s", path, r.Body)
		}
	}
	key := s.WantProblem(t, http.StatusBadRequest, "idempotency_key_invalid", e2e.Get(admin, "/idempotency-keys/"+number))
	if strings.Contains(string(key.Body), "4242") {
		t.Errorf("as a key: %s", key.Body)
	}
	if n := s.Count(t, `SELECT count(*) FROM audit_log WHERE resource LIKE '%4242%' OR metadata::text LIKE '%4242%'`); n > 0 {
		t.Error(fmt.Sprint("the audit log has the number ", n, " times"))
	}
}

// An issuer that numbers its subjects makes some that look like card numbers.
func TestSubject_MayLookLikeACardNumber(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 5})
	for _, subject := range []string{"4111111111111111", "user-4111111111111111"} {
		s.Credit(t, subject, "500.00")
		o := s.MustCreateOrder(t, subject, "tea", 1)
		e2e.Want[e2e.Payment](t, s, http.StatusOK, s.ConfirmCall(t, subject, o.ID))
		s.WantBalance(t, subject, "400.00")
		s.MustSend(t, e2e.Get(s.AdminToken(t), "/orders?customer_id="+subject))
	}
}
