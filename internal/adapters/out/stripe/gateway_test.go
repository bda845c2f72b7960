package stripe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/adapters/out/stripe"
	"example.com/orders/internal/core/payment"
)

// script answers calls one after the other, and notes them. Each answer is a status and a body, or an error.
type script struct {
	mu      sync.Mutex
	answers []scripted
	calls   []string
	keys    []string
}

type scripted struct {
	status int
	body   string
	err    error
}

// RoundTrip implements [http.RoundTripper]. The last answer is repeated.
func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.answers[min(len(s.calls), len(s.answers)-1)]
	s.calls = append(s.calls, r.Method+" "+r.URL.Path)
	s.keys = append(s.keys, r.Header.Get("Idempotency-Key"))
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.body)), Header: http.Header{}, Request: r}, nil
}

func play(answers ...scripted) (*stripe.Gateway, *script) {
	s := &script{answers: answers}
	return stripe.New(stripe.Config{Key: "sk_test_1", URL: "http://stripe.invalid", HTTPClient: &http.Client{Transport: s}}), s
}

func intent(status, more string) string {
	return fmt.Sprintf(`{"object": "payment_intent", "id": "pi_1", "status": %q, "amount": 199900, "currency": "rub",
		"metadata": {"payment_id": "7", "order_id": "3"}, "client_secret": "pi_1_secret_x"%s}`, status, more)
}

func problem(kind, code, more string) string {
	return fmt.Sprintf(`{"error": {"type": %q, "code": %q, "message": "pi_1_secret_x of Ann"%s}}`, kind, code, more)
}

// TestAnswersMeanOneThing is the table of what Stripe may say to a charge.
func TestAnswersMeanOneThing(t *testing.T) {
	const declined = `, "last_payment_error": {"type": "card_error", "code": "card_declined", "decline_code": "lost_card"}`
	refused := func(reason string) payment.ChargeResult {
		return payment.ChargeResult{Outcome: payment.ChargeRefused, Reason: reason}
	}
	intentRefused := func(reason string) payment.ChargeResult {
		return payment.ChargeResult{Outcome: payment.ChargeRefused, Reason: reason, ExternalID: "pi_1"}
	}
	tests := map[string]struct {
		answer scripted
		want   payment.ChargeResult
		fails  bool
		tries  int
	}{
		"succeeded":               {answer: scripted{200, intent("succeeded", ""), nil}, want: payment.ChargeResult{Outcome: payment.ChargeSucceeded, ExternalID: "pi_1"}, tries: 1},
		"processing":              {answer: scripted{200, intent("processing", ""), nil}, want: payment.ChargeResult{Outcome: payment.ChargePending, ExternalID: "pi_1"}, tries: 1},
		"canceled":                {answer: scripted{200, intent("canceled", ""), nil}, want: intentRefused("canceled"), tries: 1},
		"canceled by somebody":    {answer: scripted{200, intent("canceled", `, "cancellation_reason": "fraudulent"`), nil}, want: intentRefused("fraudulent"), tries: 1},
		"declined intent":         {answer: scripted{200, intent("requires_payment_method", declined), nil}, want: intentRefused("lost_card"), tries: 1},
		"status of another world": {answer: scripted{200, intent("teleported", ""), nil}, fails: true, tries: 1},
		"half an answer":          {answer: scripted{200, `{"id": "pi_1_secret_x`, nil}, fails: true, tries: 3},
		"no connection":           {answer: scripted{err: errors.New("connection reset")}, fails: true, tries: 3},

		"declined":             {answer: scripted{402, problem("card_error", "card_declined", `, "decline_code": "do_not_honor"`), nil}, want: refused("do_not_honor"), tries: 1},
		"expired":              {answer: scripted{402, problem("card_error", "expired_card", ""), nil}, want: refused("expired_card"), tries: 1},
		"declined, with it":    {answer: scripted{402, problem("card_error", "card_declined", `, "payment_intent": `+intent("requires_payment_method", declined)), nil}, want: intentRefused("card_declined"), tries: 1},
		"no such card":         {answer: scripted{400, problem("invalid_request_error", "resource_missing", ""), nil}, want: refused("resource_missing"), tries: 1},
		"not found":            {answer: scripted{404, problem("invalid_request_error", "resource_missing", ""), nil}, want: refused("resource_missing"), tries: 1},
		"key for other things": {answer: scripted{400, problem("idempotency_error", "", ""), nil}, fails: true, tries: 1},
		"key in use":           {answer: scripted{409, problem("idempotency_error", "idempotency_key_in_use", ""), nil}, fails: true, tries: 3},
		"bad API key":          {answer: scripted{401, problem("invalid_request_error", "api_key_expired", ""), nil}, fails: true, tries: 1},
		"not allowed":          {answer: scripted{403, problem("invalid_request_error", "", ""), nil}, fails: true, tries: 1},
		"lock":                 {answer: scripted{429, problem("invalid_request_error", "lock_timeout", ""), nil}, fails: true, tries: 3},
		"broken":               {answer: scripted{500, problem("api_error", "", ""), nil}, fails: true, tries: 1},
		"overloaded":           {answer: scripted{503, problem("api_error", "", ""), nil}, fails: true, tries: 3},
		"a proxy":              {answer: scripted{502, `<html>pi_1_secret_x</html>`, nil}, fails: true, tries: 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gateway, script := play(test.answer)
			got, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
			if (err != nil) != test.fails {
				t.Errorf("err = %v, want one: %v", err, test.fails)
			}
			if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "Ann")) {
				t.Errorf("the error tells too much: %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(script.calls) != test.tries {
				t.Errorf("%d tries, want %d", len(script.calls), test.tries)
			}
			for _, key := range script.keys {
				if key != "payment-7" {
					t.Errorf("a try had the key %q", key)
				}
			}
		})
	}
}

