package auth_test

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

	"example.com/orders/internal/test/e2e"
)

// canary is in the texts of requests, and must not be in any response.
const canary = "Zq9-Canary-Text"

// internals are words by which a response would disclose internals (AUTH-18).
var internals = regexp.MustCompile(`(?i)sqlstate|pgx|postgres|\bsql\b|numeric field|constraint|relation|goroutine|panic|\.go:[0-9]|json:|jsontext|jsonschema|strconv|base64|unmarshal`)

// badRequest is a call and how it must be refused.
type badRequest struct {
	name   string
	call   e2e.Call
	status int
	code   string
	// pointers are the members that the problem names.
	pointers []string
	storage  storage
}

// storage says whether a refusal is stored under its key and replayed.
type storage bool

const (
	stored    storage = true
	notStored storage = false
)

// checkRefusals sends bad requests, one after the other, and checks what section 5 of
// the contract says of a refusal. Nothing may change in the database.
func checkRefusals(t *testing.T, s *e2e.Service, refusals []badRequest) {
	t.Helper()
	before := snapshot(t, s.Env)
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			r := s.Send(t, c.call)
			checkProblem(t, c, r)
			if c.storage == stored {
				checkReplay(t, r, s.Send(t, c.call))
			}
			after := snapshot(t, s.Env)
			if c.storage == stored {
				delete(before, "idempotency_record") // it has the record of the refusal
				delete(after, "idempotency_record")
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the refusal changed the database:\n%s", diff)
			}
			before = snapshot(t, s.Env)
		})
	}
}

// checkProblem checks one problem document.
func checkProblem(t *testing.T, c badRequest, r e2e.Reply) {
	t.Helper()
	var p struct {
		Type, Title, Detail, Instance, Code string
		Status                              int
		RequestID                           string `json:"request_id"`
		Retryable                           bool
		Errors                              []struct{ Pointer, Detail string }
	}
	if err := json.Unmarshal(r.Body, &p); err != nil {
		t.Fatalf("%d: %v in %s", r.Status, err, r.Body)
	}
	var pointers []string
	for _, e := range p.Errors {
		pointers = append(pointers, e.Pointer)
	}
	if r.Status != c.status || p.Status != c.status || p.Code != c.code || !slices.Equal(pointers, c.pointers) {
		t.Errorf("got %d %s %q, want %d %s %q: %s", r.Status, p.Code, pointers, c.status, c.code, c.pointers, r.Body)
	}
	if got := r.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("the media type is %q", got)
	}
	if p.RequestID == "" || p.RequestID != r.Header.Get("X-Request-Id") {
		t.Errorf("request_id %q and X-Request-Id %q differ", p.RequestID, r.Header.Get("X-Request-Id"))
	}
	if p.Retryable != (r.Header.Get("Retry-After") != "") {
		t.Errorf("retryable is %t, and Retry-After %q", p.Retryable, r.Header.Get("Retry-After"))
	}
	if path, _, _ := strings.Cut(c.call.Path, "?"); !isInstanceOf(p.Instance, path) {
		t.Errorf("the instance is %q, want %q", p.Instance, path)
	}
	if p.Title == "" || p.Detail == "" || !strings.HasSuffix(p.Type, "/"+c.code) {
		t.Errorf("type, title or detail is missing: %s", r.Body)
	}
	text := strings.ReplaceAll(string(r.Body), p.RequestID, "")
	if strings.Contains(text, canary) || internals.MatchString(text) {
		t.Errorf("the response discloses too much: %s", r.Body)
	}
}

// isInstanceOf reports whether an instance is a path, with * for parts of it.
func isInstanceOf(instance, path string) bool {
	if instance == "/*" {
		return true // no such path
	}
	got, want := strings.Split(instance, "/"), strings.Split(path, "/")
	return slices.EqualFunc(got, want, func(got, want string) bool { return got == want || got == "*" })
}

// checkReplay checks that a refusal is replayed.
func checkReplay(t *testing.T, first, replay e2e.Reply) {
	t.Helper()
	if !replay.SameAs(first) || !replay.Replayed() {
		t.Errorf("first %d %s\nreplay %d %s %v", first.Status, first.Body, replay.Status, replay.Body, replay.Header)
	}
}

// snapshot returns a digest of the rows of every table.
func snapshot(t testing.TB, env *e2e.Env) map[string]string {
	t.Helper()
	var tables []string
	err := env.DB.QueryRow(t.Context(), `SELECT array_agg(tablename::text) FROM pg_tables WHERE schemaname = 'public'`).Scan(&tables)
	if err != nil || len(tables) == 0 {
		t.Fatalf("list the tables: %v, %v", tables, err)
	}
	contents := map[string]string{}
	for _, table := range tables {
		var rows string
		query := fmt.Sprintf(`SELECT count(*) || ' rows, ' || md5(coalesce(string_agg(t::text, E'\n' ORDER BY t::text), '')) FROM %q t`, table)
		if err := env.DB.QueryRow(t.Context(), query).Scan(&rows); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		contents[table] = rows
	}
	return contents
}

