// Package metrics holds the process's metrics. No label contains a key, a subject, an
// id or a path: each label has few, known values.
package metrics

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"example.com/orders/internal/observe/version"
)

// Metrics are the process's metrics.
type Metrics struct {
	registry *prometheus.Registry
	log      zerolog.Logger

	requests
	cards
	groups
	transactions
	background
}

// New returns the metrics, including those for the Go runtime and the build.
func New(log zerolog.Logger) *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	create := promauto.With(registry)
	build := version.Get()
	create.NewGauge(prometheus.GaugeOpts{
		Name: "orders_build_info", Help: "1, labelled with the build.",
		ConstLabels: prometheus.Labels{"version": build.Number, "revision": build.Revision, "go": build.Go},
	}).Set(1)
	return &Metrics{
		registry: registry, log: log,
		requests: newRequests(create),
		cards:    newCards(create),
		groups:   newGroups(create),

		transactions: newTransactions(create),
		background:   newBackground(create),
	}
}

// gauge adds a metric that is read on each scrape.
func (m *Metrics) gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Log adds the number of lines that the log has lost.
func (m *Metrics) Log(dropped func() uint64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "orders_log_lines_dropped_total",
		Help: "Log lines that were lost, because the reader of the standard output was too slow, has stopped or is gone.",
	}, func() float64 { return float64(dropped()) }))
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Database adds the database metrics.
func (m *Metrics) Database(read ReadDatabase) {
	m.registry.MustRegister(&databaseCollector{read: read, log: m.log, up: true})
}

// Handler serves the metrics to Prometheus. It logs collector failures and serves the
// other metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError,
		ErrorLog:      slog.NewLogLogger(zerolog.NewSlogHandler(m.log), slog.LevelWarn),
	})
}
