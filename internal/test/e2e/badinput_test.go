package e2e_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// canary stands in every text of the requests of this file, and in no answer.
const canary = "Zq9-Canary-Text"

// ourInsides are words by which an answer would tell how the service is made (AUTH-18).
var ourInsides = regexp.MustCompile(`(?i)sqlstate|pgx|postgres|\bsql\b|numeric field|constraint|relation|goroutine|panic|\.go:[0-9]|json:|jsontext|jsonschema|strconv|base64|unmarshal`)

// badRequest is a request that must be refused, and how.
type badRequest struct {
	name   string
	call   call
	status int
	code   string
	// pointers are the members that are blamed.
	pointers []string
	// kept tells that the refusal is stored under its key and replayed.
	kept bool
}

// checkRefusals sends requests that must be refused, and checks all that the contract
// says of a refusal (section 5). What the database holds is compared row by row, so
// they go one after the other.
func (s *service) checkRefusals(t *testing.T, refusals []badRequest) {
	t.Helper()
	before := s.snapshot()
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			s := s.in(t)
			r := s.send(c.call)
			checkProblem(t, c, r)
			if c.kept {
				checkReplay(t, r, s.send(c.call))
			}
			after := s.snapshot()
			if c.kept {
				delete(before, "idempotency_record") // it tells of the refusal
				delete(after, "idempotency_record")
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the refusal changed the database:\n%s", diff)
			}
			before = s.snapshot()
		})
	}
}

// checkProblem checks one problem document.
func checkProblem(t *testing.T, c badRequest, r reply) {
	t.Helper()
	var p struct {
		Type, Title, Detail, Instance, Code string
		Status                              int
		RequestID                           string `json:"request_id"`
		Retryable                           bool
		Errors                              []struct{ Pointer, Detail string }
	}
	if err := json.Unmarshal(r.body, &p); err != nil {
		t.Fatalf("%d: %v in %s", r.status, err, r.body)
	}
	var pointers []string
	for _, e := range p.Errors {
		pointers = append(pointers, e.Pointer)
	}
	if r.status != c.status || p.Status != c.status || p.Code != c.code || !slices.Equal(pointers, c.pointers) {
		t.Errorf("got %d %s %q, want %d %s %q: %s", r.status, p.Code, pointers, c.status, c.code, c.pointers, r.body)
	}
	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("the media type is %q", got)
	}
	if p.RequestID == "" || p.RequestID != r.header.Get("X-Request-Id") {
		t.Errorf("request_id %q and X-Request-Id %q differ", p.RequestID, r.header.Get("X-Request-Id"))
	}
	if p.Retryable != (r.header.Get("Retry-After") != "") {
		t.Errorf("retryable is %t, and Retry-After %q", p.Retryable, r.header.Get("Retry-After"))
	}
	if path, _, _ := strings.Cut(c.call.path, "?"); decoded(t, p.Instance) != decoded(t, path) {
		t.Errorf("the instance is %q, want %q", p.Instance, path)
	}
	if p.Title == "" || p.Detail == "" || !strings.HasSuffix(p.Type, "/"+c.code) {
		t.Errorf("type, title or detail is missing: %s", r.body)
	}
	said := strings.ReplaceAll(string(r.body), p.RequestID, "")
	if strings.Contains(said, canary) || ourInsides.MatchString(said) {
		t.Errorf("the answer tells too much: %s", r.body)
	}
}

func decoded(t *testing.T, path string) string {
	t.Helper()
	plain, err := url.PathUnescape(path)
	if err != nil {
		t.Errorf("%q is no path: %v", path, err)
	}
	return plain
}

// checkReplay checks that a refusal is stored: nothing runs again.
func checkReplay(t *testing.T, first, again reply) {
	t.Helper()
	if again.status != first.status || string(again.body) != string(first.body) || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("first %d %s\nagain %d %s %v", first.status, first.body, again.status, again.body, again.header)
	}
}

// snapshot digests every table, row by row.
func (w *world) snapshot() map[string]string {
	w.Helper()
	var tables []string
	err := w.db.QueryRow(w.Context(), `SELECT array_agg(tablename::text) FROM pg_tables WHERE schemaname = 'public'`).Scan(&tables)
	if err != nil || len(tables) == 0 {
		w.Fatalf("list the tables: %v, %v", tables, err)
	}
	contents := map[string]string{}
	for _, table := range tables {
		var rows string
		query := fmt.Sprintf(`SELECT count(*) || ' rows, ' || md5(coalesce(string_agg(t::text, E'\n' ORDER BY t::text), '')) FROM %q t`, table)
		if err := w.db.QueryRow(w.Context(), query).Scan(&rows); err != nil {
			w.Fatalf("%s: %v", query, err)
		}
		contents[table] = rows
	}
	return contents
}