// wantKeyFree sends a good call with the key of bad requests. It must run as new.
func wantKeyFree(t testing.TB, s *e2e.Service, c e2e.Call) {
	t.Helper()
	r := s.Send(t, c)
	if r.Status/100 != 2 || r.Header.Get("Idempotency-Result") != "created" {
		t.Errorf("the key of refused requests is not free: %d %v %s", r.Status, r.Header, r.Body)
	}
}

// creditBody is the body of a credit. Amount and currency are JSON.
func creditBody(amount, currency string) string {
	return fmt.Sprintf(`{"amount": {"amount": %s, "currency": %s}, "description": %q}`, amount, currency, canary)
}

// readableBody is a body that some of the unreadable ones are made of.
const readableBody = `{"amount": {"amount": "1.00", "currency": "RUB"}, "description": "` + canary + `"}`

var unreadableBodies = []struct {
	name, body string
	header     http.Header
	status     int
	code       string
	pointers   []string
}{
	{"cut short", readableBody[:len(readableBody)-1], nil, 400, "malformed_request", nil},
	{"no JSON", canary, nil, 400, "malformed_request", nil},
	{"nothing", "", nil, 400, "malformed_request", nil},
	{"white space", " \n", nil, 400, "malformed_request", nil},
	{"two values", readableBody + readableBody, nil, 400, "malformed_request", nil},
	{"trailing garbage", readableBody + canary, nil, 400, "malformed_request", nil},
	{"byte order mark", "\ufeff" + readableBody, nil, 400, "malformed_request", nil},
	{"invalid UTF-8", `{"description": "` + canary + "\xff" + `"}`, nil, 400, "malformed_request", nil},
	{"UTF-16", "\xff\xfe{\x00}\x00", nil, 400, "malformed_request", nil},
	{"half a surrogate", `{"description": "\ud800"}`, nil, 400, "malformed_request", nil},
	{"duplicate member", `{"description": "` + canary + `", "description": "x"}`, nil, 400, "malformed_request", nil},
	{"duplicate by escape", `{"description": "` + canary + `", "d\u0065scription": "x"}`, nil, 400, "malformed_request", nil},
	{"nested too deeply", strings.Repeat("[", 1000) + strings.Repeat("]", 1000), nil, 400, "malformed_request", nil},
	{"comment", "/* " + canary + " */ " + readableBody, nil, 400, "malformed_request", nil},
	{"single quotes", "{'a': 1}", nil, 400, "malformed_request", nil},
	{"number beyond 2^53", `{"amount": 9007199254740993}`, nil, 400, "malformed_request", nil},
	{"number without end", `{"amount": 1e99999999}`, nil, 400, "malformed_request", nil},
	{"array on top", "[" + readableBody + "]", nil, 422, "validation_failed", []string{"#"}},
	{"string on top", `"` + canary + `"`, nil, 422, "validation_failed", []string{"#"}},
	{"null", "null", nil, 422, "validation_failed", []string{"#"}},
	{"65 KiB", `{"description": "` + strings.Repeat("x", 65<<10) + `"}`, nil, 413, "body_too_large", nil},
	{"65 KiB of white space", readableBody + strings.Repeat(" ", 65<<10), nil, 413, "body_too_large", nil},
	{"no media type", readableBody, http.Header{"Content-Type": {}}, 415, "unsupported_media_type", nil},
	{"other media type", readableBody, http.Header{"Content-Type": {"text/plain"}}, 415, "unsupported_media_type", nil},
	{"form", readableBody, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, 415, "unsupported_media_type", nil},
	{"other charset", readableBody, http.Header{"Content-Type": {"application/json; charset=koi8-r"}}, 415, "unsupported_media_type", nil},
	{"two media types", readableBody, http.Header{"Content-Type": {"application/json", "text/plain"}}, 415, "unsupported_media_type", nil},
	{"compressed", readableBody, http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, 415, "unsupported_media_type", nil},
}

// Bodies that no JSON parser should accept, sent to every kind of operation that reads
// one.
func TestBadInput_UnreadableBodiesAreRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.PutProduct(t, "tea", 10)
	s.Credit(t, e2e.Alice, "500.00")
	o := s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	for _, accepted := range []e2e.Call{
		s.CreditCall(t, e2e.Alice, "1.00"),
		s.CreateOrderCall(t, e2e.Alice, "tea", 1),
		s.ConfirmCall(t, e2e.Alice, o.ID),
		s.PutProductCall(t, "tea", e2e.Shop, e2e.Roubles("1.00"), 10),
	} {
		t.Run(accepted.Method+" "+accepted.Path, func(t *testing.T) {
			var refusals []badRequest
			for _, u := range unreadableBodies {
				call := accepted.WithBody(u.body)
				call.Header = u.header
				refusals = append(refusals, badRequest{u.name, call, u.status, u.code, u.pointers, notStored})
			}
			checkRefusals(t, s, refusals)
			if accepted.Key != "" {
				wantKeyFree(t, s, accepted)
			}
		})
	}
}

func TestInput_CharsetUTF8IsAccepted(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	credit := s.CreditCall(t, e2e.Alice, "1.00").WithHeader("Content-Type", "Application/JSON; charset=UTF-8")
	e2e.Want[e2e.Transaction](t, s, http.StatusCreated, credit)
}

