package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"example.com/orders/internal/panics"
)

const (
	// visitTimeout bounds how long a scrape waits for the database.
	visitTimeout = 2 * time.Second
	// visitInterval is how long scrapes share the result of one visit to the database.
	visitInterval = time.Second
)

// Database is what the metrics report of the database.
type Database struct {
	// Writable reports that the database accepts writes: it is no standby.
	Writable bool
	// OutboxEvents is the number of events that wait to be published, and OutboxOldest
	// the age of the oldest.
	OutboxEvents int64
	OutboxOldest time.Duration
	// ExpiredRecords is the number of expired idempotency records.
	ExpiredRecords int64
	// Jobs are the jobs that are not completed.
	Jobs []Jobs
	// Tables are the sizes of the tables. There are none while one of them is locked.
	Tables []Table
	// Mismatches is how many mismatches reconciliation has found, and ReconciliationAge the
	// time since it last compared everything, negative if it never did.
	Mismatches        int64
	ReconciliationAge time.Duration
	// ExcessPrivileges is how many privileges the database role has that the service does
	// not need.
	ExcessPrivileges int
}

// Jobs are the jobs of one kind in one state of River.
type Jobs struct {
	Kind, State string
	Count       int64
	// Oldest is the age of the oldest of them, 0 if there are none.
	Oldest time.Duration
}

// Table is the size of one table.
type Table struct {
	Name              string
	Bytes, IndexBytes int64
	// Rows is an estimate.
	Rows float64
}

// ReadDatabase visits the database once.
type ReadDatabase func(ctx context.Context) (Database, error)

var (
	databaseUp = prometheus.NewDesc("orders_database_up",
		"1 if the database answered when the metrics were last read from it, else 0.", nil, nil)
	databaseWritable = prometheus.NewDesc("orders_database_writable",
		"1 if the database accepts writes, 0 if it is a standby or its transactions are read-only.", nil, nil)
	outboxEvents = prometheus.NewDesc("orders_outbox_events", "Events that wait to be published. Counts 10000 at most.", nil, nil)
	outboxOldest = prometheus.NewDesc("orders_outbox_oldest_seconds",
		"Age of the oldest event that waits to be published, 0 if none waits.", nil, nil)
	expiredRecords = prometheus.NewDesc("orders_idempotency_expired_records",
		"Expired idempotency records that have not been deleted. Counts 10000 at most.", nil, nil)
	jobs = prometheus.NewDesc("orders_jobs",
		"Jobs that are not completed. Counts 10000 of a state at most.", []string{"kind", "state"}, nil)
	jobOldest = prometheus.NewDesc("orders_job_oldest_seconds",
		"Age of the oldest job that is due and not done, 0 if there is none.", []string{"kind"}, nil)
	tableBytes = prometheus.NewDesc("orders_table_bytes", "Size of a table without its indexes.", []string{"table"}, nil)
	indexBytes = prometheus.NewDesc("orders_index_bytes", "Size of the indexes of a table.", []string{"table"}, nil)
	tableRows  = prometheus.NewDesc("orders_table_rows",
		"Rows of a table as the planner of the database estimates them.", []string{"table"}, nil)
	mismatches = prometheus.NewDesc("orders_reconciliation_mismatches",
		"Mismatches that reconciliation found in its last pass, or in the present one if those are more. Must be 0.", nil, nil)
	reconciliationAge = prometheus.NewDesc("orders_reconciliation_age_seconds",
		"Time since reconciliation last compared everything, absent if it never did.", nil, nil)
	excessPrivileges = prometheus.NewDesc("orders_database_excess_privileges",
		"Privileges of the database role that the service does not need. Should be 0.", nil, nil)
)

// databaseCollector reads the database when Prometheus asks. If the database does not
// answer, the metrics that come from it are absent, and orders_database_up is 0.
type databaseCollector struct {
	read ReadDatabase
	log  zerolog.Logger

	mu      sync.Mutex
	visited time.Time // when the last visit ended
	found   Database
	up      bool
}

// Describe implements [prometheus.Collector].
func (c *databaseCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- databaseUp
	ch <- databaseWritable
	ch <- outboxEvents
	ch <- outboxOldest
	ch <- expiredRecords
	ch <- jobs
	ch <- jobOldest
	ch <- tableBytes
	ch <- indexBytes
	ch <- tableRows
	ch <- mismatches
	ch <- reconciliationAge
	ch <- excessPrivileges
}

// Collect implements [prometheus.Collector].
func (c *databaseCollector) Collect(ch chan<- prometheus.Metric) {
	found, up := c.visit()
	ch <- gauge(databaseUp, number(up))
	if !up {
		return
	}
	ch <- gauge(databaseWritable, number(found.Writable))
	ch <- gauge(outboxEvents, float64(found.OutboxEvents))
	ch <- gauge(outboxOldest, found.OutboxOldest.Seconds())
	ch <- gauge(expiredRecords, float64(found.ExpiredRecords))
	ch <- gauge(mismatches, float64(found.Mismatches))
	ch <- gauge(excessPrivileges, float64(found.ExcessPrivileges))
	if found.ReconciliationAge >= 0 {
		ch <- gauge(reconciliationAge, found.ReconciliationAge.Seconds())
	}
	collectJobs(ch, found.Jobs)
	for _, table := range found.Tables {
		ch <- gauge(tableBytes, float64(table.Bytes), table.Name)
		ch <- gauge(indexBytes, float64(table.IndexBytes), table.Name)
		ch <- gauge(tableRows, table.Rows, table.Name)
	}
}

// collectJobs collects the number of jobs, and the age of the oldest of each kind that is
// due: its turn has come, and it is not done.
func collectJobs(ch chan<- prometheus.Metric, found []Jobs) {
	oldest := map[string]time.Duration{}
	for _, j := range found {
		ch <- gauge(jobs, float64(j.Count), j.Kind, j.State)
		switch j.State {
		case "available", "running", "retryable":
			oldest[j.Kind] = max(oldest[j.Kind], j.Oldest)
		}
	}
	for kind, age := range oldest {
		ch <- gauge(jobOldest, age.Seconds(), kind)
	}
}

func gauge(desc *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}

// visit returns what the last visit to the database found. Scrapes that come together,
// or within visitInterval, share one visit: the others wait for it here.
func (c *databaseCollector) visit() (found Database, up bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.visited) < visitInterval {
		return c.found, c.up
	}
	ctx, cancel := context.WithTimeout(context.Background(), visitTimeout)
	defer cancel()
	found, err := c.readOrRecover(ctx)
	c.logChange(err)
	c.found, c.up, c.visited = found, err == nil, time.Now()
	return c.found, c.up
}

// readOrRecover turns a panic into an error. Prometheus collects in a goroutine of its
// own, where a panic would end the process.
func (c *databaseCollector) readOrRecover(ctx context.Context) (found Database, err error) {
	defer panics.Catch(&err)
	return c.read(ctx)
}

// logChange writes one line when the database stops to answer, and one when it answers.
func (c *databaseCollector) logChange(err error) {
	switch {
	case err != nil && c.up:
		c.log.Warn().Err(err).Msg("database metrics unavailable")
	case err == nil && !c.up:
		c.log.Info().Msg("database metrics available")
	}
}
