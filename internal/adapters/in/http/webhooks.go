package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core/payment"
)

// maxWebhook is the size of the largest webhook; Stripe sends whole objects.
const maxWebhook = 256 << 10

// ParseWebhook parses a webhook and verifies its signature and age.
type ParseWebhook func(payload []byte, signature string) (payment.ProviderEvent, error)

// takeStripeWebhook applies a provider event. The request has no token but a signature
// over its bytes, and no key but the id of the event, which the use case applies once.
// Stripe sends an event for three days until it gets 200, so an event that nobody can
// take is acknowledged, too: it is logged as an error and counted.
func (a *api) takeStripeWebhook(w http.ResponseWriter, r *http.Request) (*response, error) {
	if a.Webhook == nil {
		return nil, newProblem(wire.ProblemCodeNotFound, "card payments are not enabled")
	}
	outcome := webhookUnsigned
	event, err := a.decodeWebhook(w, r)
	if err == nil {
		outcome, err = a.applyProviderEvent(r.Context(), event)
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

// The outcomes of webhooks besides those of the core.
const (
	// webhookUnsigned: no signature of ours over the whole body could be verified.
	webhookUnsigned payment.EventOutcome = "unsigned"
	// webhookFailed: the event was not applied, and the provider sends it again.
	webhookFailed payment.EventOutcome = "failed"
)

// errEventDiffers is the error of an event that was not applied because it differs from
// our payment or refund.
var errEventDiffers = errors.New("the provider event differs")

func (a *api) applyProviderEvent(ctx context.Context, event payment.ProviderEvent) (payment.EventOutcome, error) {
	if err := a.refuseUntilStarted(); err != nil {
		return webhookFailed, err
	}
	ctx, cancel := detach(ctx)
	defer cancel()
	outcome, mismatch, err := a.ProviderEvents.ApplyProviderEvent(ctx, event)
	if err == nil && mismatch != nil {
		err = fmt.Errorf("%w: %.80q: %s: %s", errEventDiffers, event.EventID.ID, mismatch.Resource, mismatch.Detail)
	}
	if err != nil {
		outcome = webhookFailed
	}
	return outcome, err
}

func (a *api) decodeWebhook(w http.ResponseWriter, r *http.Request) (payment.ProviderEvent, error) {
	var none payment.ProviderEvent
	payload, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxWebhook))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return none, newProblem(wire.ProblemCodeBodyTooLarge, "the body must not exceed 256 KiB")
	}
	if err != nil {
		return none, errBodyCutShort()
	}
	event, err := a.Webhook(payload, r.Header.Get("Stripe-Signature"))
	if errors.Is(err, payment.ErrUnreadableEvent) {
		return none, err
	}
	if err != nil {
		return none, newProblem(wire.ProblemCodeMalformedRequest, "the webhook is not signed by Stripe, its signature is too old, or its body is no event")
	}
	return event, nil
}
