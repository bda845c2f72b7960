// Package auth_test tests who may do what, and what becomes of bad input: tokens, roles,
// owners, invalid requests and the log.
package auth_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	contracttest "example.com/orders/internal/test/contract"
	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestAccess_TableCoversContract(t *testing.T) {
	t.Parallel()
	operations := map[string]bool{}
	for _, op := range contracttest.New(t).Operations() {
		operations[op.ID] = true
		route, known := e2e.Routes[op.ID]
		if !known {
			t.Errorf("%s %s (%s) is not in the table of routes: say who may use it", op.Method, op.Path, op.ID)
			continue
		}
		if diff := cmp.Diff(route.Access.Roles(), slices.Sorted(slices.Values(op.Roles))); diff != "" {
			t.Errorf("%s: roles (-table +contract):\n%s", op.ID, diff)
		}
	}
	for name, route := range e2e.Routes {
		if !operations[name] && !operations[route.Operation] {
			t.Errorf("%s is in the table of routes and not in the contract", name)
		}
	}
}

// Every route × every role × owner and stranger, and a token without a role. Requests
// without a token are tested for every operation: TestContract_HoldsForGeneratedRequests.
func TestAccess_DependsOnRoleAndOwner(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, nil)
	for _, op := range s.Contract.Operations() {
		t.Run(op.ID, func(t *testing.T) { // one after the other, because they count rows
			access := e2e.Routes[op.ID].Access
			if access.Public {
				if r := s.Send(t, s.Prepare(t, op.ID).Call); r.Status != access.PublicStatus {
					t.Errorf("without a token: %d %s, want %d", r.Status, r.Body, access.PublicStatus)
				}
				return
			}
			for role, outcomes := range access.ByRole() {
				wantOutcome(t, s, op.ID, role+", owner", outcomes.Owner, func(c e2e.Command) string {
					return s.Token(t, owner(c, role), role)
				})
				wantOutcome(t, s, op.ID, role+", stranger", outcomes.Stranger, func(e2e.Command) string {
					return s.Token(t, strangers[role], role)
				})
			}
			wantOutcome(t, s, op.ID, "no role", e2e.RoleForbidden, func(c e2e.Command) string {
				return s.Token(t, c.Customer)
			})
			wantOutcome(t, s, op.ID, "an unknown role", e2e.RoleForbidden, func(c e2e.Command) string {
				return s.Token(t, c.Customer, "superuser")
			})
		})
	}
}

// strangers own nothing of anybody else.
var strangers = map[string]string{"customer": e2e.Mallory, "seller": e2e.Rival, "admin": e2e.Root, "system": e2e.Bank}

// owner returns who owns the resource of a command, as somebody with a role.
func owner(c e2e.Command, role string) string {
	if role == "seller" {
		return c.Seller
	}
	return c.Customer
}

// wantOutcome sends a request of a route with a token, and checks the response and what
// the request left in the database.
func wantOutcome(
	t *testing.T, s *e2e.Service, route, who string, want e2e.Outcome, token func(e2e.Command) string,
) {
	t.Helper()
	c := s.Prepare(t, route)
	call := c.Call.WithToken(token(c))
	if c.Operation.Idempotent {
		call.Key = s.NewKey()
	}
	before := readTraces(t, s)
	r := s.Send(t, call)
	after := readTraces(t, s)

	got := e2e.Outcome(r.Verdict())
	if r.Status/100 == 2 {
		got = e2e.Allowed
		if after.auditEntries > before.auditEntries {
			got = e2e.Audited
		}
	}
	if got != want {
		t.Errorf("%s: %s, want %s: %s", who, got, want, r.Body)
	}
	wantEntries := 0
	if want == e2e.Audited {
		wantEntries = 1
	}
	if n := after.auditEntries - before.auditEntries; n != wantEntries {
		t.Errorf("%s: %d entries in the audit log, want %d", who, n, wantEntries)
	}
	if r.Status/100 != 2 && after.changes != before.changes {
		t.Errorf("%s was refused, and left %d changes", who, after.changes-before.changes)
	}
}

// traces is what a request can leave in the database.
type traces struct{ auditEntries, changes int }

func readTraces(t testing.TB, s *e2e.Service) traces {
	t.Helper()
	return traces{
		auditEntries: s.Count(t, "SELECT count(*) FROM audit_log"),
		changes: s.Count(t, `SELECT (SELECT count(*) FROM outbox) + (SELECT count(*) FROM idempotency_record) +
			(SELECT count(*) FROM product WHERE updated_at > created_at) + (SELECT count(*) FROM customer_profile)`),
	}
}