// wantKeyFree uses a key that refused requests carried: it must be as new.
func (s *service) wantKeyFree(c call) {
	s.Helper()
	r := s.send(c)
	if r.status/100 != 2 || r.header.Get("Idempotency-Result") != "created" {
		s.Errorf("the key of refused requests is not free: %d %v %s", r.status, r.header, r.body)
	}
}

// creditBody is a credit with any amount and currency, written as JSON.
func creditBody(amount, currency string) string {
	return fmt.Sprintf(`{"amount": {"amount": %s, "currency": %s}, "description": %q}`, amount, currency, canary)
}

// What no JSON parser should let in, on every operation that reads a body.
func TestUnreadableBodiesAreRefusedEverywhere(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.putProduct("tea", 10)
	s.credit(alice, "500.00")
	o := s.order(alice, "tea", 1)
	const good = `{"amount": {"amount": "1.00", "currency": "RUB"}, "description": "` + canary + `"}`
	for _, accepted := range []call{
		s.creditCall(alice, "1.00", s.newKey()),
		s.orderCall(alice, "tea", 1, s.newKey()),
		s.confirmCall(alice, o.ID, s.newKey()),
		{method: "PUT", path: "/products/tea", token: s.token(shop, "seller"), body: `{"name": "tea", "price": {"amount": "1.00", "currency": "RUB"}, "on_hand": 10}`},
	} {
		t.Run(accepted.method+" "+accepted.path, func(t *testing.T) {
			var refusals []badRequest
			for _, c := range []struct {
				name, body string
				header     http.Header
				status     int
				code       string
				pointers   []string
			}{
				{"cut short", good[:len(good)-1], nil, 400, "malformed_request", nil},
				{"no JSON", canary, nil, 400, "malformed_request", nil},
				{"nothing", "", nil, 400, "malformed_request", nil},
				{"white space", " \n", nil, 400, "malformed_request", nil},
				{"two values", good + good, nil, 400, "malformed_request", nil},
				{"trailing garbage", good + canary, nil, 400, "malformed_request", nil},
				{"byte order mark", "\ufeff" + good, nil, 400, "malformed_request", nil},
				{"invalid UTF-8", `{"description": "` + canary + "\xff" + `"}`, nil, 400, "malformed_request", nil},
				{"UTF-16", "\xff\xfe{\x00}\x00", nil, 400, "malformed_request", nil},
				{"half a surrogate", `{"description": "\ud800"}`, nil, 400, "malformed_request", nil},
				{"duplicate member", `{"description": "` + canary + `", "description": "x"}`, nil, 400, "malformed_request", nil},
				{"duplicate by escape", `{"description": "` + canary + `", "d\u0065scription": "x"}`, nil, 400, "malformed_request", nil},
				{"nested too deeply", strings.Repeat("[", 1000) + strings.Repeat("]", 1000), nil, 400, "malformed_request", nil},
				{"comment", "/* " + canary + " */ " + good, nil, 400, "malformed_request", nil},
				{"single quotes", "{'a': 1}", nil, 400, "malformed_request", nil},
				{"number beyond 2^53", `{"amount": 9007199254740993}`, nil, 400, "malformed_request", nil},
				{"number without end", `{"amount": 1e99999999}`, nil, 400, "malformed_request", nil},
				{"array on top", "[" + good + "]", nil, 422, "validation_failed", []string{"#"}},
				{"string on top", `"` + canary + `"`, nil, 422, "validation_failed", []string{"#"}},
				{"null", "null", nil, 422, "validation_failed", []string{"#"}},
				{"65 KiB", `{"description": "` + strings.Repeat("x", 65<<10) + `"}`, nil, 413, "body_too_large", nil},
				{"65 KiB of white space", good + strings.Repeat(" ", 65<<10), nil, 413, "body_too_large", nil},
				{"no media type", good, http.Header{"Content-Type": {}}, 415, "unsupported_media_type", nil},
				{"other media type", good, http.Header{"Content-Type": {"text/plain"}}, 415, "unsupported_media_type", nil},
				{"form", good, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, 415, "unsupported_media_type", nil},
				{"other charset", good, http.Header{"Content-Type": {"application/json; charset=koi8-r"}}, 415, "unsupported_media_type", nil},
				{"two media types", good, http.Header{"Content-Type": {"application/json", "text/plain"}}, 415, "unsupported_media_type", nil},
				{"compressed", good, http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, 415, "unsupported_media_type", nil},
			} {
				ask := accepted
				ask.body, ask.header = c.body, c.header
				refusals = append(refusals, badRequest{c.name, ask, c.status, c.code, c.pointers, false})
			}
			s.checkRefusals(t, refusals)
			if accepted.key != "" {
				s.wantKeyFree(accepted)
			}
		})
	}
}

