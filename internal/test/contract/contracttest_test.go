package contracttest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	order = `{"id":1041,"customer_id":"sber-42","seller_id":"shop-7","reference":null,"status":"pending_payment",
		"items":[{"sku":"tea","quantity":2,"unit_price":{"amount":"999.50","currency":"RUB"}}],
		"total":{"amount":"1999.00","currency":"RUB"},"reservation":null,"version":1,
		"created_at":"2026-11-04T09:30:00Z","updated_at":"2026-11-04T09:30:00Z"}`
	conflict = `{"type":"https://orders.example.com/problems/out_of_stock","title":"t","status":409,
		"detail":"d","instance":"/orders","code":"out_of_stock","request_id":"r","retryable":false,"next_key":"new"}`
	busy = `{"type":"https://orders.example.com/problems/idempotency_in_progress","title":"t","status":409,
		"detail":"d","instance":"/orders","code":"idempotency_in_progress","request_id":"r","retryable":true,"next_key":"same"}`
)

// exchange is one request and its response.
type exchange struct {
	method, path, sent string
	sentHeader         http.Header
	status             int
	header             http.Header
	body               string
}

// created is a createOrder request that succeeded.
func created() exchange {
	return exchange{
		method: "POST", path: "/orders", sent: `{"items":[{"sku":"tea","quantity":2}]}`,
		sentHeader: http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {"k-1"}},
		status:     201, body: order,
		header: http.Header{
			"Content-Type": {"application/json"}, "X-Request-Id": {"r"}, "Location": {"/orders/1041"},
			"Idempotency-Key": {"k-1"}, "Idempotency-Result": {"created"}, "Idempotency-Expires": {"2026-11-07T09:30:00Z"},
		},
	}
}

// read is a getOrderById request that succeeded.
func read() exchange {
	return exchange{
		method: "GET", path: "/orders/1041", status: 200, body: order,
		header: http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"r"}},
	}
}

// refused is a createOrder request that was answered with a 409 problem.
func refused(body string) exchange {
	x := created()
	x.status, x.body = 409, body
	x.header = http.Header{"Content-Type": {"application/problem+json"}, "X-Request-Id": {"r"}, "Idempotency-Key": {"k-1"}}
	if body == conflict {
		x.header.Set("Idempotency-Result", "created")
	}
	return x
}

// notFound is a GET request that was answered with 404.
func notFound(path string) exchange {
	x := read()
	x.path, x.status = path, 404
	x.body = strings.NewReplacer("out_of_stock", "not_found", "409", "404", `"new"`, "null").Replace(conflict)
	x.header.Set("Content-Type", "application/problem+json")
	return x
}

// verdict returns how an exchange contradicts the contract, or nil.
func (v *Validator) verdict(x exchange) error {
	req := httptest.NewRequest(x.method, x.path, strings.NewReader(x.sent))
	if x.sentHeader != nil {
		req.Header = x.sentHeader
	}
	return v.check(req, []byte(x.sent), &http.Response{StatusCode: x.status, Header: x.header}, []byte(x.body))
}

func TestCheck_AcceptsDocumentedExchanges(t *testing.T) {
	v := New(t)
	reserve := created()
	reserve.path, reserve.status, reserve.sent = "/orders/1041/reservation", 200, ""
	reserve.header.Del("Location")
	reserved := read()
	reserved.body = strings.Replace(order, `"reservation":null`, `"reservation":{"expires_at":"2026-11-04T09:45:00Z"}`, 1)
	page := read()
	page.path, page.body = "/orders?limit=1&status=paid", `{"data":[`+order+`],"next_cursor":"MTA0MQ"}`
	last := read()
	last.path, last.body = "/orders", `{"data":[],"next_cursor":null}`
	inProgress := refused(busy)
	inProgress.header.Set("Retry-After", "1")
	contract := exchange{method: "GET", path: "/openapi.yaml", status: 200, body: "openapi: 3.1.0", header: http.Header{
		"Content-Type": {"application/yaml"}, "X-Request-Id": {"r"}, "Etag": {`"a"`},
	}}
	notModified := contract
	notModified.status, notModified.body = 304, ""

	for name, x := range map[string]exchange{
		"created": created(), "absent body": reserve, "read": read(), "nullable object": reserved, "page": page,
		"last page": last, "conflict": refused(conflict), "in progress": inProgress, "documented 404": notFound("/orders/7"),
		"path that does not exist": notFound("/nowhere"), "contract": contract, "not modified": notModified,
	} {
		t.Run(name, func(t *testing.T) {
			if err := v.verdict(x); err != nil {
				t.Error(err)
			}
		})
	}
}