// Invalid money is refused before a use case runs.
func TestBadInput_InvalidMoneyIsRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.Credit(t, e2e.Alice, "500.00")
	key := s.NewKey()
	var refusals []badRequest
	add := func(name, body string, storage storage, pointers ...string) {
		for _, operation := range []string{"credit", "charge"} {
			c := s.CreditCall(t, e2e.Alice, "1.00").WithKey(key)
			c.Path, c.Body = "/customers/alice/balance/"+operation, body
			if storage == stored {
				c.Key = s.NewKey()
			}
			refusals = append(refusals, badRequest{operation + " " + name, c, 422, "validation_failed", pointers, storage})
		}
	}
	for _, amount := range []string{
		"", " ", "1e3", "1E3", "-1", "-0", "+1", "01", "00", ".5", "1.", "1,5", "1.5.0", "1 000", "1_000", "0x10", "NaN", "Infinity",
		" 1", "1 ", "1.00001", "1234567890123456", "١", "１", `1\u0000`, `1\n`, canary,
	} {
		add("of "+amount, creditBody(`"`+amount+`"`, `"RUB"`), notStored, "#/amount/amount")
	}
	for _, value := range []string{"1", "1.5", "1e3", "-1", "true", "null", "[]", "{}", `["1"]`} {
		add("of JSON "+value, creditBody(value, `"RUB"`), notStored, "#/amount/amount")
	}
	for _, currency := range []string{"rub", "RU", "RUBB", "", " RUB", "RUB ", "R1B", "₽", canary} {
		add("in "+currency, creditBody(`"1"`, `"`+currency+`"`), notStored, "#/amount/currency")
	}
	for _, value := range []string{"643", "null", "[]"} {
		add("in JSON "+value, creditBody(`"1"`, value), notStored, "#/amount/currency")
	}
	add("without money", `{}`, notStored, "#/amount")
	add("of null", `{"amount": null}`, notStored, "#/amount")
	add("of text", `{"amount": "1.00 RUB"}`, notStored, "#/amount")
	add("of a list", `{"amount": ["1.00", "RUB"]}`, notStored, "#/amount")
	add("of an empty object", `{"amount": {}}`, notStored, "#/amount/amount", "#/amount/currency")
	add("with two errors", creditBody(`-1`, `"rub"`), notStored, "#/amount/amount", "#/amount/currency")
	add("with an unknown member", `{"amount": {"amount": "1", "currency": "RUB", "scale": 2}, "colour": "`+canary+`"}`, notStored, "#/amount/scale", "#/colour")
	add("with a member in capitals", `{"Amount": {"amount": "1", "currency": "RUB"}, "amount": {"amount": "1", "currency": "RUB"}}`, notStored, "#/Amount")
	add("with a key in the body", `{"amount": {"amount": "1", "currency": "RUB"}, "idempotency_key": "`+canary+`"}`, notStored, "#/idempotency_key")
	add("with a description that is too long", `{"amount": {"amount": "1", "currency": "RUB"}, "description": "`+strings.Repeat(canary, 20)+`"}`, notStored, "#/description")
	add("with a NUL", `{"amount": {"amount": "1", "currency": "RUB"}, "reference": "`+canary+`\u0000"}`, notStored, "#/reference")
	add("with a card number", `{"amount": {"amount": "1", "currency": "RUB"}, "description": "`+canary+` 4242 4242 4242 4242"}`, notStored, "#/description")

	add("in a currency that does not exist", creditBody(`"1"`, `"XXX"`), notStored, "#/amount/currency")
	add("in gold", creditBody(`"1"`, `"XAU"`), notStored, "#/amount/currency")
	add("of three decimals", creditBody(`"1.001"`, `"RUB"`), notStored, "#/amount/amount")
	add("of three decimals that are zeros", creditBody(`"1.000"`, `"RUB"`), notStored, "#/amount/amount")
	add("of yen with a decimal", creditBody(`"1.0"`, `"JPY"`), notStored, "#/amount/amount")
	add("of dinars with four decimals", creditBody(`"1.0001"`, `"KWD"`), notStored, "#/amount/amount")
	add("of zero", creditBody(`"0"`, `"RUB"`), notStored, "#/amount/amount")
	add("of zero with decimals", creditBody(`"0.00"`, `"RUB"`), notStored, "#/amount/amount")
	checkRefusals(t, s, refusals)
	wantKeyFree(t, s, s.CreditCall(t, e2e.Alice, "1.00").WithKey(key))
	s.WantBalance(t, e2e.Alice, "501.00")
}

