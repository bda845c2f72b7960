package transport_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
)

const (
	shopOrigin    = "https://shop.example.com"
	foreignOrigin = "https://shop.example.com.evil.example"
)

// corsHeaders returns the headers of an answer that are about other origins.
func corsHeaders(header http.Header) map[string]string {
	found := map[string]string{}
	for name := range header {
		if rule, isCORS := strings.CutPrefix(name, "Access-Control-"); isCORS {
			found[rule] = header.Get(name)
		}
	}
	return found
}

// from returns the call as a page of an origin sends it.
func from(origin string, c e2e.Call) e2e.Call {
	return c.WithHeader("Origin", origin)
}

// preflight asks whether a page may send a request with these headers. Browsers send the
// names in lower case, sorted.
func preflight(t testing.TB, s *e2e.Service, path, origin, method string, headers ...string) (int, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, s.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(headers)
	req.Header = http.Header{
		"Origin": {origin}, "Access-Control-Request-Method": {method}, "Access-Control-Request-Headers": {strings.Join(headers, ",")},
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode, resp.Header
}

func TestCORS_PreflightAllowsTheMethodsAndHeadersOfTheContract(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, "ORDERS_CORS_ORIGINS=https://other.example,"+shopOrigin)
	methods := map[string]string{}
	for _, op := range s.Contract.Operations() {
		if len(op.Roles) > 0 {
			methods[op.Method] = op.Path
		}
	}
	for method, path := range methods {
		status, header := preflight(t, s, path, shopOrigin, method, "authorization", "content-type", "idempotency-key", "if-match")
		want := map[string]string{
			"Allow-Origin": shopOrigin, "Allow-Methods": method, "Max-Age": "600",
			"Allow-Headers": "authorization,content-type,idempotency-key,if-match",
		}
		if diff := cmp.Diff(want, corsHeaders(header)); status != http.StatusNoContent || diff != "" {
			t.Errorf("%s %s: status %d (-want +got):\n%s", method, path, status, diff)
		}
		if !strings.Contains(strings.Join(header.Values("Vary"), ","), "Origin") {
			t.Errorf("%s: Vary %q has no Origin", method, header.Values("Vary"))
		}
	}
	if _, header := preflight(t, s, "/orders", shopOrigin, http.MethodHead, "authorization"); header.Get("Access-Control-Allow-Methods") != http.MethodHead {
		t.Errorf("HEAD: the preflight allows %v", corsHeaders(header))
	}
	for name, c := range map[string]struct{ origin, method, header string }{
		"foreign origin": {foreignOrigin, http.MethodPost, "idempotency-key"},
		"null":           {"null", http.MethodPost, "idempotency-key"},
		"plain HTTP":     {"http://shop.example.com", http.MethodPost, "idempotency-key"},
		"other port":     {shopOrigin + ":8443", http.MethodPost, "idempotency-key"},
		"other method":   {shopOrigin, "TRACE", "idempotency-key"},
		"other header":   {shopOrigin, http.MethodPost, "cookie"},
	} {
		if _, header := preflight(t, s, "/orders", c.origin, c.method, c.header); len(corsHeaders(header)) > 0 {
			t.Errorf("%s: the preflight allows %v", name, corsHeaders(header))
		}
	}
}

// A browser refuses a request if its page adds a header that the preflight does not allow,
// so one that is missing here stops every call of a page that is traced.
func TestCORS_PreflightAllowsTheHeadersOfBrowserTracing(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, "ORDERS_CORS_ORIGINS="+shopOrigin)
	for tracing, headers := range map[string][]string{
		"W3C, as OpenTelemetry sends it": {"baggage", "traceparent", "tracestate"},
		"Sentry":                         {"baggage", "sentry-trace"},
		"Datadog RUM":                    {"traceparent", "tracestate", "x-datadog-origin", "x-datadog-parent-id", "x-datadog-sampling-priority", "x-datadog-trace-id"},
		"New Relic":                      {"newrelic", "traceparent", "tracestate"},
		"Elastic APM":                    {"elastic-apm-traceparent", "traceparent", "tracestate"},
		"B3 in one header":               {"b3"},
		"B3 in many headers":             {"x-b3-flags", "x-b3-parentspanid", "x-b3-sampled", "x-b3-spanid", "x-b3-traceid"},
		"Application Insights":           {"request-context", "request-id", "traceparent"},
		"AWS X-Ray":                      {"x-amzn-trace-id"},
		"Google Cloud Trace":             {"x-cloud-trace-context"},
		"Jaeger":                         {"uber-trace-id"},
		"SkyWalking":                     {"sw8"},
		"a request ID":                   {"x-request-id"},
	} {
		asked := append([]string{"authorization", "content-type", "idempotency-key"}, headers...)
		_, header := preflight(t, s, "/orders", shopOrigin, http.MethodPost, asked...)
		if allowed := header.Get("Access-Control-Allow-Headers"); allowed != strings.Join(asked, ",") {
			t.Errorf("%s: the preflight allows %q of %q", tracing, allowed, asked)
		}
	}
}