func TestCharsetUTF8IsAccepted(t *testing.T) {
	t.Parallel()
	s := newService(t)
	c := s.creditCall(alice, "1.00", s.newKey())
	c.header = http.Header{"Content-Type": {"Application/JSON; charset=UTF-8"}}
	want[transactionBody](s, http.StatusCreated, c)
}

// Money that is none, in words and numbers. The schema and the table of currencies refuse
// it before a use case runs; an amount of nothing is a refusal that the key keeps.
func TestBadMoneyIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.credit(alice, "500.00")
	key := s.newKey()
	var refusals []badRequest
	add := func(name, body string, kept bool, pointers ...string) {
		for _, operation := range []string{"credit", "charge"} {
			c := s.creditCall(alice, "1.00", key)
			c.path, c.body = "/customers/alice/balance/"+operation, body
			if kept {
				c.key = s.newKey()
			}
			refusals = append(refusals, badRequest{operation + " " + name, c, 422, "validation_failed", pointers, kept})
		}
	}
	for _, amount := range []string{
		"", " ", "1e3", "1E3", "-1", "-0", "+1", "01", "00", ".5", "1.", "1,5", "1.5.0", "1 000", "1_000", "0x10", "NaN", "Infinity",
		" 1", "1 ", "1.00001", "1234567890123456", "١", "１", `1\u0000`, `1\n`, canary,
	} {
		add("of "+amount, creditBody(`"`+amount+`"`, `"RUB"`), false, "#/amount/amount")
	}
	for _, value := range []string{"1", "1.5", "1e3", "-1", "true", "null", "[]", "{}", `["1"]`} {
		add("of JSON "+value, creditBody(value, `"RUB"`), false, "#/amount/amount")
	}
	for _, currency := range []string{"rub", "RU", "RUBB", "", " RUB", "RUB ", "R1B", "₽", canary} {
		add("in "+currency, creditBody(`"1"`, `"`+currency+`"`), false, "#/amount/currency")
	}
	for _, value := range []string{"643", "null", "[]"} {
		add("in JSON "+value, creditBody(`"1"`, value), false, "#/amount/currency")
	}
	add("without money", `{}`, false, "#/amount")
	add("of null", `{"amount": null}`, false, "#/amount")
	add("of text", `{"amount": "1.00 RUB"}`, false, "#/amount")
	add("of a list", `{"amount": ["1.00", "RUB"]}`, false, "#/amount")
	add("of an empty object", `{"amount": {}}`, false, "#/amount/amount", "#/amount/currency")
	add("of two wrongs", creditBody(`-1`, `"rub"`), false, "#/amount/amount", "#/amount/currency")
	add("with an unknown member", `{"amount": {"amount": "1", "currency": "RUB", "scale": 2}, "colour": "`+canary+`"}`, false, "#/amount/scale", "#/colour")
	add("with a member in capitals", `{"Amount": {"amount": "1", "currency": "RUB"}, "amount": {"amount": "1", "currency": "RUB"}}`, false, "#/Amount")
	add("with a key in the body", `{"amount": {"amount": "1", "currency": "RUB"}, "idempotency_key": "`+canary+`"}`, false, "#/idempotency_key")
	add("with a description that is too long", `{"amount": {"amount": "1", "currency": "RUB"}, "description": "`+strings.Repeat(canary, 20)+`"}`, false, "#/description")
	add("with a NUL", `{"amount": {"amount": "1", "currency": "RUB"}, "reference": "`+canary+`\u0000"}`, false, "#/reference")
	add("with a card number", `{"amount": {"amount": "1", "currency": "RUB"}, "description": "`+canary+` 4242 4242 4242 4242"}`, false, "#/description")

	add("in a currency that does not exist", creditBody(`"1"`, `"XXX"`), false, "#/amount/currency")
	add("in gold", creditBody(`"1"`, `"XAU"`), false, "#/amount/currency")
	add("of three decimals", creditBody(`"1.001"`, `"RUB"`), false, "#/amount/amount")
	add("of three decimals that are zeros", creditBody(`"1.000"`, `"RUB"`), false, "#/amount/amount")
	add("of yen with a decimal", creditBody(`"1.0"`, `"JPY"`), false, "#/amount/amount")
	add("of dinars with four decimals", creditBody(`"1.0001"`, `"KWD"`), false, "#/amount/amount")
	add("of zero", creditBody(`"0"`, `"RUB"`), true, "#/amount/amount")
	add("of zero with decimals", creditBody(`"0.00"`, `"RUB"`), true, "#/amount/amount")
	s.checkRefusals(t, refusals)
	s.wantKeyFree(s.creditCall(alice, "1.00", key))
	if got := s.balance(alice); got != "501.00" {
		t.Errorf("the balance is %s, want 501.00", got)
	}
}

