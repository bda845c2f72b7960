package httpapi

import (
	"errors"
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
// Stripe sends the event again until it gets 200.
func (a *api) takeStripeWebhook(w http.ResponseWriter, r *http.Request) (*response, error) {
	event, err := a.decodeWebhook(w, r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := detach(r.Context())
	defer cancel()
	if err := a.Payments.ApplyProviderEvent(ctx, event); err != nil {
		return nil, err
	}
	return (&success{status: http.StatusOK, body: struct{}{}}).encode()
}

func (a *api) decodeWebhook(w http.ResponseWriter, r *http.Request) (payment.ProviderEvent, error) {
	var none payment.ProviderEvent
	if a.Webhook == nil {
		return none, newProblem(wire.ProblemCodeNotFound, "card payments are not enabled")
	}
	payload, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxWebhook))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return none, newProblem(wire.ProblemCodeBodyTooLarge, "the body must not exceed 256 KiB")
	}
	if err != nil {
		return none, errBodyCutShort()
	}
	event, err := a.Webhook(payload, r.Header.Get("Stripe-Signature"))
	if err != nil {
		return none, newProblem(wire.ProblemCodeMalformedRequest, "the webhook is not signed by Stripe, or its signature is too old")
	}
	return event, nil
}