// exposed are the headers that a page may read besides those that every page may.
const exposed = "Etag, Idempotency-Expires, Idempotency-Key, Idempotency-Result, Idempotent-Replayed, " +
	"Location, Retry-After, Www-Authenticate, X-Request-Id"

// Whatever the answer is, a page of an allowed origin can read it, and a page of another
// origin cannot.
func TestCORS_EveryAnswerIsForAllowedOriginsOnly(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10}, "ORDERS_CORS_ORIGINS="+shopOrigin)
	order := s.CreateOrderCall(t, e2e.Alice, "tea", 1)
	calls := []struct {
		call e2e.Call
		want string
	}{
		{order, "201"}, {order, "201"}, // the second is a replay
		{order.WithBody(`{"items": [{"sku": "tea", "quantity": 2}]}`), "409 idempotency_key_reused"},
		{order.WithBody(`{"items": [{"sku": "tea", "quantity": 99}]}`).WithKey("99"), "409 out_of_stock"},
		{order.WithBody(`{}`).WithKey("empty"), "422 validation_failed"},
		{order.WithKey(""), "400 idempotency_key_required"},
		{e2e.Get("", "/products"), "401 unauthenticated"},
		{e2e.Get(s.CustomerToken(t), "/admin/audit-log"), "403 forbidden_role"},
		{e2e.Get("", "/no/such/path"), "404 not_found"},
		{e2e.Call{Method: http.MethodPost, Path: "/products"}, "405 method_not_allowed"},
		{e2e.Get("", "/health/ready"), "200"},
	}
	want := map[string]string{"Allow-Origin": shopOrigin, "Expose-Headers": exposed}
	for _, c := range calls {
		allowed := s.Send(t, from(shopOrigin, c.call))
		if diff := cmp.Diff(want, corsHeaders(allowed.Header)); allowed.Verdict() != c.want || diff != "" {
			t.Errorf("%s %s: %s, want %s (-want +got):\n%s", c.call.Method, c.call.Path, allowed.Verdict(), c.want, diff)
		}
		for _, origin := range []string{foreignOrigin, "null", "http://shop.example.com"} {
			if got := corsHeaders(s.Send(t, from(origin, c.call)).Header); len(got) > 0 {
				t.Errorf("%s %s from %s: %v", c.call.Method, c.call.Path, origin, slices.Sorted(maps.Keys(got)))
			}
		}
		if !slices.Contains(allowed.Header.Values("Vary"), "Origin") {
			t.Errorf("%s %s: Vary %q has no Origin", c.call.Method, c.call.Path, allowed.Header.Values("Vary"))
		}
	}
}

func TestCORS_IsOffByDefaultAndForWebhooks(t *testing.T) {
	t.Parallel()
	unset := e2e.Start(t)
	set := unset.StartReplica(t, "ORDERS_CORS_ORIGINS="+shopOrigin)
	for name, c := range map[string]struct {
		service *e2e.Service
		path    string
	}{
		"no setting": {unset, "/orders"},
		"webhook":    {set, "/webhooks/stripe"},
		"no webhook": {set, "/webhooks/other"},
	} {
		post := from(shopOrigin, e2e.Call{Method: http.MethodPost, Path: c.path, Body: `{}`})
		if got := c.service.Send(t, post).Header; len(corsHeaders(got)) > 0 {
			t.Errorf("%s: %v", name, corsHeaders(got))
		}
		if status, header := preflight(t, c.service, c.path, shopOrigin, http.MethodPost, "content-type"); len(corsHeaders(header)) > 0 || status < 400 {
			t.Errorf("%s: the preflight is answered with %d and %v", name, status, corsHeaders(header))
		}
	}
}