// As many decimals as a currency has are accepted, and given back with all of them.
func TestMoneyHasTheDecimalsOfItsCurrency(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, c := range []struct{ amount, currency, want string }{
		{"1", "RUB", "1.00"}, {"1.5", "RUB", "1.50"}, {"0.01", "RUB", "0.01"}, {"1", "JPY", "1"}, {"1.001", "KWD", "1.001"},
		{"999999999999999.99", "EUR", "999999999999999.99"}, {"0.0001", "CLF", "0.0001"},
	} {
		t.Run(c.amount+" "+c.currency, func(t *testing.T) {
			t.Parallel()
			s := s.in(t)
			ask := s.creditCall("bob-"+c.currency+c.amount, "1", s.newKey())
			ask.body = creditBody(`"`+c.amount+`"`, `"`+c.currency+`"`)
			m := want[transactionBody](s, http.StatusCreated, ask)
			if wanted := (money{c.want, c.currency}); m.Amount != wanted || m.BalanceAfter != wanted {
				t.Errorf("got %v and a balance of %v, want %v", m.Amount, m.BalanceAfter, wanted)
			}
		})
	}
}

// Money can outgrow the 15 digits that a column has before its point.
func TestMoneyThatWouldOverflowIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.credit(alice, "999999999999999.99")
	dear := call{method: "PUT", path: "/products/diamond", token: s.token(shop, "seller"), body: `{"name": "diamond", "price": {"amount": "999999999999999.99", "currency": "RUB"}, "on_hand": 1000000}`}
	want[product](s, http.StatusCreated, dear)
	dear.path = "/products/ruby"
	want[product](s, http.StatusCreated, dear)
	two := s.orderCall(alice, "diamond", 1, s.newKey())
	two.body = `{"items": [{"sku": "diamond", "quantity": 1}, {"sku": "ruby", "quantity": 1}]}`
	s.checkRefusals(t, []badRequest{
		{"a balance", s.creditCall(alice, "0.01", s.newKey()), 422, "validation_failed", []string{"#/amount/amount"}, true},
		{"a line of an order", s.orderCall(alice, "diamond", 10000, s.newKey()), 422, "validation_failed", []string{"#/items"}, true},
		{"the total of an order", two, 422, "validation_failed", []string{"#/items"}, true},
	})
}

