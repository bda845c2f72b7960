package stripe_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/dev/fakestripe"
)

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
		case err == nil && event.EventID.ID == "":
			t.Errorf("%q is read as %+v, without an id", payload, event)
		case err != nil && errors.Is(err, payment.ErrUnreadableEvent) != json.Valid(payload):
			t.Errorf("%q: %v; want %v exactly if it is JSON", payload, err, payment.ErrUnreadableEvent)
		}
	})
}
