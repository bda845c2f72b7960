package stripe

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	api "github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"example.com/orders/internal/core/payment"
)

// Tolerance is how old a signed webhook may be. An older one is taken for a recording that somebody plays again.
const Tolerance = webhook.DefaultTolerance

// Webhooks verifies what claims to come from Stripe.
type Webhooks struct {
	// Secret is the endpoint's signing secret. While it is rolled, Stripe signs with the old and the new one.
	Secret string
	// Now is the clock that the age of a webhook is measured by.
	Now func() time.Time
}

// chargeEvents are the events about a charge that decide something. Of them the type counts, and not the status of the
// intent they carry: names of statuses have changed over the years.
//
// A failed try decides nothing: Stripe tells of it before or after the success of another try, in any order. The job
// that waits for the charge asks what became of it.
var chargeEvents = map[string]payment.ChargeOutcome{
	"payment_intent.succeeded":      payment.ChargeSucceeded,
	"payment_intent.processing":     payment.ChargePending,
	"payment_intent.payment_failed": payment.ChargePending,
	"payment_intent.canceled":       payment.ChargeRefused,
}

// refundEvents all carry the refund, whose status counts.
var refundEvents = map[string]bool{
	"refund.created": true, "refund.updated": true, "refund.failed": true, "charge.refund.updated": true,
}

// message is what is read of an event. It has been the same in all versions of Stripe's interface, so the version is
// not compared, as the library does unless told otherwise: each upgrade at one end would lose events until the other
// follows.
type message struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data struct {
		Object json.RawMessage `json:"object"`
	} `json:"data"`
}

// subject is what is read of the intent or the refund that an event carries.
type subject struct {
	ID               string            `json:"id"`
	Status           string            `json:"status"`
	Metadata         map[string]string `json:"metadata"`
	LastPaymentError *struct {
		DeclineCode string `json:"decline_code"`
		Code        string `json:"code"`
	} `json:"last_payment_error"`
	CancellationReason string `json:"cancellation_reason"`
	FailureReason      string `json:"failure_reason"`
}

// Parse checks the signature over the payload, byte for byte as it came, and its age, and reads the event. An error
// means that nobody knows who sent it, or what it says.
func (w Webhooks) Parse(payload []byte, signatureHeader string) (payment.ProviderEvent, error) {
	if w.Secret == "" { // everybody can sign with that
		return payment.ProviderEvent{}, errors.New("stripe: webhook: no secret is configured")
	}
	// The library compares with its own clock: what that differs from now is added on both sides.
	err := webhook.ValidatePayloadWithTolerance(payload, signatureHeader, w.Secret, Tolerance+time.Since(w.Now()))
	if err != nil {
		return payment.ProviderEvent{}, fmt.Errorf("stripe: webhook: %w", err)
	}
	var m message
	if err := json.Unmarshal(payload, &m); err != nil {
		return payment.ProviderEvent{}, fmt.Errorf("stripe: webhook: %w", err)
	}
	if m.ID == "" {
		return payment.ProviderEvent{}, errors.New("stripe: webhook: the event has no id")
	}
	return m.providerEvent()
}

func (m message) providerEvent() (payment.ProviderEvent, error) {
	outcome, charge := chargeEvents[m.Type]
	if !charge && !refundEvents[m.Type] {
		return providerEventOf(m.ID), nil
	}
	var s subject
	if err := json.Unmarshal(m.Data.Object, &s); err != nil {
		return payment.ProviderEvent{}, fmt.Errorf("stripe: webhook %s: %w", m.ID, err)
	}
	if charge {
		return s.chargeEvent(m.ID, outcome), nil
	}
	return s.refundEvent(m.ID)
}

func (s subject) chargeEvent(id string, outcome payment.ChargeOutcome) payment.ProviderEvent {
	event := providerEventOf(id)
	paymentID, ours := idIn(s.Metadata, metaPayment)
	if !ours {
		return event
	}
	event.PaymentID = paymentID
	event.Result = payment.ChargeResult{Outcome: outcome, ExternalID: s.ID}
	if outcome == payment.ChargeRefused {
		event.Result.Reason = s.reason()
	}
	return event
}

func (s subject) refundEvent(id string) (payment.ProviderEvent, error) {
	event := providerEventOf(id)
	refundID, ours := idIn(s.Metadata, metaRefund)
	paymentID, alsoOurs := idIn(s.Metadata, metaPayment)
	if !ours || !alsoOurs {
		return event, nil
	}
	var err error
	event.PaymentID, event.RefundID = paymentID, refundID
	event.Result, err = refundResult(&api.Refund{
		ID: s.ID, Status: api.RefundStatus(s.Status), FailureReason: api.RefundFailureReason(s.FailureReason),
	})
	return event, err
}

// providerEventOf returns a event that changes nothing: the event is not about a payment of
// ours, or its type decides nothing.
func providerEventOf(id string) payment.ProviderEvent {
	return payment.ProviderEvent{Message: payment.Message{Source: "stripe", ID: id}}
}

func (s subject) reason() string {
	if e := s.LastPaymentError; e != nil && e.DeclineCode+e.Code != "" {
		return cmp.Or(e.DeclineCode, e.Code)
	}
	return cmp.Or(s.CancellationReason, s.Status)
}
