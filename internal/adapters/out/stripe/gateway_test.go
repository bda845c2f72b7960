package stripe_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/adapters/out/stripe"
	"example.com/orders/internal/core/payment/cards"
)

// lostCard is the member of an intent whose card was declined.
const lostCard = `, "last_payment_error": {"type": "card_error", "code": "card_declined", "decline_code": "lost_card"}`

// wantCharge charges payment 7 and checks the result. Every attempt has the payment's
// key, and no error contains a secret or a name.
func wantCharge(t *testing.T, r response, want cards.ChargeResult, fails bool, attempts int) {
	t.Helper()
	gateway, stub := stubbed(r)
	got, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
	if (err != nil) != fails {
		t.Errorf("err = %v, want an error: %t", err, fails)
	}
	if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "Ann")) {
		t.Errorf("the error contains what it must not: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if len(stub.calls) != attempts {
		t.Errorf("%d attempts, want %d", len(stub.calls), attempts)
	}
	for _, key := range stub.keys {
		if key != "payment-7" {
			t.Errorf("an attempt had the key %q, want payment-7", key)
		}
	}
}

func TestCharge_MapsEveryKnownAnswer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		response response
		want     cards.ChargeResult
	}{
		"succeeded": {
			response{200, intent("succeeded", ""), nil},
			cards.ChargeResult{
				Terms: chargeTerms(t), Outcome: cards.ChargeSucceeded, Received: money(t, "1999.00", "RUB"), ExternalID: "pi_1",
			},
		},
		"processing": {
			response{200, intent("processing", ""), nil},
			cards.ChargeResult{Terms: chargeTerms(t), Outcome: cards.ChargePending, ExternalID: "pi_1"},
		},
		"declined intent": {
			response{200, intent("requires_payment_method", lostCard), nil}, intentRefused(t, "lost_card"),
		},
		"declined": {
			response{402, failure("card_error", "card_declined", `, "decline_code": "do_not_honor"`), nil},
			refused(t, "do_not_honor"),
		},
		"declined, with the intent": {
			response{402, failure("card_error", "card_declined",
				`, "payment_intent": `+intent("requires_payment_method", lostCard)), nil},
			intentRefused(t, "generic_decline"),
		},
		"not found": {
			response{404, failure("invalid_request_error", "resource_missing", ""), nil}, refused(t, "unknown_card"),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantCharge(t, test.response, test.want, false, 1)
		})
	}
}

func TestCharge_ReturnsAnErrorWhileTheOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	const kind = "invalid_request_error"
	tests := map[string]struct {
		response response
		attempts int
	}{
		"unknown status":        {response{200, intent("teleported", ""), nil}, 1},
		"incomplete response":   {response{200, `{"id": "pi_1_secret_x`, nil}, 3},
		"no connection":         {response{err: errors.New("connection reset")}, 3},
		"key of another charge": {response{400, failure("idempotency_error", "", ""), nil}, 1},
		"key in use":            {response{409, failure("idempotency_error", "idempotency_key_in_use", ""), nil}, 3},
		"invalid API key":       {response{401, failure(kind, "api_key_expired", ""), nil}, 1},
		"forbidden":             {response{403, failure(kind, "", ""), nil}, 1},
		"lock timeout":          {response{429, failure(kind, "lock_timeout", ""), nil}, 3},
		"internal error":        {response{500, failure("api_error", "", ""), nil}, 1},
		"overloaded":            {response{503, failure("api_error", "", ""), nil}, 3},
		"error of a proxy":      {response{502, `<html>pi_1_secret_x</html>`, nil}, 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantCharge(t, test.response, cards.ChargeResult{}, true, test.attempts)
		})
	}
}

// Stripe adds statuses. One of them must not hide the rest of the lists.
func TestLists_AnObjectOfAnUnknownStatusHidesNoOther(t *testing.T) {
	t.Parallel()
	refund := func(id, status string) string {
		return fmt.Sprintf(`{"id": %q, "status": %q, "amount": 500, "currency": "rub", "payment_intent": %s}`, id, status, intent("succeeded", ""))
	}
	refunds := fmt.Sprintf(`{"data": [%s, %s]}`, refund("re_1", "teleported"), refund("re_2", "succeeded"))
	gateway, _ := stubbed(response{200, refunds, nil}, response{200, `{"data": []}`, nil})
	reports, err := gateway.Reports(t.Context(), cards.ReportQuery{Charge: "pi_1"})
	if err != nil || len(reports) != 2 || reports[0].Result.Outcome != cards.ChargePending || reports[1].Result.Outcome != cards.ChargeSucceeded {
		t.Errorf("%+v, %v", reports, err)
	}
	intents := fmt.Sprintf(`{"data": [%s]}`, intent("teleported", ""))
	gateway, _ = stubbed(response{200, intents, nil}, response{200, refunds, nil})
	charges, err := gateway.Charges(t.Context(), time.Now())
	if err != nil || len(charges) != 1 || charges[0].Captured {
		t.Errorf("%+v, %v", charges, err)
	}
}

