// Package auth_test tests who may do what, and what becomes of bad input: tokens, roles,
// owners, invalid requests and the log.
package auth_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	contracttest "example.com/orders/internal/test/contract"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/e2e/routes"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestAccess_TableCoversContract(t *testing.T) {
	t.Parallel()
	operations := map[string]bool{}
	for _, op := range contracttest.New(t).Operations() {
		operations[op.ID] = true
		route, known := routes.All[op.ID]
		if !known {
			t.Errorf("%s %s (%s) is not in the table of routes: say who may use it", op.Method, op.Path, op.ID)
			continue
		}
		if diff := cmp.Diff(route.Access.Roles(), slices.Sorted(slices.Values(op.Roles))); diff != "" {
			t.Errorf("%s: roles (-table +contract):\n%s", op.ID, diff)
		}
	}
	for name, route := range routes.All {
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
			access := routes.All[op.ID].Access
			if access.Public {
				if r := s.Send(t, routes.Prepare(t, s, op.ID).Call); r.Status != access.PublicStatus {
					t.Errorf("without a token: %d %s, want %d", r.Status, r.Body, access.PublicStatus)
				}
				return
			}
			for role, outcomes := range access.ByRole() {
				wantOutcome(t, s, op.ID, role+", owner", outcomes.Owner, func(c routes.Command) string {
					return s.Token(t, owner(c, role), role)
				})
				wantOutcome(t, s, op.ID, role+", stranger", outcomes.Stranger, func(routes.Command) string {
					return s.Token(t, strangers[role], role)
				})
			}
			wantOutcome(t, s, op.ID, "no role", routes.RoleForbidden, func(c routes.Command) string {
				return s.Token(t, c.Customer)
			})
			wantOutcome(t, s, op.ID, "an unknown role", routes.RoleForbidden, func(c routes.Command) string {
				return s.Token(t, c.Customer, "superuser")
			})
		})
	}
}

// strangers own nothing of anybody else.
var strangers = map[string]string{"customer": e2e.Mallory, "seller": e2e.Rival, "admin": e2e.Root, "system": e2e.Bank}

// owner returns who owns the resource of a command, as somebody with a role.
func owner(c routes.Command, role string) string {
	if role == "seller" {
		return c.Seller
	}
	return c.Customer
}

