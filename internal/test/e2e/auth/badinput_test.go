package auth_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
)

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
			"/metrics", "/debug/pprof/", "/" + canary + strings.Repeat("x", 4000),
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
		"reference": {"", "a\nb", "\xFF", strings.Repeat("я", 65)},
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
		{e2e.Get(s.CustomerToken(t), "/orders?status=open"), "status must be one of pending_payment, payment_processing, paid, "},
	} {
		if r := s.Send(t, c.call); r.Status < 400 || !strings.Contains(string(r.Body), c.want) {
			t.Errorf("%s %s: %d %s, want %s", c.call.Method, c.call.Path, r.Status, r.Body, c.want)
		}
	}
}
