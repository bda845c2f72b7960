package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// transactions holds the metrics for transactions and their idempotency records.
type transactions struct {
	runs     prometheus.Histogram
	restarts *prometheus.CounterVec
	records  prometheus.Counter
}

func newTransactions(create promauto.Factory) transactions {
	t := transactions{
		runs: create.NewHistogram(prometheus.HistogramOpts{
			Name: "orders_transaction_attempts", Help: "Runs of a transaction until its outcome was final.",
			Buckets: []float64{1, 2, 3, 4, 5},
		}),
		restarts: create.NewCounterVec(prometheus.CounterOpts{
			Name: "orders_transactions_restarted_total", Help: "Transactions that ran again, by reason; not_joined left its group because it loaded twice.",
		}, []string{"reason"}),
		records: create.NewCounter(prometheus.CounterOpts{
			Name: "orders_idempotency_records_stored_total", Help: "Committed idempotency records.",
		}),
	}
	present(t.restarts, "serialization_failure", "deadlock", "unique_violation", "prepared_statement", "lock_timeout", "dead_connection", "read_only", "not_joined")
	return t
}

// TransactionEnded records how often a transaction ran.
func (t *transactions) TransactionEnded(runs int) { t.runs.Observe(float64(runs)) }

// TransactionRestarted counts a restarted transaction.
func (t *transactions) TransactionRestarted(reason string) { t.restarts.WithLabelValues(reason).Inc() }

// RecordsStored counts committed idempotency records.
func (t *transactions) RecordsStored(records int) { t.records.Add(float64(records)) }

// Pool is a database connection pool's state.
type Pool struct {
	// Idle, Used and Opening count the present connections, and Max bounds them. Used
	// includes InDoubt: connections with a COMMIT that was abandoned before the answer
	// arrived.
	Idle, Used, Opening, InDoubt, Max int32
	// Acquires counts acquired connections. Waits counts those acquired when all were
	// busy, and Waited is their total wait.
	Acquires, Waits int64
	Waited          time.Duration
}

var (
	poolConnections = prometheus.NewDesc("orders_pool_connections", "Connections of a pool: idle, used, opening, or in_doubt (held by a COMMIT without an answer).", []string{"state"}, nil)
	poolMax         = prometheus.NewDesc("orders_pool_connections_max", "Maximum connections of a pool.", nil, nil)
	poolAcquires    = prometheus.NewDesc("orders_pool_acquires_total", "Connections acquired from a pool.", nil, nil)
	poolWaits       = prometheus.NewDesc("orders_pool_waits_total",
		"Connections acquired when none was idle.", nil, nil)
	poolWaited = prometheus.NewDesc("orders_pool_wait_seconds_total",
		"Wait for connections when none was idle.", nil, nil)
)

// poolCollector reads a pool on each scrape.
type poolCollector func() Pool

// Describe implements [prometheus.Collector].
func (read poolCollector) Describe(ch chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(read, ch)
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

// Pool adds the metrics for a connection pool.
func (m *Metrics) Pool(name string, read func() Pool) {
	prometheus.WrapRegistererWith(prometheus.Labels{"pool": name}, m.registry).MustRegister(poolCollector(read))
}

// groups holds the metrics for commands that share transactions.
type groups struct {
	sizes  prometheus.Histogram
	split  prometheus.Counter
	queued prometheus.Histogram
}

func newGroups(create promauto.Factory) groups {
	return groups{
		sizes: create.NewHistogram(prometheus.HistogramOpts{
			Name: "orders_command_group_size", Help: "Commands that shared a transaction.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64},
		}),
		split: create.NewCounter(prometheus.CounterOpts{
			Name: "orders_command_groups_split_total",
			Help: "Groups that failed and were split, down to single commands.",
		}),
		queued: create.NewHistogram(prometheus.HistogramOpts{
			Name: "orders_command_queue_seconds", Help: "Wait of commands for their group.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1, 5, 10},
		}),
	}
}

// GroupRan counts a group of commands.
func (g *groups) GroupRan(commands int) { g.sizes.Observe(float64(commands)) }

// GroupSplit counts a failed group.
func (g *groups) GroupSplit() { g.split.Inc() }

// CommandQueued records how long a command waited for a group.
func (g *groups) CommandQueued(d time.Duration) { g.queued.Observe(d.Seconds()) }