// Orders that are none.
func TestBadOrdersAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.putProduct("tea", 10)
	s.putProduct("rum", 10)
	other := s.token("other-shop", "seller")
	want[product](s, http.StatusCreated, call{method: "PUT", path: "/products/foreign", token: other, body: `{"name": "x", "price": {"amount": "1.00", "currency": "RUB"}, "on_hand": 10}`})
	want[product](s, http.StatusCreated, call{method: "PUT", path: "/products/euro", token: s.token(shop, "seller"), body: `{"name": "x", "price": {"amount": "1.00", "currency": "EUR"}, "on_hand": 10}`})
	key := s.newKey()
	ask := func(body string) call {
		return call{method: "POST", path: "/orders", token: s.token(alice, "customer"), key: key, body: body}
	}
	fresh := func(c call) call {
		c.key = s.newKey()
		return c
	}
	bySeller := func(body string) call {
		c := fresh(ask(body))
		c.token = s.token(shop, "seller")
		return c
	}
	item := func(sku, quantity string) string {
		return fmt.Sprintf(`{"items": [{"sku": %s, "quantity": %s}]}`, sku, quantity)
	}
	many := func(n int) string {
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprintf(`{"sku": "sku-%d", "quantity": 1}`, i)
		}
		return `{"items": [` + strings.Join(items, ",") + `]}`
	}
	const invalid = "validation_failed"
	s.checkRefusals(t, []badRequest{
		{"nothing", ask(`{}`), 422, invalid, []string{"#/items"}, false},
		{"items of null", ask(`{"items": null}`), 422, invalid, []string{"#/items"}, false},
		{"items as an object", ask(`{"items": {}}`), 422, invalid, []string{"#/items"}, false},
		{"no items", ask(`{"items": []}`), 422, invalid, []string{"#/items"}, false},
		{"101 items", ask(many(101)), 422, invalid, []string{"#/items"}, false},
		{"an item of null", ask(`{"items": [null]}`), 422, invalid, []string{"#/items/0"}, false},
		{"an item without anything", ask(`{"items": [{}]}`), 422, invalid, []string{"#/items/0/quantity", "#/items/0/sku"}, false},
		{"quantity 0", ask(item(`"tea"`, "0")), 422, invalid, []string{"#/items/0/quantity"}, false},
		{"quantity -1", ask(item(`"tea"`, "-1")), 422, invalid, []string{"#/items/0/quantity"}, false},
		{"quantity 10001", ask(item(`"tea"`, "10001")), 422, invalid, []string{"#/items/0/quantity"}, false},
		{"quantity 1.5", ask(item(`"tea"`, "1.5")), 422, invalid, []string{"#/items/0/quantity"}, false},
		{"quantity as a string", ask(item(`"tea"`, `"1"`)), 422, invalid, []string{"#/items/0/quantity"}, false},
		{"quantity null", ask(item(`"tea"`, "null")), 422, invalid, []string{"#/items/0/quantity"}, false},
		{"empty SKU", ask(item(`""`, "1")), 422, invalid, []string{"#/items/0/sku"}, false},
		{"SKU with a space", ask(item(`"a b"`, "1")), 422, invalid, []string{"#/items/0/sku"}, false},
		{"SKU of 65", ask(item(`"`+strings.Repeat("a", 65)+`"`, "1")), 422, invalid, []string{"#/items/0/sku"}, false},
		{"SKU of letters beyond ASCII", ask(item(`"чай"`, "1")), 422, invalid, []string{"#/items/0/sku"}, false},
		{"SKU as a number", ask(item(`1`, "1")), 422, invalid, []string{"#/items/0/sku"}, false},
		{"a price of one's own", ask(`{"items": [{"sku": "tea", "quantity": 1, "unit_price": {"amount": "0.01", "currency": "RUB"}}]}`), 422, invalid, []string{"#/items/0/unit_price"}, false},
		{"customer of null", ask(`{"customer_id": null, "items": [{"sku": "tea", "quantity": 1}]}`), 422, invalid, []string{"#/customer_id"}, false},
		{"customer with a space", ask(`{"customer_id": "a b", "items": [{"sku": "tea", "quantity": 1}]}`), 422, invalid, []string{"#/customer_id"}, false},
		{"several wrongs", ask(`{"customer_id": 1, "items": [{"sku": "tea", "quantity": 0}], "total": "` + canary + `"}`), 422, invalid, []string{"#/customer_id", "#/items/0/quantity", "#/total"}, false},
		{"for somebody else", ask(`{"customer_id": "bob", "items": [{"sku": "tea", "quantity": 1}]}`), 403, "forbidden_resource", nil, false},

		{"100 items that do not exist", fresh(ask(many(100))), 422, "unknown_sku", nil, true},
		{"one item that does not exist", fresh(ask(`{"items": [{"sku": "tea", "quantity": 1}, {"sku": "nothing", "quantity": 1}]}`)), 422, "unknown_sku", nil, true},
		{"a SKU in other letters", fresh(ask(item(`"TEA"`, "1"))), 422, "unknown_sku", nil, true},
		{"a SKU twice", fresh(ask(`{"items": [{"sku": "tea", "quantity": 1}, {"sku": "rum", "quantity": 1}, {"sku": "tea", "quantity": 2}]}`)), 422, invalid, []string{"#/items/2/sku"}, true},
		{"two currencies", fresh(ask(`{"items": [{"sku": "tea", "quantity": 1}, {"sku": "euro", "quantity": 1}]}`)), 422, "mixed_currencies", nil, true},
		{"two sellers", fresh(ask(`{"items": [{"sku": "tea", "quantity": 1}, {"sku": "foreign", "quantity": 1}]}`)), 422, "mixed_sellers", nil, true},
		{"more than there is", fresh(ask(item(`"tea"`, "11"))), 409, "out_of_stock", nil, true},
		{"one of two more than there is", fresh(ask(`{"items": [{"sku": "rum", "quantity": 1}, {"sku": "tea", "quantity": 11}]}`)), 409, "out_of_stock", nil, true},
		{"a seller without a customer", bySeller(item(`"tea"`, "1")), 422, invalid, []string{"#/customer_id"}, true},
		{"a seller with another's product", bySeller(`{"customer_id": "alice", "items": [{"sku": "foreign", "quantity": 1}]}`), 403, "forbidden_resource", nil, false},
	})
	s.wantKeyFree(ask(item(`"tea"`, "1")))
}

