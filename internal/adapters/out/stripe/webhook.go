package stripe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	api "github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
)

// source is the inbox name for Stripe's event ids.
const source = "stripe"

// Webhooks verifies and parses Stripe's events.
type Webhooks struct {
	// Secret is the endpoint's signing secret. During a rotation Stripe signs with the
	// old and the new one.
	Secret string
	// Key is the API key: events in another mode are foreign.
	Key string
	// Now is the clock for the webhook age.
	Now func() time.Time
}

// CheckHeader returns an error unless a Stripe-Signature header is well-formed and
// recent. It needs no payload, so a receiver can refuse a webhook without reading it.
func (w Webhooks) CheckHeader(signatureHeader string) error {
	_, err := w.parseHeader(signatureHeader)
	return err
}

// Parse verifies the signature over the exact payload bytes, checks its age, and parses
// the event. An event that does not decide our payments names no payment. A
// signed event that cannot be parsed is [payment.ErrUnreadableEvent], unless it is not
// even JSON.
func (w Webhooks) Parse(payload []byte, signatureHeader string) (payment.ProviderEvent, error) {
	signed, err := w.parseHeader(signatureHeader)
	if err != nil {
		return payment.ProviderEvent{}, err
	}
	if !signed.covers(payload, w.Secret) {
		return payment.ProviderEvent{}, errors.New("stripe: webhook: not signed with ORDERS_STRIPE_WEBHOOK_SECRET, or changed on the way")
	}
	if !json.Valid(payload) {
		return payment.ProviderEvent{}, errors.New("stripe: webhook: the payload is no JSON")
	}
	parsed, err := w.parseEvent(payload, signed.at)
	if err != nil {
		return payment.ProviderEvent{}, fmt.Errorf("%w: %w", payment.ErrUnreadableEvent, err)
	}
	return parsed, nil
}

func (w Webhooks) parseEvent(payload []byte, signedAt time.Time) (payment.ProviderEvent, error) {
	e := event{Created: signedAt.Unix(), Livemode: isLive(w.Key)}
	if err := json.Unmarshal(payload, &e); err != nil {
		return payment.ProviderEvent{}, fmt.Errorf("stripe: webhook: %w", err)
	}
	if e.Account != "" || e.Livemode != isLive(w.Key) {
		foreign := e.idOnly()
		foreign.Foreign = true
		return foreign, nil
	}
	return e.toCore()
}

// chargeEvents are the event types that report on a charge. The type decides, not the
// intent's status, because Stripe has renamed statuses over the years.
//
// A failed attempt decides nothing: Stripe may report it before or after another
// attempt's success. The job that settles the payment asks for the outcome.
var chargeEvents = map[string]cards.ChargeOutcome{
	"payment_intent.succeeded":      cards.ChargeSucceeded,
	"payment_intent.processing":     cards.ChargePending,
	"payment_intent.payment_failed": cards.ChargePending,
	"payment_intent.canceled":       cards.ChargeRefused,
}

// refundEvents are the event types that report on a refund. All contain the refund,
// whose status decides.
var refundEvents = map[string]bool{
	"refund.created": true, "refund.updated": true, "refund.failed": true, "charge.refund.updated": true,
}

// disputeEvents are the event types that report on a dispute. All contain the dispute with
// the money that it has moved so far.
var disputeEvents = map[string]bool{
	"charge.dispute.created": true, "charge.dispute.updated": true, "charge.dispute.closed": true,
	"charge.dispute.funds_withdrawn": true, "charge.dispute.funds_reinstated": true,
}

// thinEvent is the object of an event with the thin payload style.
const thinEvent = "v2.core.event"

// event holds the members we read. They have been the same in all API versions, so we
// do not compare versions as the library does by default: an upgrade on one side would
// lose events until the other follows.
type event struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Type    string `json:"type"`
	Created int64  `json:"created"`
	// Livemode is the mode of the objects, and Account the connected account that they
	// belong to, empty for the account of our key.
	Livemode bool   `json:"livemode"`
	Account  string `json:"account"`
	Data     struct {
		Object json.RawMessage `json:"object"`
	} `json:"data"`
}

func (e event) toCore() (payment.ProviderEvent, error) {
	if e.ID == "" {
		return payment.ProviderEvent{}, errors.New("stripe: webhook: the event has no id")
	}
	if e.Object == thinEvent {
		return payment.ProviderEvent{}, errors.New("stripe: webhook: thin events do not contain the charge: " +
			"choose the payload style snapshot for this endpoint")
	}
	if disputeEvents[e.Type] {
		return e.aboutDispute()
	}
	outcome, aboutCharge := chargeEvents[e.Type]
	if !aboutCharge && !refundEvents[e.Type] {
		return e.idOnly(), nil
	}
	var o object
	if err := json.Unmarshal(e.Data.Object, &o); err != nil {
		return payment.ProviderEvent{}, fmt.Errorf("stripe: webhook %.80q: %w", e.ID, err)
	}
	if aboutCharge {
		return e.aboutCharge(o, outcome)
	}
	return e.aboutRefund(o)
}

// idOnly returns an event that has no effect.
func (e event) idOnly() payment.ProviderEvent {
	return payment.ProviderEvent{Message: core.Message{Source: source, ID: e.ID, SentAt: time.Unix(e.Created, 0)}}
}