// An intent that may still capture money is not a refusal yet: the gateway has to
// cancel it.
func TestCharge_CancelsAnIntentThatWaitsForSomebody(t *testing.T) {
	t.Parallel()
	declined := failure("card_error", "authentication_required", `, "payment_intent": `+intent("requires_action", ""))
	tests := map[string]struct {
		created response
		reason  string
	}{
		"requires action":         {response{200, intent("requires_action", ""), nil}, "authentication_required"},
		"requires confirmation":   {response{200, intent("requires_confirmation", ""), nil}, "cancelled"},
		"requires capture":        {response{200, intent("requires_capture", ""), nil}, "cancelled"},
		"card was not tried":      {response{200, intent("requires_payment_method", ""), nil}, "cancelled"},
		"declined, and may still": {response{402, declined, nil}, "authentication_required"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gateway, stub := stubbed(test.created, response{200, intent("canceled", ""), nil})
			got, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
			if diff := cmp.Diff(intentRefused(t, test.reason), got); err != nil || diff != "" {
				t.Errorf("err = %v, result (-want +got):\n%s", err, diff)
			}
			wantCancelled(t, stub)
		})
	}
}

func TestCharge_IsUnknownWhenTheIntentCannotBeCancelled(t *testing.T) {
	t.Parallel()
	for name, cancel := range map[string]response{
		"captured meanwhile": {400, failure("invalid_request_error", "payment_intent_unexpected_state", ""), nil},
		"not cancelled":      {200, intent("succeeded", ""), nil},
		"internal error":     {500, failure("api_error", "", ""), nil},
	} {
		gateway, stub := stubbed(response{200, intent("requires_action", ""), nil}, cancel)
		got, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
		if diff := cmp.Diff(cards.ChargeResult{}, got); err == nil || diff != "" {
			t.Errorf("%s: err = %v, want one; result (-want +got):\n%s", name, err, diff)
		}
		wantCancelled(t, stub)
	}
}

// wantCancelled checks that the gateway created an intent and cancelled it.
func wantCancelled(t *testing.T, s *stub) {
	t.Helper()
	calls := []string{"POST /v1/payment_intents", "POST /v1/payment_intents/pi_1/cancel"}
	if diff := cmp.Diff(calls, s.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"payment-7", "payment-7-cancel"}, s.keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func TestCharge_IsUnknownWhenTwoIntentsHaveThePaymentsKey(t *testing.T) {
	t.Parallel()
	two := `{"object": "search_result", "data": [` + intent("succeeded", "") + "," + intent("succeeded", "") + `]}`
	gateway, stub := stubbed(response{200, two, nil})
	if result, err := gateway.Charge(t.Context(), retryOf(cardCharge(t, 7, "pm_card_visa"))); err == nil {
		t.Errorf("%+v, want an error", result)
	}
	if diff := cmp.Diff([]string{"GET /v1/payment_intents/search"}, stub.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestRetry_MovesNoMoneyWhenTheSearchFails(t *testing.T) {
	t.Parallel()
	gateway, stub := stubbed(response{500, failure("api_error", "", ""), nil})
	if result, err := gateway.Charge(t.Context(), retryOf(cardCharge(t, 7, "pm_card_visa"))); err == nil {
		t.Errorf("charge: %+v, want an error", result)
	}
	r := cardRefund(t, 7, 8, "pi_1", "5.00")
	r.Retry = true
	result, err := gateway.Refund(t.Context(), r)
	if err == nil {
		t.Errorf("refund: %+v, want an error", result)
	}
	if diff := cmp.Diff([]string{"GET /v1/payment_intents/search", "GET /v1/refunds"}, stub.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestBreaker_OpensAfterTwentyFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // time passes only while all goroutines wait
		gateway, stub := stubbed(response{500, failure("api_error", "", ""), nil})
		for range 20 {
			_, _ = gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
		}
		began := time.Now()
		_, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
		if waited := time.Since(began); !errors.Is(err, circuitbreaker.ErrOpen) || waited != 0 {
			t.Errorf("err = %v after %v, want the open breaker at once", err, waited)
		}
		if len(stub.calls) != 20 {
			t.Errorf("%d calls, want 20", len(stub.calls))
		}
	})
}

func TestBreaker_IgnoresDeclinedCards(t *testing.T) {
	t.Parallel()
	gateway, stub := stubbed(response{402, failure("card_error", "card_declined", ""), nil})
	for range 25 {
		if _, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa")); err != nil {
			t.Fatal(err)
		}
	}
	if len(stub.calls) != 25 {
		t.Errorf("%d calls, want 25", len(stub.calls))
	}
}

// hangingTransport responds to nothing until the caller gives up.
type hangingTransport struct{}

// RoundTrip implements [http.RoundTripper].
func (hangingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestCharge_EndsWithItsTimeoutOrItsContext(t *testing.T) {
	t.Parallel()
	client := &http.Client{Transport: hangingTransport{}}
	short := stripe.New(stripe.Config{Key: "sk_test_1", Timeout: time.Millisecond, HTTPClient: client})
	if _, err := short.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa")); !errors.Is(err, timeout.ErrExceeded) {
		t.Errorf("err = %v, want the timeout", err)
	}
	long := stripe.New(stripe.Config{Key: "sk_test_1", HTTPClient: client})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := long.Charge(ctx, cardCharge(t, 7, "pm_card_visa")); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want the cancelled context", err)
	}
}