// Payments that cannot be.
func TestBadPaymentsAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.putProduct("tea", 10)
	waiting, paid, lapsed := s.order(alice, "tea", 1), s.order("bob", "tea", 1), s.order(alice, "tea", 1)
	s.credit("bob", "100.00")
	want[paymentBody](s, http.StatusOK, s.confirmCall("bob", paid.ID, s.newKey()))
	s.exec(`UPDATE orders SET reserved_until = now() - interval '1 second' WHERE id = $1`, lapsed.ID)
	s.credit(alice, "99.99")

	key := s.newKey()
	ask := func(body string) call {
		c := s.confirmCall(alice, waiting.ID, key)
		c.body = body
		return c
	}
	card := ask(`{"method": "card", "payment_method": "pm_1"}`)
	card.key = s.newKey()
	const invalid = "validation_failed"
	s.checkRefusals(t, []badRequest{
		{"no method", ask(`{}`), 422, invalid, []string{"#/method"}, false},
		{"an unknown method", ask(`{"method": "` + canary + `"}`), 422, invalid, []string{"#/method"}, false},
		{"a card without a token", ask(`{"method": "card"}`), 422, invalid, []string{"#/payment_method"}, false},
		{"a card number", ask(`{"method": "card", "payment_method": "4242424242424242"}`), 422, invalid, []string{"#/payment_method"}, false},
		{"the balance with a token", ask(`{"method": "balance", "payment_method": "pm_1"}`), 422, invalid, []string{"#/payment_method"}, false},
		{"an amount", ask(`{"method": "balance", "amount": {"amount": "1.00", "currency": "RUB"}}`), 422, invalid, []string{"#/amount"}, false},
		{"another's order", s.confirmCall("bob", waiting.ID, s.newKey()), 403, "forbidden_resource", nil, false},
		{"an order that does not exist", s.confirmCall(alice, math.MaxInt64, s.newKey()), 404, "not_found", nil, false},

		{"by card", card, 422, "payment_method_unavailable", nil, true},
		{"a kopeck short", s.confirmCall(alice, waiting.ID, s.newKey()), 402, "insufficient_funds", nil, true},
		{"a hold that has lapsed", s.confirmCall(alice, lapsed.ID, s.newKey()), 409, "reservation_expired", nil, true},
		{"an order that is paid", s.confirmCall("bob", paid.ID, s.newKey()), 409, "invalid_order_state", nil, true},
	})
	s.credit(alice, "0.01")
	s.wantKeyFree(ask(`{"method": "balance"}`))
}

// A charge of more than there is.
func TestOverdrawingIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.credit(alice, "10.00")
	charge := func(customer, amount, currency string) call {
		c := s.creditCall(customer, amount, s.newKey())
		c.path = "/customers/" + customer + "/balance/charge"
		c.body = creditBody(`"`+amount+`"`, `"`+currency+`"`)
		return c
	}
	s.checkRefusals(t, []badRequest{
		{"a kopeck more than there is", charge(alice, "10.01", "RUB"), 402, "insufficient_funds", nil, true},
		{"in a currency that the customer has not", charge(alice, "1.00", "EUR"), 402, "insufficient_funds", nil, true},
		{"of a customer who has nothing", charge("nobody", "0.01", "RUB"), 402, "insufficient_funds", nil, true},
	})
}

