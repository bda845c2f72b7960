package httpapi

import (
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
)

func TestDecodeIfMatch_ReadsOurTagsAsProxiesWriteThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values    []string
		mustExist bool
		versions  []int64
	}{
		"absent":                     {nil, false, nil},
		"any":                        {[]string{"*"}, true, nil},
		"any, with spaces":           {[]string{" * "}, true, nil},
		"one":                        {[]string{`"3"`}, true, []int64{3}},
		"a list":                     {[]string{`"3", "12"`}, true, []int64{3, 12}},
		"a list with empty elements": {[]string{` ,"3" ,, "12",`}, true, []int64{3, 12}},
		"two lines":                  {[]string{`"3"`, `"12"`}, true, []int64{3, 12}},
		"weakened by nginx":          {[]string{`W/"3"`}, true, []int64{3}},
		"weak and strong":            {[]string{`W/"3","3"`}, true, []int64{3, 3}},
		"compressed by Apache":       {[]string{`"3-gzip", "3-br", W/"3-gzip"`}, true, []int64{3, 3, 3}},
		"compressed by Jetty":        {[]string{`"3--gzip", "3--gzip--br"`}, true, []int64{3, 3}},
		"compressed by others":       {[]string{`"3;br", "3:gzip", "3-zstd", "3-deflate", "3;x-gzip", "3.gz"`}, true, []int64{3, 3, 3, 3, 3, 3}},
		"from elsewhere":             {[]string{`"abc"`, `""`, `"3,4"`, `"*"`}, true, []int64{0, 0, 0, 0}},
		"almost ours":                {[]string{`"03", "+3", "3.0", "99999999999999999999"`}, true, []int64{0, 0, 0, 0}},
		"with other suffixes":        {[]string{`"3-4", "3gzip", "3-", "gzip", "-gzip", "3-gzip-4", "3---gzip"`}, true, []int64{0, 0, 0, 0, 0, 0, 0}},
	} {
		r := &request{http: httptest.NewRequest(http.MethodPut, "/products/tea", nil)}
		r.http.Header["If-Match"] = c.values
		mustExist, versions, err := decodeIfMatch(r)
		if err != nil || mustExist != c.mustExist || !slices.Equal(versions, c.versions) {
			t.Errorf("%s: %v, %v, %v; want %v, %v", name, mustExist, versions, err, c.mustExist, c.versions)
		}
	}
}

func TestDecodeIfMatch_RefusesWhatIsNoEntityTag(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", ",", "3", `"3`, `3"`, `"3""4"`, `"3" "4"`, `w/"3"`, `W/ "3"`, `"3", *`, `*, "3"`, "**", "\"3\x7f\"", `"3", 4`} {
		r := &request{http: httptest.NewRequest(http.MethodPut, "/products/tea", nil)}
		r.http.Header.Set("If-Match", value)
		if mustExist, versions, err := decodeIfMatch(r); codeOf(err) != wire.ProblemCodeMalformedRequest || mustExist || versions != nil {
			t.Errorf("%q: %v, %v, %v; want %s", value, mustExist, versions, err, wire.ProblemCodeMalformedRequest)
		}
	}
}

// FuzzCursor checks that every text is a cursor as the service writes it or invalid, and
// that the service reads every cursor that it writes.
func FuzzCursor(f *testing.F) {
	f.Add("", int64(0), int64(1))
	f.Add("AAAAAAAAAAAAAAAAAAAAAA", int64(1_700_000_000_000_000), int64(1041))
	f.Add("AAAAAAAAAAAAAAAAAAAAAB", int64(-62_135_596_800_000_000), int64(math.MaxInt64))
	f.Add("AAAAAAAAAAA\nAAAAAAAAAAA", int64(math.MaxInt64), int64(-1))
	f.Fuzz(func(t *testing.T, text string, micro, id int64) {
		r := httptest.NewRequest("GET", "/orders?cursor="+url.QueryEscape(text), http.NoBody)
		page, err := decodePage(&request{http: r})
		if err != nil && (codeOf(err) != wire.ProblemCodeValidationFailed || problem.Of(err).Errors[0].Pointer != "#/cursor") {
			t.Errorf("%q: got %v, want validation_failed at #/cursor", text, err)
		}
		if err == nil && *encodeCursor(&page.After) != text {
			t.Errorf("%q is read as the cursor %s", text, *encodeCursor(&page.After))
		}
		at := core.Position{CreatedAt: time.UnixMicro(micro).UTC(), ID: id}
		if year := at.CreatedAt.Year(); year < 1 || year > 9999 {
			return
		}
		if read, err := decodeCursor(*encodeCursor(&at)); err != nil || read != at {
			t.Errorf("%+v comes back as %+v, %v", at, read, err)
		}
	})
}