// As many decimals as a currency has are accepted, and returned with all of them.
func TestInput_MoneyHasDecimalsOfItsCurrency(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, c := range []struct{ amount, currency, want string }{
		{"1", "RUB", "1.00"}, {"1.5", "RUB", "1.50"}, {"0.01", "RUB", "0.01"}, {"1", "JPY", "1"}, {"1.001", "KWD", "1.001"},
		{"999999999999999.99", "EUR", "999999999999999.99"}, {"0.0001", "CLF", "0.0001"},
	} {
		t.Run(c.amount+" "+c.currency, func(t *testing.T) {
			t.Parallel()
			credit := s.CreditCall(t, "bob-"+c.currency+c.amount, "1").WithBody(creditBody(`"`+c.amount+`"`, `"`+c.currency+`"`))
			got := e2e.Want[e2e.Transaction](t, s, http.StatusCreated, credit)
			if want := (e2e.Money{Amount: c.want, Currency: c.currency}); got.Amount != want || got.BalanceAfter != want {
				t.Errorf("got %v and a balance of %v, want %v", got.Amount, got.BalanceAfter, want)
			}
		})
	}
}

// Money can outgrow the 15 digits before the point that the database has.
func TestBadInput_MoneyThatOverflowsIsRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.Credit(t, e2e.Alice, "999999999999999.99")
	for _, sku := range []string{"diamond", "ruby"} {
		price := e2e.Roubles("999999999999999.99")
		e2e.Want[e2e.Product](t, s, http.StatusCreated, s.PutProductCall(t, sku, e2e.Shop, price, 1_000_000))
	}
	two := s.CreateOrderCall(t, e2e.Alice, "diamond", 1).
		WithBody(`{"items": [{"sku": "diamond", "quantity": 1}, {"sku": "ruby", "quantity": 1}]}`)
	checkRefusals(t, s, []badRequest{
		{"a balance", s.CreditCall(t, e2e.Alice, "0.01"), 422, "validation_failed", []string{"#/amount/amount"}, stored},
		{"a line of an order", s.CreateOrderCall(t, e2e.Alice, "diamond", 10000), 422, "validation_failed", []string{"#/items"}, stored},
		{"the total of an order", two, 422, "validation_failed", []string{"#/items"}, stored},
	})
}

// orderBody is the body of an order of one product. SKU and quantity are JSON.
func orderBody(sku, quantity string) string {
	return fmt.Sprintf(`{"items": [{"sku": %s, "quantity": %s}]}`, sku, quantity)
}

// orderBodyOf is the body of an order of n products that do not exist.
func orderBodyOf(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`{"sku": "sku-%d", "quantity": 1}`, i)
	}
	return `{"items": [` + strings.Join(items, ",") + `]}`
}

func TestBadInput_InvalidOrdersAreRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.PutProduct(t, "tea", 10)
	good := s.CreateOrderCall(t, e2e.Alice, "tea", 1)
	ask := good.WithBody // all with the same key
	const invalid = "validation_failed"
	checkRefusals(t, s, []badRequest{
		{"nothing", ask(`{}`), 422, invalid, []string{"#/items"}, notStored},
		{"items of null", ask(`{"items": null}`), 422, invalid, []string{"#/items"}, notStored},
		{"items as an object", ask(`{"items": {}}`), 422, invalid, []string{"#/items"}, notStored},
		{"no items", ask(`{"items": []}`), 422, invalid, []string{"#/items"}, notStored},
		{"101 items", ask(orderBodyOf(101)), 422, invalid, []string{"#/items"}, notStored},
		{"an item of null", ask(`{"items": [null]}`), 422, invalid, []string{"#/items/0"}, notStored},
		{"an item without anything", ask(`{"items": [{}]}`), 422, invalid, []string{"#/items/0/quantity", "#/items/0/sku"}, notStored},
		{"quantity 0", ask(orderBody(`"tea"`, "0")), 422, invalid, []string{"#/items/0/quantity"}, notStored},
		{"quantity -1", ask(orderBody(`"tea"`, "-1")), 422, invalid, []string{"#/items/0/quantity"}, notStored},
		{"quantity 10001", ask(orderBody(`"tea"`, "10001")), 422, invalid, []string{"#/items/0/quantity"}, notStored},
		{"quantity 1.5", ask(orderBody(`"tea"`, "1.5")), 422, invalid, []string{"#/items/0/quantity"}, notStored},
		{"quantity as a string", ask(orderBody(`"tea"`, `"1"`)), 422, invalid, []string{"#/items/0/quantity"}, notStored},
		{"quantity null", ask(orderBody(`"tea"`, "null")), 422, invalid, []string{"#/items/0/quantity"}, notStored},
		{"empty SKU", ask(orderBody(`""`, "1")), 422, invalid, []string{"#/items/0/sku"}, notStored},
		{"SKU with a space", ask(orderBody(`"a b"`, "1")), 422, invalid, []string{"#/items/0/sku"}, notStored},
		{"SKU of 65", ask(orderBody(`"`+strings.Repeat("a", 65)+`"`, "1")), 422, invalid, []string{"#/items/0/sku"}, notStored},
		{"SKU of letters beyond ASCII", ask(orderBody(`"чай"`, "1")), 422, invalid, []string{"#/items/0/sku"}, notStored},
		{"SKU as a number", ask(orderBody(`1`, "1")), 422, invalid, []string{"#/items/0/sku"}, notStored},
		{"a price of the customer", ask(`{"items": [{"sku": "tea", "quantity": 1, "unit_price": {"amount": "0.01", "currency": "RUB"}}]}`), 422, invalid, []string{"#/items/0/unit_price"}, notStored},
		{"customer of null", ask(`{"customer_id": null, "items": [{"sku": "tea", "quantity": 1}]}`), 422, invalid, []string{"#/customer_id"}, notStored},
		{"customer with a space", ask(`{"customer_id": "a b", "items": [{"sku": "tea", "quantity": 1}]}`), 422, invalid, []string{"#/customer_id"}, notStored},
		{"several errors", ask(`{"customer_id": 1, "items": [{"sku": "tea", "quantity": 0}], "total": "` + canary + `"}`), 422, invalid, []string{"#/customer_id", "#/items/0/quantity", "#/total"}, notStored},
		{"for somebody else", ask(`{"customer_id": "bob", "items": [{"sku": "tea", "quantity": 1}]}`), 403, "forbidden_resource", nil, notStored},
	})
	wantKeyFree(t, s, good)
}

