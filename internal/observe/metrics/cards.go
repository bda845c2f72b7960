package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// cards holds the metrics for webhooks and the card provider.
type cards struct {
	webhooks  *prometheus.CounterVec
	calls     *prometheus.CounterVec
	durations *prometheus.HistogramVec
}

func newCards(create promauto.Factory) cards {
	c := cards{
		webhooks: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_webhooks_total", Help: "Card provider webhooks: applied, duplicate, ignored (not ours), rejected (signed but wrong; the log says why), unsigned (the log says why), too_large, or failed and sent again.",
		}, []string{"outcome"}),
		calls: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_provider_requests_total", Help: "Attempts to call the card provider: ok, declined or failed.",
		}, []string{"operation", "outcome"}),
		durations: create.NewHistogramVec(prometheus.HistogramOpts{
			Name: "orders_provider_request_duration_seconds", Help: "Duration of calls to the card provider.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 20},
		}, []string{"operation"}),
	}
	present(c.webhooks, "applied", "duplicate", "ignored", "rejected", "unsigned", "too_large", "failed")
	return c
}

// WebhookEnded counts a webhook by outcome.
func (c *cards) WebhookEnded(outcome string) { c.webhooks.WithLabelValues(outcome).Inc() }

// ProviderAnswered counts a request to the card provider.
func (c *cards) ProviderAnswered(operation, outcome string, took time.Duration) {
	c.calls.WithLabelValues(operation, outcome).Inc()
	c.durations.WithLabelValues(operation).Observe(took.Seconds())
}

// Circuit adds the state of the provider's circuit breaker.
func (m *Metrics) Circuit(open func() bool) {
	m.gauge("orders_provider_circuit_open", "1 while calls to the card provider fail at once because nearly all before them failed.",
		func() float64 { return number(open()) })
}
