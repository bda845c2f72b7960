package coretest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core/payment"
)

// gateway is a stub of the card provider. It succeeds, with a result that change may
// change.
type gateway struct {
	payment.Gateway
	change func(*payment.ChargeResult)
	// retries has the member Retry of each call.
	retries []bool
}

func (g *gateway) Charge(_ context.Context, c payment.ChargeRequest) (payment.ChargeResult, error) {
	g.retries = append(g.retries, c.Retry)
	result := payment.ChargeResult{Terms: c.Terms, Outcome: payment.ChargeSucceeded, Received: c.Amount, ExternalID: "pi_1"}
	if g.change != nil {
		g.change(&result)
	}
	return result, nil
}

func TestSettlePayment_LeavesAnAnswerThatDiffersUndecided(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*payment.ChargeResult){
		"another payment":  func(r *payment.ChargeResult) { r.Payment = "payment-6a1a7f0e-3f4b-4c0f-9f65-5b0e9d1f2a3b" },
		"a refund":         func(r *payment.ChargeResult) { r.Refund = "refund-6a1a7f0e-3f4b-4c0f-9f65-5b0e9d1f2a3b" },
		"another order":    func(r *payment.ChargeResult) { r.OrderID++ },
		"another amount":   func(r *payment.ChargeResult) { r.Amount = money("1.00", "RUB") },
		"less received":    func(r *payment.ChargeResult) { r.Received = money("0.01", "RUB") },
		"another currency": func(r *payment.ChargeResult) { r.Amount = money("80.00", "USD") },
		"no id":            func(r *payment.ChargeResult) { r.ExternalID = "" },
		"an id with NUL":   func(r *payment.ChargeResult) { r.ExternalID = "pi_\x00" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture()
			g := &gateway{change: change}
			f.Payments.Gateway = g
			cmd := payment.ConfirmPayment{OrderID: placed(t, f).ID, Method: payment.ByCard, CardToken: "pm_card_visa", Key: f.key()}
			p, _, err := f.Payments.ConfirmPayment(t.Context(), ann, cmd)
			if err != nil {
				t.Fatal(err)
			}
			caused := f.effects(func() {
				if err := f.Payments.SettlePayment(t.Context(), p.ID); !errors.Is(err, payment.ErrUndecided) {
					t.Errorf("err = %v, want %v", err, payment.ErrUndecided)
				}
			})
			if diff := cmp.Diff(effects{}, caused); diff != "" {
				t.Errorf("effects of the answer:\n%s", diff)
			}
			g.change = nil
			if err := f.Payments.SettlePayment(t.Context(), p.ID); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff([]bool{false, true}, g.retries); diff != "" {
				t.Errorf("calls that asked for the result of an earlier one (-want +got):\n%s", diff)
			}
		})
	}
}
