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
	order = `{"id":1041,"customer_id":"sber-42","seller_id":"shop-7","status":"pending_payment",
		"items":[{"sku":"tea","quantity":2,"unit_price":{"amount":"999.50","currency":"RUB"}}],
		"total":{"amount":"1999.00","currency":"RUB"},"reservation":null,"version":1,
		"created_at":"2026-11-04T09:30:00Z","updated_at":"2026-11-04T09:30:00Z"}`
	conflict = `{"type":"https://orders.example.com/problems/out_of_stock","title":"t","status":409,
		"detail":"d","instance":"/orders","code":"out_of_stock","request_id":"r","retryable":false}`
	busy = `{"type":"https://orders.example.com/problems/idempotency_in_progress","title":"t","status":409,
		"detail":"d","instance":"/orders","code":"idempotency_in_progress","request_id":"r","retryable":true}`
)

// exchange is one request and its response.
type exchange struct {
	method, path, sent string
	sentHeader         http.Header
	status             int
	header             http.Header
	body               string
}

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

func read() exchange {
	return exchange{
		method: "GET", path: "/orders/1041", status: 200, body: order,
		header: http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"r"}},
	}
}

func refused(body string) exchange {
	x := created()
	x.status, x.body = 409, body
	x.header = http.Header{"Content-Type": {"application/problem+json"}, "X-Request-Id": {"r"}, "Idempotency-Key": {"k-1"}}
	return x
}

func notFound(path string) exchange {
	x := read()
	x.path, x.status = path, 404
	x.body = strings.NewReplacer("out_of_stock", "not_found", "409", "404").Replace(conflict)
	x.header.Set("Content-Type", "application/problem+json")
	return x
}

func (v *Validator) verdict(x exchange) error {
	req := httptest.NewRequest(x.method, x.path, strings.NewReader(x.sent))
	if x.sentHeader != nil {
		req.Header = x.sentHeader
	}
	return v.check(req, []byte(x.sent), &http.Response{StatusCode: x.status, Header: x.header}, []byte(x.body))
}

func TestAcceptsWhatTheContractSays(t *testing.T) {
	v := New(t)
	reserve := created()
	reserve.path, reserve.status, reserve.sent = "/orders/1041/reservation", 200, ""
	reserve.header.Del("Location")
	held := read()
	held.body = strings.Replace(order, `"reservation":null`, `"reservation":{"expires_at":"2026-11-04T09:45:00Z"}`, 1)
	page := read()
	page.path, page.body = "/orders?limit=1&status=paid", `{"data":[`+order+`],"next_cursor":"MTA0MQ"}`
	last := read()
	last.path, last.body = "/orders", `{"data":[],"next_cursor":null}`
	waits := refused(busy)
	waits.header.Set("Retry-After", "1")
	contract := exchange{method: "GET", path: "/openapi.yaml", status: 200, body: "openapi: 3.1.0", header: http.Header{
		"Content-Type": {"application/yaml"}, "X-Request-Id": {"r"}, "Etag": {`"a"`},
	}}
	notModified := contract
	notModified.status, notModified.body = 304, ""

	for name, x := range map[string]exchange{
		"created": created(), "absent body": reserve, "read": read(), "nullable object": held, "page": page,
		"last page": last, "conflict": refused(conflict), "in progress": waits, "documented 404": notFound("/orders/7"),
		"path that does not exist": notFound("/nowhere"), "contract": contract, "not modified": notModified,
	} {
		t.Run(name, func(t *testing.T) {
			if err := v.verdict(x); err != nil {
				t.Error(err)
			}
		})
	}
}

