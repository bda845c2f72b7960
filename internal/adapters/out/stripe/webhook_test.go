package stripe_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/adapters/out/stripe"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/devserver/psp"
)

func message(kind, object string) []byte {
	// Of an old version on purpose: it does not matter.
	return fmt.Appendf(nil, `{"id": "evt_1", "object": "event", "api_version": "2017-08-15", "type": %q, "data": {"object": %s}}`, kind, object)
}

const (
	ours     = `{"id": "pi_1", "status": "requires_source", "metadata": {"payment_id": "7", "order_id": "3"}, "last_payment_error": {"code": "card_declined", "decline_code": "lost_card"}}`
	ourMoney = `{"id": "re_1", "status": %q, "failure_reason": %q, "metadata": {"refund_id": "8", "payment_id": "7"}}`
)

func TestEventsAreRead(t *testing.T) {
	charge := func(outcome payment.CardOutcome, reason string) stripe.Event {
		return stripe.Event{
			ID: "evt_1", Kind: stripe.ChargeEvent, PaymentID: 7,
			Result: payment.CardResult{Outcome: outcome, ExternalID: "pi_1", Reason: reason},
		}
	}
	refund := func(outcome payment.CardOutcome, reason string) stripe.Event {
		return stripe.Event{
			ID: "evt_1", Kind: stripe.RefundEvent, PaymentID: 7, RefundID: 8,
			Result: payment.CardResult{Outcome: outcome, ExternalID: "re_1", Reason: reason},
		}
	}
	other := stripe.Event{ID: "evt_1"}
	tests := []struct {
		kind, object string
		want         stripe.Event
	}{
		{"payment_intent.succeeded", ours, charge(payment.CardDone, "")},
		{"payment_intent.processing", ours, charge(payment.CardPending, "")},
		{"payment_intent.payment_failed", ours, charge(payment.CardPending, "")},
		{"payment_intent.canceled", ours, charge(payment.CardRefused, "lost_card")},
		{"payment_intent.canceled", `{"id": "pi_1", "metadata": {"payment_id": "7"}, "cancellation_reason": "abandoned"}`, charge(payment.CardRefused, "abandoned")},
		{"payment_intent.created", ours, other},
		{"payment_intent.succeeded", `{"id": "pi_9", "metadata": {}}`, other},
		{"payment_intent.succeeded", `{"id": "pi_9", "metadata": {"payment_id": "seven"}}`, other},
		{"payment_intent.succeeded", `{"id": "pi_9", "metadata": {"payment_id": "-7"}}`, other},
		{"refund.created", fmt.Sprintf(ourMoney, "pending", ""), refund(payment.CardPending, "")},
		{"refund.updated", fmt.Sprintf(ourMoney, "succeeded", ""), refund(payment.CardDone, "")},
		{"refund.failed", fmt.Sprintf(ourMoney, "failed", "declined"), refund(payment.CardRefused, "declined")},
		{"charge.refund.updated", fmt.Sprintf(ourMoney, "canceled", ""), refund(payment.CardRefused, "canceled")},
		{"refund.created", `{"id": "re_9", "status": "succeeded", "metadata": {"payment_id": "7"}}`, other},
		{"customer.created", `{"id": "cus_1", "metadata": []}`, other},
	}
	now := time.Now()
	for _, test := range tests {
		payload := message(test.kind, test.object)
		got, err := stripe.Webhooks{Secret: "whsec_1"}.Parse(payload, psp.Sign("whsec_1", payload, now), now)
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s %s: err = %v, -want +got:\n%s", test.kind, test.object, err, diff)
		}
	}
}

func TestWhatStripeDidNotSignIsRefused(t *testing.T) {
	payload := message("payment_intent.succeeded", ours)
	signed := time.Now().Add(-24 * time.Hour) // far from the clock of this machine: the time given counts
	good := psp.Sign("whsec_1", payload, signed)
	tests := map[string]struct {
		secret  string
		payload []byte
		header  string
		at      time.Time
		taken   bool
	}{
		"fresh":            {"whsec_1", payload, good, signed, true},
		"just fresh":       {"whsec_1", payload, good, signed.Add(stripe.Tolerance - 2*time.Second), true},
		"clocks differ":    {"whsec_1", payload, good, signed.Add(-time.Minute), true},
		"rolled secret":    {"whsec_1", payload, good + psp.Sign("whsec_0", payload, signed)[len("t=1234567890"):], signed, true},
		"old":              {"whsec_1", payload, good, signed.Add(stripe.Tolerance + 2*time.Second), false},
		"old made young":   {"whsec_1", payload, fmt.Sprintf("t=%d,%s", signed.Add(time.Hour).Unix(), good[len("t=1234567890,"):]), signed.Add(time.Hour), false},
		"old, young too":   {"whsec_1", payload, fmt.Sprintf("t=%d,%s", signed.Add(time.Hour).Unix(), good), signed.Add(time.Hour), false},
		"another's secret": {"whsec_1", payload, psp.Sign("whsec_2", payload, signed), signed, false},
		"changed":          {"whsec_1", append(slices.Clip(payload), ' '), good, signed, false},
		"no header":        {"whsec_1", payload, "", signed, false},
		"nonsense":         {"whsec_1", payload, "v1=;;t", signed, false},
		"no secret":        {"", payload, psp.Sign("", payload, signed), signed, false},
	}
	for name, test := range tests {
		event, err := stripe.Webhooks{Secret: test.secret}.Parse(test.payload, test.header, test.at)
		if (err == nil) != test.taken {
			t.Errorf("%s: %+v, err = %v; want it taken: %v", name, event, err, test.taken)
		}
	}
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	now := time.Now()
	for _, payload := range []string{
		`{`, `{"type": "payment_intent.succeeded"}`, `{"id": "evt_1", "type": "payment_intent.succeeded", "data": {"object": 7}}`,
		string(message("refund.updated", fmt.Sprintf(ourMoney, "teleported", ""))),
	} {
		event, err := stripe.Webhooks{Secret: "whsec_1"}.Parse([]byte(payload), psp.Sign("whsec_1", []byte(payload), now), now)
		if err == nil {
			t.Errorf("%s is read as %+v", payload, event)
		}
	}
}