// TestWhatWaitsIsCancelledBeforeItIsRefused: an intent that still could capture is no refusal.
func TestWhatWaitsIsCancelledBeforeItIsRefused(t *testing.T) {
	cancelled := scripted{200, intent("canceled", ""), nil}
	tests := map[string]struct {
		first, second scripted
		want          payment.ChargeResult
		fails         bool
	}{
		"wants the customer":      {scripted{200, intent("requires_action", ""), nil}, cancelled, payment.ChargeResult{Outcome: payment.ChargeRefused, ExternalID: "pi_1", Reason: "requires_action"}, false},
		"wants confirmation":      {scripted{200, intent("requires_confirmation", ""), nil}, cancelled, payment.ChargeResult{Outcome: payment.ChargeRefused, ExternalID: "pi_1", Reason: "requires_confirmation"}, false},
		"wants capture":           {scripted{200, intent("requires_capture", ""), nil}, cancelled, payment.ChargeResult{Outcome: payment.ChargeRefused, ExternalID: "pi_1", Reason: "requires_capture"}, false},
		"has not tried the card":  {scripted{200, intent("requires_payment_method", ""), nil}, cancelled, payment.ChargeResult{Outcome: payment.ChargeRefused, ExternalID: "pi_1", Reason: "requires_payment_method"}, false},
		"declined, but waits":     {scripted{402, problem("card_error", "authentication_required", `, "payment_intent": `+intent("requires_action", "")), nil}, cancelled, payment.ChargeResult{Outcome: payment.ChargeRefused, ExternalID: "pi_1", Reason: "authentication_required"}, false},
		"captured meanwhile":      {scripted{200, intent("requires_action", ""), nil}, scripted{400, problem("invalid_request_error", "payment_intent_unexpected_state", ""), nil}, payment.ChargeResult{}, true},
		"cancelled, and is not":   {scripted{200, intent("requires_action", ""), nil}, scripted{200, intent("succeeded", ""), nil}, payment.ChargeResult{}, true},
		"nobody knows whether so": {scripted{200, intent("requires_action", ""), nil}, scripted{500, problem("api_error", "", ""), nil}, payment.ChargeResult{}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gateway, script := play(test.first, test.second)
			got, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
			if (err != nil) != test.fails {
				t.Errorf("err = %v, want one: %v", err, test.fails)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			calls := []string{"POST /v1/payment_intents", "POST /v1/payment_intents/pi_1/cancel"}
			if diff := cmp.Diff(calls, script.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"payment-7", "payment-7-cancel"}, script.keys); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTwoIntentsOfOnePaymentAreNobodysAnswer(t *testing.T) {
	gateway, script := play(scripted{200, `{"object": "search_result", "data": [` + intent("succeeded", "") + "," + intent("succeeded", "") + `]}`, nil})
	c := cardCharge(t, 7, "pm_card_visa")
	c.Again = true
	if result, err := gateway.Charge(t.Context(), c); err == nil {
		t.Errorf("%+v, want an error", result)
	}
	if diff := cmp.Diff([]string{"GET /v1/payment_intents/search"}, script.calls); diff != "" {
		t.Error(diff)
	}
}

// TestNothingIsChargedWhileNobodyKnows: a search that fails ends the call.
func TestNothingIsChargedWhileNobodyKnows(t *testing.T) {
	gateway, script := play(scripted{500, problem("api_error", "", ""), nil})
	c := cardCharge(t, 7, "pm_card_visa")
	c.Again = true
	r := payment.RefundRequest{Key: "refund-8", RefundID: 8, PaymentID: 7, Amount: money(t, "5.00", "RUB"), ExternalID: "pi_1", Again: true}
	if result, err := gateway.Charge(t.Context(), c); err == nil {
		t.Errorf("charge: %+v, want an error", result)
	}
	if result, err := gateway.Refund(t.Context(), r); err == nil {
		t.Errorf("refund: %+v, want an error", result)
	}
	if diff := cmp.Diff([]string{"GET /v1/payment_intents/search", "GET /v1/refunds"}, script.calls); diff != "" {
		t.Error(diff)
	}
}

func TestBreakerSparesStripeAndUs(t *testing.T) {
	gateway, script := play(scripted{500, problem("api_error", "", ""), nil})
	var err error
	for range 25 {
		_, err = gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
	}
	if !errors.Is(err, circuitbreaker.ErrOpen) {
		t.Errorf("err = %v, want the open breaker", err)
	}
	if len(script.calls) != 20 {
		t.Errorf("%d calls, want 20", len(script.calls))
	}
}

func TestOpenBreakerIsNotAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where time passes only when all wait
		gateway, _ := play(scripted{500, problem("api_error", "", ""), nil})
		for range 20 {
			_, _ = gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
		}
		began := time.Now()
		_, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
		if waited := time.Since(began); !errors.Is(err, circuitbreaker.ErrOpen) || waited != 0 {
			t.Errorf("err = %v after %v, want the open breaker at once", err, waited)
		}
	})
}

