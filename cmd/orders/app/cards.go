package app

import (
	"time"

	httpapi "example.com/orders/internal/adapters/in/http"
	"example.com/orders/internal/adapters/out/stripe"
	"example.com/orders/internal/config"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/observe/metrics"
)

// gatewayTimeout bounds each attempt to call the card provider. A call makes up to six
// attempts, and all fit into a job's timeout.
const gatewayTimeout = 4 * time.Second

// newGateway returns the card gateway and the webhook verifier, both nil if cards are
// disabled.
func newGateway(cfg config.Config, m *metrics.Metrics) (payment.Gateway, httpapi.Webhooks) {
	if cfg.StripeKey == "" {
		return nil, nil
	}
	gateway := stripe.New(stripe.Config{
		Key: cfg.StripeKey, URL: cfg.StripeURL, Timeout: gatewayTimeout, Answered: m.ProviderAnswered,
	})
	m.Circuit(gateway.CircuitOpen)
	return gateway, stripe.Webhooks{Secret: cfg.StripeWebhookSecret, Now: time.Now}
}