// withBody replaces a part of the body.
func (x exchange) withBody(t *testing.T, old, replacement string) exchange {
	t.Helper()
	if !strings.Contains(x.body, old) {
		t.Fatalf("%q is not in the body", old)
	}
	x.body = strings.Replace(x.body, old, replacement, 1)
	return x
}

func (x exchange) withHeader(name, value string) exchange {
	x.header.Set(name, value)
	return x
}

func (x exchange) withoutHeader(name string) exchange {
	x.header.Del(name)
	return x
}

func (x exchange) withPath(path string) exchange {
	x.path = path
	return x
}

func (x exchange) withMethod(method string) exchange {
	x.method = method
	return x
}

func (x exchange) withStatus(status int) exchange {
	x.status = status
	return x
}

func (x exchange) withRequestBody(body string) exchange {
	x.sent = body
	return x
}

// wrongExchange contradicts the contract in one way. The error must contain complaint.
type wrongExchange struct {
	exchange
	complaint string
}

func wantComplaints(t *testing.T, cases map[string]wrongExchange) {
	t.Helper()
	v := New(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := v.verdict(c.exchange)
			if err == nil || !strings.Contains(err.Error(), c.complaint) {
				t.Errorf("got %v, want a complaint about %s", err, c.complaint)
			}
		})
	}
}

func TestCheck_RejectsUndocumentedResponses(t *testing.T) {
	wantComplaints(t, map[string]wrongExchange{
		"status":                        {read().withStatus(202), "status"},
		"problem of another operation":  {notFound("/products"), "not_found"},
		"route":                         {read().withPath("/nowhere"), "status"},
		"method":                        {read().withMethod("DELETE"), "status"},
		"media type":                    {read().withHeader("Content-Type", "text/plain"), "Content-Type"},
		"amount as a number":            {read().withBody(t, `"1999.00"`, `1999.00`), "amount"},
		"amount with a sign":            {read().withBody(t, `"1999.00"`, `"-1999.00"`), "amount"},
		"null where there is none":      {read().withBody(t, `"sber-42"`, `null`), "customer_id"},
		"nullable member absent":        {read().withBody(t, `"reservation":null,`, ``), "reservation"},
		"nullable member of other type": {read().withBody(t, `"reservation":null`, `"reservation":1`), "reservation"},
		"enum":                          {read().withBody(t, `pending_payment`, `new`), "status"},
		"time not in UTC":               {read().withBody(t, `09:30:00Z`, `12:30:00+03:00`), "created_at"},
		"malformed time":                {read().withBody(t, `2026-11-04T09:30:00Z`, `yesterdayZ`), "created_at"},
		"unknown member":                {read().withBody(t, `"id":`, `"secret":1,"id":`), "secret"},
		"unknown member of an item":     {read().withBody(t, `"sku":`, `"secret":1,"sku":`), "secret"},
		"required header absent":        {created().withoutHeader("Location"), "Location"},
		"request id absent":             {read().withoutHeader("X-Request-Id"), "X-Request-Id"},
		"value of a header":             {created().withHeader("Idempotency-Result", "maybe"), "Idempotency-Result"},
		"unknown header":                {read().withHeader("X-Powered-By", "us"), "X-Powered-By"},
		"key on an unguarded operation": {read().withHeader("Idempotency-Key", "k-1"), "Idempotency-Key"},
		"body where there is none": {exchange{method: "GET", path: "/openapi.yaml", status: 304, body: "x", header: http.Header{
			"X-Request-Id": {"r"}, "Etag": {`"a"`},
		}}, "body"},
	})
}

