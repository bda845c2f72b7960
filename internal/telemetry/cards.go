package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// cards are the metrics of webhooks and of the card provider.
type cards struct {
	webhooks  *prometheus.CounterVec
	calls     *prometheus.CounterVec
	durations *prometheus.HistogramVec
}

func newCards(create promauto.Factory) cards {
	c := cards{
		webhooks: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_webhooks_total", Help: "Webhooks of the card provider, by what became of them.",
		}, []string{"outcome"}),
		calls: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_provider_requests_total", Help: "Requests to the card provider, each attempt by itself.",
		}, []string{"operation", "outcome"}),
		durations: create.NewHistogramVec(prometheus.HistogramOpts{
			Name: "orders_provider_request_duration_seconds", Help: "Time that requests to the card provider took.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 20},
		}, []string{"operation"}),
	}
	present(c.webhooks, "applied", "duplicate", "ignored", "rejected", "unsigned", "failed")
	return c
}

// WebhookEnded counts what became of a webhook.
func (c *cards) WebhookEnded(outcome string) { c.webhooks.WithLabelValues(outcome).Inc() }

// ProviderAnswered counts a request to the card provider.
func (c *cards) ProviderAnswered(operation, outcome string, took time.Duration) {
	c.calls.WithLabelValues(operation, outcome).Inc()
	c.durations.WithLabelValues(operation).Observe(took.Seconds())
}

// Circuit adds the state of the circuit breaker before the card provider.
func (m *Metrics) Circuit(open func() bool) {
	m.gauge("orders_provider_circuit_open", "1 while requests to the card provider fail at once, because nearly all before them failed.",
		func() float64 { return number(open()) })
}
