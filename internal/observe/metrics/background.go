package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// background holds the metrics for work other than requests: jobs, events and issuer
// keys.
type background struct {
	jobs      *prometheus.CounterVec
	durations *prometheus.HistogramVec
	removed   *prometheus.CounterVec

	published     prometheus.Counter
	publishFailed prometheus.Counter
	consumed      *prometheus.CounterVec
	attempts      *prometheus.CounterVec

	refreshFailed prometheus.Counter
}

func newBackground(create promauto.Factory) background {
	b := background{
		jobs: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_jobs_worked_total", Help: "Job runs that ended done or failed.",
		}, []string{"kind", "outcome"}),
		durations: create.NewHistogramVec(prometheus.HistogramOpts{
			Name: "orders_job_duration_seconds", Help: "Duration of job runs.",
			Buckets: []float64{.005, .01, .05, .1, .5, 1, 5, 10, 30, 60},
		}, []string{"kind"}),
		removed: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_rows_removed_total", Help: "Rows that clean-up jobs deleted, released or restored.",
		}, []string{"kind"}),
		published: create.NewCounter(prometheus.CounterOpts{
			Name: "orders_events_published_total", Help: "Events that the broker acknowledged.",
		}),
		publishFailed: create.NewCounter(prometheus.CounterOpts{
			Name: "orders_events_publish_failed_total", Help: "Attempts to publish a batch that failed, in part or whole.",
		}),
		consumed: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_events_consumed_total", Help: "Deliveries of incoming messages: processed, duplicate, dead_letter (moved to ORDERS_DLQ), or failed and redelivered.",
		}, []string{"outcome"}),
		attempts: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_webhook_attempts_total", Help: "Attempts to send an event to a webhook endpoint: delivered, or failed by timeout, refused_address, connection or status.",
		}, []string{"outcome"}),
		refreshFailed: create.NewCounter(prometheus.CounterOpts{
			Name: "orders_jwks_refresh_failures_total", Help: "Failed attempts to fetch the issuer's keys.",
		}),
	}
	present(b.consumed, "processed", "duplicate", "dead_letter", "failed")
	present(b.attempts, "delivered", "timeout", "refused_address", "connection", "status")
	return b
}

// Job initialises the metrics for a job kind, before its first run.
func (b *background) Job(kind string) {
	b.jobs.WithLabelValues(kind, "done")
	b.jobs.WithLabelValues(kind, "failed")
	b.durations.WithLabelValues(kind)
}

// JobWorked counts a job run.
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

// EventsPublished counts acknowledged events.
func (b *background) EventsPublished(events int) { b.published.Add(float64(events)) }

// PublishFailed counts a failed attempt to publish.
func (b *background) PublishFailed() { b.publishFailed.Inc() }

// MessageEnded counts a message delivery.
func (b *background) MessageEnded(outcome string) { b.consumed.WithLabelValues(outcome).Inc() }

// WebhookAttempted counts an attempt by outcome.
func (b *background) WebhookAttempted(outcome string) { b.attempts.WithLabelValues(outcome).Inc() }

// RefreshFailed counts a failed fetch of the issuer keys.
func (b *background) RefreshFailed() { b.refreshFailed.Inc() }

// Broker adds the state of the broker connection.
func (m *Metrics) Broker(connected func() bool) {
	m.gauge("orders_broker_connected", "1 while the connection to the broker is open, else 0.",
		func() float64 { return number(connected()) })
}

// Ready adds the readiness of the process.
func (m *Metrics) Ready(ready func() bool) {
	m.gauge("orders_ready", "1 if the process is ready to serve requests, as /health/ready says, else 0.",
		func() float64 { return number(ready()) })
}

var (
	issuerKeys = prometheus.NewDesc("orders_jwks_keys", "Issuer keys that verify tokens.", nil, nil)
	issuerAge  = prometheus.NewDesc("orders_jwks_age_seconds",
		"Time since the issuer's keys were last fetched, absent if they never were.", nil, nil)
)

// issuerCollector reads the key count and age on each scrape.
type issuerCollector func() (keys int, age time.Duration)

// Issuer adds the metrics for the issuer keys. read returns their number and the time
// since the last fetch, negative before the first one.
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

// cards holds the metrics for webhooks and the card provider.
type cards struct {
	webhooks  *prometheus.CounterVec
	calls     *prometheus.CounterVec
	durations *prometheus.HistogramVec
}

func newCards(create promauto.Factory) cards {
	c := cards{
		webhooks: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_webhooks_total", Help: "Card provider webhooks: applied, duplicate, ignored (not ours), foreign (another mode or account), rejected (signed but wrong; the log says why), unsigned (the log says why), too_large, or failed and sent again.",
		}, []string{"outcome"}),
		calls: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_provider_requests_total", Help: "Attempts to call the card provider: ok, declined or failed.",
		}, []string{"operation", "outcome"}),
		durations: create.NewHistogramVec(prometheus.HistogramOpts{
			Name: "orders_provider_request_duration_seconds", Help: "Duration of calls to the card provider.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 20},
		}, []string{"operation"}),
	}
	present(c.webhooks, "applied", "duplicate", "ignored", "foreign", "rejected", "unsigned", "too_large", "failed")
	c.calls.WithLabelValues("charge", "ok") // an alert asks whether it rises: the first one counts
	return c
}

// WebhookEnded counts a webhook by outcome.
func (c *cards) WebhookEnded(outcome string) { c.webhooks.WithLabelValues(outcome).Inc() }

// ProviderAnswered counts a request to the card provider.
func (c *cards) ProviderAnswered(operation, outcome string, took time.Duration) {
	c.calls.WithLabelValues(operation, outcome).Inc()
	c.durations.WithLabelValues(operation).Observe(took.Seconds())
}

// Circuit adds the state of the provider circuit breaker.
func (m *Metrics) Circuit(open func() bool) {
	m.gauge("orders_provider_circuit_open", "1 while calls to the card provider fail at once because nearly all before them failed.",
		func() float64 { return number(open()) })
}
