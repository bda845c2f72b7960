//go:build browser

package browser

import (
	"net/http"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// request is what the script of a page sends to the API.
type request struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body,omitempty"`
}

// answer is what the script of a page can read of an answer. Its status is 0 where the
// browser keeps the answer from the page.
type answer struct {
	Status  int
	Headers map[string]string
	Body    string
}

// fetchAll sends the requests in args one after the other. If-Match gets the last ETag
// that the page could read.
const fetchAll = `
	const answers = [];
	let etag = 'none';
	for (const {url, ...init} of args) {
		if ('If-Match' in (init.headers ?? {})) init.headers['If-Match'] = etag;
		try {
			const r = await fetch(url, init);
			etag = r.headers.get('ETag') ?? etag;
			answers.push({status: r.status, headers: Object.fromEntries(r.headers), body: await r.text()});
		} catch (e) {
			answers.push({status: 0, body: String(e)});
		}
	}
	return answers;`

// requestsOf returns what a page sends: a command and its retry, a read, a change of what
// was read, and a request that is refused.
func requestsOf(t *testing.T, s *e2e.Service) []request {
	t.Helper()
	seller := "Bearer " + s.SellerToken(t)
	order := request{URL: s.URL + "/orders", Method: http.MethodPost, Body: `{"items": [{"sku": "tea", "quantity": 1}]}`,
		Headers: map[string]string{
			"Authorization": "Bearer " + s.CustomerToken(t), "Content-Type": "application/json", "Idempotency-Key": s.NewKey(),
		}}
	read := request{URL: s.URL + "/products/tea", Method: http.MethodGet, Headers: map[string]string{"Authorization": seller}}
	change := request{URL: s.URL + "/products/tea", Method: http.MethodPut,
		Body: `{"name": "Tea", "price": {"amount": "100.00", "currency": "RUB"}, "on_hand": 20}`,
		Headers: map[string]string{
			"Authorization": seller, "Content-Type": "application/json", "If-Match": "",
		}}
	refused := request{URL: s.URL + "/products", Method: http.MethodGet, Headers: map[string]string{"Authorization": "Bearer none"}}
	return []request{order, order, read, change, refused}
}

func TestCORS_PageOfAnAllowedOriginUsesTheAPI(t *testing.T) {
	page := NewPage(t)
	s := e2e.Start(t, "ORDERS_CORS_ORIGINS="+page.Origin)
	s.PutProduct(t, "tea", 10)

	answers := Run[[]answer](t, page, fetchAll, requestsOf(t, s))

	for i, want := range []struct {
		status  int
		headers map[string]string
	}{
		{http.StatusCreated, map[string]string{"idempotency-result": "created", "location": "/orders/1"}},
		{http.StatusCreated, map[string]string{"idempotency-result": "reused", "idempotent-replayed": "true", "location": "/orders/1"}},
		{http.StatusOK, map[string]string{"content-type": "application/json"}},
		{http.StatusOK, map[string]string{"content-type": "application/json"}},
		{http.StatusUnauthorized, map[string]string{"www-authenticate": `Bearer error="invalid_token"`}},
	} {
		got := answers[i]
		if got.Status != want.status || got.Headers["x-request-id"] == "" {
			t.Errorf("answer %d is %+v, want status %d", i, got, want.status)
		}
		for name, value := range want.headers {
			if !strings.HasPrefix(got.Headers[name], value) {
				t.Errorf("answer %d: the page reads %s: %q, want one that begins with %q", i, name, got.Headers[name], value)
			}
		}
	}
}

func TestCORS_PageOfAForeignOriginReadsAndChangesNothing(t *testing.T) {
	page, foreign := NewPage(t), NewPage(t)
	s := e2e.Start(t, "ORDERS_CORS_ORIGINS="+page.Origin)
	s.PutProduct(t, "tea", 10)
	simple := request{URL: s.URL + "/health/ready", Method: http.MethodGet} // sent without a preflight

	answers := Run[[]answer](t, foreign, fetchAll, append(requestsOf(t, s), simple))

	for i, got := range answers {
		if got.Status != 0 || len(got.Headers) > 0 {
			t.Errorf("answer %d: the page reads %+v", i, got)
		}
	}
	if orders := s.Count(t, `SELECT count(*) FROM orders`); orders != 0 {
		t.Errorf("the page has created %d orders", orders)
	}
}
