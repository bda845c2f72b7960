package app

import (
	"time"

	httpapi "example.com/orders/internal/adapters/in/http"
	"example.com/orders/internal/adapters/out/stripe"
	"example.com/orders/internal/config"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/telemetry"
)

// gatewayTimeout bounds each attempt of a call to the card provider. A call makes up to
// six attempts, and all of them fit into the time of a job.
const gatewayTimeout = 4 * time.Second

// newGateway returns the gateway to the card provider and the verifier of its webhooks.
// Both are nil where cards are not accepted.
func newGateway(cfg config.Config, metrics *telemetry.Metrics) (payment.Gateway, httpapi.Webhooks) {
	if cfg.StripeKey == "" {
		return nil, nil
	}
	gateway := stripe.New(stripe.Config{
		Key: cfg.StripeKey, URL: cfg.StripeURL, Timeout: gatewayTimeout, Answered: metrics.ProviderAnswered,
	})
	metrics.Circuit(gateway.CircuitOpen)
	return gateway, stripe.Webhooks{Secret: cfg.StripeWebhookSecret, Now: time.Now}
}