func TestCharge_RefusesAnAmountThatStripeCannotExpress(t *testing.T) {
	t.Parallel()
	gateway, stub := stubbed(response{})
	c := cardCharge(t, 7, "pm_card_visa")
	c.Amount = money(t, "5.124", "KWD")
	got, err := gateway.Charge(t.Context(), c)
	want := refused(t, "unsupported_amount")
	want.Amount = c.Amount
	if diff := cmp.Diff(want, got); err != nil || diff != "" || len(stub.calls) != 0 {
		t.Errorf("err = %v, calls %v, result (-want +got):\n%s", err, stub.calls, diff)
	}
}

// A refund of a foreign charge could not be taken back.
func TestRefund_MovesNoMoneyOfAChargeThatIsNotThePayments(t *testing.T) {
	t.Parallel()
	for name, found := range map[string]string{
		"another payment": strings.ReplaceAll(intent("succeeded", ""), "payment-7", "payment-9"),
		"another mode":    intent("succeeded", `, "livemode": true`),
		"another id":      strings.ReplaceAll(intent("succeeded", ""), "pi_1", "pi_2"),
		"none":            failure("invalid_request_error", "resource_missing", ""),
	} {
		status := http.StatusOK
		if name == "none" {
			status = http.StatusNotFound
		}
		gateway, stub := stubbed(response{status, found, nil})
		result, err := gateway.Refund(t.Context(), refundOf(t, "pi_1", "5.00"))
		if err == nil || len(stub.calls) != 1 {
			t.Errorf("%s: %+v, calls %v; want an error after one call", name, result, stub.calls)
		}
	}
}

func TestCharge_OfAnotherModeIsNoAnswer(t *testing.T) {
	t.Parallel()
	gateway, _ := stubbed(response{200, intent("succeeded", `, "livemode": true`), nil})
	if result, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa")); err == nil {
		t.Errorf("%+v, want an error", result)
	}
}

