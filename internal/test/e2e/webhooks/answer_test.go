package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/test/e2e"
)

// answer is what the provider answers when the service asks about a payment or its refund.
type answer struct {
	payment.Gateway
	outcome payment.ChargeOutcome
	refund  bool
}

var (
	captureAnswered = providerEvent{id: "capture_answered", answer: &answer{outcome: payment.ChargeSucceeded}}
	declineAnswered = providerEvent{id: "decline_answered", answer: &answer{outcome: payment.ChargeRefused}}
	refundAnswered  = providerEvent{id: "refund_answered", answer: &answer{outcome: payment.ChargeSucceeded, refund: true}}
	refusalAnswered = providerEvent{id: "refusal_answered", answer: &answer{outcome: payment.ChargeRefused, refund: true}}
)

// Charge implements [payment.Gateway].
func (a *answer) Charge(_ context.Context, c payment.ChargeRequest) (payment.ChargeResult, error) {
	return a.result(c.Terms, fmt.Sprintf("pi_%d", c.PaymentID)), nil
}

// Refund implements [payment.Gateway].
func (a *answer) Refund(_ context.Context, r payment.RefundRequest) (payment.ChargeResult, error) {
	return a.result(r.Terms, fmt.Sprintf("re_%d", r.RefundID)), nil
}

func (a *answer) result(terms payment.Terms, id string) payment.ChargeResult {
	result := payment.ChargeResult{Terms: terms, Outcome: a.outcome, Received: terms.Amount, ExternalID: id}
	if a.outcome == payment.ChargeRefused {
		result.Reason = "card_declined"
	}
	return result
}

// apply lets the service ask the provider, as its job does.
func (a *answer) apply(t testing.TB, db *postgres.DB, p e2e.Payment, r e2e.Refund) {
	t.Helper()
	service := &payment.Service{Store: db.Payments(), Gateway: a}
	var err error
	if a.refund {
		err = service.SettleRefund(t.Context(), int64(r.ID))
	} else {
		err = service.SettlePayment(t.Context(), int64(p.ID))
	}
	if err != nil && !errors.Is(err, payment.ErrUndecided) {
		t.Errorf("the answer of the provider: %v", err)
	}
}
