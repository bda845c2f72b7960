package httpapi

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"example.com/orders/internal/adapters/in/http/wire"
)

// One response names everything that is wrong with a request: known and unknown parameters,
// the path and the body. A caller who repairs one thing after the other gives up.
func TestRefusal_NamesEverythingThatIsInvalid(t *testing.T) {
	t.Parallel()
	const times = "&created_from=yesterday&created_to=2026-11-04"
	for target, pointers := range map[string]string{
		"GET /orders?limit=0&status=open&foo=1":                                                                          "#/foo #/limit #/status",
		"GET /orders?limit=0&cursor=x&status=open&customer_id=%20&reference=%00" + times:                                 "#/created_from #/created_to #/cursor #/customer_id #/limit #/reference #/status",
		"GET /orders?created_from=2026-11-05T00:00:00Z&created_to=2026-11-04T00:00:00Z&a=1":                              "#/a #/created_from",
		"GET /payments?limit=101&status=open&method=cash&bar=1" + times:                                                  "#/bar #/created_from #/created_to #/limit #/method #/status",
		"GET /customers/%20/balance/transactions?limit=x&reference=&foo=1" + times:                                       "#/created_from #/created_to #/customer_id #/foo #/limit #/reference",
		"GET /products?limit=0&cursor=x&foo=1":                                                                           "#/cursor #/foo #/limit",
		"GET /admin/audit-log?limit=0&cursor=x&foo=1":                                                                    "#/cursor #/foo #/limit",
		"GET /products/%20?foo=1":                                                                                        "#/foo #/sku",
		"PUT /products/%20?foo=1 " + `{"name":1,"price":{"amount":"1","currency":"RUB"}}`:                                "#/foo #/name #/sku",
		"PUT /products/%20?foo=1 " + `{"name":"a","price":{"amount":"1","currency":"XXX"}}`:                              "#/foo #/price/currency #/sku",
		"POST /products/%20/stock?foo=1 " + `{"change":0}`:                                                               "#/change #/foo #/sku",
		"POST /customers/%20/balance/credit?foo=1 " + `{"amount":{"amount":"0","currency":"RUB"}}`:                       "#/amount/amount #/customer_id #/foo",
		"POST /customers/%20/balance/credit?foo=1 " + `{"bar":1}`:                                                        "#/amount #/bar #/customer_id #/foo",
		"POST /orders?foo=1 " + `{"items":[{"sku":"a","quantity":1},{"sku":"a","quantity":1},{"sku":"a","quantity":1}]}`: "#/foo #/items/1/sku #/items/2/sku",
	} {
		method, rest, _ := strings.Cut(target, " ")
		path, body, _ := strings.Cut(rest, " ")
		if got := invalidAt(t, method, path, body); got != pointers {
			t.Errorf("%s: %s, want %s", target, got, pointers)
		}
	}
}

// invalidAt sends a request to the route that has its path, and returns what is invalid.
func invalidAt(t *testing.T, method, target, body string) string {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {"key-1"}}
	a := newTestAPI(t, newMemoryStore())
	segments := strings.Split(r.URL.EscapedPath(), "/")
	for _, rt := range (&api{}).routes() {
		names := strings.Split(rt.pattern, "/")
		fits := rt.method == method && len(names) == len(segments)
		for i := range names {
			fits = fits && (strings.HasPrefix(names[i], "{") || names[i] == segments[i])
		}
		if !fits {
			continue
		}
		w := httptest.NewRecorder()
		serveAuthorised(a, rt).ServeHTTP(w, r)
		p := problemOf(t, w)
		if p.Code != wire.ProblemCodeValidationFailed {
			t.Errorf("%s %s: %d %s", method, target, w.Code, w.Body)
		}
		pointers := convertAll(p.Errors, func(e wire.FieldError) string { return e.Pointer })
		slices.Sort(pointers)
		return strings.Join(pointers, " ")
	}
	t.Fatalf("no route has %s %s", method, target)
	return ""
}