func TestCharges_LeavesOutChargesThatAreNotOurs(t *testing.T) {
	t.Parallel()
	foreign := `{"object": "payment_intent", "id": "pi_2", "status": "succeeded", "amount": 5, "currency": "usd", "metadata": {}}`
	otherMode := intent("succeeded", `, "livemode": true`)
	list := `{"object": "list", "data": [` + foreign + "," + otherMode + "," + intent("requires_action", "") + `], "has_more": false}`
	gateway, _ := stubbed(response{200, list, nil})
	got, err := gateway.Charges(t.Context(), time.Unix(0, 0))
	want := []cards.ProviderCharge{{
		Terms: chargeTerms(t), ExternalID: "pi_1", Received: money(t, "1999.00", "RUB"), Refunded: money(t, "0.00", "RUB"), Captured: false,
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("err = %v, charges (-want +got):\n%s", err, diff)
	}
}

// secretKey is the API key of these tests. It is as long as a real one.
const secretKey = "sk_live_" + "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijklmnopqrstuvwxyz"

// serve starts a server whose requests are counted.
func serve(t *testing.T, answer http.HandlerFunc) (serverURL string, requests *atomic.Int64) {
	t.Helper()
	requests = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

// A redirect would take the key, and the card, to whoever it names: here to another port
// of the same host, for which net/http keeps the Authorization header.
func TestGateway_FollowsNoRedirect(t *testing.T) {
	t.Parallel()
	succeeds := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, intent("succeeded", "")) }
	for _, status := range []int{300, 301, 302, 303, 304, 307, 308} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			elsewhere, stolen := serve(t, succeeds)
			provider, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", elsewhere+r.URL.Path)
				w.WriteHeader(status)
			})
			gateway := stripe.New(stripe.Config{Key: secretKey, URL: provider})
			if result, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa")); err == nil {
				t.Errorf("charge: %+v, want an error", result)
			}
			if result, err := gateway.Refund(t.Context(), cardRefund(t, 7, 8, "pi_1", "5.00")); err == nil {
				t.Errorf("refund: %+v, want an error", result)
			}
			if charges, err := gateway.Charges(t.Context(), time.Unix(0, 0)); err == nil {
				t.Errorf("charges: %+v, want an error", charges)
			}
			if n := requests.Load(); n != 3 {
				t.Errorf("%d requests for 3 calls: a redirect is not worth a retry", n)
			}
			if n := stolen.Load(); n != 0 {
				t.Errorf("%d requests arrived where the redirect leads", n)
			}
		})
	}
}

// Without a Location, net/http hands a redirect on as a response like any other.
func TestGateway_BelievesNoRedirectWithoutALocation(t *testing.T) {
	t.Parallel()
	gateway, stub := stubbed(response{302, intent("succeeded", ""), nil})
	result, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
	if err == nil || err.Error() != "stripe: charge: the response is a redirect" || len(stub.calls) != 1 {
		t.Errorf("%+v, %v after %d calls; want an error after one", result, err, len(stub.calls))
	}
}

// endless is a response that never ends. It counts what was read.
type endless struct{ read atomic.Int64 }

// RoundTrip implements [http.RoundTripper].
func (e *endless) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(e), Header: http.Header{}, Request: r}, nil
}

// Read implements [io.Reader].
func (e *endless) Read(p []byte) (int, error) {
	e.read.Add(int64(len(p)))
	return copy(p, strings.Repeat(" ", len(p))), nil
}

func TestGateway_BoundsResponses(t *testing.T) {
	t.Parallel()
	provider := &endless{}
	gateway := stripe.New(stripe.Config{Key: secretKey, HTTPClient: &http.Client{Transport: provider}})
	result, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
	if err == nil || err.Error() != "stripe: charge: unreadable response" {
		t.Errorf("%+v, %v; want an unreadable response", result, err)
	}
	if attempts, most := int64(3), int64(16<<20); provider.read.Load() > attempts*most {
		t.Errorf("%d bytes were read", provider.read.Load())
	}
}

// Errors of calls get into rows of jobs and into the log.
func TestGateway_ErrorsHaveNeitherAddressNorKey(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(untrusted.Close)
	echo, _ := serve(t, func(w http.ResponseWriter, r *http.Request) { // as a proxy might, to help with debugging
		w.Header().Set("Request-Id", r.Host+r.URL.Path)
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, `{"error": {"type": "invalid_request_error", "code": %q}}`, r.Header.Get("Authorization")+" "+r.URL.String())
	})
	hangUp, _ := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for name, c := range map[string]struct{ provider, want string }{
		"refused":     {closed.URL, "stripe: charge: no connection: connection refused"},
		"unknown":     {"https://stripe.invalid", "stripe: charge: no connection: the name of the host cannot be resolved"},
		"untrusted":   {untrusted.URL, "stripe: charge: no connection: the certificate is not trusted"},
		"hangs up":    {hangUp, "stripe: charge: no connection: the request failed"},
		"echoes":      {echo, "stripe: charge: status 403, (unreadable), request (unreadable)"},
		"no HTTP URL": {"https://stripe.invalid:0/%zz", ""},
	} {
		gateway := stripe.New(stripe.Config{Key: secretKey, URL: c.provider})
		_, err := gateway.Charge(t.Context(), cardCharge(t, 7, "pm_card_visa"))
		if err == nil || (c.want != "" && err.Error() != c.want) {
			t.Errorf("%s: err = %v\nwant  %s", name, err, c.want)
		}
		wantNoAddress(t, c.provider, fmt.Sprint(err))
	}
}

