package problem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/idempotency"
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

func TestProblemOf_TranslatesEveryError(t *testing.T) {
	secret := "SQLSTATE 42P01 password=hunter2"
	refusal := New(wire.ProblemCodeRateLimited, "slow down")
	missing, invalid := core.NotFound("order"), core.InvalidField("/price/amount", "must be greater than zero")
	_, twoKeys := idempotency.ParseKey([]string{"a", "b"})
	for name, c := range map[string]struct {
		err    error
		code   wire.ProblemCode
		detail string
	}{
		"problem":         {fmt.Errorf("serve: %w", refusal), "rate_limited", "slow down"},
		"fault":           {fmt.Errorf("confirm: %w", missing), "not_found", missing.Detail},
		"invalid field":   {invalid, "validation_failed", invalid.Detail},
		"unknown code":    {&core.Fault{Code: "made_up", Detail: secret}, "internal", "an unexpected error occurred"},
		"no key":          {idempotency.ErrKeyRequired, "idempotency_key_required", "send an Idempotency-Key header: one key for one operation, kept through all retries"},
		"two keys":        {twoKeys, "idempotency_key_invalid", "the idempotency key is invalid: multiple Idempotency-Key headers"},
		"key reused":      {idempotency.ErrKeyReused, "idempotency_key_reused", core.KeyReused().Detail},
		"key spent":       {idempotency.ErrKeySpent, "idempotency_key_spent", "this request was refused earlier and its response has expired; send a new attempt with a new key"},
		"key in progress": {idempotency.ErrInProgress, "idempotency_in_progress", "the first request with this Idempotency-Key is still running; retry with the same key"},
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

func TestProblemOf_KeepsFieldsOfFault(t *testing.T) {
	p := Of(core.InvalidField("/items/0/a b", "no"))
	want := []wire.FieldError{{Pointer: "#/items/0/a%20b", Detail: "no"}}
	if diff := cmp.Diff(want, p.Errors); diff != "" {
		t.Error(diff)
	}
}

func TestProblemOf_KnowsEveryCodeOfTheCore(t *testing.T) {
	for _, code := range []core.Code{
		core.CodeInsufficientFunds, core.CodeCardDeclined, core.CodeForbiddenResource, core.CodeNotFound,
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
	"idempotency_key_reused": "look_up", "idempotency_key_spent": "new",
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
