package problem

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	openapi "example.com/orders/api"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/httpguard"
)

// The contract lists every code and shows it in an example.
func TestProblemKinds_AgreeWithTheContract(t *testing.T) {
	catalogue := mustReadCatalogue(t)
	codes := catalogue.codes()
	if len(codes) != len(kinds) {
		t.Errorf("the contract has %d codes, the table %d", len(codes), len(kinds))
	}
	for _, code := range codes {
		k, ok := kinds[code]
		example := catalogue.Components.Examples[string(code)].Value
		want := map[string]any{
			"type": Types + string(code), "title": k.title, "status": k.status,
			"code": string(code), "retryable": k.retryable(),
		}
		for name, value := range want {
			if !ok || example[name] != value {
				t.Errorf("%s: the contract says %s %v, the table %v", code, name, example[name], value)
			}
		}
	}
}

// The service stores what a guarded handler of anybody may store.
func TestProblem_IsFinalWithTheStatusesOfTheLibrary(t *testing.T) {
	t.Parallel()
	for code, k := range kinds {
		kept, withEffect := httpguard.Kept(k.status)
		if final := (&Problem{Code: code}).IsFinal(); final && (!kept || withEffect) {
			t.Errorf("%s is stored with status %d, which the library does not keep", code, k.status)
		}
	}
}

func TestProblemOf_TranslatesEveryError(t *testing.T) {
	secret := "SQLSTATE 42P01 password=hunter2"
	refusal := New(wire.ProblemCodeRateLimited, "slow down")
	missing, invalid := core.NotFound("order"), core.InvalidField("/price/amount", "must be greater than zero")
	_, twoKeys := guard.ParseKey([]string{"a", "b"})
	for name, c := range map[string]struct {
		err    error
		code   wire.ProblemCode
		detail string
	}{
		"problem":         {fmt.Errorf("serve: %w", refusal), "rate_limited", "slow down"},
		"fault":           {fmt.Errorf("confirm: %w", missing), "not_found", missing.Detail},
		"invalid field":   {invalid, "validation_failed", invalid.Detail},
		"unknown code":    {&core.Fault{Code: "made_up", Detail: secret}, "internal", "an unexpected error occurred"},
		"no key":          {guard.ErrKeyRequired, "idempotency_key_required", "send an Idempotency-Key header: one key for one operation, kept through all retries"},
		"two keys":        {twoKeys, "idempotency_key_invalid", "the idempotency key is invalid: multiple Idempotency-Key headers"},
		"key reused":      {guard.ErrKeyReused, "idempotency_key_reused", core.KeyReused().Detail},
		"key spent":       {guard.ErrKeySpent, "idempotency_key_spent", "this request was refused earlier and its response has expired; send a new attempt with a new key"},
		"key in progress": {guard.ErrInProgress, "idempotency_in_progress", "a request with this Idempotency-Key is still running; retry with the same key"},
		"no database":     {fmt.Errorf("%w: %s", core.ErrUnavailable, secret), "unavailable", "the service is temporarily unavailable; the request had no effect"},
		"lost commit":     {fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, core.ErrUnavailable), "outcome_unknown", "the outcome of the request is unknown; send the same request with the same key to learn it"},
		"deadline":        {context.DeadlineExceeded, "internal", "an unexpected error occurred"},
		"any other error": {errors.New(secret), "internal", "an unexpected error occurred"},
		"panic":           {nil, "internal", "an unexpected error occurred"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Of(c.err)
			if p.Code != c.code || p.Detail != c.detail {
				t.Errorf("got %v, want %s: %s", p, c.code, c.detail)
			}
		})
	}
}

func TestProblemOf_KnowsEveryCodeOfTheCore(t *testing.T) {
	for _, code := range []core.Code{
		core.CodeInsufficientFunds, core.CodeForbiddenResource, core.CodeNotFound,
		core.CodeReferenceTaken, core.CodeIdempotencyKeyReused, core.CodeInvalidOrderState, core.CodeOutOfStock, core.CodeStockReserved,
		core.CodeReservationExpired, core.CodeRefundExceedsPayment, core.CodePreconditionFailed, core.CodePreconditionRequired,
		core.CodeValidationFailed, core.CodeUnknownSKU,
		core.CodeMixedCurrencies, core.CodeMixedSellers, core.CodePaymentMethodUnavailable,
	} {
		if p := Of(&core.Fault{Code: code, Detail: "d"}); p.Code != wire.ProblemCode(code) {
			t.Errorf("%s becomes %s", code, p.Code)
		}
	}
}