// A refusal is stored under its key where it depends on what is in the database.
func TestBadInput_ImpossibleOrdersAreRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.PutProduct(t, "tea", 10)
	s.PutProduct(t, "rum", 10)
	s.MustSend(t, s.PutProductCall(t, "foreign", e2e.Rival, e2e.Roubles("1.00"), 10))
	s.MustSend(t, s.PutProductCall(t, "euro", e2e.Shop, e2e.Money{Amount: "1.00", Currency: "EUR"}, 10))
	ask := func(body string) e2e.Call { return s.CreateOrderCall(t, e2e.Alice, "", 1).WithBody(body) }
	bySeller := func(body string) e2e.Call { return ask(body).WithToken(s.SellerToken(t)) }
	const invalid = "validation_failed"
	checkRefusals(t, s, []badRequest{
		{"100 items that do not exist", ask(orderBodyOf(100)), 422, "unknown_sku", nil, stored},
		{"one item that does not exist", ask(`{"items": [{"sku": "tea", "quantity": 1}, {"sku": "nothing", "quantity": 1}]}`), 422, "unknown_sku", nil, stored},
		{"a SKU in other letters", ask(orderBody(`"TEA"`, "1")), 422, "unknown_sku", nil, stored},
		{"a SKU twice", ask(`{"items": [{"sku": "tea", "quantity": 1}, {"sku": "rum", "quantity": 1}, {"sku": "tea", "quantity": 2}]}`), 422, invalid, []string{"#/items/2/sku"}, notStored},
		{"two currencies", ask(`{"items": [{"sku": "tea", "quantity": 1}, {"sku": "euro", "quantity": 1}]}`), 422, "mixed_currencies", nil, stored},
		{"two sellers", ask(`{"items": [{"sku": "tea", "quantity": 1}, {"sku": "foreign", "quantity": 1}]}`), 422, "mixed_sellers", nil, stored},
		{"more than there is", ask(orderBody(`"tea"`, "11")), 409, "out_of_stock", nil, stored},
		{"one of two more than there is", ask(`{"items": [{"sku": "rum", "quantity": 1}, {"sku": "tea", "quantity": 11}]}`), 409, "out_of_stock", nil, stored},
		{"a seller without a customer", bySeller(orderBody(`"tea"`, "1")), 422, invalid, []string{"#/customer_id"}, notStored},
		{"a seller with another's product", bySeller(`{"customer_id": "alice", "items": [{"sku": "foreign", "quantity": 1}]}`), 403, "forbidden_resource", nil, notStored},
	})
}

func TestBadInput_InvalidPaymentsAreRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.PutProduct(t, "tea", 10)
	waiting, paid, expired := s.MustCreateOrder(t, e2e.Alice, "tea", 1), s.MustCreateOrder(t, "bob", "tea", 1), s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	s.Credit(t, "bob", "100.00")
	e2e.Want[e2e.Payment](t, s, http.StatusOK, s.ConfirmCall(t, "bob", paid.ID))
	s.ExpireReservation(t, expired.ID)
	s.Credit(t, e2e.Alice, "99.99")

	good := s.ConfirmCall(t, e2e.Alice, waiting.ID)
	ask := good.WithBody // all with the same key
	const invalid = "validation_failed"
	checkRefusals(t, s, []badRequest{
		{"no method", ask(`{}`), 422, invalid, []string{"#/method"}, notStored},
		{"an unknown method", ask(`{"method": "` + canary + `"}`), 422, invalid, []string{"#/method"}, notStored},
		{"a card without a token", ask(`{"method": "card"}`), 422, invalid, []string{"#/payment_method"}, notStored},
		{"a card number", ask(`{"method": "card", "payment_method": "4242424242424242"}`), 422, invalid, []string{"#/payment_method"}, notStored},
		{"the balance with a token", ask(`{"method": "balance", "payment_method": "pm_1"}`), 422, invalid, []string{"#/payment_method"}, notStored},
		{"an amount", ask(`{"method": "balance", "amount": {"amount": "1.00", "currency": "RUB"}}`), 422, invalid, []string{"#/amount"}, notStored},
		{"another's order", s.ConfirmCall(t, "bob", waiting.ID), 403, "forbidden_resource", nil, notStored},
		{"an order that does not exist", s.ConfirmCall(t, e2e.Alice, math.MaxInt64), 404, "not_found", nil, notStored},

		{"by card", s.CardCall(t, waiting.ID, "pm_1"), 422, "payment_method_unavailable", nil, stored},
		{"a kopeck short", s.ConfirmCall(t, e2e.Alice, waiting.ID), 402, "insufficient_funds", nil, stored},
		{"an expired reservation", s.ConfirmCall(t, e2e.Alice, expired.ID), 409, "reservation_expired", nil, stored},
		{"an order that is paid", s.ConfirmCall(t, "bob", paid.ID), 409, "invalid_order_state", nil, stored},
	})
	s.Credit(t, e2e.Alice, "0.01")
	wantKeyFree(t, s, good)
}

