package stripe_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/adapters/out/stripe"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
	"example.com/orders/internal/dev/fakestripe"
)

const (
	// ourIntent is the intent of payment 7.
	ourIntent = `{"id": "pi_1", "status": "requires_source", "amount": 199900, "amount_received": 199900, "currency": "rub",
		"metadata": {"orders_payment": "payment-7", "order_id": "3"},
		"last_payment_error": {"code": "card_declined", "decline_code": "lost_card"}}`
	// ourRefund is refund 8 of payment 7, with a status and a reason to fill in.
	ourRefund = `{"id": "re_1", "status": %q, "failure_reason": %q, "amount": 500, "currency": "rub",
		"metadata": {"orders_refund": "refund-8", "orders_payment": "payment-7", "order_id": "3"}}`
)

// eventJSON returns event evt_1. Its API version is old, because the version must not
// matter.
func eventJSON(eventType, object string) []byte {
	return fmt.Appendf(nil,
		`{"id": "evt_1", "object": "event", "api_version": "2017-08-15", "created": 1509753600, "type": %q, "data": {"object": %s}}`,
		eventType, object)
}

// parserAt returns a parser whose clock shows now.
func parserAt(secret string, now time.Time) stripe.Webhooks {
	return stripe.Webhooks{Secret: secret, Now: func() time.Time { return now }}
}

// eventMessage identifies the events of these tests.
var eventMessage = core.Message{Source: "stripe", ID: "evt_1", SentAt: time.Unix(1509753600, 0)}

// aboutCharge returns an event about payment 7.
func aboutCharge(t *testing.T, outcome cards.ChargeOutcome, reason string) payment.ProviderEvent {
	t.Helper()
	event := payment.ProviderEvent{
		Message: eventMessage,
		Report:  cards.Report{Result: cards.ChargeResult{Terms: chargeTerms(t), Outcome: outcome, ExternalID: "pi_1", Reason: reason}},
	}
	if outcome == cards.ChargeSucceeded {
		event.Result.Received = event.Result.Amount
	}
	return event
}

// aboutRefund returns an event about refund 8 of payment 7.
func aboutRefund(t *testing.T, outcome cards.ChargeOutcome, reason string) payment.ProviderEvent {
	t.Helper()
	return payment.ProviderEvent{
		Message: eventMessage,
		Report: cards.Report{Result: cards.ChargeResult{
			Terms: cardRefund(t, 7, 8, "", "5.00").Terms, Outcome: outcome, ExternalID: "re_1", Reason: reason,
		}},
	}
}

func TestParse_MapsTheEventsOfStripe(t *testing.T) {
	t.Parallel()
	const abandoned = `{"id": "pi_1", "amount": 199900, "currency": "rub",
		"metadata": {"orders_payment": "payment-7", "order_id": "3"}, "cancellation_reason": "abandoned"}`
	newReason := strings.ReplaceAll(abandoned, `"abandoned"`, `"teleported"`)
	newDecline := strings.ReplaceAll(ourIntent, "lost_card", "teleported")
	notOurs := payment.ProviderEvent{Message: eventMessage}
	tests := []struct {
		eventType, object string
		want              payment.ProviderEvent
	}{
		{"payment_intent.succeeded", ourIntent, aboutCharge(t, cards.ChargeSucceeded, "")},
		{"payment_intent.processing", ourIntent, aboutCharge(t, cards.ChargePending, "")},
		{"payment_intent.payment_failed", ourIntent, aboutCharge(t, cards.ChargePending, "")},
		{"payment_intent.canceled", ourIntent, aboutCharge(t, cards.ChargeRefused, "lost_card")},
		{"payment_intent.canceled", abandoned, aboutCharge(t, cards.ChargeRefused, "cancelled")},
		{"payment_intent.canceled", newDecline, aboutCharge(t, cards.ChargeRefused, "generic_decline")},
		{"payment_intent.canceled", newReason, aboutCharge(t, cards.ChargeRefused, "cancelled")},
		{"payment_intent.created", ourIntent, notOurs},
		{"payment_intent.succeeded", `{"id": "pi_9", "metadata": {}}`, notOurs},
		{"payment_intent.succeeded", `{"id": "pi_9", "metadata": {"payment_id": "7"}}`, notOurs},
		{"refund.created", fmt.Sprintf(ourRefund, "pending", ""), aboutRefund(t, cards.ChargePending, "")},
		{"refund.updated", fmt.Sprintf(ourRefund, "succeeded", ""), aboutRefund(t, cards.ChargeSucceeded, "")},
		{"refund.failed", fmt.Sprintf(ourRefund, "failed", "declined"), aboutRefund(t, cards.ChargeRefused, "declined")},
		{"charge.refund.updated", fmt.Sprintf(ourRefund, "canceled", ""), aboutRefund(t, cards.ChargeRefused, "canceled")},
		{"refund.created", `{"id": "re_9", "status": "succeeded", "metadata": {"payment_id": "7"}}`, notOurs},
		{"refund.created", `{"id": "re_9", "status": "succeeded", "amount": 500, "currency": "rub", "payment_intent": "pi_1",
			"reason": "duplicate", "metadata": {}}`, payment.ProviderEvent{Message: eventMessage, Report: cards.Report{Result: cards.ChargeResult{
			Terms: cards.Terms{Amount: money(t, "5.00", "RUB")}, Outcome: cards.ChargeSucceeded, ExternalID: "re_9", Charge: "pi_1", Note: "duplicate",
		}}}},
		{"customer.created", `{"id": "cus_1", "metadata": []}`, notOurs},
	}
	now := time.Now()
	for _, test := range tests {
		payload := eventJSON(test.eventType, test.object)
		got, err := parserAt("whsec_1", now).Parse(payload, fakestripe.Sign("whsec_1", payload, now))
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s %s: err = %v, event (-want +got):\n%s", test.eventType, test.object, err, diff)
		}
	}
}