func TestProblem_HasHeadersAndADocument(t *testing.T) {
	for code, headers := range map[wire.ProblemCode]http.Header{
		wire.ProblemCodeUnavailable:     {"Retry-After": {"2"}},
		wire.ProblemCodeUnauthenticated: {"Www-Authenticate": {"Bearer"}},
		wire.ProblemCodeInternal:        {},
	} {
		t.Run(string(code), func(t *testing.T) {
			p, k := New(code, "d"), kinds[code]
			if diff := cmp.Diff(headers, p.Header); diff != "" || p.Status() != k.status {
				t.Errorf("status %d: %s", p.Status(), diff)
			}
			var got wire.Problem
			if err := json.Unmarshal(p.Document("r-1", "/products/a", false), &got); err != nil {
				t.Fatal(err)
			}
			want := wire.Problem{
				Type: Types + string(code), Title: k.title, Status: k.status, Detail: "d",
				Instance: "/products/a", Code: code, RequestID: "r-1", Retryable: k.retryable(),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// nextKeyIn returns the next_key of a problem document, "null" for null.
func nextKeyIn(t *testing.T, document []byte) string {
	t.Helper()
	var found struct {
		NextKey json.RawMessage `json:"next_key"`
	}
	if err := json.Unmarshal(document, &found); err != nil {
		t.Fatal(err)
	}
	return strings.Trim(string(found.NextKey), `"`)
}

// nextKeys are the values of next_key by code, where they are not same. A refusal that is
// stored says new.
var nextKeys = map[wire.ProblemCode]string{
	"method_not_allowed": "null", "precondition_failed": "null", "precondition_required": "null",
	"webhook_endpoint_exists": "null",
	"idempotency_key_reused":  "look_up", "idempotency_key_spent": "new",
}

func TestProblem_SaysWhichKeyComesNext(t *testing.T) {
	t.Parallel()
	for code := range kinds {
		for _, stored := range []bool{false, (&Problem{Code: code}).IsFinal()} {
			want := nextKeys[code]
			if want == "" {
				want = "same"
			}
			if stored {
				want = "new"
			}
			p := New(code, "d")
			p.Stored = stored
			if got := nextKeyIn(t, p.Document("r-1", "/", true)); got != want {
				t.Errorf("%s of a guarded route, stored %t: next_key is %s, want %s", code, stored, got, want)
			}
			if got := nextKeyIn(t, p.Document("r-1", "/", false)); got != "null" {
				t.Errorf("%s of another route: next_key is %s, want null", code, got)
			}
		}
	}
}

func TestInstance_RepeatsOnlyPlainIDsOfKnownPaths(t *testing.T) {
	jwt := "eyJhbGciOiJFUzI1NiJ9." + strings.Repeat("eyJzdWIi", 8) + ".c2ln"
	for _, c := range []struct{ pattern, path, want string }{
		{"/orders", "/orders", "/orders"},
		{"/orders/{order_id}/payment/confirm", "/orders/1041/payment/confirm", "/orders/1041/payment/confirm"},
		{"/products/{sku}", "/products/tea-1.5_kg", "/products/tea-1.5_kg"},
		{"/customers/{customer_id}/balance", "/customers/sber-42/balance", "/customers/sber-42/balance"},

		{"", "/no/such/path", "/*"},
		{"", "/anna@example.com/+79161234567", "/*"},
		{"/orders/{order_id}", "/orders/abc", "/orders/*"},
		{"/orders/{order_id}", "/orders/4242424242424242", "/orders/*"},
		{"/orders/{order_id}", "/orders/1%00", "/orders/*"},
		{"/products/{sku}", "/products/a%2Fb", "/products/*"},
		{"/products/{sku}", "/products/4242-4242-4242-4242", "/products/*"},
		{"/customers/{customer_id}/balance", "/customers/anna@example.com/balance", "/customers/*/balance"},
		{"/customers/{customer_id}/balance", "/customers/anna%40example.com/balance", "/customers/*/balance"},
		{"/customers/{customer_id}/balance", "/customers/+79161234567/balance", "/customers/*/balance"},
		{"/customers/{customer_id}/balance", "/customers/" + jwt + "/balance", "/customers/*/balance"},
		{"/customers/{customer_id}/profile", "/customers/4242424242424242/profile", "/customers/*/profile"},
		{"/idempotency-keys/{key}", "/idempotency-keys/key-1", "/idempotency-keys/*"},
		{"/docs/{asset}", "/docs/nothing.js", "/docs/*"},
	} {
		u, err := url.Parse(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := Instance(c.pattern, u); got != c.want {
			t.Errorf("%s: got %s, want %s", c.path, got, c.want)
		}
	}
}

// problemsPage is generated: the prose is in problems.txt, the facts are in kinds,
// and the examples are in the contract.
const problemsPage = "../../../../../docs/problems.md"

var update = flag.Bool("update", false, "write docs/problems.md")

// problemCatalogue is what the contract says about problems.
type problemCatalogue struct {
	Components struct {
		Schemas map[string]struct {
			Codes []wire.ProblemCode `yaml:"x-extensible-enum"`
		}
		Examples map[string]struct{ Value map[string]any }
	}
}

func mustReadCatalogue(t *testing.T) problemCatalogue {
	t.Helper()
	var c problemCatalogue
	if err := yaml.Unmarshal(openapi.OpenAPI, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// codes returns every code in the order of the contract.
func (c problemCatalogue) codes() []wire.ProblemCode {
	return c.Components.Schemas["ProblemCode"].Codes
}

// example returns the example of a code as it would be served, indented.
func (c problemCatalogue) example(t *testing.T, code wire.ProblemCode) string {
	t.Helper()
	var document wire.Problem
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	value, err := json.Marshal(c.Components.Examples[string(code)].Value)
	if err := errors.Join(err, json.Unmarshal(value, &document), encoder.Encode(&document)); err != nil {
		t.Fatalf("the example of %s: %v", code, err)
	}
	return text.String()
}

// `make generate` writes the page; see package wire.
func TestProblemsPage_IsGenerated(t *testing.T) {
	t.Parallel()
	prose, err := os.ReadFile("problems.txt")
	if err != nil {
		t.Fatal(err)
	}
	page := renderProblems(t, mustReadCatalogue(t), string(prose))
	if !strings.Contains(page, "`"+Types+"`") {
		t.Errorf("the page does not say what %s… stands for", Types)
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(problemsPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(problemsPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page, string(stored)); diff != "" {
		t.Errorf("docs/problems.md is out of date; run make generate (-want +got):\n%s", diff)
	}
}

// renderProblems returns docs/problems.md. It fails unless the prose has one section for
// each code.
func renderProblems(t *testing.T, c problemCatalogue, prose string) string {
	t.Helper()
	intro, sections, _ := strings.Cut(prose, "\n## ")
	texts := map[string]string{}
	for section := range strings.SplitSeq(sections, "\n## ") {
		name, text, _ := strings.Cut(section, "\n\n")
		texts[name] = strings.TrimSpace(text)
	}
	if len(texts) != len(c.codes()) {
		t.Errorf("problems.txt has %d sections for %d codes", len(texts), len(c.codes()))
	}
	var page strings.Builder
	page.WriteString(strings.Replace(intro, "\n", "\n\n<!-- Generated by make generate. The prose is in internal/adapters/in/http/problem/problems.txt. -->\n", 1))
	page.WriteString("\n| code | status | meaning | retry | next key | stored |\n|---|---|---|---|---|---|\n")
	for _, code := range c.codes() {
		k := kinds[code]
		fmt.Fprintf(&page, "| [%s](#%s) | %d | %s | %s | %s | %s |\n", code, code, k.status, k.title,
			yesOrNo(k.retryable()), nextKeyText(code), yesOrNo((&Problem{Code: code}).IsFinal()))
	}
	for _, code := range c.codes() {
		if texts[string(code)] == "" {
			t.Errorf("problems.txt has no section %s", code)
		}
		fmt.Fprintf(&page, "\n## %s\n\n%s\n%s\n\n```json\n%s```\n", code, summaryOf(code), texts[string(code)], c.example(t, code))
	}
	return page.String()
}

// summaryOf returns the facts about a code in one line.
func summaryOf(code wire.ProblemCode) string {
	retry, stored := "not retryable", ""
	if kinds[code].retryable() {
		retry = "retryable"
	}
	if (&Problem{Code: code}).IsFinal() {
		stored = ", stored"
	}
	return fmt.Sprintf("Status %d, %s, `next_key` %s%s.\n", kinds[code].status, retry, nextKeyText(code), stored)
}

// nextKeyText returns the next_key of a code on routes that take a key, where it is stored if
// it can be.
func nextKeyText(code wire.ProblemCode) string {
	if key := kinds[code].next.wire((&Problem{Code: code}).IsFinal()); key != nil {
		return "`" + string(*key) + "`"
	}
	return "null"
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