func TestBadInput_OverdraftIsRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.Credit(t, e2e.Alice, "10.00")
	charge := func(customer, amount, currency string) e2e.Call {
		return s.ChargeCall(t, customer, amount).WithBody(creditBody(`"`+amount+`"`, `"`+currency+`"`))
	}
	checkRefusals(t, s, []badRequest{
		{"a kopeck more than there is", charge(e2e.Alice, "10.01", "RUB"), 402, "insufficient_funds", nil, stored},
		{"in a currency without a balance", charge(e2e.Alice, "1.00", "EUR"), 402, "insufficient_funds", nil, stored},
		{"of a customer without a balance", charge("nobody", "0.01", "RUB"), 402, "insufficient_funds", nil, stored},
	})
}

func TestBadInput_InvalidProductsAreRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.PutProduct(t, "tea", 10)
	s.MustCreateOrder(t, e2e.Alice, "tea", 4)
	put := func(sku, body string) e2e.Call {
		return e2e.Call{Method: "PUT", Path: "/products/" + sku, Token: s.SellerToken(t), Body: body}
	}
	describe := func(name, amount, currency, onHand string) string {
		return fmt.Sprintf(`{"name": %s, "price": {"amount": %s, "currency": %s}, "on_hand": %s}`, name, amount, currency, onHand)
	}
	good := describe(`"tea"`, `"1.00"`, `"RUB"`, "10")
	const withoutStock = `{"name": "tea", "price": {"amount": "1.00", "currency": "RUB"}}`
	foreign := put("tea", good)
	foreign.Token = s.Token(t, e2e.Rival, "seller")
	const invalid = "validation_failed"
	checkRefusals(t, s, []badRequest{
		{"nothing", put("new", `{}`), 422, invalid, []string{"#/name", "#/price"}, notStored},
		{"an empty name", put("new", describe(`""`, `"1"`, `"RUB"`, "1")), 422, invalid, []string{"#/name"}, notStored},
		{"a name with a new line", put("new", describe(`"`+canary+`\n"`, `"1"`, `"RUB"`, "1")), 422, invalid, []string{"#/name"}, notStored},
		{"a price as a number", put("new", describe(`"n"`, `1`, `"RUB"`, "1")), 422, invalid, []string{"#/price/amount"}, notStored},
		{"a price of zero", put("new", describe(`"n"`, `"0.00"`, `"RUB"`, "1")), 422, invalid, []string{"#/price/amount"}, notStored},
		{"a price with a sign", put("new", describe(`"n"`, `"-1"`, `"RUB"`, "1")), 422, invalid, []string{"#/price/amount"}, notStored},
		{"too many decimals", put("new", describe(`"n"`, `"1.001"`, `"RUB"`, "1")), 422, invalid, []string{"#/price/amount"}, notStored},
		{"no such currency", put("new", describe(`"n"`, `"1"`, `"XXX"`, "1")), 422, invalid, []string{"#/price/currency"}, notStored},
		{"fewer than none", put("new", describe(`"n"`, `"1"`, `"RUB"`, "-1")), 422, invalid, []string{"#/on_hand"}, notStored},
		{"half of one", put("new", describe(`"n"`, `"1"`, `"RUB"`, "0.5")), 422, invalid, []string{"#/on_hand"}, notStored},
		{"more than there can be", put("new", describe(`"n"`, `"1"`, `"RUB"`, "1000000001")), 422, invalid, []string{"#/on_hand"}, notStored},
		{"a reserved quantity", put("new", `{"name": "n", "price": {"amount": "1", "currency": "RUB"}, "on_hand": 1, "reserved": 0}`), 422, invalid, []string{"#/reserved"}, notStored},
		{"a SKU with a space", put("a%20b", good), 422, invalid, []string{"#/sku"}, notStored},
		{"a SKU with a slash", put("a%2Fb", good), 422, invalid, []string{"#/sku"}, notStored},
		{"a SKU with a NUL", put("a%00b", good), 422, invalid, []string{"#/sku"}, notStored},
		{"a SKU of 65", put(strings.Repeat("a", 65), good), 422, invalid, []string{"#/sku"}, notStored},
		{"a new product without stock", put("new", withoutStock), 422, invalid, []string{"#/on_hand"}, notStored},
		{"an entity tag without quotes", put("tea", withoutStock).WithHeader("If-Match", "1"), 400, "malformed_request", nil, notStored},
		{"no entity tag", put("tea", withoutStock).WithHeader("If-Match", ""), 400, "malformed_request", nil, notStored},
		{"a precondition on a product that is not there", put("new", good).WithHeader("If-Match", "*"), 412, "precondition_failed", nil, notStored},
		{"another version", put("tea", good).WithHeader("If-Match", `"2"`), 412, "precondition_failed", nil, notStored},
		{"stock without a version", put("tea", good), 428, "precondition_required", nil, notStored},
		{"stock for any version", put("tea", good).WithHeader("If-Match", "*"), 428, "precondition_required", nil, notStored},
		{"fewer than are reserved", put("tea", describe(`"tea"`, `"1.00"`, `"RUB"`, "3")).WithHeader("If-Match", `"1"`), 409, "stock_reserved", nil, notStored},
		{"another's product", foreign, 403, "forbidden_resource", nil, notStored},
	})
}

func TestBadInput_InvalidAdjustmentsAreRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.PutProduct(t, "tea", 10)
	s.MustCreateOrder(t, e2e.Alice, "tea", 4)
	good := s.AdjustStockCall(s.SellerToken(t), "tea", -1)
	ask := good.WithBody // all with the same key
	adjust := func(sku string, change int) e2e.Call { return s.AdjustStockCall(s.SellerToken(t), sku, change) }
	const invalid = "validation_failed"
	checkRefusals(t, s, []badRequest{
		{"nothing", ask(`{}`), 422, invalid, []string{"#/change"}, notStored},
		{"a string", ask(`{"change": "5"}`), 422, invalid, []string{"#/change"}, notStored},
		{"half of one", ask(`{"change": 0.5}`), 422, invalid, []string{"#/change"}, notStored},
		{"more than there can be", ask(`{"change": 1000000001}`), 422, invalid, []string{"#/change"}, notStored},
		{"fewer than there can be", ask(`{"change": -1000000001}`), 422, invalid, []string{"#/change"}, notStored},
		{"a reason with a new line", ask(`{"change": 1, "reason": "` + canary + `\n"}`), 422, invalid, []string{"#/reason"}, notStored},
		{"a quantity on hand", ask(`{"change": 1, "on_hand": 11}`), 422, invalid, []string{"#/on_hand"}, notStored},
		{"a SKU with a space", adjust("a%20b", 1), 422, invalid, []string{"#/sku"}, notStored},
		{"a product that does not exist", adjust("coffee", 1), 404, "not_found", nil, notStored},
		{"another's product", adjust("tea", 1).WithToken(s.Token(t, e2e.Rival, "seller")), 403, "forbidden_resource", nil, notStored},

		{"a change of nothing", adjust("tea", 0), 422, invalid, []string{"#/change"}, notStored},
		{"more than a product may have", adjust("tea", 1_000_000_000), 422, invalid, []string{"#/change"}, stored},
		{"fewer than are reserved", adjust("tea", -7), 409, "stock_reserved", nil, stored},
	})
	wantKeyFree(t, s, good)
}

func TestBadInput_UnknownPathsAreRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	token := s.Token(t, e2e.Alice, "customer", "admin")
	var refusals []badRequest
	for _, path := range []string{"/", "/order", "/orders/1/2", "/orders/1/", "/customers", "/products/tea/", "/docs/nothing.js", "/admin", "/metrics", "/debug/pprof/", "/" + strings.Repeat("x", 4000)} {
		refusals = append(refusals,
			badRequest{"no path " + path[:min(len(path), 20)], e2e.Get(token, path), 404, "not_found", nil, notStored},
			badRequest{"no path without a token " + path[:min(len(path), 20)], e2e.Call{Method: "GET", Path: path}, 404, "not_found", nil, notStored})
	}
	for _, id := range []string{
		"0", "-1", "+1", "01x", "abc", "1.0", "1e3", "0x1", "9223372036854775808", "-9223372036854775809", "99999999999999999999999",
		"%00", "1%00", "%FF", "%D9%A1", "%20", "1%202", "1;drop", "null", "9223372036854775807",
	} {
		confirm := s.ConfirmCall(t, e2e.Alice, 1)
		confirm.Path = "/orders/" + id + "/payment/confirm"
		refusals = append(refusals,
			badRequest{"order " + id, e2e.Get(token, "/orders/"+id), 404, "not_found", nil, notStored},
			badRequest{"payment of order " + id, confirm, 404, "not_found", nil, notStored})
	}
	for _, sku := range []string{"nothing", strings.Repeat("a", 64)} {
		refusals = append(refusals, badRequest{"product " + sku, e2e.Get(token, "/products/"+sku), 404, "not_found", nil, notStored})
	}
	for _, sku := range []string{"a%20b", "a%2Fb", "%00", "%FF", "%D1%87", strings.Repeat("a", 65)} {
		refusals = append(refusals, badRequest{"product " + sku, e2e.Get(token, "/products/"+sku), 422, "validation_failed", []string{"#/sku"}, notStored})
	}
	refusals = append(refusals, badRequest{"a key nobody used", e2e.Get(token, "/idempotency-keys/nothing"), 404, "not_found", nil, notStored})
	checkRefusals(t, s, refusals)
}