// A dispute moves money in the currency of the account, whose smallest unit is Stripe's.
func TestParse_MapsDisputes(t *testing.T) {
	t.Parallel()
	const object = `{"id": "dp_1", "object": "dispute", "amount": %d, "currency": %q, "charge": "ch_1", "payment_intent": "pi_1", "reason": "fraudulent",
		"status": %q, "created": 1509753600, "evidence_details": {"due_by": 1509840000, "has_evidence": false}, "metadata": {},
		"payment_method_details": {"type": "card", "card": {"case_type": %q}}, "balance_transactions": [%s]}`
	withdrawal := `{"id": "txn_1", "object": "balance_transaction", "amount": -%d, "currency": %q, "fee": 1500, "net": 0}`
	reversal := `{"id": "txn_2", "object": "balance_transaction", "amount": %d, "currency": %q, "fee": -1500, "net": 0}`
	for name, c := range map[string]struct {
		event, status, caseType, currency string
		want                              cards.DisputeStatus
		amount, fee                       string
	}{
		"two decimals":   {"charge.dispute.created", "needs_response", "chargeback", "rub", cards.DisputeNeedsResponse, "80.00", "15.00"},
		"no decimals":    {"charge.dispute.funds_withdrawn", "under_review", "chargeback", "jpy", cards.DisputeUnderReview, "8000", "1500"},
		"three decimals": {"charge.dispute.closed", "lost", "chargeback", "kwd", cards.DisputeLost, "8.000", "1.500"},
		"two that are 0": {"charge.dispute.updated", "won", "chargeback", "isk", cards.DisputeWon, "80", "15"},
		"resolved":       {"charge.dispute.closed", "prevented", "resolution", "rub", cards.DisputeLost, "80.00", "15.00"},
		"blocked":        {"charge.dispute.closed", "prevented", "block", "rub", cards.DisputePrevented, "80.00", "15.00"},
	} {
		upper := strings.ToUpper(c.currency)
		transactions := fmt.Sprintf(withdrawal, 8000, c.currency) + "," + fmt.Sprintf(reversal, 8000, c.currency)
		payload := eventJSON(c.event, fmt.Sprintf(object, 8000, c.currency, c.status, c.caseType, transactions))
		now := time.Now()
		got, err := parserAt("whsec_1", now).Parse(payload, fakestripe.Sign("whsec_1", payload, now))
		moved, fee := money(t, c.amount, upper), money(t, c.fee, upper)
		want := payment.ProviderEvent{Message: eventMessage, Report: cards.Report{Dispute: &cards.DisputeReport{
			Dispute: cards.Dispute{
				ID: "dp_1", Amount: moved, Reason: "fraudulent", Status: c.want,
				DueBy: time.Unix(1509840000, 0).UTC(), CreatedAt: time.Unix(1509753600, 0).UTC(),
			},
			Charge: "pi_1",
			Funds: []cards.DisputedFunds{
				{ExternalID: "txn_1", Amount: moved}, {ExternalID: "txn_1", Amount: fee, Fee: true},
				{ExternalID: "txn_2", Amount: moved, Returned: true}, {ExternalID: "txn_2", Amount: fee, Fee: true, Returned: true},
			},
		}}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: err = %v, event (-want +got):\n%s", name, err, diff)
		}
	}
}

// eventTypes are those to choose for the endpoint at Stripe. The service reads more, which
// other types make superfluous.
var eventTypes = []string{
	"charge.dispute.closed", "charge.dispute.created", "charge.dispute.funds_reinstated",
	"charge.dispute.funds_withdrawn", "charge.dispute.updated",
	"payment_intent.canceled", "payment_intent.succeeded",
	"refund.created", "refund.failed", "refund.updated",
}

