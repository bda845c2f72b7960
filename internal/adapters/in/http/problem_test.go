package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	openapi "example.com/orders/api"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/idempotency"
)

// The contract shows every code in an example, and its enum lists it; neither may know
// a code that the table does not, nor the other way round.
func TestProblemKindsAreTheContracts(t *testing.T) {
	var document struct {
		Components struct {
			Schemas  map[string]struct{ Enum []wire.ProblemCode }
			Examples map[string]struct{ Value map[string]any }
		}
	}
	if err := yaml.Unmarshal(openapi.OpenAPI, &document); err != nil {
		t.Fatal(err)
	}
	codes := document.Components.Schemas["ProblemCode"].Enum
	if len(codes) != len(problemKinds) {
		t.Errorf("the contract has %d codes, the table %d", len(codes), len(problemKinds))
	}
	for _, code := range codes {
		kind, ok := problemKinds[code]
		example := document.Components.Examples[string(code)].Value
		want := map[string]any{
			"type": problemTypes + string(code), "title": kind.title, "status": kind.status,
			"code": string(code), "retryable": kind.retryable(),
		}
		for name, value := range want {
			if !ok || example[name] != value {
				t.Errorf("%s: the contract says %s %v, the table %v", code, name, example[name], value)
			}
		}
	}
}

func TestProblemOf(t *testing.T) {
	secret := "SQLSTATE 42P01 password=hunter2"
	refusal := newProblem(wire.ProblemCodeRateLimited, "slow down")
	invalid := core.InvalidField("/price/amount", "must be greater than zero")
	for name, c := range map[string]struct {
		err    error
		code   wire.ProblemCode
		detail string
	}{
		"a problem":           {fmt.Errorf("serve: %w", refusal), "rate_limited", "slow down"},
		"a fault":             {fmt.Errorf("confirm: %w", core.NotFound("order")), "not_found", "there is no such order"},
		"an invalid field":    {invalid, "validation_failed", invalid.Detail},
		"a fault of no code":  {core.Refuse(core.Conflict, "made_up", secret), "internal", "the service failed to do this request"},
		"a key in use":        {idempotency.ErrInProgress, "idempotency_in_progress", "ask again for the answer of the first request"},
		"no database":         {fmt.Errorf("%w: %s", core.ErrUnavailable, secret), "unavailable", "the service cannot answer now; nothing of the request was kept"},
		"a lost commit":       {fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, core.ErrUnavailable), "outcome_unknown", "whether the request took effect is not known; the same request with the same key tells"},
		"a deadline":          {context.DeadlineExceeded, "internal", "the service failed to do this request"},
		"anything else":       {errors.New(secret), "internal", "the service failed to do this request"},
		"nothing but a panic": {nil, "internal", "the service failed to do this request"},
	} {
		t.Run(name, func(t *testing.T) {
			p := problemOf(c.err)
			if p.code != c.code || p.detail != c.detail {
				t.Errorf("got %v, want %s: %s", p, c.code, c.detail)
			}
		})
	}
}

func TestProblemKeepsTheFieldsOfAFault(t *testing.T) {
	p := problemOf(core.InvalidField("/items/0/a b", "no"))
	want := []wire.FieldError{{Pointer: "#/items/0/a%20b", Detail: "no"}}
	if diff := cmp.Diff(want, p.errors); diff != "" {
		t.Error(diff)
	}
}

// Every core code must be one that a client can meet.
func TestEveryCoreCodeIsInTheTable(t *testing.T) {
	for _, code := range []core.Code{
		core.CodeInsufficientFunds, core.CodeCardDeclined, core.CodeForbiddenResource, core.CodeNotFound,
		core.CodeIdempotencyKeyReused, core.CodeInvalidOrderState, core.CodeOutOfStock, core.CodeStockReserved,
		core.CodeReservationExpired, core.CodeRefundExceedsPayment, core.CodeValidationFailed, core.CodeUnknownSKU,
		core.CodeMixedCurrencies, core.CodeMixedSellers, core.CodePaymentMethodUnavailable,
	} {
		if p := problemOf(core.Refuse(core.Conflict, code, "d")); p.code != wire.ProblemCode(code) {
			t.Errorf("%s becomes %s", code, p.code)
		}
	}
}

func TestProblemWrite(t *testing.T) {
	for code, headers := range map[wire.ProblemCode]http.Header{
		wire.ProblemCodeUnavailable:     {"Content-Type": {problemMedia}, "Retry-After": {"5"}},
		wire.ProblemCodeUnauthenticated: {"Content-Type": {problemMedia}, "Www-Authenticate": {"Bearer"}},
		wire.ProblemCodeInternal:        {"Content-Type": {problemMedia}},
	} {
		t.Run(string(code), func(t *testing.T) {
			w := httptest.NewRecorder()
			newProblem(code, "d").write(w, "r-1", "/products/a b")
			if diff := cmp.Diff(headers, w.Header()); diff != "" {
				t.Error(diff)
			}
			var got wire.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			kind := problemKinds[code]
			want := wire.Problem{
				Type: problemTypes + string(code), Title: kind.title, Status: w.Code, Detail: "d",
				Instance: "/products/a%20b", Code: code, RequestID: "r-1", Retryable: kind.retryable(),
			}
			if diff := cmp.Diff(want, got); diff != "" || w.Code != kind.status {
				t.Errorf("status %d: %s", w.Code, diff)
			}
		})
	}
}
