package transport_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/e2e/routes"
)

// HEAD gets the status and the headers of GET, for the caller and for a stranger, and no
// body (RFC 9110, section 9.3.2).
func TestHEAD_AnswersAsGETDoes(t *testing.T) {
	t.Parallel()
	stock := e2e.Stock{} // a list that is longer than the server buffers to learn its length
	for i := range 30 {
		stock[fmt.Sprint("shelf-", i)] = 1
	}
	s := e2e.StartShop(t, stock)
	for _, op := range s.Contract.Operations() {
		if op.Method != http.MethodGet {
			continue
		}
		t.Run(op.ID, func(t *testing.T) {
			c := routes.Prepare(t, s, op.ID)
			for role, outcomes := range routes.All[op.ID].Access.ByRole() {
				subject := map[string]string{"seller": c.Seller, "admin": e2e.Root, "system": e2e.Bank}[role]
				if role == "customer" {
					subject = c.Customer
				}
				wantHead(t, s, c.Call.WithToken(s.Token(t, subject, role)), role+", "+string(outcomes.Owner))
			}
			wantHead(t, s, c.Call.WithToken(s.Token(t, e2e.Mallory, "customer")), "a stranger")
			wantHead(t, s, c.Call.WithToken(""), "without a token")
		})
	}
}

// wantHead sends a call as GET and as HEAD.
func wantHead(t *testing.T, s *e2e.Service, c e2e.Call, who string) {
	t.Helper()
	c = c.WithHeader("Accept-Encoding", "gzip") // the client would add it to GET only
	want := s.Send(t, c)
	c.Method = http.MethodHead
	got := s.Send(t, c)
	if want.Header.Get("Content-Length") == "" {
		t.Errorf("%s: GET has no Content-Length", who)
	}
	own := []string{"Date", "X-Request-Id"}
	if c.Path == "/admin/audit-log" {
		own = append(own, "Content-Length") // each read adds an entry
	}
	for _, name := range own {
		want.Header.Del(name)
		got.Header.Del(name)
	}
	if len(got.Body) > 0 || got.Status != want.Status {
		t.Errorf("%s: HEAD gets %d and %d bytes, want %d and none", who, got.Status, len(got.Body), want.Status)
	}
	if diff := cmp.Diff(want.Header, got.Header); diff != "" {
		t.Errorf("%s: headers (-GET +HEAD):\n%s", who, diff)
	}
}

// A path that takes no GET takes no HEAD either, and every refusal names HEAD next to GET.
func TestHEAD_IsNamedByAllow(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, c := range []struct {
		method, path string
		allow        []string
	}{
		{http.MethodOptions, "/products", []string{"GET", "HEAD"}},
		{http.MethodPost, "/products", []string{"GET", "HEAD"}},
		{http.MethodOptions, "/orders", []string{"GET", "HEAD", "POST"}},
		{http.MethodHead, "/orders/1/cancel", []string{"POST"}},
		{http.MethodHead, "/webhooks/stripe", []string{"POST"}},
	} {
		got := s.Send(t, e2e.Call{Method: c.method, Path: c.path})
		if got.Status != http.StatusMethodNotAllowed || !slices.Equal(got.Header.Values("Allow"), c.allow) {
			t.Errorf("%s %s: %d, Allow %q; want 405 and %q", c.method, c.path, got.Status, got.Header.Values("Allow"), c.allow)
		}
	}
}