func TestCheck_RejectsAcceptedRequestsThatTheContractForbids(t *testing.T) {
	withoutKey := created()
	withoutKey.sentHeader = http.Header{"Content-Type": {"application/json"}}
	malformedKey := created()
	malformedKey.sentHeader = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {"a b"}}
	wantComplaints(t, map[string]wrongExchange{
		"invalid member": {created().withRequestBody(`{"items":[{"sku":"tea","quantity":0}]}`), "quantity"},
		"unknown member": {created().withRequestBody(`{"items":[{"sku":"tea","quantity":2}],"x":1}`), "x"},
		"no key":         {withoutKey, "Idempotency-Key"},
		"malformed key":  {malformedKey, "Idempotency-Key"},
		"path parameter": {read().withPath("/orders/0"), "order_id"},
		"no integer":     {read().withPath("/orders/x"), "order_id"},
		"query":          {read().withPath("/orders?limit=0"), "limit"},
		"unknown query":  {read().withPath("/orders/1041?x=1"), "x"},
	})
}

func TestCheck_RejectsContradictoryProblems(t *testing.T) {
	wantComplaints(t, map[string]wrongExchange{
		"code under another status":     {refused(strings.ReplaceAll(strings.ReplaceAll(conflict, "out_of_stock", "forbidden_role"), `"new"`, `"same"`)).withStatus(403), "status 409"},
		"status of another code":        {notFound("/orders/1041").withStatus(403).withBody(t, `404`, `403`), "not_found"},
		"code of another status":        {refused(conflict).withBody(t, `"code":"out_of_stock"`, `"code":"rate_limited"`), "rate_limited"},
		"unknown code":                  {refused(conflict).withBody(t, `"code":"out_of_stock"`, `"code":"oops"`), "code"},
		"code of another operation":     {refused(strings.ReplaceAll(conflict, "out_of_stock", "stock_reserved")), "stock_reserved"},
		"other status in the problem":   {refused(conflict).withBody(t, `"status":409`, `"status":422`), "status 422"},
		"type of another code":          {refused(conflict).withBody(t, `problems/out_of_stock`, `problems/internal`), "type"},
		"retryable without Retry-After": {refused(busy), "retryable"},
		"Retry-After without retryable": {refused(conflict).withHeader("Retry-After", "1"), "retryable"},
		"plain text":                    {refused("no"), "parse the problem"},
		"new key, and not stored":       {refused(conflict).withoutHeader("Idempotency-Result"), "next_key"},
		"new key while it runs":         {refused(busy).withBody(t, `"same"`, `"new"`).withHeader("Retry-After", "1"), "next_key"},
		"same key once it is decided":   {refused(conflict).withBody(t, `"new"`, `"same"`), "next_key"},
		"no key on a guarded operation": {refused(conflict).withBody(t, `"new"`, `null`), "next_key"},
		"a key on another operation":    {notFound("/orders/1041").withBody(t, `null`, `"same"`), "next_key"},
	})
}

// recorder records whether Check reported a failure.
type recorder struct{ failed bool }

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestCheck_ReportsContradictions(t *testing.T) {
	v := New(t)
	for _, c := range []struct {
		body string
		want bool
	}{{order, false}, {`{}`, true}} {
		r := &recorder{}
		resp := &http.Response{StatusCode: 200, Header: read().header}
		v.Check(r, httptest.NewRequest("GET", "/orders/1041", nil), nil, resp, []byte(c.body))
		if r.failed != c.want {
			t.Errorf("%s: failed is %t, want %t", c.body, r.failed, c.want)
		}
	}
}

func TestCheck_IsSafeForConcurrentUse(t *testing.T) {
	v := New(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if err := v.verdict(created()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestOperations_ReturnsWhatTheContractSays(t *testing.T) {
	ops := New(t).Operations()
	i := slices.IndexFunc(ops, func(op Operation) bool { return op.ID == "reserveInventory" })
	if i < 0 {
		t.Fatal("reserveInventory is missing")
	}
	op := ops[i]
	if op.Method != "POST" || op.Path != "/orders/{order_id}/reservation" || !op.Idempotent ||
		!slices.Equal(op.Roles, []string{"customer", "seller", "system"}) {
		t.Errorf("got %+v", op)
	}
}

func BenchmarkCheck(b *testing.B) {
	v := New(b)
	for b.Loop() {
		if err := v.verdict(created()); err != nil {
			b.Fatal(err)
		}
	}
}