// Products that are none.
func TestBadProductsAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.putProduct("tea", 10)
	s.order(alice, "tea", 4)
	put := func(sku, body string) call {
		return call{method: "PUT", path: "/products/" + sku, token: s.token(shop, "seller"), body: body}
	}
	describe := func(name, amount, currency, onHand string) string {
		return fmt.Sprintf(`{"name": %s, "price": {"amount": %s, "currency": %s}, "on_hand": %s}`, name, amount, currency, onHand)
	}
	good := describe(`"tea"`, `"1.00"`, `"RUB"`, "10")
	foreign := put("tea", good)
	foreign.token = s.token("other-shop", "seller")
	const invalid = "validation_failed"
	s.checkRefusals(t, []badRequest{
		{"nothing", put("new", `{}`), 422, invalid, []string{"#/name", "#/on_hand", "#/price"}, false},
		{"an empty name", put("new", describe(`""`, `"1"`, `"RUB"`, "1")), 422, invalid, []string{"#/name"}, false},
		{"a name with a new line", put("new", describe(`"`+canary+`\n"`, `"1"`, `"RUB"`, "1")), 422, invalid, []string{"#/name"}, false},
		{"a price as a number", put("new", describe(`"n"`, `1`, `"RUB"`, "1")), 422, invalid, []string{"#/price/amount"}, false},
		{"a price of zero", put("new", describe(`"n"`, `"0.00"`, `"RUB"`, "1")), 422, invalid, []string{"#/price/amount"}, false},
		{"a price with a sign", put("new", describe(`"n"`, `"-1"`, `"RUB"`, "1")), 422, invalid, []string{"#/price/amount"}, false},
		{"too many decimals", put("new", describe(`"n"`, `"1.001"`, `"RUB"`, "1")), 422, invalid, []string{"#/price/amount"}, false},
		{"no such currency", put("new", describe(`"n"`, `"1"`, `"XXX"`, "1")), 422, invalid, []string{"#/price/currency"}, false},
		{"fewer than none", put("new", describe(`"n"`, `"1"`, `"RUB"`, "-1")), 422, invalid, []string{"#/on_hand"}, false},
		{"half of one", put("new", describe(`"n"`, `"1"`, `"RUB"`, "0.5")), 422, invalid, []string{"#/on_hand"}, false},
		{"more than there can be", put("new", describe(`"n"`, `"1"`, `"RUB"`, "1000000001")), 422, invalid, []string{"#/on_hand"}, false},
		{"reserved by oneself", put("new", `{"name": "n", "price": {"amount": "1", "currency": "RUB"}, "on_hand": 1, "reserved": 0}`), 422, invalid, []string{"#/reserved"}, false},
		{"a SKU with a space", put("a%20b", good), 422, invalid, []string{"#/sku"}, false},
		{"a SKU with a slash", put("a%2Fb", good), 422, invalid, []string{"#/sku"}, false},
		{"a SKU with a NUL", put("a%00b", good), 422, invalid, []string{"#/sku"}, false},
		{"a SKU of 65", put(strings.Repeat("a", 65), good), 422, invalid, []string{"#/sku"}, false},
		{"fewer than are reserved", put("tea", describe(`"tea"`, `"1.00"`, `"RUB"`, "3")), 409, "stock_reserved", nil, false},
		{"another's product", foreign, 403, "forbidden_resource", nil, false},
	})
}

// Paths whose parts name nothing, and methods that a path has not.
func TestBadPathsAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	token := s.token(alice, "customer", "admin")
	var refusals []badRequest
	for _, path := range []string{"/", "/order", "/orders/1/2", "/orders/1/", "/customers", "/products/tea/", "/docs/nothing.js", "/admin", "/metrics", "/debug/pprof/", "/" + strings.Repeat("x", 4000)} {
		refusals = append(refusals,
			badRequest{"no path " + path[:min(len(path), 20)], get(token, path), 404, "not_found", nil, false},
			badRequest{"no path without a token " + path[:min(len(path), 20)], call{method: "GET", path: path}, 404, "not_found", nil, false})
	}
	for _, id := range []string{
		"0", "-1", "+1", "01x", "abc", "1.0", "1e3", "0x1", "9223372036854775808", "-9223372036854775809", "99999999999999999999999",
		"%00", "1%00", "%FF", "%D9%A1", "%20", "1%202", "1;drop", "null", "9223372036854775807",
	} {
		confirm := s.confirmCall(alice, 1, s.newKey())
		confirm.path = "/orders/" + id + "/payment/confirm"
		refusals = append(refusals,
			badRequest{"order " + id, get(token, "/orders/"+id), 404, "not_found", nil, false},
			badRequest{"payment of order " + id, confirm, 404, "not_found", nil, false})
	}
	for _, sku := range []string{"nothing", strings.Repeat("a", 64)} {
		refusals = append(refusals, badRequest{"product " + sku, get(token, "/products/"+sku), 404, "not_found", nil, false})
	}
	for _, sku := range []string{"a%20b", "a%2Fb", "%00", "%FF", "%D1%87", strings.Repeat("a", 65)} {
		refusals = append(refusals, badRequest{"product " + sku, get(token, "/products/"+sku), 422, "validation_failed", []string{"#/sku"}, false})
	}
	refusals = append(refusals, badRequest{"a key nobody used", get(token, "/idempotency-keys/nothing"), 404, "not_found", nil, false})
	s.checkRefusals(t, refusals)
}

