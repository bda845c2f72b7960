package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"example.com/orders/internal/observe/panics"
)

const (
	// visitTimeout bounds how long a scrape waits for the database.
	visitTimeout = 2 * time.Second
	// visitInterval is how long scrapes share one visit's result.
	visitInterval = time.Second
)

// Database is the result of one visit to the database.
type Database struct {
	// Writable reports that the database accepts writes: it is no standby.
	Writable bool
	// OutboxEvents is the number of unpublished events, and OutboxOldest the oldest
	// one's age.
	OutboxEvents int64
	OutboxOldest time.Duration
	// Deliveries is the number of pending webhook deliveries, DeliveriesOldest the age of
	// the oldest that is due, and DisabledEndpoints the number of disabled endpoints.
	Deliveries, DisabledEndpoints int64
	DeliveriesOldest              time.Duration
	// ExpiredRecords counts expired idempotency records.
	ExpiredRecords int64
	// Jobs are the unfinished jobs.
	Jobs []Jobs
	// Tables are the table sizes. It is empty while one table is locked.
	Tables []Table
	// Mismatches is the number of reconciliation mismatches, and ReconciliationAge the
	// time since the last complete pass, negative before the first one.
	Mismatches        int64
	ReconciliationAge time.Duration
	// AnswerDue is the time until the next answer to a dispute is due, nil if none is.
	AnswerDue *time.Duration
}

// Jobs are the jobs with one kind and River state.
type Jobs struct {
	Kind, State string
	Count       int64
	// Oldest is the oldest job's age, 0 if there is no job.
	Oldest time.Duration
}

// Table is a table's size.
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
		"1 if the database answered within two seconds, else 0.", nil, nil)
	databaseWritable = prometheus.NewDesc("orders_database_writable",
		"1 if the database accepts writes, 0 if it is a standby or read-only.", nil, nil)
	outboxEvents = prometheus.NewDesc("orders_outbox_events", "Unpublished events, at most 10000.", nil, nil)
	outboxOldest = prometheus.NewDesc("orders_outbox_oldest_seconds",
		"Age of the oldest unpublished event, 0 if there is none.", nil, nil)
	deliveries       = prometheus.NewDesc("orders_webhook_deliveries_pending", "Webhook deliveries that wait for an attempt, at most 10000.", nil, nil)
	deliveriesOldest = prometheus.NewDesc("orders_webhook_oldest_seconds",
		"Age of the oldest event that should have been sent to a webhook endpoint: endpoints that fail or are disabled do not count. 0 if there is none.", nil, nil)
	endpointsDisabled = prometheus.NewDesc("orders_webhook_endpoints_disabled", "Disabled webhook endpoints, at most 10000.", nil, nil)
	expiredRecords    = prometheus.NewDesc("orders_idempotency_expired_records",
		"Expired idempotency records, at most 10000.", nil, nil)
	jobs = prometheus.NewDesc("orders_jobs",
		"Jobs in each state but completed, at most 10000 each.", []string{"kind", "state"}, nil)
	jobOldest = prometheus.NewDesc("orders_job_oldest_seconds",
		"Age of the oldest job that is due and not done, 0 if there is none.", []string{"kind"}, nil)
	tableBytes = prometheus.NewDesc("orders_table_bytes", "Size of a table without its indexes.", []string{"table"}, nil)
	indexBytes = prometheus.NewDesc("orders_index_bytes", "Size of a table's indexes.", []string{"table"}, nil)
	tableRows  = prometheus.NewDesc("orders_table_rows",
		"Rows as the planner estimates them.", []string{"table"}, nil)
	mismatches = prometheus.NewDesc("orders_reconciliation_mismatches",
		"Mismatches that reconciliation found in its last pass, or in the current one if it found more.", nil, nil)
	answerDue = prometheus.NewDesc("orders_dispute_answer_due_seconds",
		"Time until the next answer to a dispute is due at the card provider, absent if none is.", nil, nil)
	reconciliationAge = prometheus.NewDesc("orders_reconciliation_age_seconds",
		"Time since the last complete reconciliation pass, absent if there was none.", nil, nil)
)

// databaseCollector reads the database on each scrape. If the database does not answer,
// the other metrics are absent and orders_database_up is 0.
type databaseCollector struct {
	read ReadDatabase
	log  zerolog.Logger

	mu      sync.Mutex
	visited time.Time // end of the last visit
	found   Database
	up      bool
}

// Describe implements [prometheus.Collector].
func (c *databaseCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- databaseUp
	ch <- databaseWritable
	ch <- outboxEvents
	ch <- outboxOldest
	ch <- deliveries
	ch <- deliveriesOldest
	ch <- endpointsDisabled
	ch <- expiredRecords
	ch <- jobs
	ch <- jobOldest
	ch <- tableBytes
	ch <- indexBytes
	ch <- tableRows
	ch <- mismatches
	ch <- reconciliationAge
	ch <- answerDue
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
	ch <- gauge(deliveries, float64(found.Deliveries))
	ch <- gauge(deliveriesOldest, found.DeliveriesOldest.Seconds())
	ch <- gauge(endpointsDisabled, float64(found.DisabledEndpoints))
	ch <- gauge(expiredRecords, float64(found.ExpiredRecords))
	ch <- gauge(mismatches, float64(found.Mismatches))
	if found.AnswerDue != nil {
		ch <- gauge(answerDue, found.AnswerDue.Seconds())
	}
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

// collectJobs collects the job counts, and the age of the oldest due job per kind.
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

// visit returns the last visit's result. Scrapes within visitInterval share one visit;
// concurrent ones wait for it here.
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

// readOrRecover converts a panic into an error. Prometheus collects in a separate
// goroutine, where a panic would end the process.
func (c *databaseCollector) readOrRecover(ctx context.Context) (found Database, err error) {
	defer panics.Catch(&err)
	return c.read(ctx)
}

// logChange logs when the database stops answering, and when it answers again.
func (c *databaseCollector) logChange(err error) {
	switch {
	case err != nil && c.up:
		c.log.Warn().Err(err).Msg("database metrics unavailable")
	case err == nil && !c.up:
		c.log.Info().Msg("database metrics available")
	}
}