// The contract and the page name the event types that an operator chooses.
func TestEventTypes_AreThoseThatAreRead(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"../../../../api/openapi.yaml", "../../../../docs/operate.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, eventType := range eventTypes {
			if !strings.Contains(string(text), eventType) {
				t.Errorf("%s does not name %s", page, eventType)
			}
		}
	}
	for _, eventType := range eventTypes {
		object := map[string]string{"charge": ourDispute, "refund": fmt.Sprintf(ourRefund, "succeeded", ""), "payment_intent": ourIntent}
		family, _, _ := strings.Cut(eventType, ".")
		payload, now := eventJSON(eventType, object[family]), time.Now()
		got, err := parserAt("whsec_1", now).Parse(payload, fakestripe.Sign("whsec_1", payload, now))
		if err != nil || got.IsEmpty() {
			t.Errorf("%s has no effect: %+v, %v", eventType, got, err)
		}
	}
}

const ourDispute = `{"id": "dp_1", "amount": 8000, "currency": "rub", "payment_intent": "pi_1", "status": "lost"}`

// A test event, and one of a connected account, may name anything.
func TestParse_TellsForeignEvents(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		key, more string
		foreign   bool
	}{
		"live mode":                   {"sk_live_1", `"livemode": true`, false},
		"a restricted key":            {"rk_live_1", `"livemode": true`, false},
		"test mode":                   {"sk_test_1", `"livemode": false`, false},
		"a test event in live mode":   {"sk_live_1", `"livemode": false`, true},
		"a live event in test mode":   {"sk_test_1", `"livemode": true`, true},
		"an event of another account": {"sk_live_1", `"livemode": true, "account": "acct_1"`, true},
	} {
		payload := []byte(`{"id": "evt_1", "created": 1509753600, "type": "payment_intent.succeeded", ` + c.more + `, "data": {"object": ` + ourIntent + `}}`)
		parser := stripe.Webhooks{Secret: "whsec_1", Key: c.key, Now: func() time.Time { return now }}
		got, err := parser.Parse(payload, fakestripe.Sign("whsec_1", payload, now))
		want := aboutCharge(t, cards.ChargeSucceeded, "")
		if c.foreign {
			want = payment.ProviderEvent{Message: eventMessage, Foreign: true}
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: err = %v, event (-want +got):\n%s", name, err, diff)
		}
	}
}

// delivery is a webhook as it is received.
type delivery struct {
	secret  string // that the receiver knows
	payload []byte
	header  string
	at      time.Time // of the receiver's clock
}

func TestParse_RejectsWebhooksThatStripeDidNotJustSign(t *testing.T) {
	t.Parallel()
	const tolerance = 5 * time.Minute
	payload := eventJSON("payment_intent.succeeded", ourIntent)
	signed := time.Now().Add(-24 * time.Hour) // the clock of Webhooks counts, not the system's
	header := fakestripe.Sign("whsec_1", payload, signed)
	later := signed.Add(time.Hour)
	replacedTime := fmt.Sprintf("t=%d,%s", later.Unix(), header[len("t=1234567890,"):])
	addedTime := fmt.Sprintf("t=%d,%s", later.Unix(), header)
	otherSignature := fakestripe.Sign("whsec_0", payload, signed)[len("t=1234567890"):]
	for name, d := range map[string]delivery{
		"at once":               {"whsec_1", payload, header, signed},
		"just in time":          {"whsec_1", payload, header, signed.Add(tolerance - 2*time.Second)},
		"from a clock ahead":    {"whsec_1", payload, header, signed.Add(-time.Minute)},
		"with a rolling secret": {"whsec_1", payload, header + otherSignature, signed},
	} {
		if _, err := parserAt(d.secret, d.at).Parse(d.payload, d.header); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, d := range map[string]delivery{
		"too old":           {"whsec_1", payload, header, signed.Add(tolerance + 2*time.Second)},
		"of the future":     {"whsec_1", payload, header, signed.Add(-tolerance - 2*time.Second)},
		"time replaced":     {"whsec_1", payload, replacedTime, later},
		"time added":        {"whsec_1", payload, addedTime, later},
		"another's secret":  {"whsec_1", payload, fakestripe.Sign("whsec_2", payload, signed), signed},
		"payload changed":   {"whsec_1", append(slices.Clip(payload), ' '), header, signed},
		"no header":         {"whsec_1", payload, "", signed},
		"malformed header":  {"whsec_1", payload, "v1=;;t", signed},
		"no secret to know": {"", payload, fakestripe.Sign("", payload, signed), signed},
	} {
		if event, err := parserAt(d.secret, d.at).Parse(d.payload, d.header); err == nil || errors.Is(err, payment.ErrUnreadableEvent) {
			t.Errorf("%s: parsed as %+v, err = %v; want an error about the signature", name, event, err)
		}
	}
}

// An operator reads in the log whether the secret, the clock or the form is wrong.
func TestParse_SaysWhyAWebhookIsRefused(t *testing.T) {
	t.Parallel()
	payload, now := eventJSON("payment_intent.succeeded", ourIntent), time.Date(2026, 11, 23, 11, 0, 0, 0, time.UTC)
	for want, header := range map[string]string{
		"missing or malformed Stripe-Signature header":                                                   "",
		"not signed with ORDERS_STRIPE_WEBHOOK_SECRET":                                                   fakestripe.Sign("whsec_2", payload, now),
		"signed at 2026-11-23T10:53:00Z, more than 5m0s from this machine's clock, 2026-11-23T11:00:00Z": fakestripe.Sign("whsec_1", payload, now.Add(-7*time.Minute)),
		"signed at 2026-11-23T11:07:00Z, more than 5m0s from this machine's clock, 2026-11-23T11:00:00Z": fakestripe.Sign("whsec_1", payload, now.Add(7*time.Minute)),
	} {
		if _, err := parserAt("whsec_1", now).Parse(payload, header); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: err = %v, want one that says %q", header, err, want)
		}
	}
	thin := []byte(`{"id": "evt_1", "object": "v2.core.event", "type": "v1.payment_intent.succeeded", "related_object": {"id": "pi_1"}}`)
	_, err := parserAt("whsec_1", now).Parse(thin, fakestripe.Sign("whsec_1", thin, now))
	if !errors.Is(err, payment.ErrUnreadableEvent) || !strings.Contains(err.Error(), "choose the payload style snapshot") {
		t.Errorf("a thin event: %v", err)
	}
}