func (e event) aboutCharge(o object, outcome cards.ChargeOutcome) (payment.ProviderEvent, error) {
	converted := e.idOnly()
	if o.Metadata[metaPayment] == "" {
		return converted, nil
	}
	terms, err := termsOf(o.Metadata, o.Amount, o.Currency)
	if err != nil {
		return converted, fmt.Errorf("stripe: webhook %.80q: %w", e.ID, err)
	}
	converted.Result = cards.ChargeResult{Terms: terms, Outcome: outcome, ExternalID: o.ID}
	switch outcome {
	case cards.ChargePending:
	case cards.ChargeRefused:
		converted.Result.Reason = o.refusalReason()
	case cards.ChargeSucceeded:
		converted.Result.Received, err = moneyOf(o.received(), o.Currency)
	}
	return converted, err
}

func (e event) aboutRefund(o object) (payment.ProviderEvent, error) {
	converted := e.idOnly()
	if o.Metadata[metaRefund] == "" && o.PaymentIntent == "" {
		return converted, nil
	}
	if _, known := refundOutcomes[api.RefundStatus(o.Status)]; !known {
		return converted, fmt.Errorf("stripe: webhook %.80q: the refund has the unknown status %s", e.ID, plain(o.Status))
	}
	var err error
	converted.Result, err = refundResult(&api.Refund{
		PaymentIntent: &api.PaymentIntent{ID: o.PaymentIntent}, Reason: api.RefundReason(o.Reason),
		ID: o.ID, Status: api.RefundStatus(o.Status), FailureReason: api.RefundFailureReason(o.FailureReason),
		Amount: o.Amount, Currency: api.Currency(o.Currency), Metadata: o.Metadata,
	})
	return converted, err
}

func (e event) aboutDispute() (payment.ProviderEvent, error) {
	converted := e.idOnly()
	var d api.Dispute
	if err := json.Unmarshal(e.Data.Object, &d); err != nil {
		return converted, fmt.Errorf("stripe: webhook %.80q: %w", e.ID, err)
	}
	report, err := disputeReport(&d)
	if err == nil && report.Charge != "" {
		converted.Dispute = report
	}
	return converted, err
}

// object holds the members we read in an event's intent or refund.
type object struct {
	ID               string            `json:"id"`
	Status           string            `json:"status"`
	Amount           int64             `json:"amount"`
	AmountReceived   *int64            `json:"amount_received"`
	Currency         string            `json:"currency"`
	Metadata         map[string]string `json:"metadata"`
	LastPaymentError *struct {
		DeclineCode string `json:"decline_code"`
		Code        string `json:"code"`
	} `json:"last_payment_error"`
	CancellationReason string `json:"cancellation_reason"`
	FailureReason      string `json:"failure_reason"`
	PaymentIntent      string `json:"payment_intent"`
	Reason             string `json:"reason"`
}

// received returns the amount that an intent moved. An object without it has only its
// amount to compare.
func (o object) received() int64 {
	if o.AmountReceived == nil {
		return o.Amount
	}
	return *o.AmountReceived
}

// refusalReason returns the value for a cancelled intent. The type of the event says that
// it is cancelled.
func (o object) refusalReason() string {
	if e := o.LastPaymentError; e != nil && e.DeclineCode+e.Code != "" {
		return failureOf(e.DeclineCode, e.Code)
	}
	return failureOf(o.CancellationReason, string(api.PaymentIntentStatusCanceled))
}

// signature is a Stripe-Signature header: the signing time, and one signature per
// active secret.
type signature struct {
	at     time.Time
	hashes [][]byte
}

// parseHeader parses a Stripe-Signature header. It refuses a time more than five
// minutes from now, because an older webhook could be a replayed recording.
func (w Webhooks) parseHeader(header string) (signature, error) {
	if w.Secret == "" { // an empty secret would accept any sender
		return signature{}, errors.New("stripe: webhook: no secret is configured")
	}
	signed, ok := parseSignature(header)
	if !ok {
		return signature{}, errors.New("stripe: webhook: missing or malformed Stripe-Signature header")
	}
	if now := w.Now(); now.Sub(signed.at).Abs() > webhook.DefaultTolerance {
		return signature{}, fmt.Errorf("stripe: webhook: signed at %s, more than %s from this machine's clock, %s",
			signed.at.UTC().Format(time.RFC3339), webhook.DefaultTolerance, now.UTC().Format(time.RFC3339))
	}
	return signed, nil
}

// parseSignature parses a header such as "t=1762248600,v1=5257a8…,v0=6ffbb5…". As
// Stripe requires, it ignores all signatures except v1.
func parseSignature(header string) (signed signature, ok bool) {
	times := 0
	for field := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "t":
			seconds, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return signature{}, false
			}
			signed.at = time.Unix(seconds, 0)
			times++
		case "v1":
			if hash, err := hex.DecodeString(value); err == nil && len(hash) == sha256.Size {
				signed.hashes = append(signed.hashes, hash)
			}
		}
	}
	return signed, times == 1 && len(signed.hashes) > 0
}

// covers reports whether a signature matches the payload and the secret.
func (s signature) covers(payload []byte, secret string) bool {
	want := webhook.ComputeSignature(s.at, payload, secret)
	return slices.ContainsFunc(s.hashes, func(hash []byte) bool { return hmac.Equal(hash, want) })
}
