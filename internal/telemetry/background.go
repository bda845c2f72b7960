package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// background are the metrics of what runs beside requests: jobs, the relay, the consumer of
// messages, and the refresh of the issuer's keys.
type background struct {
	jobs      *prometheus.CounterVec
	durations *prometheus.HistogramVec
	removed   *prometheus.CounterVec

	published     prometheus.Counter
	publishFailed prometheus.Counter
	consumed      *prometheus.CounterVec

	refreshFailed prometheus.Counter
}

func newBackground(create promauto.Factory) background {
	b := background{
		jobs: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_jobs_worked_total", Help: "Runs of jobs, by how they ended.",
		}, []string{"kind", "outcome"}),
		durations: create.NewHistogramVec(prometheus.HistogramOpts{
			Name: "orders_job_duration_seconds", Help: "Time that runs of jobs took.",
			Buckets: []float64{.005, .01, .05, .1, .5, 1, 5, 10, 30, 60},
		}, []string{"kind"}),
		removed: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_rows_removed_total", Help: "Rows that clean-ups and sweeps removed or changed, by the kind of job.",
		}, []string{"kind"}),
		published: create.NewCounter(prometheus.CounterOpts{
			Name: "orders_events_published_total", Help: "Events of the outbox that the broker acknowledged.",
		}),
		publishFailed: create.NewCounter(prometheus.CounterOpts{
			Name: "orders_events_publish_failed_total", Help: "Attempts to publish the outbox that failed, in part or whole.",
		}),
		consumed: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_events_consumed_total", Help: "Deliveries of messages of other services, by what became of them.",
		}, []string{"outcome"}),
		refreshFailed: create.NewCounter(prometheus.CounterOpts{
			Name: "orders_jwks_refresh_failures_total", Help: "Attempts to fetch the issuer's keys that failed.",
		}),
	}
	present(b.consumed, "processed", "duplicate", "dead_letter", "failed")
	return b
}

// Job makes the metrics of a kind of job 0 before its first run.
func (b *background) Job(kind string) {
	b.jobs.WithLabelValues(kind, "done")
	b.jobs.WithLabelValues(kind, "failed")
	b.durations.WithLabelValues(kind)
}

// JobWorked counts a run of a job.
func (b *background) JobWorked(kind string, failed bool, took time.Duration) {
	outcome := "done"
	if failed {
		outcome = "failed"
	}
	b.jobs.WithLabelValues(kind, outcome).Inc()
	b.durations.WithLabelValues(kind).Observe(took.Seconds())
}

// RowsRemoved counts rows that a job removed or changed.
func (b *background) RowsRemoved(kind string, rows int) {
	b.removed.WithLabelValues(kind).Add(float64(rows))
}

// EventsPublished counts events that the broker acknowledged.
func (b *background) EventsPublished(events int) { b.published.Add(float64(events)) }

// PublishFailed counts an attempt to publish that failed.
func (b *background) PublishFailed() { b.publishFailed.Inc() }

// MessageEnded counts the delivery of a message.
func (b *background) MessageEnded(outcome string) { b.consumed.WithLabelValues(outcome).Inc() }

// RefreshFailed counts an attempt to fetch the issuer's keys that failed.
func (b *background) RefreshFailed() { b.refreshFailed.Inc() }

// Broker adds whether the connection to the broker is open.
func (m *Metrics) Broker(connected func() bool) {
	m.gauge("orders_broker_connected", "1 while the connection to the broker is open, else 0.",
		func() float64 { return number(connected()) })
}

// Ready adds whether the process is ready to serve requests.
func (m *Metrics) Ready(ready func() bool) {
	m.gauge("orders_ready", "1 if the process is ready to serve requests, as /health/ready says, else 0.",
		func() float64 { return number(ready()) })
}

var (
	issuerKeys = prometheus.NewDesc("orders_jwks_keys", "Keys of the issuer that tokens are verified with.", nil, nil)
	issuerAge  = prometheus.NewDesc("orders_jwks_age_seconds",
		"Time since the issuer's keys were last fetched, absent if they never were.", nil, nil)
)

// issuerCollector reads how many keys there are, and how old they are, when Prometheus asks.
type issuerCollector func() (keys int, age time.Duration)

// Issuer adds the metrics of the issuer's keys. read returns their number, and the time since
// they were fetched, negative if they never were.
func (m *Metrics) Issuer(read func() (keys int, age time.Duration)) {
	m.registry.MustRegister(issuerCollector(read))
}

// Describe implements [prometheus.Collector].
func (issuerCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- issuerKeys
	ch <- issuerAge
}

// Collect implements [prometheus.Collector].
func (read issuerCollector) Collect(ch chan<- prometheus.Metric) {
	keys, age := read()
	ch <- gauge(issuerKeys, float64(keys))
	if age >= 0 {
		ch <- gauge(issuerAge, age.Seconds())
	}
}