func TestParse_RejectsUnreadableEvents(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, payload := range []string{
		`{"type": "payment_intent.succeeded"}`,
		`{"id": 7, "type": "payment_intent.succeeded"}`,
		`[]`,
		`{"id": "evt_1", "type": "payment_intent.succeeded", "data": {"object": 7}}`,
		string(eventJSON("refund.updated", fmt.Sprintf(ourRefund, "teleported", ""))),
		string(eventJSON("payment_intent.succeeded", strings.Replace(ourIntent, `"rub"`, `"roubles"`, 1))),
	} {
		header := fakestripe.Sign("whsec_1", []byte(payload), now)
		event, err := parserAt("whsec_1", now).Parse([]byte(payload), header)
		if !errors.Is(err, payment.ErrUnreadableEvent) {
			t.Errorf("%s: parsed as %+v, err = %v; want %v", payload, event, err, payment.ErrUnreadableEvent)
		}
	}
}

// FuzzWebhook checks that no webhook without a signature is read, and that a signed one
// is an event with an id, unreadable, or no JSON.
func FuzzWebhook(f *testing.F) {
	now := time.Unix(1_700_000_000, 0)
	for _, payload := range []string{
		string(eventJSON("payment_intent.succeeded", ourIntent)), string(eventJSON("payment_intent.canceled", ourIntent)),
		string(eventJSON("refund.updated", fmt.Sprintf(ourRefund, "succeeded", ""))), string(eventJSON("customer.created", "{}")),
		string(eventJSON("payment_intent.succeeded", `{"amount": 1e400}`)), `{"id": "evt_1", "data": null}`, `{"id": 7}`, `[]`, `null`, ``, "\xff",
	} {
		f.Add([]byte(payload), "")
		f.Add([]byte(payload), fakestripe.Sign("another secret", []byte(payload), now))
		f.Add([]byte(payload), fakestripe.Sign("whsec_1", []byte(payload+" "), now))
		f.Add([]byte(payload), fmt.Sprintf("t=%d,v1=,v0=,,=,v1", now.Unix()))
	}
	parser := parserAt("whsec_1", now)
	f.Fuzz(func(t *testing.T, payload []byte, header string) {
		if event, err := parser.Parse(payload, header); err == nil || errors.Is(err, payment.ErrUnreadableEvent) {
			t.Errorf("%q is read without a signature: %+v, %v", payload, event, err)
		}
		event, err := parser.Parse(payload, fakestripe.Sign("whsec_1", payload, now))
		switch {
		case err == nil && event.Message.ID == "":
			t.Errorf("%q is read as %+v, without an id", payload, event)
		case err != nil && errors.Is(err, payment.ErrUnreadableEvent) != json.Valid(payload):
			t.Errorf("%q: %v; want %v exactly if it is JSON", payload, err, payment.ErrUnreadableEvent)
		}
	})
}