// wantOutcome sends a request of a route with a token, and checks the response and what
// the request left in the database.
func wantOutcome(
	t *testing.T, s *e2e.Service, route, who string, want routes.Outcome, token func(routes.Command) string,
) {
	t.Helper()
	c := routes.Prepare(t, s, route)
	call := c.Call.WithToken(token(c))
	if c.Operation.Idempotent {
		call.Key = s.NewKey()
	}
	before := readTraces(t, s)
	r := s.Send(t, call)
	after := readTraces(t, s)

	got := routes.Outcome(r.Verdict())
	if r.Status/100 == 2 {
		got = routes.Allowed
		if after.auditEntries > before.auditEntries {
			got = routes.Audited
		}
	}
	if got != want {
		t.Errorf("%s: %s, want %s: %s", who, got, want, r.Body)
	}
	wantEntries := 0
	if want == routes.Audited {
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
			(SELECT count(*) FROM product WHERE updated_at > created_at) + (SELECT count(*) FROM customer_profile) +
			(SELECT count(*) FROM webhook_endpoint WHERE updated_at > created_at) + (SELECT count(*) FROM webhook_delivery)`),
	}
}

// canary is in the texts of requests, and must not be in any response.
const canary = "Zq9-Canary-Text"

// wantRefusal sends a call that must be refused with a verdict, and for the members at the
// pointers. Bodies and parameters that break a rule of the contract are tested for every
// operation: TestContract_HoldsForGeneratedRequests.
func wantRefusal(t *testing.T, s *e2e.Service, c e2e.Call, verdict string, pointers ...string) {
	t.Helper()
	r := s.Send(t, c)
	if r.Verdict() != verdict || !slices.Equal(r.Pointers(), pointers) {
		t.Errorf("%s %.80s: %s %q, want %s %q", c.Method, c.Path, r.Verdict(), r.Pointers(), verdict, pointers)
	}
	if strings.Contains(string(r.Body), canary) {
		t.Errorf("%s %.80s repeats its input: %s", c.Method, c.Path, r.Body)
	}
}

func TestBadInput_UnknownPathsAreRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, token := range []string{"", s.Token(t, e2e.Alice, "customer", "admin")} {
		for _, path := range []string{
			"/", "/order", "/orders/1/2", "/customers", "/products/tea/", "/docs/nothing.js", "/admin",
			"/metrics", "/debug/pprof/", "/support", "/" + canary + strings.Repeat("x", 4000),
		} {
			wantRefusal(t, s, e2e.Get(token, path), "404 not_found")
		}
	}
}

func TestBadInput_InvalidQueriesAreRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for name, values := range map[string][]string{
		"limit":     {"", "0", "101", "-1", "abc", "1.5", "9223372036854775808", canary},
		"reference": {"", "a\nb", "\xFF", strings.Repeat("я", 65), " a", "a ", "a  b", "a\u00adb", "a\u200bb", "cafe\u0301"},
		// Positions before and after all time are none, either.
		"cursor": {"", canary, "AAAA", "AAAAAAAAAAAAAAAAAAAAAAA=", "gAAAAAAAAAAAAAAAAAAAAQ", "f_________8AAAAAAAAAAQ"},
		"created_from": {
			"", "now", canary, "2026-11-04", "2026-11-04T09:30:00", "2026-11-04T09:30:00+03:00", "2026-11-04t09:30:00z", "2026-02-30T00:00:00Z",
			"2026-11-04T24:00:00Z", "2026-11-04T09:30:60Z", "0001-01-01T00:00:00Z", "12026-11-04T09:30:00Z", "2026-11-04T09:30:00.1234567Z",
		},
		"created_to": {"now"},
	} {
		for _, value := range values {
			list := e2e.Get(s.CustomerToken(t), "/orders?"+name+"="+url.QueryEscape(value))
			wantRefusal(t, s, list, "422 validation_failed", "#/"+name)
		}
	}
	wantRefusal(t, s, e2e.Get(s.CustomerToken(t), "/customers/alice/balance/transactions?reference=a%E2%80%8Bb"),
		"422 validation_failed", "#/reference")
	wantRefusal(t, s, e2e.Get(s.CustomerToken(t), "/orders?created_from=2026-11-04T09:30:01Z&created_to=2026-11-04T09:30:00Z"),
		"422 validation_failed", "#/created_from")
}

// People read a refusal without the contract at hand.
func TestRefusals_SayWhatIsWrongInWords(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	credit := s.CreditCall(t, e2e.Alice, "1.00")
	for _, c := range []struct {
		call e2e.Call
		want string
	}{
		{credit.WithToken(s.CustomerToken(t)), "the operation requires the role admin or system"},
		{e2e.Get(s.CustomerToken(t), "/admin/audit-log"), `"the operation requires the role admin"`},
		{credit.WithBody("{\n  \"amount\": 1,\n}"), "the body must be one JSON value in UTF-8 (line 2, column 14)"},
		{s.CreditCall(t, e2e.Alice, "1e3"), "must be at most 15 digits, a point, and at most the currency's decimals, such as 1999.00 for RUB"},
		{s.CreditCall(t, e2e.Alice, "1.001"), "must be at most 15 digits, a point, and at most 2 decimals for RUB"},
		{e2e.Get(s.Token(t, e2e.Root, "admin"), "/payments?disputed=false"), "disputed must be true"},
		{e2e.Get(s.CustomerToken(t), "/orders?status=open"), "status must be one of pending_payment, payment_processing, paid, "},
	} {
		if r := s.Send(t, c.call); r.Status < 400 || !strings.Contains(string(r.Body), c.want) {
			t.Errorf("%s %s: %d %s, want %s", c.call.Method, c.call.Path, r.Status, r.Body, c.want)
		}
	}
}
