// Package telemetry holds the metrics of the process. No metric has a label with a key,
// a subject or an id.
package telemetry

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
)

// Metrics are the metrics of a process.
type Metrics struct {
	registry *prometheus.Registry
	webhooks prometheus.Counter
	limited  *prometheus.CounterVec
	groups   groups
	log      zerolog.Logger
}

// New returns the metrics of the Go runtime, of the process, of limits, of webhooks and of
// groups of commands.
func New(log zerolog.Logger) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		webhooks: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "orders_webhooks_rejected_total",
			Help: "Signed webhooks that were not applied: they cannot be read, or differ from our payment. Should be 0.",
		}),
		limited: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_limited_requests_total",
			Help: "Requests that were refused with 429, by the limit that their principal exceeded.",
		}, []string{"limit"}),
		groups: newGroups(),
		log:    log,
	}
	for _, limit := range []string{"requests", "keys", "in_flight"} {
		m.limited.WithLabelValues(limit) // 0 before the first refusal
	}
	m.registry.MustRegister(m.webhooks, m.limited, m.groups.sizes, m.groups.split, m.groups.queued, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// WebhookRejected counts a webhook that is signed and was not applied.
func (m *Metrics) WebhookRejected() { m.webhooks.Inc() }

// RequestLimited counts a request that a limit refused.
func (m *Metrics) RequestLimited(limit string) { m.limited.WithLabelValues(limit).Inc() }

// Database adds the metrics of the database, which read reads.
func (m *Metrics) Database(read ReadDatabase) {
	m.registry.MustRegister(&databaseCollector{read: read, log: m.log, up: true})
}

// Handler serves the metrics to Prometheus. What one collector cannot report is logged,
// and the other metrics are served.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError,
		ErrorLog:      slog.NewLogLogger(zerolog.NewSlogHandler(m.log), slog.LevelWarn),
	})
}
