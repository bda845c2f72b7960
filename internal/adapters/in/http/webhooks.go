package httpapi

import (
	"errors"
	"io"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core/payment"
)

// maxWebhook is how many bytes of a webhook are read; providers send whole objects.
const maxWebhook = 256 << 10

// ParseWebhook reads a webhook of the card provider and checks who signed it, and when.
type ParseWebhook func(payload []byte, signature string) (payment.ProviderEvent, error)

// stripeWebhook takes what the provider tells. It has no token, but a signature over the
// bytes as they came, and is done once by its event id, in the transaction of its
// effect. Anything but 200 makes the provider send it again.
func (a *api) stripeWebhook(w http.ResponseWriter, r *http.Request) {
	entryOf(r.Context()).pattern = "/webhooks/stripe"
	if err := a.takeWebhook(w, r); err != nil {
		a.refuse(w, r, err)
		return
	}
	(&response{status: http.StatusOK, contentType: "application/json", body: []byte("{}")}).write(w)
}

func (a *api) takeWebhook(w http.ResponseWriter, r *http.Request) error {
	if a.Webhook == nil {
		return newProblem(wire.ProblemCodeNotFound, "cards are not accepted here")
	}
	payload, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxWebhook))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return newProblem(wire.ProblemCodeBodyTooLarge, "a webhook has at most 256 KiB")
	case err != nil:
		return newProblem(wire.ProblemCodeMalformedRequest, "the body ended before its end")
	}
	event, err := a.Webhook(payload, r.Header.Get("Stripe-Signature"))
	if err != nil {
		return newProblem(wire.ProblemCodeMalformedRequest, "the webhook is not signed by the provider, or is too old")
	}
	ctx, cancel := detach(r.Context())
	defer cancel()
	return a.Payments.ApplyProviderEvent(ctx, event)
}