// Each case breaks one thing and names a word of the complaint.
func TestRejectsEverythingElse(t *testing.T) {
	v := New(t)
	inBody := func(x exchange, was, is string) exchange {
		if !strings.Contains(x.body, was) {
			t.Fatalf("%q is not in the body", was)
		}
		x.body = strings.Replace(x.body, was, is, 1)
		return x
	}
	with := func(x exchange, name, value string) exchange {
		x.header.Set(name, value)
		return x
	}
	without := func(x exchange, name string) exchange {
		x.header.Del(name)
		return x
	}
	sent := func(body string) exchange {
		x := created()
		x.sent = body
		return x
	}
	status := func(x exchange, status int) exchange {
		x.status = status
		return x
	}
	keyless := created()
	keyless.sentHeader = http.Header{"Content-Type": {"application/json"}}

	for name, c := range map[string]struct {
		exchange
		complaint string
	}{
		"status":                        {status(read(), 202), "status"},
		"route":                         {func() exchange { x := read(); x.path = "/nowhere"; return x }(), "status"},
		"method":                        {func() exchange { x := read(); x.method = "DELETE"; return x }(), "status"},
		"media type":                    {with(read(), "Content-Type", "text/plain"), "Content-Type"},
		"amount as a number":            {inBody(read(), `"1999.00"`, `1999.00`), "amount"},
		"amount with a sign":            {inBody(read(), `"1999.00"`, `"-1999.00"`), "amount"},
		"null where there is none":      {inBody(read(), `"sber-42"`, `null`), "customer_id"},
		"nullable member absent":        {inBody(read(), `"reservation":null,`, ``), "reservation"},
		"nullable member of other type": {inBody(read(), `"reservation":null`, `"reservation":1`), "reservation"},
		"enum":                          {inBody(read(), `pending_payment`, `new`), "status"},
		"time not in UTC":               {inBody(read(), `09:30:00Z`, `12:30:00+03:00`), "created_at"},
		"time without form":             {inBody(read(), `2026-11-04T09:30:00Z`, `yesterdayZ`), "created_at"},
		"unknown member":                {inBody(read(), `"id":`, `"secret":1,"id":`), "secret"},
		"unknown member below":          {inBody(read(), `"sku":`, `"secret":1,"sku":`), "secret"},
		"required header":               {without(created(), "Location"), "Location"},
		"request id":                    {without(read(), "X-Request-Id"), "X-Request-Id"},
		"form of a header":              {with(created(), "Idempotency-Result", "maybe"), "Idempotency-Result"},
		"unknown header":                {with(read(), "X-Powered-By", "us"), "X-Powered-By"},
		"key on a plain operation":      {with(read(), "Idempotency-Key", "k-1"), "Idempotency-Key"},
		"request accepted though wrong": {sent(`{"items":[{"sku":"tea","quantity":0}]}`), "quantity"},
		"request with a stray member":   {sent(`{"items":[{"sku":"tea","quantity":2}],"x":1}`), "x"},
		"request without a key":         {keyless, "Idempotency-Key"},
		"request parameter":             {func() exchange { x := read(); x.path = "/orders/0"; return x }(), "order_id"},
		"code of another status":        {inBody(refused(conflict), `"code":"out_of_stock"`, `"code":"rate_limited"`), "rate_limited"},
		"code nobody knows":             {inBody(refused(conflict), `"code":"out_of_stock"`, `"code":"oops"`), "code"},
		"code not of this operation":    {refused(strings.ReplaceAll(conflict, "out_of_stock", "stock_reserved")), "stock_reserved"},
		"status in the problem":         {inBody(refused(conflict), `"status":409`, `"status":422`), "status 422"},
		"type of another code":          {inBody(refused(conflict), `problems/out_of_stock`, `problems/internal`), "type"},
		"retryable without Retry-After": {refused(busy), "retryable"},
		"Retry-After without retryable": {with(refused(conflict), "Retry-After", "1"), "retryable"},
		"plain text as a problem":       {refused("no"), "read the problem"},
		"body where there is none": {exchange{method: "GET", path: "/openapi.yaml", status: 304, body: "x", header: http.Header{
			"X-Request-Id": {"r"}, "Etag": {`"a"`},
		}}, "body"},
	} {
		t.Run(name, func(t *testing.T) {
			err := v.verdict(c.exchange)
			if err == nil || !strings.Contains(err.Error(), c.complaint) {
				t.Errorf("got %v, want a complaint about %s", err, c.complaint)
			}
		})
	}
}

// recorder stands in for the test that Check reports to.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestCheckReports(t *testing.T) {
	v := New(t)
	for _, c := range []struct {
		body string
		want bool
	}{{order, false}, {`{}`, true}} {
		r := &recorder{TB: t}
		resp := &http.Response{StatusCode: 200, Header: read().header}
		v.Check(r, httptest.NewRequest("GET", "/orders/1041", nil), nil, resp, []byte(c.body))
		if r.failed != c.want {
			t.Errorf("%s: failed is %t, want %t", c.body, r.failed, c.want)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
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

func TestOperations(t *testing.T) {
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