// wantNoAddress checks that a text has no part of the URL of a call, and not the key.
func wantNoAddress(t *testing.T, provider, text string) {
	t.Helper()
	secrets := []string{secretKey, "payment_intents", "://", "127.0.0.1", "stripe.invalid"}
	if u, err := url.Parse(provider); err == nil && u.Port() != "" {
		secrets = append(secrets, u.Port())
	}
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in the error %s", secret, text)
		}
	}
}

// The gateway sends each kind of request to stripe-mock, Stripe's own stub, which
// rejects what the description of Stripe's API does not know, such as a misspelt
// parameter. Its responses are canned and prove nothing; the tests with fakestripe are
// the other half.
func TestGateway_SendsRequestsThatStripesAPIDescribes(t *testing.T) {
	t.Parallel()
	mock := startStripeMock(t)
	gateway := stripe.New(stripe.Config{
		Key: "sk_test_123", URL: "http://stripe-mock", HTTPClient: &http.Client{Transport: mock},
	})
	charge := cards.ChargeRequest{
		Terms: cards.Terms{Payment: "payment-7", OrderID: 3, Amount: money(t, "19.99", "USD")}, PaymentID: 7, Token: "pm_card_visa",
	}
	refund := cardRefund(t, 7, 8, "pi_1", "5.00")

	_, _ = gateway.Charge(t.Context(), charge)
	_, _ = gateway.Charge(t.Context(), retryOf(charge))
	_, _ = gateway.Refund(t.Context(), refund)
	refund.Retry = true
	_, _ = gateway.Refund(t.Context(), refund)
	_, _ = gateway.Charges(t.Context(), time.Now().Add(-time.Hour))
	_, _ = gateway.Refund(t.Context(), cards.RefundRequest{MadeID: "re_1", Terms: refund.Terms})
	_, _ = gateway.Reports(t.Context(), cards.ReportQuery{Charge: "pi_1", From: time.Unix(0, 0), To: time.Now()})

	got := map[string]bool{}
	for _, call := range mock.calls {
		got[call.endpoint] = true
		if call.status != http.StatusOK {
			t.Errorf("%s was answered %d: %s", call.endpoint, call.status, call.body)
		}
	}
	want := map[string]bool{
		"POST /v1/payment_intents":           true,
		"POST /v1/payment_intents/ID/cancel": true,
		"GET /v1/payment_intents/search":     true,
		"GET /v1/payment_intents":            true,
		"GET /v1/payment_intents/pi_1":       true,
		"GET /v1/refunds/re_1":               true,
		"POST /v1/refunds":                   true,
		"GET /v1/refunds":                    true,
		"GET /v1/disputes":                   true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("endpoints called (-want +got):\n%s", diff)
	}
}

// stripeMock is a transport to stripe-mock that records the calls.
type stripeMock struct {
	transport http.RoundTripper
	calls     []mockCall
}

type mockCall struct {
	endpoint string
	status   int
	body     string
}

// RoundTrip implements [http.RoundTripper].
func (m *stripeMock) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := m.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	// The canned intent is declined. One that requires action makes the gateway send
	// one more kind of request, because it has to cancel that intent.
	waiting := strings.ReplaceAll(string(body), `"requires_payment_method"`, `"requires_action"`)
	if strings.HasSuffix(r.URL.Path, "/pi_1") { // the charge that is refunded has to be ours
		waiting = intent("succeeded", "")
	}
	res.Body = io.NopCloser(strings.NewReader(waiting))
	parts := strings.Split(r.URL.Path, "/")
	if len(parts) == 5 {
		parts[3] = "ID"
	}
	m.calls = append(m.calls, mockCall{
		endpoint: r.Method + " " + strings.Join(parts, "/"), status: res.StatusCode, body: string(body),
	})
	return res, err
}

// startStripeMock builds the version of stripe-mock that tools.mod pins, and starts it
// on a socket.
func startStripeMock(t *testing.T) *stripeMock {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "stripe-mock-") //nolint:usetesting // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program, socket := filepath.Join(dir, "stripe-mock"), filepath.Join(dir, "socket")

	build := exec.CommandContext(t.Context(),
		"go", "build", "-modfile=tools.mod", "-o", program, "github.com/stripe/stripe-mock")
	build.Dir = "../../../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build stripe-mock from tools.mod: %v\n%s", err, out)
	}

	run := exec.Command(program, "-http-unix", socket)
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait() // killed
	})
	for lines := bufio.NewScanner(out); !strings.HasPrefix(lines.Text(), "Listening for HTTP on Unix socket"); {
		if !lines.Scan() {
			t.Fatal("stripe-mock ended before it listened")
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // so that it never blocks
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	return &stripeMock{transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
}