// validBodies holds a valid body for each guarded operation.
var validBodies = map[string]string{
	"createOrder":      `{"items":[{"sku":"tea","quantity":1}]}`,
	"reserveInventory": `{}`,
	"confirmPayment":   `{"method":"balance"}`,
	"refundPayment":    `{"amount":{"amount":"1.00","currency":"RUB"}}`,
	"cancelOrder":      `{}`,
	"adjustStock":      `{"change":-1}`,
	"chargeBalance":    `{"amount":{"amount":"1.00","currency":"RUB"}}`,
	"creditBalance":    `{"amount":{"amount":"1.00","currency":"RUB"}}`,
}

// postCounted posts to a guarded route whose store refuses every claim. It returns the
// response, and how often the key was claimed.
func postCounted(t *testing.T, rt route, path, body string) (*httptest.ResponseRecorder, int) {
	t.Helper()
	store := newMemoryStore()
	store.refuse = errors.New("claimed")
	response := post(serveAuthorised(newTestAPI(t, store), rt), path, "key-1", body)
	return response, store.claims
}

// guardedRoutes returns the routes that need a key, by operation.
func guardedRoutes(t *testing.T) map[string]route {
	t.Helper()
	found := map[string]route{}
	for _, rt := range (&api{}).routes() {
		if rt.guarded() {
			found[rt.operation] = rt
		}
	}
	if len(found) == 0 {
		t.Fatal("no route is guarded")
	}
	return found
}

func TestGuardedCommand_MalformedPathParameterLeavesKeyFree(t *testing.T) {
	t.Parallel()
	malformed := map[string]struct {
		values []string
		code   wire.ProblemCode
	}{
		"{order_id}":    {[]string{"0", "02", "+2", "%2B2", "-1", "1.5", "one", "%20", "9223372036854775808", "9007199254740992"}, wire.ProblemCodeNotFound},
		"{sku}":         {[]string{"%20", "%00", "a%2Fb", strings.Repeat("a", 65)}, wire.ProblemCodeValidationFailed},
		"{customer_id}": {[]string{"%20", "%00", "%D0%B0", strings.Repeat("a", 256)}, wire.ProblemCodeValidationFailed},
	}
	for operation, rt := range guardedRoutes(t) {
		for _, parameter := range regexp.MustCompile(`\{\w+\}`).FindAllString(rt.pattern, -1) {
			c, known := malformed[parameter]
			if !known {
				t.Errorf("%s: no malformed values of %s", operation, parameter)
			}
			for _, value := range c.values {
				path := strings.ReplaceAll(rt.pattern, parameter, value)
				response, claims := postCounted(t, rt, path, validBodies[operation])
				if code := problemCode(t, response); code != c.code || claims != 0 {
					t.Errorf("%s: got %q and %d claims, want %q and none", path, code, claims, c.code)
				}
			}
		}
	}
}

