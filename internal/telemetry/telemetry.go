// Package telemetry is what the process tells a monitoring system. Labels are names of
// routes and kinds; never a key, a subject or an id.
package telemetry

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// scrapeTimeout bounds what a scrape may ask the database.
const scrapeTimeout = 2 * time.Second

// Metrics is the process's figures.
type Metrics struct {
	registry    *prometheus.Registry
	differences prometheus.Gauge
}

// New makes the figures that every process has.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		differences: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "orders_reconciliation_differences",
			Help: "What the last reconciliation found to differ. Must be 0.",
		}),
	}
	m.registry.MustRegister(m.differences, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Reconciled notes how much differs.
func (m *Metrics) Reconciled(differences int) { m.differences.Set(float64(differences)) }

// Outbox adds how far the events that leave are behind: how many wait, and since when
// the oldest does.
func (m *Metrics) Outbox(backlog func(ctx context.Context) (waiting int64, oldest time.Duration, err error)) {
	m.registry.MustRegister(&outbox{backlog: backlog})
}

// Handler serves the figures to Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

var (
	waitingEvents = prometheus.NewDesc("orders_outbox_events", "Events that wait to be published.", nil, nil)
	oldestEvent   = prometheus.NewDesc("orders_outbox_oldest_seconds", "Since when the oldest of them waits.", nil, nil)
)

// outbox asks the database when it is scraped.
type outbox struct {
	backlog func(ctx context.Context) (int64, time.Duration, error)
}

// Describe names the figures.
func (o *outbox) Describe(ch chan<- *prometheus.Desc) {
	ch <- waitingEvents
	ch <- oldestEvent
}

// Collect gives the figures, or an error to the scrape.
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