func TestDeclinesDoNotOpenTheBreaker(t *testing.T) {
	gateway, script := play(scripted{402, problem("card_error", "card_declined", ""), nil})
	for range 25 {
		if _, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa")); err != nil {
			t.Fatal(err)
		}
	}
	if len(script.calls) != 25 {
		t.Errorf("%d calls, want 25", len(script.calls))
	}
}

// hanging answers when the caller gives up.
type hanging struct{}

// RoundTrip implements [http.RoundTripper].
func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestHangingEndsWithTheTimeoutOrTheCaller(t *testing.T) {
	client := &http.Client{Transport: hanging{}}
	brief := stripe.New(stripe.Config{Key: "sk_test_1", Timeout: time.Millisecond, HTTPClient: client})
	if _, err := brief.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa")); !errors.Is(err, timeout.ErrExceeded) {
		t.Errorf("err = %v, want the time-out", err)
	}
	patient := stripe.New(stripe.Config{Key: "sk_test_1", HTTPClient: client})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := patient.Charge(ctx, cardCharge(t, 7, "pm_card_visa")); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want the caller's end", err)
	}
}

func TestAmountsThatStripeLacksAreRefused(t *testing.T) {
	gateway, script := play(scripted{})
	c := cardCharge(t, 7, "pm_card_visa")
	c.Amount = money(t, "5.124", "KWD")
	got, err := gateway.Charge(t.Context(), c)
	want := payment.ChargeResult{Outcome: payment.ChargeRefused, Reason: "unsupported_amount"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" || len(script.calls) != 0 {
		t.Errorf("err = %v, calls %v, -want +got:\n%s", err, script.calls, diff)
	}
}

func TestListLeavesOthersOut(t *testing.T) {
	foreign := `{"object": "payment_intent", "id": "pi_2", "status": "succeeded", "amount": 5, "currency": "usd", "metadata": {}}`
	gateway, _ := play(scripted{200, `{"object": "list", "data": [` + foreign + "," + intent("requires_action", "") + `], "has_more": false}`, nil})
	got, err := gateway.Charges(t.Context(), time.Unix(0, 0))
	want := []payment.ProviderCharge{{
		PaymentID: 7, ExternalID: "pi_1", Amount: money(t, "1999.00", "RUB"), Refunded: money(t, "0.00", "RUB"), Captured: false,
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("err = %v, -want +got:\n%s", err, diff)
	}
}