// A path names all the methods that it has (RFC 9110).
func TestOtherMethodsAreRefusedWithTheOnesThereAre(t *testing.T) {
	t.Parallel()
	s := newService(t)
	token := s.token(alice, "admin")
	served := map[string][]string{}
	for _, op := range s.contract.Operations() {
		path := somewhere(op).path
		served[path] = append(served[path], op.Method)
	}
	var refusals []badRequest
	for path, methods := range served {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
			if slices.Contains(methods, method) {
				continue
			}
			c := call{method: method, path: path, token: token}
			refusals = append(refusals, badRequest{method + " " + path, c, 405, "method_not_allowed", nil, false})
			allowed := s.send(c).header.Values("Allow")
			slices.Sort(allowed)
			slices.Sort(methods)
			if diff := cmp.Diff(methods, allowed); diff != "" {
				t.Errorf("%s %s: the methods there are (-) and Allow (+) differ:\n%s", method, path, diff)
			}
		}
	}
	s.checkRefusals(t, refusals)
}

// Questions about a page of a list.
func TestBadPagesAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.putProduct("tea", 10)
	var refusals []badRequest
	add := func(name string, values ...string) {
		for _, value := range values {
			c := call{method: "GET", path: "/products?" + name + "=" + url.QueryEscape(value), token: s.token(alice, "customer")}
			refusals = append(refusals, badRequest{name + " " + value, c, 422, "validation_failed", []string{"#/" + name}, false})
		}
	}
	add("limit", "0", "101", "-1", "abc", "", "1.5", "1e1", " 1", "9223372036854775808", canary)
	add("cursor", "", "garbage", canary, "!!!!", "AAAAAAAAAAAAAAAAAAAAAAA=", "AAAA", strings.Repeat("A", 600), "0", "%00")
	s.checkRefusals(t, refusals)
}

// A cursor is read from whoever sends it: a place before and after all time is a place.
func TestWildCursorsAreNoFailures(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.putProduct("tea", 10)
	for name, cursor := range map[string]string{
		"all zeros":     strings.Repeat("A", 22),
		"all ones":      strings.Repeat("_", 21) + "w",
		"before time":   "gAAAAAAAAAAAAAAAAAAAAQ",
		"after time":    "f_________8AAAAAAAAAAQ",
		"4713 BC":       "_QAAAAAAAAAAAAAAAAAAAQ",
		"negative ids":  "AAAAAAAAAAD__________w",
		"a year 290000": "f4AAAAAAAAAAAAAAAAAAAQ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := s.in(t).send(get(s.asCustomer(), "/products?cursor="+cursor))
			if r.status != http.StatusOK && r.code() != "validation_failed" {
				t.Errorf("status %d: %s", r.status, r.body)
			}
		})
	}
}

// Ids of customers and keys that no token and no header could carry name nobody, and no
// byte of them may reach the database as it is.
func TestNamesThatNobodyCanHaveAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for name, id := range map[string]string{
		"NUL": "a%00b", "invalid UTF-8": "%FF%FE", "space": "a%20b", "letters": "%D0%B0", "new line": "a%0Ab",
		"256 characters": strings.Repeat("a", 256),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.in(t)
			for _, c := range []call{
				{method: "GET", path: "/customers/" + id + "/balance", token: s.token(root, "admin")},
				{method: "GET", path: "/idempotency-keys/" + id, token: s.token(root, "admin")},
				{method: "GET", path: "/customers/" + id + "/balance/transactions", token: s.token(root, "admin")},
				{method: "GET", path: "/customers/" + id + "/profile", token: s.token(root, "admin")},
				{
					method: "PUT", path: "/customers/" + id + "/profile", token: s.token(root, "admin"),
					body: `{"full_name": "A B", "email": "a@b.example", "phone": "+79161234567"}`,
				},
				{method: "GET", path: "/orders?customer_id=" + id, token: s.token(root, "admin")},
				s.creditCall(id, "1.00", s.newKey()),
			} {
				r := s.send(c)
				if r.code() != "not_found" && r.code() != "validation_failed" {
					t.Errorf("%s %s: status %d: %s", c.method, c.path, r.status, r.body)
				}
			}
		})
	}
}
