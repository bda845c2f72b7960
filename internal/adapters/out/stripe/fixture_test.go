package stripe_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"example.com/orders/internal/adapters/out/stripe"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment/cards"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func money(t *testing.T, amount, currency string) core.Money {
	t.Helper()
	m, err := core.ParseMoney(amount, currency)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// cardCharge returns the request of a first attempt to charge 1999.00 RUB for order 3.
func cardCharge(t *testing.T, paymentID int64, token string) cards.ChargeRequest {
	t.Helper()
	return cards.ChargeRequest{
		Terms: cards.Terms{Payment: fmt.Sprintf("payment-%d", paymentID), OrderID: 3, Amount: money(t, "1999.00", "RUB")},
		Token: token, PaymentID: paymentID,
	}
}

// chargeTerms are those of payment 7.
func chargeTerms(t *testing.T) cards.Terms {
	t.Helper()
	return cardCharge(t, 7, "").Terms
}

// cardRefund returns the request of a first attempt to refund a charge.
func cardRefund(t *testing.T, paymentID, refundID int64, externalID, amount string) cards.RefundRequest {
	t.Helper()
	return cards.RefundRequest{
		Terms: cards.Terms{
			Payment: fmt.Sprintf("payment-%d", paymentID), Refund: fmt.Sprintf("refund-%d", refundID),
			OrderID: 3, Amount: money(t, amount, "RUB"),
		},
		PaymentID: paymentID, RefundID: refundID, ExternalID: externalID,
	}
}

// retryOf returns the same request as a retry.
func retryOf(c cards.ChargeRequest) cards.ChargeRequest {
	c.Retry = true
	return c
}

// refused returns the result of a charge that was refused before Stripe created an
// intent.
func refused(t *testing.T, reason string) cards.ChargeResult {
	t.Helper()
	return cards.ChargeResult{Terms: chargeTerms(t), Outcome: cards.ChargeRefused, Reason: reason}
}

// intentRefused returns the result of a refused charge whose intent is pi_1.
func intentRefused(t *testing.T, reason string) cards.ChargeResult {
	t.Helper()
	return cards.ChargeResult{Terms: chargeTerms(t), Outcome: cards.ChargeRefused, Reason: reason, ExternalID: "pi_1"}
}

// response is one response of the stub, or an error of the transport.
type response struct {
	status int
	body   string
	err    error
}

// stub is a transport that sends prepared responses, one after the other, and repeats
// the last one. It records the requests.
type stub struct {
	mu        sync.Mutex
	responses []response
	calls     []string // method and path
	keys      []string // idempotency keys
}

// RoundTrip implements [http.RoundTripper].
func (s *stub) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.responses[min(len(s.calls), len(s.responses)-1)]
	s.calls = append(s.calls, r.Method+" "+r.URL.Path)
	s.keys = append(s.keys, r.Header.Get("Idempotency-Key"))
	if next.err != nil {
		return nil, next.err
	}
	return &http.Response{
		StatusCode: next.status, Body: io.NopCloser(strings.NewReader(next.body)),
		Header: http.Header{}, Request: r,
	}, nil
}

// stubbed returns a gateway whose calls get these responses.
func stubbed(responses ...response) (*stripe.Gateway, *stub) {
	s := &stub{responses: responses}
	return stripe.New(stripe.Config{
		Key: "sk_test_1", URL: "http://stripe.invalid", HTTPClient: &http.Client{Transport: s},
	}), s
}

// intent returns the intent of payment 7 as JSON. more is appended to its members.
func intent(status, more string) string {
	return fmt.Sprintf(`{"object": "payment_intent", "id": "pi_1", "status": %q, "amount": 199900, "amount_received": 199900, "currency": "rub",
		"metadata": {"orders_payment": "payment-7", "payment_id": "7", "order_id": "3"}, "client_secret": "pi_1_secret_x"%s}`, status, more)
}

// failure returns an error of Stripe as JSON. more is appended to its members.
func failure(kind, code, more string) string {
	return fmt.Sprintf(`{"error": {"type": %q, "code": %q, "message": "pi_1_secret_x of Ann"%s}}`, kind, code, more)
}