// The response lists the methods of the path (RFC 9110).
func TestBadInput_OtherMethodsAreRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	token := s.Token(t, e2e.Alice, "admin")
	served := map[string][]string{}
	for _, op := range s.Contract.Operations() {
		path := callOfNothing(op).Path
		served[path] = append(served[path], op.Method)
	}
	var refusals []badRequest
	for path, methods := range served {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
			if slices.Contains(methods, method) {
				continue
			}
			c := e2e.Call{Method: method, Path: path, Token: token}
			refusals = append(refusals, badRequest{method + " " + path, c, 405, "method_not_allowed", nil, notStored})
			allowed := s.Send(t, c).Header.Values("Allow")
			slices.Sort(allowed)
			slices.Sort(methods)
			if diff := cmp.Diff(methods, allowed); diff != "" {
				t.Errorf("%s %s: methods (-contract +Allow):\n%s", method, path, diff)
			}
		}
	}
	checkRefusals(t, s, refusals)
}

func TestBadInput_InvalidFiltersAreRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	var refusals []badRequest
	add := func(pointer, query string) {
		for _, list := range []string{"/orders", "/customers/alice/balance/transactions"} {
			c := e2e.Get(s.CustomerToken(t), list+"?"+query)
			refusals = append(refusals, badRequest{list + " " + query[:min(len(query), 40)], c, 422, "validation_failed", []string{pointer}, notStored})
		}
	}
	for _, reference := range []string{"", "a%0Ab", "%00", "%FF", strings.Repeat("a", 65), strings.Repeat("%D1%8F", 65)} {
		add("#/reference", "reference="+reference)
	}
	for _, at := range []string{
		"", "now", canary, "2026-11-04", "2026-11-04T09:30:00", "2026-11-04T09:30:00%2B03:00", "2026-11-04t09:30:00z", "2026-11-04T09:30Z",
		"2026-02-30T00:00:00Z", "2026-11-04T24:00:00Z", "2026-11-04T09:30:60Z", "0001-01-01T00:00:00Z", "12026-11-04T09:30:00Z",
		"2026-11-04T09:30:00,5Z", "2026-11-04T09:30:00.1234567Z", "-infinity", "1762248600",
	} {
		add("#/created_from", "created_from="+at)
		add("#/created_to", "created_to="+at)
	}
	add("#/created_from", "created_from=2026-11-04T09:30:01Z&created_to=2026-11-04T09:30:00Z")
	checkRefusals(t, s, refusals)
}

func TestBadInput_InvalidPagesAreRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.PutProduct(t, "tea", 10)
	var refusals []badRequest
	add := func(name string, values ...string) {
		for _, value := range values {
			c := e2e.Call{Method: "GET", Path: "/products?" + name + "=" + url.QueryEscape(value), Token: s.CustomerToken(t)}
			refusals = append(refusals, badRequest{name + " " + value, c, 422, "validation_failed", []string{"#/" + name}, notStored})
		}
	}
	add("limit", "0", "101", "-1", "abc", "", "1.5", "1e1", " 1", "9223372036854775808", canary)
	add("cursor", "", "garbage", canary, "!!!!", "AAAAAAAAAAAAAAAAAAAAAAA=", "AAAA", strings.Repeat("A", 600), "0", "%00")
	checkRefusals(t, s, refusals)
}

// A cursor may come from anybody: one before or after all time must not fail.
func TestInput_ExtremeCursorsDoNotFail(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.PutProduct(t, "tea", 10)
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
			r := s.Send(t, e2e.Get(s.CustomerToken(t), "/products?cursor="+cursor))
			if r.Status != http.StatusOK && r.Code() != "validation_failed" {
				t.Errorf("status %d: %s", r.Status, r.Body)
			}
		})
	}
}

// IDs and keys that no token and no header can contain belong to nobody, and must not
// reach the database.
func TestBadInput_ImpossibleIDsAreRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for name, id := range map[string]string{
		"NUL": "a%00b", "invalid UTF-8": "%FF%FE", "space": "a%20b", "letters": "%D0%B0", "new line": "a%0Ab",
		"256 characters": strings.Repeat("a", 256),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []e2e.Call{
				{Method: "GET", Path: "/customers/" + id + "/balance", Token: s.AdminToken(t)},
				{Method: "GET", Path: "/idempotency-keys/" + id, Token: s.AdminToken(t)},
				{Method: "GET", Path: "/customers/" + id + "/balance/transactions", Token: s.AdminToken(t)},
				{Method: "GET", Path: "/customers/" + id + "/profile", Token: s.AdminToken(t)},
				{
					Method: "PUT", Path: "/customers/" + id + "/profile", Token: s.AdminToken(t),
					Body: `{"full_name": "A B", "email": "a@b.example", "phone": "+79161234567"}`,
				},
				{Method: "GET", Path: "/orders?customer_id=" + id, Token: s.AdminToken(t)},
				s.CreditCall(t, id, "1.00"),
			} {
				r := s.Send(t, c)
				if !slices.Contains([]string{"not_found", "validation_failed", "idempotency_key_invalid"}, r.Code()) {
					t.Errorf("%s %s: status %d: %s", c.Method, c.Path, r.Status, r.Body)
				}
			}
		})
	}
}
