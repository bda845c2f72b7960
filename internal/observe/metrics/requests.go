package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// requests holds the metrics for the API and idempotency keys.
type requests struct {
	ended     *prometheus.CounterVec
	durations *prometheus.HistogramVec
	inFlight  prometheus.Gauge
	limited   *prometheus.CounterVec
	refused   *prometheus.CounterVec

	outcomes  *prometheus.CounterVec
	waits     prometheus.Histogram
	replayAge prometheus.Histogram
}

func newRequests(create promauto.Factory) requests {
	r := requests{
		ended: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_http_requests_total", Help: "Answered requests. The route is the contract's pattern, or none.",
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
			Help: "Requests refused with 429, by the limit that their principal exceeded: requests, keys or in_flight.",
		}, []string{"limit"}),
		refused: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_unauthenticated_requests_total",
			Help: "Requests refused with 401, by reason; docs/operate.md explains each.",
		}, []string{"reason"}),
		outcomes: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_idempotency_outcomes_total", Help: "Requests that need an idempotency key: created and refused were stored, reused were replayed; key_reused, key_spent, in_progress, key_required and key_invalid were rejected; unknown got no answer to COMMIT; failed left the key free.",
		}, []string{"outcome"}),
		waits: create.NewHistogram(prometheus.HistogramOpts{
			Name: "orders_idempotency_wait_seconds", Help: "Wait of duplicates for the first request with their key.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
		replayAge: create.NewHistogram(prometheus.HistogramOpts{
			Name: "orders_idempotency_replay_age_seconds", Help: "Age of idempotency records when they were replayed.",
			Buckets: []float64{1, 10, 60, 600, 3600, 6 * 3600, 24 * 3600, 48 * 3600, 72 * 3600},
		}),
	}
	present(r.limited, "requests", "keys", "in_flight")
	present(r.refused, "missing", "misplaced", "opaque", "malformed", "algorithm", "type", "unknown_key", "signature", "issuer", "audience", "client", "expired", "not_yet", "lifetime", "purpose", "claims")
	present(r.outcomes, "created", "refused", "reused", "key_reused", "key_spent", "in_progress", "key_required", "key_invalid", "unknown", "failed")
	return r
}

// present initialises a counter for each label value: Prometheus would miss the first
// increment if no 0 came before it.
func present(counter *prometheus.CounterVec, values ...string) {
	for _, value := range values {
		counter.WithLabelValues(value)
	}
}

// RequestBegan counts a request in flight.
func (r *requests) RequestBegan() { r.inFlight.Inc() }

// RequestEnded counts an answered request.
func (r *requests) RequestEnded(route, method string, status int, took time.Duration) {
	r.inFlight.Dec()
	r.ended.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	r.durations.WithLabelValues(route, method).Observe(took.Seconds())
}

// RequestLimited counts a request refused by a limit.
func (r *requests) RequestLimited(limit string) { r.limited.WithLabelValues(limit).Inc() }

// TokenRejected counts a request refused with 401.
func (r *requests) TokenRejected(reason string) { r.refused.WithLabelValues(reason).Inc() }

// KeyEnded counts a request that needs a key, by outcome.
func (r *requests) KeyEnded(outcome string) { r.outcomes.WithLabelValues(outcome).Inc() }

// DuplicateWaited records how long a duplicate waited for the first request.
func (r *requests) DuplicateWaited(d time.Duration) { r.waits.Observe(d.Seconds()) }

// RecordReplayed records the age of a replayed record. The database clock may be ahead
// of ours.
func (r *requests) RecordReplayed(age time.Duration) { r.replayAge.Observe(max(0, age).Seconds()) }
