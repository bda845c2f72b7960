package contracttest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
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

// complaints is a [Reporter] that collects failures.
type complaints struct{ text string }

func (c *complaints) Helper()                           {}
func (c *complaints) Errorf(format string, args ...any) { c.text += fmt.Sprintf(format, args...) }

// check returns how the exchange contradicts the contract, or "".
func (x exchange) check(t *testing.T) string {
	t.Helper()
	req := httptest.NewRequest(x.method, x.path, strings.NewReader(x.sent))
	if x.sentHeader != nil {
		req.Header = x.sentHeader
	}
	var found complaints
	New(t).Check(&found, req, []byte(x.sent), &http.Response{StatusCode: x.status, Header: x.header}, []byte(x.body))
	return found.text
}

func TestCheck_AcceptsDocumentedExchanges(t *testing.T) {
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
			if got := x.check(t); got != "" {
				t.Error(got)
			}
		})
	}
}

// edit returns the exchange with other texts in its body, given in pairs.
func (x exchange) edit(replacements ...string) exchange {
	x.body = strings.NewReplacer(replacements...).Replace(x.body)
	return x
}

// with returns the exchange with a header of the response; "" removes it.
func (x exchange) with(name, value string) exchange {
	x.header.Set(name, value)
	if value == "" {
		x.header.Del(name)
	}
	return x
}

// at returns the exchange as one of another path.
func (x exchange) at(path string) exchange {
	x.path = path
	return x
}

func TestCheck_RejectsUndocumentedResponses(t *testing.T) {
	deleted, accepted, notModified := read(), read(), read()
	deleted.method, accepted.status = "DELETE", 202
	notModified.path, notModified.status, notModified.body = "/openapi.yaml", 304, "x"
	wantComplaints(t, map[string]wrongExchange{
		"status":                        {accepted, "status"},
		"problem of another operation":  {notFound("/products"), "not_found"},
		"route":                         {read().at("/nowhere"), "status"},
		"method":                        {deleted, "status"},
		"media type":                    {read().with("Content-Type", "text/plain"), "Content-Type"},
		"amount as a number":            {read().edit(`"1999.00"`, `1999.00`), "amount"},
		"null where there is none":      {read().edit(`"sber-42"`, `null`), "customer_id"},
		"nullable member absent":        {read().edit(`"reservation":null,`, ``), "reservation"},
		"enum":                          {read().edit(`pending_payment`, `new`), "status"},
		"time not in UTC":               {read().edit(`09:30:00Z`, `12:30:00+03:00`), "created_at"},
		"unknown member":                {read().edit(`"id":`, `"secret":1,"id":`), "secret"},
		"unknown member of an item":     {read().edit(`"sku":`, `"secret":1,"sku":`), "secret"},
		"required header absent":        {created().with("Location", ""), "Location"},
		"value of a header":             {created().with("Idempotency-Result", "maybe"), "Idempotency-Result"},
		"unknown header":                {read().with("X-Powered-By", "us"), "X-Powered-By"},
		"key on an unguarded operation": {read().with("Idempotency-Key", "k-1"), "Idempotency-Key"},
		"body where there is none":      {notModified, "body"},
	})
}

func TestCheck_RejectsAcceptedRequestsThatTheContractForbids(t *testing.T) {
	invalid, withoutKey, malformedKey := created(), created(), created()
	invalid.sent = `{"items":[{"sku":"tea","quantity":0}],"x":1}`
	withoutKey.sentHeader = http.Header{"Content-Type": {"application/json"}}
	malformedKey.sentHeader = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {"a b"}}
	wantComplaints(t, map[string]wrongExchange{
		"invalid member": {invalid, "quantity"},
		"unknown member": {invalid, "'x'"},
		"no key":         {withoutKey, "Idempotency-Key"},
		"malformed key":  {malformedKey, "Idempotency-Key"},
		"path parameter": {read().at("/orders/0"), "order_id"},
		"no integer":     {read().at("/orders/x"), "order_id"},
		"query":          {read().at("/orders?limit=0"), "limit"},
		"unknown query":  {read().at("/orders/1041?x=1"), "x"},
	})
}

func TestCheck_RejectsContradictoryProblems(t *testing.T) {
	wantComplaints(t, map[string]wrongExchange{
		"code of another status":        {refused(conflict).edit(`"code":"out_of_stock"`, `"code":"rate_limited"`), "rate_limited"},
		"code of another operation":     {refused(strings.ReplaceAll(conflict, "out_of_stock", "stock_reserved")), "stock_reserved"},
		"other status in the problem":   {refused(conflict).edit(`"status":409`, `"status":422`), "status 422"},
		"type of another code":          {refused(conflict).edit(`problems/out_of_stock`, `problems/internal`), "type"},
		"retryable without Retry-After": {refused(busy), "retryable"},
		"Retry-After without retryable": {refused(conflict).with("Retry-After", "1"), "retryable"},
		"plain text":                    {refused("no"), "parse the problem"},
		"new key, and not stored":       {refused(conflict).with("Idempotency-Result", ""), "next_key"},
		"new key while it runs":         {refused(busy).edit(`"same"`, `"new"`).with("Retry-After", "1"), "next_key"},
		"same key once it is decided":   {refused(conflict).edit(`"new"`, `"same"`), "next_key"},
		"a key on another operation":    {notFound("/orders/1041").edit(`null`, `"same"`), "next_key"},
	})
}

// wrongExchange contradicts the contract in one way, of which the check must complain.
type wrongExchange struct {
	exchange
	complaint string
}

func wantComplaints(t *testing.T, cases map[string]wrongExchange) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.check(t); !strings.Contains(got, c.complaint) {
				t.Errorf("got %q, want a complaint about %s", got, c.complaint)
			}
		})
	}
}
