package commands_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
)

func TestListOrders_ShowsOnlyOwnOrders(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	s.MustSend(t, s.PutProductCall(t, "coffee", e2e.Rival, e2e.Roubles("10.00"), 10))
	names := map[int]string{
		s.MustCreateOrder(t, e2e.Alice, "tea", 1).ID:       "alice at the shop",
		s.MustCreatePaidOrder(t, e2e.Mallory, "tea", 1).ID: "mallory at the shop",
		s.MustCreateOrder(t, e2e.Alice, "coffee", 1).ID:    "alice at the rival",
		s.MustCreateOrder(t, e2e.Mallory, "coffee", 1).ID:  "mallory at the rival",
		s.MustCreateOrder(t, e2e.Shop, "coffee", 1).ID:     "the shop at the rival",
	}
	for name, list := range map[string]struct {
		token string
		query string
		want  []string // newest first
	}{
		"a customer":                 {s.CustomerToken(t), "", []string{"alice at the rival", "alice at the shop"}},
		"a seller":                   {s.SellerToken(t), "", []string{"mallory at the shop", "alice at the shop"}},
		"an administrator":           {s.AdminToken(t), "", []string{"the shop at the rival", "mallory at the rival", "alice at the rival", "mallory at the shop", "alice at the shop"}},
		"somebody without orders":    {s.Token(t, "eve", "customer", "seller"), "", nil},
		"a seller who buys, as both": {s.Token(t, e2e.Shop, "seller", "customer"), "", []string{"the shop at the rival", "mallory at the shop", "alice at the shop"}},
		"a customer as a seller":     {s.Token(t, e2e.Alice, "seller"), "", nil},
		"status":                     {s.SellerToken(t), "?status=paid", []string{"mallory at the shop"}},
		"status, by administrators":  {s.AdminToken(t), "?status=paid", []string{"mallory at the shop"}},
		"status of no order":         {s.AdminToken(t), "?status=delivered", nil},
		"customer of the seller":     {s.SellerToken(t), "?customer_id=alice", []string{"alice at the shop"}},
		"customer of any seller":     {s.AdminToken(t), "?customer_id=alice", []string{"alice at the rival", "alice at the shop"}},
		"another customer":           {s.CustomerToken(t), "?customer_id=mallory", nil},
		"customer and status":        {s.AdminToken(t), "?customer_id=mallory&status=pending_payment", []string{"mallory at the rival"}},
	} {
		var got []string
		for _, o := range e2e.Want[e2e.Page[e2e.Order]](t, s, http.StatusOK, e2e.Get(list.token, "/orders"+list.query)).Data {
			got = append(got, names[o.ID])
		}
		if diff := cmp.Diff(list.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	s.WantProblem(t, http.StatusUnprocessableEntity, "validation_failed", e2e.Get(s.AdminToken(t), "/orders?status=lost"))
}

func TestListBalanceTransactions_ShowsEveryTransaction(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	s.Credit(t, e2e.Mallory, "1.00")
	o := s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
	e2e.Want[e2e.Refund](t, s, http.StatusOK, s.RefundCall(s.CustomerToken(t), o.ID, "30.00"))
	e2e.Want[e2e.Transaction](t, s, http.StatusCreated, s.ChargeCall(t, e2e.Alice, "5.00"))

	type transaction struct{ Kind, Amount, BalanceAfter string }
	want := []transaction{
		{"charge", "5.00", "25.00"}, {"refund", "30.00", "30.00"}, {"payment", "100.00", "0.00"}, {"credit", "100.00", "100.00"},
	}
	list := func(token, customer string) []e2e.Transaction {
		path := "/customers/" + customer + "/balance/transactions"
		return e2e.Want[e2e.Page[e2e.Transaction]](t, s, http.StatusOK, e2e.Get(token, path)).Data
	}
	for name, token := range map[string]string{
		"the customer": s.CustomerToken(t), "the system": s.SystemToken(t), "an administrator": s.AdminToken(t),
	} {
		var got []transaction
		for _, m := range list(token, e2e.Alice) {
			got = append(got, transaction{m.Kind, m.Amount.Amount, m.BalanceAfter.Amount})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	wantLastAuditEntry(t, s, e2e.Root, "ListBalanceTransactions", "balance/alice")
	if of := list(s.SystemToken(t), "nobody"); len(of) != 0 {
		t.Errorf("somebody without a balance has transactions: %+v", of)
	}
}

func TestProfile_BelongsToItsCustomer(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, nil)
	const path = "/customers/alice/profile"
	s.WantProblem(t, http.StatusNotFound, "not_found", e2e.Get(s.CustomerToken(t), path))
	s.WantProblem(t, http.StatusNotFound, "not_found", e2e.Get(s.AdminToken(t), path))
	if n := s.Count(t, "SELECT count(*) FROM audit_log"); n != 0 {
		t.Errorf("nothing was read, and the audit log has %d entries", n)
	}
	for _, name := range []string{"Alice", "Алиса Ёжикова"} {
		wantProfile(t, s, name, putProfileCall(s.CustomerToken(t), name))
		wantProfile(t, s, name, e2e.Get(s.CustomerToken(t), path))
	}
	stranger := s.Token(t, e2e.Mallory, "customer")
	s.WantProblem(t, http.StatusForbidden, "forbidden_resource", e2e.Get(stranger, path))
	s.WantProblem(t, http.StatusForbidden, "forbidden_resource", putProfileCall(stranger, "Mallory"))
	s.WantProblem(t, http.StatusForbidden, "forbidden_role", e2e.Get(s.SystemToken(t), path))

	wantProfile(t, s, "Алиса Ёжикова", e2e.Get(s.AdminToken(t), path))
	wantLastAuditEntry(t, s, e2e.Root, "GetCustomerProfile", "profile/alice")
	wantProfile(t, s, "Alice A.", putProfileCall(s.AdminToken(t), "Alice A."))
	wantLastAuditEntry(t, s, e2e.Root, "UpdateCustomerProfile", "profile/alice")
	wantProfile(t, s, "Alice A.", e2e.Get(s.CustomerToken(t), path))
	if n := s.Count(t, "SELECT count(*) FROM outbox"); n != 0 {
		t.Errorf("profiles are personal data, and %d events were published", n)
	}
}

// putProfileCall is the call that replaces the profile of Alice.
func putProfileCall(token, fullName string) e2e.Call {
	return e2e.Call{Method: http.MethodPut, Path: "/customers/alice/profile", Token: token, Body: fmt.Sprintf(
		`{"full_name": %q, "email": "alice@example.com", "phone": "+79990000001"}`, fullName)}
}

// wantProfile sends a call that must return the profile of Alice.
func wantProfile(t testing.TB, s *e2e.Service, fullName string, c e2e.Call) {
	t.Helper()
	want := e2e.Profile{CustomerID: e2e.Alice, FullName: fullName, Email: "alice@example.com", Phone: "+79990000001"}
	if diff := cmp.Diff(want, e2e.Want[e2e.Profile](t, s, http.StatusOK, c)); diff != "" {
		t.Errorf("%s %s (-want +got):\n%s", c.Method, c.Path, diff)
	}
}
