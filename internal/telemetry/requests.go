package telemetry

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// requests are the metrics of the API and of its idempotency keys.
type requests struct {
	ended     *prometheus.CounterVec
	durations *prometheus.HistogramVec
	inFlight  prometheus.Gauge
	limited   *prometheus.CounterVec

	outcomes  *prometheus.CounterVec
	waits     prometheus.Histogram
	replayAge prometheus.Histogram
}

func newRequests(create promauto.Factory) requests {
	r := requests{
		ended: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_http_requests_total", Help: "Requests that were answered.",
		}, []string{"route", "method", "status"}),
		durations: create.NewHistogramVec(prometheus.HistogramOpts{
			Name: "orders_http_request_duration_seconds", Help: "Time from the headers of a request to the end of its response.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route", "method"}),
		inFlight: create.NewGauge(prometheus.GaugeOpts{
			Name: "orders_http_requests_in_flight", Help: "Requests that are being answered.",
		}),
		limited: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_limited_requests_total",
			Help: "Requests that were refused with 429, by the limit that their principal exceeded.",
		}, []string{"limit"}),
		outcomes: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_idempotency_outcomes_total", Help: "What became of requests that need an Idempotency-Key.",
		}, []string{"outcome"}),
		waits: create.NewHistogram(prometheus.HistogramOpts{
			Name: "orders_idempotency_wait_seconds", Help: "Time that requests waited for the first one with their key.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
		replayAge: create.NewHistogram(prometheus.HistogramOpts{
			Name: "orders_idempotency_replay_age_seconds", Help: "Age of the idempotency record when it was replayed.",
			Buckets: []float64{1, 10, 60, 600, 3600, 6 * 3600, 24 * 3600, 48 * 3600, 72 * 3600},
		}),
	}
	present(r.limited, "requests", "keys", "in_flight")
	present(r.outcomes, "created", "refused", "reused", "key_reused", "key_spent", "in_progress", "key_required", "key_invalid", "unknown", "failed")
	return r
}

// present makes a counter 0 before its first event, for each value of its label. Otherwise
// Prometheus would not see that it grew.
func present(counter *prometheus.CounterVec, values ...string) {
	for _, value := range values {
		counter.WithLabelValues(value)
	}
}

// RequestBegan counts a request in flight.
func (r *requests) RequestBegan() { r.inFlight.Inc() }

// RequestEnded counts a request that was answered.
func (r *requests) RequestEnded(route, method string, status int, took time.Duration) {
	r.inFlight.Dec()
	r.ended.WithLabelValues(route, method, statusText(status)).Inc()
	r.durations.WithLabelValues(route, method).Observe(took.Seconds())
}

// RequestLimited counts a request that a limit refused.
func (r *requests) RequestLimited(limit string) { r.limited.WithLabelValues(limit).Inc() }

// KeyEnded counts what became of a request that needs a key.
func (r *requests) KeyEnded(outcome string) { r.outcomes.WithLabelValues(outcome).Inc() }

// DuplicateWaited counts the time that a request waited for the first one.
func (r *requests) DuplicateWaited(d time.Duration) { r.waits.Observe(d.Seconds()) }

// RecordReplayed counts a replay of a record by its age. The clock of the database may be
// ahead of ours.
func (r *requests) RecordReplayed(age time.Duration) { r.replayAge.Observe(max(0, age).Seconds()) }

// statusTexts are the statuses as text, so that no request has to make its own.
var statusTexts = func() (texts [600]string) {
	for status := range texts {
		texts[status] = strconv.Itoa(status)
	}
	return texts
}()

func statusText(status int) string {
	if status < 0 || status >= len(statusTexts) {
		return "other"
	}
	return statusTexts[status]
}
