package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"example.com/orders/internal/adapters/in/http/contract"
	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

const (
	// maxWebhook is the largest webhook size; Stripe sends whole objects.
	maxWebhook = 256 << 10
	// webhookBodyTimeout bounds the wait for a body, which the provider sends at once.
	webhookBodyTimeout = 2 * time.Second
)

// Webhooks verifies and parses card provider webhooks.
type Webhooks interface {
	// CheckHeader returns an error unless a signature header is well-formed and recent.
	CheckHeader(signature string) error
	// Parse verifies the signature over the payload, and parses the event.
	Parse(payload []byte, signature string) (payment.ProviderEvent, error)
}

// takeStripeWebhook applies a provider event. Instead of a token the request has a
// signature over the bytes, and instead of a key an event id, which the use case
// applies once. Stripe sends an event for three days until it gets 200, so an
// unreadable event is also acknowledged, logged as an error and counted.
func (a *api) takeStripeWebhook(w http.ResponseWriter, r *http.Request) (*response, error) {
	if a.Webhooks == nil {
		return nil, problem.New(wire.ProblemCodeNotFound, "card payments are not enabled")
	}
	outcome := webhookUnsigned
	event, err := a.decodeWebhook(w, r)
	switch {
	case err == nil:
		outcome, err = a.applyProviderEvent(r.Context(), event)
	case errors.Is(err, core.ErrUnavailable):
		outcome = webhookFailed
	case problem.Of(err).Code == wire.ProblemCodeBodyTooLarge:
		outcome = webhookTooLarge
	}
	if errors.Is(err, payment.ErrUnreadableEvent) || errors.Is(err, errEventDiffers) {
		entryOf(r.Context()).cause = err
		outcome, err = payment.EventRejected, nil
	}
	a.WebhookEnded(string(outcome))
	if err != nil {
		return nil, err
	}
	return (&success{status: http.StatusOK, body: struct{}{}}).encode()
}

// The webhook outcomes in addition to the core's.
const (
	// webhookUnsigned: no signature over the whole body could be verified.
	webhookUnsigned payment.EventOutcome = "unsigned"
	// webhookTooLarge: the body was not read.
	webhookTooLarge payment.EventOutcome = "too_large"
	// webhookFailed: the event was not applied, and the provider sends it again.
	webhookFailed payment.EventOutcome = "failed"
)

// errEventDiffers is the error for an event that was not applied because it differs
// from our payment or refund.
var errEventDiffers = errors.New("the provider event differs")

func (a *api) applyProviderEvent(ctx context.Context, event payment.ProviderEvent) (payment.EventOutcome, error) {
	if err := a.checkStarted(); err != nil {
		return webhookFailed, err
	}
	ctx, cancel := detach(ctx)
	defer cancel()
	outcome, mismatch, err := a.ProviderEvents.ApplyProviderEvent(ctx, event)
	if err == nil && mismatch != nil {
		err = fmt.Errorf("%w: %.80q: %s: %s", errEventDiffers, event.Message.ID, mismatch.Resource, mismatch.Detail)
	}
	if err != nil {
		outcome = webhookFailed
	}
	return outcome, err
}

// decodeWebhook reads a webhook. Anybody may send one, so everything that the headers
// decide is checked before the body takes memory.
func (a *api) decodeWebhook(w http.ResponseWriter, r *http.Request) (payment.ProviderEvent, error) {
	var none payment.ProviderEvent
	signature := r.Header.Get("Stripe-Signature")
	if r.ContentLength > maxWebhook {
		return none, contract.BodyTooLarge(maxWebhook)
	}
	if err := a.Webhooks.CheckHeader(signature); err != nil {
		return none, unsignedWebhook(r, err)
	}
	payload, err := a.readWebhook(w, r)
	if err != nil {
		return none, err
	}
	event, err := a.Webhooks.Parse(payload, signature)
	if err != nil && !errors.Is(err, payment.ErrUnreadableEvent) {
		return none, unsignedWebhook(r, err)
	}
	return event, err
}

// readWebhook reads a body within [webhookBodyTimeout], if a place is free.
func (a *api) readWebhook(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	leave, free := a.webhookBodies.Enter(hostOf(r.RemoteAddr))
	if !free {
		return nil, fmt.Errorf("%w: too many webhooks are being read", core.ErrUnavailable)
	}
	defer leave()
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(webhookBodyTimeout)) // on failure, the server's bound holds
	payload, err := contract.ReadUpTo(maxWebhook, w, r)
	if err != nil {
		return nil, err // the deadline stays, so that the server does not wait for the rest
	}
	_ = connection.SetReadDeadline(time.Time{}) // passing it would cancel the request
	return payload, nil
}

// unsignedWebhook returns the refusal of a webhook. Only the log says why: secret, clock
// or form.
func unsignedWebhook(r *http.Request, why error) error {
	entryOf(r.Context()).reason = why.Error()
	return problem.New(wire.ProblemCodeMalformedRequest,
		"the webhook is not signed by Stripe, its signature is not recent, or its body is no event")
}
