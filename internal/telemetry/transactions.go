package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// transactions are the metrics of transactions, and of the idempotency records in them.
type transactions struct {
	runs     prometheus.Histogram
	restarts *prometheus.CounterVec
	records  prometheus.Counter
	standby  *prometheus.CounterVec
}

func newTransactions(create promauto.Factory) transactions {
	t := transactions{
		runs: create.NewHistogram(prometheus.HistogramOpts{
			Name: "orders_transaction_attempts", Help: "How often transactions ran until their outcome was final.",
			Buckets: []float64{1, 2, 3, 4, 5},
		}),
		restarts: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_transactions_restarted_total", Help: "Transactions that ran again, by the reason.",
		}, []string{"reason"}),
		records: create.NewCounter(prometheus.CounterOpts{
			Name: "orders_idempotency_records_stored_total", Help: "Idempotency records that were committed.",
		}),
		standby: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_standby_reads_total", Help: "Reads that a standby may serve, by the outcome.",
		}, []string{"outcome"}),
	}
	present(t.restarts, "serialization_failure", "deadlock", "unique_violation", "dead_connection", "read_only", "not_joined")
	present(t.standby, "served", "behind", "unmeasured", "failed")
	return t
}

// TransactionEnded counts how often a transaction ran.
func (t *transactions) TransactionEnded(runs int) { t.runs.Observe(float64(runs)) }

// TransactionRestarted counts a transaction that runs again.
func (t *transactions) TransactionRestarted(reason string) { t.restarts.WithLabelValues(reason).Inc() }

// RecordsStored counts idempotency records that were committed.
func (t *transactions) RecordsStored(records int) { t.records.Add(float64(records)) }

// StandbyAsked counts a read that a standby may serve.
func (t *transactions) StandbyAsked(outcome string) { t.standby.WithLabelValues(outcome).Inc() }

// Pool is the state of a pool of connections to the database.
type Pool struct {
	// Idle, Used and Opening are its connections now, and Max the most that it may have. Used
	// includes InDoubt, those whose COMMIT was given up before its answer arrived.
	Idle, Used, Opening, InDoubt, Max int32
	// Acquires counts the connections that were taken. Waits counts those for which there
	// was no idle one, and Waited is the time that these took.
	Acquires, Waits int64
	Waited          time.Duration
}

var (
	poolConnections = prometheus.NewDesc("orders_pool_connections", "Connections of a pool.", []string{"state"}, nil)
	poolMax         = prometheus.NewDesc("orders_pool_connections_max", "Most connections that a pool may have.", nil, nil)
	poolAcquires    = prometheus.NewDesc("orders_pool_acquires_total", "Connections that were taken out of a pool.", nil, nil)
	poolWaits       = prometheus.NewDesc("orders_pool_waits_total",
		"Connections that were taken out of a pool when none was idle.", nil, nil)
	poolWaited = prometheus.NewDesc("orders_pool_wait_seconds_total",
		"Time that was waited for connections of a pool when none was idle.", nil, nil)
)

// poolCollector reads a pool when Prometheus asks.
type poolCollector func() Pool

// Describe implements [prometheus.Collector].
func (poolCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- poolConnections
	ch <- poolMax
	ch <- poolAcquires
	ch <- poolWaits
	ch <- poolWaited
}

// Collect implements [prometheus.Collector].
func (read poolCollector) Collect(ch chan<- prometheus.Metric) {
	pool := read()
	ch <- gauge(poolConnections, float64(pool.Idle), "idle")
	ch <- gauge(poolConnections, float64(pool.Used-pool.InDoubt), "used")
	ch <- gauge(poolConnections, float64(pool.InDoubt), "in_doubt")
	ch <- gauge(poolConnections, float64(pool.Opening), "opening")
	ch <- gauge(poolMax, float64(pool.Max))
	ch <- counter(poolAcquires, float64(pool.Acquires))
	ch <- counter(poolWaits, float64(pool.Waits))
	ch <- counter(poolWaited, pool.Waited.Seconds())
}

func counter(desc *prometheus.Desc, value float64) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.CounterValue, value)
}

// Pool adds the metrics of a pool of connections.
func (m *Metrics) Pool(name string, read func() Pool) {
	prometheus.WrapRegistererWith(prometheus.Labels{"pool": name}, m.registry).MustRegister(poolCollector(read))
}
