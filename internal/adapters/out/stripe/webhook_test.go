package stripe_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/adapters/out/stripe"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/dev/fakestripe"
)

func message(kind, object string) []byte {
	// Of an old version on purpose: it does not matter.
	return fmt.Appendf(nil, `{"id": "evt_1", "object": "event", "api_version": "2017-08-15", "type": %q, "data": {"object": %s}}`, kind, object)
}

const (
	ours     = `{"id": "pi_1", "status": "requires_source", "metadata": {"payment_id": "7", "order_id": "3"}, "last_payment_error": {"code": "card_declined", "decline_code": "lost_card"}}`
	ourMoney = `{"id": "re_1", "status": %q, "failure_reason": %q, "metadata": {"refund_id": "8", "payment_id": "7"}}`
)

// message1 identifies the events of these tests.
var message1 = payment.Message{Source: "stripe", ID: "evt_1"}

// webhooksAt returns a parser whose clock stands at now.
func webhooksAt(secret string, now time.Time) stripe.Webhooks {
	return stripe.Webhooks{Secret: secret, Now: func() time.Time { return now }}
}

func TestEventsAreRead(t *testing.T) {
	charge := func(outcome payment.ChargeOutcome, reason string) payment.ProviderEvent {
		return payment.ProviderEvent{
			Message: message1, PaymentID: 7,
			Result: payment.ChargeResult{Outcome: outcome, ExternalID: "pi_1", Reason: reason},
		}
	}
	refund := func(outcome payment.ChargeOutcome, reason string) payment.ProviderEvent {
		return payment.ProviderEvent{
			Message: message1, PaymentID: 7, RefundID: 8,
			Result: payment.ChargeResult{Outcome: outcome, ExternalID: "re_1", Reason: reason},
		}
	}
	other := payment.ProviderEvent{Message: message1}
	tests := []struct {
		kind, object string
		want         payment.ProviderEvent
	}{
		{"payment_intent.succeeded", ours, charge(payment.ChargeSucceeded, "")},
		{"payment_intent.processing", ours, charge(payment.ChargePending, "")},
		{"payment_intent.payment_failed", ours, charge(payment.ChargePending, "")},
		{"payment_intent.canceled", ours, charge(payment.ChargeRefused, "lost_card")},
		{"payment_intent.canceled", `{"id": "pi_1", "metadata": {"payment_id": "7"}, "cancellation_reason": "abandoned"}`, charge(payment.ChargeRefused, "abandoned")},
		{"payment_intent.created", ours, other},
		{"payment_intent.succeeded", `{"id": "pi_9", "metadata": {}}`, other},
		{"payment_intent.succeeded", `{"id": "pi_9", "metadata": {"payment_id": "seven"}}`, other},
		{"payment_intent.succeeded", `{"id": "pi_9", "metadata": {"payment_id": "-7"}}`, other},
		{"refund.created", fmt.Sprintf(ourMoney, "pending", ""), refund(payment.ChargePending, "")},
		{"refund.updated", fmt.Sprintf(ourMoney, "succeeded", ""), refund(payment.ChargeSucceeded, "")},
		{"refund.failed", fmt.Sprintf(ourMoney, "failed", "declined"), refund(payment.ChargeRefused, "declined")},
		{"charge.refund.updated", fmt.Sprintf(ourMoney, "canceled", ""), refund(payment.ChargeRefused, "canceled")},
		{"refund.created", `{"id": "re_9", "status": "succeeded", "metadata": {"payment_id": "7"}}`, other},
		{"customer.created", `{"id": "cus_1", "metadata": []}`, other},
	}
	now := time.Now()
	for _, test := range tests {
		payload := message(test.kind, test.object)
		got, err := webhooksAt("whsec_1", now).Parse(payload, fakestripe.Sign("whsec_1", payload, now))
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s %s: err = %v, -want +got:\n%s", test.kind, test.object, err, diff)
		}
	}
}

func TestWhatStripeDidNotSignIsRefused(t *testing.T) {
	payload := message("payment_intent.succeeded", ours)
	signed := time.Now().Add(-24 * time.Hour) // far from the clock of this machine: the time given counts
	good := fakestripe.Sign("whsec_1", payload, signed)
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
		"rolled secret":    {"whsec_1", payload, good + fakestripe.Sign("whsec_0", payload, signed)[len("t=1234567890"):], signed, true},
		"old":              {"whsec_1", payload, good, signed.Add(stripe.Tolerance + 2*time.Second), false},
		"old made young":   {"whsec_1", payload, fmt.Sprintf("t=%d,%s", signed.Add(time.Hour).Unix(), good[len("t=1234567890,"):]), signed.Add(time.Hour), false},
		"old, young too":   {"whsec_1", payload, fmt.Sprintf("t=%d,%s", signed.Add(time.Hour).Unix(), good), signed.Add(time.Hour), false},
		"another's secret": {"whsec_1", payload, fakestripe.Sign("whsec_2", payload, signed), signed, false},
		"changed":          {"whsec_1", append(slices.Clip(payload), ' '), good, signed, false},
		"no header":        {"whsec_1", payload, "", signed, false},
		"nonsense":         {"whsec_1", payload, "v1=;;t", signed, false},
		"no secret":        {"", payload, fakestripe.Sign("", payload, signed), signed, false},
	}
	for name, test := range tests {
		event, err := webhooksAt(test.secret, test.at).Parse(test.payload, test.header)
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
		event, err := webhooksAt("whsec_1", now).Parse([]byte(payload), fakestripe.Sign("whsec_1", []byte(payload), now))
		if err == nil {
			t.Errorf("%s is read as %+v", payload, event)
		}
	}
}