// A schema cannot say any of this. No state of the database could make these requests valid,
// so they are refused like those that violate a schema.
func TestGuardedCommand_ImpossibleRequestLeavesKeyFree(t *testing.T) {
	t.Parallel()
	const zero = `{"amount":{"amount":"0.00","currency":"RUB"}}`
	routes := guardedRoutes(t)
	for name, c := range map[string]struct{ operation, path, body, pointer string }{
		"a change of zero": {"adjustStock", "/products/tea/stock", `{"change":-0.0}`, "#/change"},
		"a SKU twice": {"createOrder", "/orders",
			`{"items":[{"sku":"tea","quantity":1},{"sku":"rum","quantity":1},{"sku":"tea","quantity":1}]}`, "#/items/2/sku"},
		"an exact amount that the currency has not": {"creditBalance", "/customers/sber-42/balance/credit",
			`{"amount":{"amount":"1.001","currency":"RUB"}}`, "#/amount/amount"},
		"an unknown currency": {"creditBalance", "/customers/sber-42/balance/credit",
			`{"amount":{"amount":"1","currency":"XXX"}}`, "#/amount/currency"},
		"a credit of zero":             {"creditBalance", "/customers/sber-42/balance/credit", zero, "#/amount/amount"},
		"a charge of zero":             {"chargeBalance", "/customers/sber-42/balance/charge", zero, "#/amount/amount"},
		"a refund of zero":             {"refundPayment", "/orders/1041/payment/refund", zero, "#/amount/amount"},
		"a refund of no stated amount": {"refundPayment", "/orders/1041/payment/refund", `{}`, "#/amount"},
		"a refund that is not in full": {"refundPayment", "/orders/1041/payment/refund", `{"full":false}`, "#/full"},
	} {
		response, claims := postCounted(t, routes[c.operation], c.path, c.body)
		if code := problemCode(t, response); code != wire.ProblemCodeValidationFailed || claims != 0 {
			t.Errorf("%s: got %q and %d claims, want validation_failed and none", name, code, claims)
		}
		if !strings.Contains(response.Body.String(), `"`+c.pointer+`"`) {
			t.Errorf("%s: want %s in %s", name, c.pointer, response.Body)
		}
	}
}

// A retry whose stream was consumed by the first attempt sends headers and no body.
func TestGuardedCommand_LostBodyLeavesKeyFree(t *testing.T) {
	t.Parallel()
	complete := map[string]bool{"reserveInventory": true, "cancelOrder": true} // their paths say everything
	for operation, rt := range guardedRoutes(t) {
		path := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(rt.pattern, "17")
		for name, length := range map[string]int64{"Content-Length: 0": 0, "no chunk": -1} {
			store := newMemoryStore()
			store.refuse = errors.New("claimed")
			r := httptest.NewRequest(rt.method, path, io.MultiReader())
			r.ContentLength = length
			r.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {"key-1"}}
			w := httptest.NewRecorder()
			serveAuthorised(newTestAPI(t, store), rt).ServeHTTP(w, r)
			if complete[operation] {
				if store.claims != 1 {
					t.Errorf("%s, %s: got %d and %d claims, want one", operation, name, w.Code, store.claims)
				}
			} else if code := problemCode(t, w); code != wire.ProblemCodeMalformedRequest || store.claims != 0 {
				t.Errorf("%s, %s: got %q and %d claims, want malformed_request and none", operation, name, code, store.claims)
			}
		}
	}
}

// No guarded operation has a parameter in its query.
func TestGuardedCommand_UnknownQueryParameterLeavesKeyFree(t *testing.T) {
	t.Parallel()
	for operation, rt := range guardedRoutes(t) {
		path := strings.NewReplacer("{order_id}", "1041", "{customer_id}", "sber-42", "{sku}", "tea").Replace(rt.pattern)
		response, claims := postCounted(t, rt, path, validBodies[operation])
		if code := problemCode(t, response); code != wire.ProblemCodeInternal || claims != 1 {
			t.Errorf("%s: got %q and %d claims, want the error of the store and one claim", path, code, claims)
		}
		response, claims = postCounted(t, rt, path+"?dry_run=1", validBodies[operation])
		if code := problemCode(t, response); code != wire.ProblemCodeValidationFailed || claims != 0 {
			t.Errorf("%s?dry_run=1: got %q and %d claims, want validation_failed and none", path, code, claims)
		}
	}
}
