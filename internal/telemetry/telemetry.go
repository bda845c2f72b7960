// Package telemetry holds the metrics of the process. No metric has a label with a key,
// a subject or an id.
package telemetry

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// scrapeTimeout bounds how long a scrape waits for the database.
const scrapeTimeout = 2 * time.Second

// Metrics are the metrics of a process.
type Metrics struct {
	registry   *prometheus.Registry
	mismatches prometheus.Gauge
	webhooks   prometheus.Counter
}

// New returns the metrics of the Go runtime, of the process and of reconciliation.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		mismatches: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "orders_reconciliation_differences",
			Help: "Mismatches that the last reconciliation found. Must be 0.",
		}),
		webhooks: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "orders_webhooks_rejected_total",
			Help: "Signed webhooks that were not applied: they cannot be read, or differ from our payment. Should be 0.",
		}),
	}
	m.registry.MustRegister(m.mismatches, m.webhooks, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Reconciled sets how many mismatches the last reconciliation found.
func (m *Metrics) Reconciled(mismatches int) { m.mismatches.Set(float64(mismatches)) }

// WebhookRejected counts a webhook that is signed and was not applied.
func (m *Metrics) WebhookRejected() { m.webhooks.Inc() }

// Outbox adds the backlog of the outbox: how many events wait to be published, and the
// age of the oldest.
func (m *Metrics) Outbox(backlog func(ctx context.Context) (waiting int64, oldest time.Duration, err error)) {
	m.registry.MustRegister(&outbox{backlog: backlog})
}

// Handler serves the metrics to Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

var (
	waitingEvents = prometheus.NewDesc("orders_outbox_events", "Events that wait to be published. Counts 10000 at most.", nil, nil)
	oldestEvent   = prometheus.NewDesc("orders_outbox_oldest_seconds", "Age of the oldest event that waits to be published, 0 if none waits.", nil, nil)
)

// outbox reads the backlog from the database at each scrape.
type outbox struct {
	backlog func(ctx context.Context) (int64, time.Duration, error)
}

// Describe implements [prometheus.Collector].
func (o *outbox) Describe(ch chan<- *prometheus.Desc) {
	ch <- waitingEvents
	ch <- oldestEvent
}

// Collect implements [prometheus.Collector]. If the database does not answer, the
// scrape fails.
func (o *outbox) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	waiting, oldest, err := o.backlog(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(waitingEvents, err)
		return
	}
	ch <- prometheus.MustNewConstMetric(waitingEvents, prometheus.GaugeValue, float64(waiting))
	ch <- prometheus.MustNewConstMetric(oldestEvent, prometheus.GaugeValue, oldest.Seconds())
}
