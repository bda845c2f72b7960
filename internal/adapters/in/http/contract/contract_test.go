package contract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	openapi "example.com/orders/api"
	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
)

func testContract(t testing.TB) *Contract {
	t.Helper()
	c, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestContract_KnowsWhichOperationsHaveBodies(t *testing.T) {
	c := testContract(t)
	if !c.HasBody("createOrder") || c.HasBody("getOrderById") || c.HasBody("nonsense") {
		t.Errorf("operations with a body: %v", slices.Sorted(maps.Keys(c.bodies)))
	}
	if _, err := c.Check("getOrderById", nil); err == nil {
		t.Error("getOrderById has no body, but one was accepted")
	}
}

// A keyword of JSON Schema that the reader does not know must not be ignored.
func TestParse_RefusesKeywordsThatNothingChecks(t *testing.T) {
	for rule, other := range map[string]string{
		"\n          minItems: 1": "\n          uniqueItems: true",
		"$ref: '#/components/schemas/CreateOrderItem'\n      additionalProperties: false": "$ref: '#/components/schemas/CreateOrderItem'",
		"      type: integer\n      description: A number of units.\n      minimum: 1":    "      type: number\n      minimum: 1",
	} {
		text := string(openapi.OpenAPI)
		if !strings.Contains(text, rule) {
			t.Fatalf("the contract has no %q", rule)
		}
		if _, err := Parse([]byte(strings.Replace(text, rule, other, 1))); err == nil || !strings.Contains(err.Error(), "the body of createOrder") {
			t.Errorf("%s: got %v", other, err)
		}
	}
}

func TestCheck_ReturnsCanonicalForm(t *testing.T) {
	c := testContract(t)
	const order = `{"customer_id":"sber-42","items":[{"quantity":2,"sku":"tea"}]}`
	for name, body := range map[string]string{
		"canonical":          order,
		"order of members":   `{"items":[{"sku":"tea","quantity":2}],"customer_id":"sber-42"}`,
		"white space":        "\n{ \"customer_id\" : \"sber-42\" , \"items\":[\t{\"quantity\":2,\"sku\":\"tea\"}] }\r\n",
		"escapes":            `{"customer_id":"\u0073ber-42","items":[{"quantity":2,"\u0073ku":"tea"}]}`,
		"2 with a fraction":  `{"customer_id":"sber-42","items":[{"quantity":2.0,"sku":"tea"}]}`,
		"2 with an exponent": `{"customer_id":"sber-42","items":[{"quantity":20E-1,"sku":"tea"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.Check("createOrder", []byte(body))
			if err != nil || string(got) != order {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

func TestCheck_ReadsEveryNotationOfZero(t *testing.T) {
	c := testContract(t)
	for _, zero := range []string{"0", "-0", "0.0", "0e1", "0E-1", "-0.00e+9", "0e-999999"} {
		if got, err := c.Check("adjustStock", []byte(`{"change":`+zero+`}`)); err != nil || string(got) != `{"change":0}` {
			t.Errorf("%s: got %s, %v", zero, got, err)
		}
	}
}

// A request whose body was lost on the way must not mean more than it did. The operations
// that need no body are those whose path says everything: a body adds a reason at most.
func TestCheck_LostBodyAsksForNothing(t *testing.T) {
	c := testContract(t)
	complete := map[string]bool{"reserveInventory": true, "cancelOrder": true}
	for operation := range c.bodies {
		none, errOfNone := c.Check(operation, nil)
		_, errOfEmpty := c.Check(operation, []byte("{}"))
		if complete[operation] {
			if string(none) != "{}" || errOfNone != nil || errOfEmpty != nil {
				t.Errorf("%s: got %s, %v and %v", operation, none, errOfNone, errOfEmpty)
			}
			continue
		}
		if codeOf(errOfNone) != wire.ProblemCodeMalformedRequest {
			t.Errorf("%s without a body: got %v, want malformed_request", operation, errOfNone)
		}
		if len(refusedBy(errOfEmpty)) == 0 {
			t.Errorf("%s with an empty object: got %v, want validation_failed with a pointer", operation, errOfEmpty)
		}
	}
}

// A shape of several objects is checked for what they differ in, and nothing else.
func TestParse_RefusesChoicesThatNothingDecides(t *testing.T) {
	for rule, other := range map[string]string{
		"      required: [full]\n":                "",
		"      required: [amount]\n      prop":    "      required: [amount, reason]\n      prop",
		"          enum: [true]\n        reason:": "          enum: [true]\n        why:",
	} {
		text := string(openapi.OpenAPI)
		if !strings.Contains(text, rule) {
			t.Fatalf("the contract has no %q", rule)
		}
		if _, err := Parse([]byte(strings.ReplaceAll(text, rule, other))); err == nil || !strings.Contains(err.Error(), "the body of refundPayment") {
			t.Errorf("%s: got %v", other, err)
		}
	}
}

func TestCheck_RefusesMalformedAndAmbiguousJSON(t *testing.T) {
	c := testContract(t)
	credit := func(number string) string { return fmt.Sprintf(`{"amount":%s}`, number) }
	for name, body := range map[string]string{
		"only white space":       " ",
		"text":                   "amount=1",
		"cut short":              `{"amount":{"amount":"1","currency":"RUB"}`,
		"trailing data":          `{} {}`,
		"trailing garbage":       `{}x`,
		"byte order mark":        "\ufeff{}",
		"duplicate member":       `{"amount":{"amount":"1","amount":"2","currency":"RUB"}}`,
		"duplicate by escape":    `{"amount":1,"\u0061mount":2}`,
		"invalid UTF-8":          "{\"description\":\"\xff\"}",
		"lone surrogate":         `{"description":"\ud800"}`,
		"not a number":           credit("NaN"),
		"leading zero":           credit("01"),
		"above 2^53":             credit("9007199254740993"),
		"below -2^53":            credit("-9007199254740993"),
		"above 2^53 and even":    credit("9007199254740994"),
		"far above 2^53":         credit("1e20"),
		"beyond a float":         credit("1e999"),
		"too small for a float":  credit("1e-999"),
		"huge negative exponent": credit("1e-999999999"),
		"too precise":            credit("0.12345678901234567890123"),
		"almost one":             credit("1.0000000000000000001"),
		"1000 zeros":             credit("1." + strings.Repeat("0", 1000)),
		"1000 digits":            credit(strings.Repeat("1", 1000)),
		"17 levels":              strings.Repeat("[", 17) + strings.Repeat("]", 17),
		"12000 levels":           strings.Repeat(`{"a":`, 12000),
		"501 values":             "[" + strings.Repeat("0,", 499) + "0]",
		"10000 empty objects":    `{"amount":[` + strings.Repeat("{},", 10_000) + `{}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.Check("creditBalance", []byte(body))
			if codeOf(err) != wire.ProblemCodeMalformedRequest {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCheck_NamesInvalidMembers(t *testing.T) {
	c := testContract(t)
	many := `{"items":[` + strings.TrimSuffix(strings.Repeat(`{"sku":"a","quantity":1},`, 101), ",") + `]}`
	const amount = "must be at most 15 digits, a point, and at most the currency's decimals, such as 1999.00 for RUB"
	for _, c2 := range []struct {
		name, operation, body string
		want                  []wire.FieldError
	}{
		{"array", "createOrder", `[]`, fields("#", "must be of type object")},
		{"null", "createOrder", `null`, fields("#", "must be of type object")},
		{"missing", "createOrder", `{}`, fields("#/items", "is required")},
		{"missing member of an item", "createOrder", `{"items":[{}]}`,
			fields("#/items/0/quantity", "is required", "#/items/0/sku", "is required")},
		{"unknown members", "createOrder", `{"items":[{"sku":"a","quantity":1,"price":"1"}],"note":"x"}`,
			fields("#/items/0/price", "is not a known member", "#/note", "is not a known member")},
		{"name like an e-mail address", "cancelOrder", `{"anna@example.com":1,"b":2}`, fields("#", "has a member that is not known", "#/b", "is not a known member")},
		{"name like a token", "cancelOrder", `{"` + strings.Repeat("x", 65) + `":1}`, fields("#", "has a member that is not known")},
		{"name with escapes", "cancelOrder", `{"a/b~c d\"é":1}`, fields("#/a~1b~0c%20d%22%C3%A9", "is not a known member")},
		{"no items", "createOrder", `{"items":[]}`, fields("#/items", "must have at least 1 item")},
		{"too many items", "createOrder", many, fields("#/items", "must have at most 100 items")},
		{"quantity too small", "createOrder", `{"items":[{"sku":"a","quantity":0}]}`, fields("#/items/0/quantity", "must be at least 1")},
		{"quantity too large", "createOrder", `{"items":[{"sku":"a","quantity":10001}]}`, fields("#/items/0/quantity", "must be at most 10000")},
		{"fraction of a quantity", "createOrder", `{"items":[{"sku":"a","quantity":1.5}]}`, fields("#/items/0/quantity", "must be of type integer")},
		{"sku", "createOrder", `{"items":[{"sku":"a b","quantity":1}]}`, fields("#/items/0/sku", "must be 1–64 characters of A-Z a-z 0-9 . _ -")},
		{"amount as a number", "creditBalance", `{"amount":{"amount":1999.5,"currency":"RUB"}}`, fields("#/amount/amount", "must be of type string")},
		{"amount with exponent", "creditBalance", `{"amount":{"amount":"1e3","currency":"RUB"}}`, fields("#/amount/amount", amount)},
		{"amount with sign", "creditBalance", `{"amount":{"amount":"-1","currency":"RUB"}}`, fields("#/amount/amount", amount)},
		{"amount with decimals", "creditBalance", `{"amount":{"amount":"1.00001","currency":"RUB"}}`, fields("#/amount/amount", amount)},
		{"amount and currency", "creditBalance", `{"amount":{"amount":"","currency":"rub"}}`,
			fields("#/amount/amount", amount, "#/amount/currency", "must be an ISO 4217 currency code, such as RUB")},
		{"long text", "cancelOrder", `{"reason":"` + strings.Repeat("я", 256) + `"}`, fields("#/reason", "must have at most 255 characters")},
		{"long text with NUL", "cancelOrder", `{"reason":"\u0000` + strings.Repeat("я", 255) + `"}`, fields("#/reason", "must be a single line without control characters")},
		{"text of 510 bytes", "cancelOrder", `{"reason":"` + strings.Repeat("я", 255) + `"}`, nil},
		{"empty name", "putProduct", `{"name":"","price":{"amount":"1","currency":"RUB"},"on_hand":1}`, fields("#/name", "must have at least 1 character")},
		{"NUL in a text", "cancelOrder", `{"reason":"a\u0000b"}`, fields("#/reason", "must be a single line without control characters")},
		{"zero-width space in a reference", "creditBalance", `{"amount":{"amount":"1","currency":"RUB"},"reference":"a\u200bb"}`,
			fields("#/reference", "must have visible characters and single spaces only, not U+200B")},
		{"stock", "putProduct", `{"name":"n","price":{"amount":"1","currency":"RUB"},"on_hand":1000000001}`, fields("#/on_hand", "must be at most 1000000000")},
		{"status", "updateOrderStatus", `{"status":"paid"}`, fields("#/status", "must be one of fulfilling, shipped, delivered")},
		{"method", "confirmPayment", `{"method":"cash"}`, fields("#/method", "must be one of balance, card")},
		{"card without token", "confirmPayment", `{"method":"card"}`, fields("#/payment_method", "is required")},
		{"balance with token", "confirmPayment", `{"method":"balance","payment_method":"pm_1"}`, fields("#/payment_method", "is not a known member where method is balance")},
		{"unknown number before the method", "confirmPayment", `{"x":1.5,"method":"balance"}`, fields("#/x", "is not a known member where method is balance")},
		{"no method", "confirmPayment", `{"payment_method":"pm_1"}`, fields("#/method", "is required")},
		{"method as a number", "confirmPayment", `{"method":1,"x":1}`, fields("#/method", "must be of type string")},
		{"no object to choose by", "confirmPayment", `["card"]`, fields("#", "must be of type object")},
		{"token", "confirmPayment", `{"method":"card","payment_method":"tok_1"}`, fields("#/payment_method", "must be the ID of a Stripe payment method, such as pm_card_visa")},
		{"e-mail", "updateCustomerProfile", `{"full_name":"A","email":"a@b","phone":"+79161234567"}`,
			fields("#/email", "must be an e-mail address, such as anna@example.com")},
		{"phone", "updateCustomerProfile", `{"full_name":"A","email":"a@b.c","phone":"89161234567"}`, fields("#/phone", "must be a telephone number with its country code, such as +79161234567")},
	} {
		t.Run(c2.name, func(t *testing.T) {
			_, err := c.Check(c2.operation, []byte(c2.body))
			if diff := cmp.Diff(c2.want, fieldsOf(t, err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An object of a choice without a discriminator has exactly one of the members that differ.
func TestCheck_WantsExactlyOneOfAlternatives(t *testing.T) {
	c := testContract(t)
	for _, c2 := range []struct {
		name, body string
		want       []wire.FieldError
	}{
		{"neither amount nor full", `{"reason":"torn"}`, fields("#/amount", "is required unless full is sent", "#/full", "is required unless amount is sent")},
		{"amount and full", `{"full":true,"amount":{"amount":"1","currency":"RUB"}}`, fields("#/full", "must not be sent with amount")},
		{"not in full", `{"full":false}`, fields("#/full", "must be true")},
		{"full as a text", `{"full":"true"}`, fields("#/full", "must be of type boolean")},
		{"null for full", `{"full":null}`, fields("#/full", "must be of type boolean")},
		{"null for the amount", `{"amount":null}`, fields("#/amount", "must be of type object")},
		{"null beside full", `{"amount":null,"full":true}`, fields("#/amount", "must be of type object", "#/full", "must not be sent with amount")},
		{"in full", `{"full":true,"reason":"torn"}`, nil},
	} {
		_, err := c.Check("refundPayment", []byte(c2.body))
		if diff := cmp.Diff(c2.want, fieldsOf(t, err)); diff != "" {
			t.Errorf("%s: %s", c2.name, diff)
		}
	}
}

// each calls visit with a shape and those within it.
func (s *shape) each(visit func(s *shape)) {
	visit(s)
	for _, member := range s.Properties {
		member.each(visit)
	}
	for _, choice := range s.choices {
		choice.each(visit)
	}
	if s.Items != nil {
		s.Items.each(visit)
	}
}

// A reference that is checked less than others would let two texts that look alike through.
func TestReference_IsCheckedInEveryBody(t *testing.T) {
	referring := map[string]int{}
	for operation, b := range testContract(t).bodies {
		b.shape.each(func(s *shape) {
			if s.name != "reference" {
				return
			}
			referring[operation]++
			if s.Format != "reference" {
				t.Errorf("%s has a reference of the format %q", operation, s.Format)
			}
		})
	}
	want := map[string]int{"adjustStock": 1, "createOrder": 1, "creditBalance": 1, "chargeBalance": 1, "refundPayment": 1}
	if diff := cmp.Diff(want, referring); diff != "" {
		t.Errorf("bodies with a reference (-want +got):\n%s", diff)
	}
}

// A regular expression is no answer to a person.
func TestPatternTexts_KnowEveryPatternOfABody(t *testing.T) {
	seen := 0
	for operation, rule := range testContract(t).bodies {
		rule.shape.each(func(s *shape) {
			if s.Pattern == "" {
				return
			}
			seen++
			if patternTexts[s.Pattern] == "" {
				t.Errorf("%s, %s: no text for %s", operation, s.name, s.Pattern)
			}
		})
	}
	if seen == 0 {
		t.Error("found no pattern")
	}
}

// A response must not be ten times as large as a body of unknown members.
func TestCheck_BoundsTheNumberOfErrors(t *testing.T) {
	var members []string
	for i := range maxValues - 1 {
		members = append(members, fmt.Sprintf(`"m%d":1`, i))
	}
	_, err := testContract(t).Check("cancelOrder", []byte("{"+strings.Join(members, ",")+"}"))
	if got := fieldsOf(t, err); len(got) != problem.MaxErrors {
		t.Errorf("got %d entries", len(got))
	}
}

func TestCheck_NeverEchoesValues(t *testing.T) {
	const secret = "hunter2"
	for _, body := range []string{
		`{"full_name":1,"email":"hunter2","phone":"hunter2"}`,
		`{"full_name":"` + strings.Repeat("hunter2", 40) + `","email":["hunter2"],"phone":{"a":"hunter2"}}`,
		`{"full_name":"hunter2`,
		`{"hunter2":1,"hunter2":2}`,
		`hunter2`,
	} {
		_, err := testContract(t).Check("updateCustomerProfile", []byte(body))
		var p *problem.Problem
		if !errors.As(err, &p) {
			t.Fatalf("%s: got %v", body, err)
		}
		if sent := p.Document("", "/", false); strings.Contains(string(sent), secret) {
			t.Errorf("%s: echoed in %s", body, sent)
		}
	}
}

func TestCheck_RefusesCardNumbersInFreeTexts(t *testing.T) {
	const detail = "must not contain a card number; send a payment method token"
	credit := func(members string) string {
		return `{"amount":{"amount":"378282246310005","currency":"RUB"},` + members + `}`
	}
	for _, c := range []struct {
		name, operation, body string
		want                  []wire.FieldError
	}{
		{"in a text", "creditBalance", credit(`"description":"card 4242 4242 4242 4242, thanks"`), fields("#/description", detail)},
		{"as a reference", "creditBalance", credit(`"reference":"4242424242424242"`), nil},
		{"as a token", "confirmPayment", `{"method":"card","payment_method":"pm_4242424242424242"}`, fields("#/payment_method", detail)},
		{"as a member name", "cancelOrder", `{"4242424242424242":{"x":1}}`, fields("#", "has a member that is not known")},
		{"below such a member", "cancelOrder", `{"a":{"4242424242424242":"4242424242424242"}}`, fields("#/a", "is not a known member")},
		{"in a text that is too long", "cancelOrder", `{"reason":"` + strings.Repeat("4242 ", 100) + `"}`, fields("#/reason", "must have at most 255 characters")},
		{"as an amount", "creditBalance", credit(`"description":"x"`), nil},
		{"as a SKU", "createOrder", `{"items":[{"sku":"4006381333931","quantity":1},{"sku":"4242424242424242","quantity":1}]}`, nil},
		{"as a barcode", "creditBalance", credit(`"description":"barcode 4222222222222 of 4006381333931"`), nil},
		{"beside an invalid member", "creditBalance", credit(`"description":"4242424242424242","x":1`), fields("#/description", detail, "#/x", "is not a known member")},
		{"as an id of the issuer", "createOrder", `{"customer_id":"4242424242424242","items":[{"sku":"a","quantity":1}]}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := testContract(t).Check(c.operation, []byte(c.body))
			if diff := cmp.Diff(c.want, fieldsOf(t, err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// codeOf returns the code that a client gets for an error, empty for no error.
func codeOf(err error) wire.ProblemCode {
	if err == nil {
		return ""
	}
	return problem.Of(err).Code
}

// fields returns one entry for each pair of pointer and detail.
func fields(pairs ...string) []wire.FieldError {
	var list []wire.FieldError
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, wire.FieldError{Pointer: pairs[i], Detail: pairs[i+1]})
	}
	return list
}

// fieldsOf returns the entries of validation_failed, or nil for no error.
func fieldsOf(t *testing.T, err error) []wire.FieldError {
	t.Helper()
	if err == nil {
		return nil
	}
	var p *problem.Problem
	if !errors.As(err, &p) || p.Code != wire.ProblemCodeValidationFailed {
		t.Fatalf("got %v, want validation_failed", err)
	}
	return p.Errors
}

// A body that grows in its buffer takes several times its size.
func TestReadUpTo_NeedsOneBuffer(t *testing.T) {
	t.Parallel()
	const limit = 256 << 10
	for name, c := range map[string]struct {
		size, declared int64
		want           int
	}{
		"declared":           {1000, 1000, 1000},
		"largest":            {limit, limit, limit},
		"largest, in chunks": {limit, -1, limit},
		"short, in chunks":   {1000, -1, limit},
	} {
		r := httptest.NewRequest("POST", "/webhooks/stripe", strings.NewReader(strings.Repeat("x", int(c.size))))
		r.ContentLength = c.declared
		body, err := ReadUpTo(limit, httptest.NewRecorder(), r)
		if want := c.want + bytes.MinRead; err != nil || len(body) != int(c.size) || cap(body) > want {
			t.Errorf("%s: %d bytes in a buffer of %d, %v; want at most %d", name, len(body), cap(body), err, want)
		}
	}
}

func TestReadBody_AcceptsOnlyCompleteJSONOfLimitedSize(t *testing.T) {
	full := strings.Repeat("x", 64<<10)
	for name, c := range map[string]struct {
		body   io.Reader
		header http.Header
		want   wire.ProblemCode
	}{
		"json":             {strings.NewReader("{}"), http.Header{"Content-Type": {"application/json"}}, ""},
		"charset":          {strings.NewReader("{}"), http.Header{"Content-Type": {"Application/JSON; charset=UTF-8"}}, ""},
		"absent":           {http.NoBody, nil, ""},
		"largest":          {strings.NewReader(full), http.Header{"Content-Type": {"application/json"}}, ""},
		"one byte more":    {strings.NewReader(full + "x"), http.Header{"Content-Type": {"application/json"}}, "body_too_large"},
		"no media type":    {strings.NewReader("{}"), nil, "unsupported_media_type"},
		"other media type": {strings.NewReader("{}"), http.Header{"Content-Type": {"text/plain"}}, "unsupported_media_type"},
		"other charset":    {strings.NewReader("{}"), http.Header{"Content-Type": {"application/json; charset=koi8-r"}}, "unsupported_media_type"},
		"empty media type": {strings.NewReader("{}"), http.Header{"Content-Type": {";"}}, "unsupported_media_type"},
		"two media types":  {strings.NewReader("{}"), http.Header{"Content-Type": {"application/json", "text/plain"}}, "unsupported_media_type"},
		"compressed":       {strings.NewReader("{}"), http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, "unsupported_media_type"},
		"cut short": {io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrUnexpectedEOF)),
			http.Header{"Content-Type": {"application/json"}}, "malformed_request"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/orders", c.body)
			r.Header = c.header
			_, err := ReadBody(httptest.NewRecorder(), r)
			if got := codeOf(err); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCheckQuery_NamesEachParameter(t *testing.T) {
	t.Parallel()
	c := &Contract{queries: map[string][]string{"list": {"limit", "customer_id", "reference"}}}
	const number = "4242424242424242"
	for name, test := range map[string]struct {
		query string
		want  []wire.FieldError
	}{
		"nothing":                     {"", nil},
		"known":                       {"limit=5&reference=a%20b", nil},
		"unknown":                     {"limt=5", fields("#/limt", "is not a known parameter")},
		"unknown, without value":      {"x", fields("#/x", "is not a known parameter")},
		"in other letters":            {"Limit=5", fields("#/Limit", "is not a known parameter")},
		"several":                     {"b=1&limit=5&a=2", fields("#/a", "is not a known parameter", "#/b", "is not a known parameter")},
		"twice":                       {"limit=5&limit=5", fields("#/limit", "must not be repeated")},
		"twice by escape":             {"limit=5&%6Cimit=6", fields("#/limit", "must not be repeated")},
		"a card number as a name":     {number + "=1", fields("#", "has a parameter that is not known")},
		"an e-mail address as a name": {"anna@example.com=1", fields("#", "has a parameter that is not known")},
		"a token as a name":           {strings.Repeat("x", 65) + "=1", fields("#", "has a parameter that is not known")},
		"a name with escapes":         {"a%2Fb~c=1", fields("#/a~1b~0c", "is not a known parameter")},
		"no percent-encoding":         {"limit=%zz", fields("#", "the query must be name=value pairs, percent-encoded, with & between them")},
		"semicolons":                  {"limit=5;reference=a", fields("#", "the query must be name=value pairs, percent-encoded, with & between them")},
	} {
		if diff := cmp.Diff(test.want, fieldsOf(t, c.CheckQuery("list", test.query))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestCheckQuery_BoundsTheNumberOfErrors(t *testing.T) {
	t.Parallel()
	query := url.Values{}
	for i := range 1000 {
		query.Set(fmt.Sprint("p", i), "1")
	}
	if got := fieldsOf(t, new(Contract).CheckQuery("list", query.Encode())); len(got) != problem.MaxErrors {
		t.Errorf("got %d entries", len(got))
	}
}

// size is how many values a body has, and on how many levels.
type size struct{ values, depth int }

// largest returns the size of the largest body with a shape. The test fails for a list
// without a limit, because no bound fits it.
func largest(t *testing.T, s *shape) size {
	t.Helper()
	total := size{values: 1}
	add := func(of *shape, times int) {
		inner := largest(t, of)
		total.values += times * inner.values
		total.depth = max(total.depth, inner.depth+1)
	}
	for _, member := range s.Properties {
		add(member, 1)
	}
	if s.Items != nil {
		if s.MaxItems == nil {
			t.Fatalf("%s has no maxItems", s.name)
		}
		add(s.Items, *s.MaxItems)
	}
	return total
}

func TestCheck_BoundsNoBodyThatTheContractAllows(t *testing.T) {
	most := size{}
	for operation, rule := range testContract(t).bodies {
		got := largest(t, rule.shape)
		if got.values > maxValues || got.depth > maxDepth {
			t.Errorf("%s: the largest body has %d values on %d levels", operation, got.values, got.depth)
		}
		most = size{max(most.values, got.values), max(most.depth, got.depth)}
	}
	if want := (size{values: 304, depth: 3}); most != want {
		t.Errorf("the largest body of all has %+v, and the comment on maxValues says %+v", most, want)
	}
}

// A body is refused for its size only beyond the bounds, so that its members are named
// wherever they can be.
func TestCheck_ValidatesBodiesWithinTheBounds(t *testing.T) {
	c := testContract(t)
	for name, body := range map[string]string{
		"500 values": "[" + strings.Repeat("0,", 498) + "0]",
		"16 levels":  strings.Repeat("[", 16) + strings.Repeat("]", 16),
		"101 items":  `{"items":[` + strings.Repeat(`{"sku":"a","quantity":1},`, 100) + `{"sku":"a","quantity":1}]}`,
	} {
		if _, err := c.Check("createOrder", []byte(body)); codeOf(err) != wire.ProblemCodeValidationFailed {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// FuzzCheck checks that bodies are refused exactly as a JSON Schema library refuses them,
// that the canonical form of an accepted body is a fixed point, and that every refusal is a
// small problem document.
func FuzzCheck(f *testing.F) {
	c := testContract(f)
	schemas := validators(f, c)
	for _, body := range []string{
		`{"items":[{"sku":"tea","quantity":2}]}`, `{"items":[{"sku":"tea","quantity":2.0}],"customer_id":"\u0041"}`,
		`{"amount":{"amount":"1.50","currency":"RUB"},"description":"é\t","reference":"4242 4242 4242 4242"}`,
		`{"method":"card","payment_method":"pm_1"}`, `{"a":1,"a":2}`, `{"a":{"b":1,"\u0062":2}}`, `[[[[1e999]]]]`,
		`{"reason":"\ud800"}`, `{"items":[{},{},[]]}`, `{"change":1e3,"reason":""}`, `{"change":-0}`, `{"&<>":1}`, `{}x`, ``, `-0`,
	} {
		for _, operation := range []string{"createOrder", "creditBalance", "confirmPayment", "cancelOrder", "adjustStock"} {
			f.Add(operation, []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, operation string, body []byte) {
		if !c.HasBody(operation) {
			t.Skip()
		}
		canonical, err := c.Check(operation, body)
		if len(body) > 0 {
			wantSameVerdict(t, schemas[operation], body, err)
		}
		if err != nil {
			wantSmallProblem(t, body, err)
			return
		}
		if len(canonical) > 4*len(body)+len("{}") {
			t.Errorf("%q became %q", body, canonical)
		}
		twice, err := c.Check(operation, canonical)
		if err != nil || string(twice) != string(canonical) {
			t.Errorf("%s is canonical, but its canonical form is %s, %v", canonical, twice, err)
		}
	})
}

// wantSmallProblem checks the refusal of a body. An entry of errors can be six times as
// long as the member that it names, because of escapes.
func wantSmallProblem(t *testing.T, body []byte, err error) {
	t.Helper()
	p, ok := errors.AsType[*problem.Problem](err)
	if !ok || !slices.Contains([]wire.ProblemCode{wire.ProblemCodeMalformedRequest, wire.ProblemCodeValidationFailed}, p.Code) {
		t.Fatalf("got %v, want malformed_request or validation_failed", err)
	}
	if named := len(p.Errors) > 0; named != (p.Code == wire.ProblemCodeValidationFailed) || len(p.Errors) > problem.MaxErrors {
		t.Errorf("%s names %d members", p.Code, len(p.Errors))
	}
	if n := len(p.Document("", "/", false)); n > 6*len(body)+32<<10 {
		t.Errorf("a body of %d bytes is refused with %d bytes", len(body), n)
	}
}
