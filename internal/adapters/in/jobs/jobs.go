// Package jobs runs background jobs on River: scheduled ones, and those inserted by a
// use case in the transaction. The River tables have their own schema, and the jobs
// their own pool, so that they never take a connection from traffic.
//
// Every replica runs jobs, and a job may run twice: after a long pause River rescues a
// job that is still running elsewhere, and a replica that takes over the schedule
// starts jobs that have just run. So every job must be harmless when it runs twice, in
// turn or concurrently; [Config] explains why each one is.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/observe/panics"
)

const (
	// runTimeout bounds one run; longTimeout does so for jobs that read much or wait
	// for the card provider.
	runTimeout  = 20 * time.Second
	longTimeout = time.Minute
	// rescueAfter is when a second replica takes over a job after the death of the
	// process, unless the job timeout is longer.
	rescueAfter = 30 * time.Second
	// keepFinished is how long River keeps finished jobs for inspection.
	keepFinished = time.Hour
	// scheduledAttempts allows one retry before the next scheduled run.
	scheduledAttempts = 2
	stopTimeout       = 5 * time.Second
)

// The queues. A job waits only for jobs in its queue. A new kind needs a new queue,
// because River fetches all jobs in a queue and discards unknown kinds: an older
// version must not fetch it.
const (
	// reservationsQueue has separate workers, because customers wait for the stock.
	reservationsQueue = "reservations"
	// intentsQueue is for the job that restores intents.
	intentsQueue = "intents"
	// settleQueue holds the jobs, inserted by use cases, that ask the card provider,
	// which may be slow. Only processes with cards work on it.
	settleQueue = "payments"

	// maintenanceWorkers is one per kind in the default queue.
	maintenanceWorkers = 5
	settleWorkers      = 8
)

// Config lists the jobs. A scheduled job with a nil function does not run.
type Config struct {
	// Pool is for the jobs alone; four connections are enough.
	Pool *pgxpool.Pool
	// Schema is River's schema.
	Schema string
	Log    zerolog.Logger
	// Tracer is nil if tracing is off.
	Tracer trace.Tracer
	// PollOnly replaces notifications with polling, because behind a pooler LISTEN
	// would stay on a shared connection.
	PollOnly bool
	// Worked is called after each run; nil disables it.
	Worked func(kind string, failed bool, took time.Duration)
	// Removed receives the number of rows that a run deleted or changed, and an initial
	// 0 for each such job; nil disables it.
	Removed func(kind string, rows int)

	// ReleaseExpiredReservations releases expired reservations, every 5 s. Orders are
	// locked, so a second run finds the reservation already released.
	ReleaseExpiredReservations BatchJob
	// RestoreIntents restores the missing jobs of undecided payments and refunds, every
	// minute. A second run finds the jobs from the first.
	RestoreIntents BatchJob
	// CleanIdempotencyRecords deletes expired idempotency records, every minute. A
	// concurrent run skips locked rows.
	CleanIdempotencyRecords BatchJob
	// CleanOutbox deletes long-published events, every 10 minutes. A concurrent run
	// skips locked rows.
	CleanOutbox BatchJob
	// CleanProcessedMessages deletes the ids of messages too old to be redelivered,
	// every hour. A concurrent run skips locked rows.
	CleanProcessedMessages BatchJob
	// CleanWebhookDeliveries deletes the deliveries of old events, every hour. A concurrent
	// run skips locked rows.
	CleanWebhookDeliveries BatchJob

	// Reconcile compares our rows with each other and with the card provider, in steps,
	// every minute; most runs find no pass due. A concurrent run saves no step twice,
	// and refunds no late capture twice.
	Reconcile BatchJob

	// SettlePayment and SettleRefund ask the card provider for an outcome. The use case
	// inserts the job in the transaction. A second run moves no money: the provider
	// executes an idempotency key once, the row records whether it was asked before,
	// and a decided payment or refund does not change.
	SettlePayment func(ctx context.Context, paymentID int64) error
	SettleRefund  func(ctx context.Context, refundID int64) error
}

// Runner runs the jobs between Start and Stop.
type Runner struct {
	client   *river.Client[pgx.Tx]
	migrator *rivermigrate.Migrator[pgx.Tx]
	// stopBatches ends batch jobs after their current batch.
	stopBatches func()
	running     *atomic.Int64
}

// New returns a runner, which Start starts.
func New(cfg Config) (*Runner, error) {
	stopping, running := make(chan struct{}), new(atomic.Int64)
	schedule := newSchedule(cfg, stopping)
	driver := riverpgxv5.New(cfg.Pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{
		Schema: cfg.Schema, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, fmt.Errorf("configure the jobs: %w", err)
	}
	client, err := river.NewClient(driver, clientConfig(cfg, schedule, running))
	if err != nil {
		return nil, fmt.Errorf("configure the jobs: %w", err)
	}
	return &Runner{client, migrator, sync.OnceFunc(func() { close(stopping) }), running}, nil
}

func clientConfig(cfg Config, schedule *schedule, running *atomic.Int64) *river.Config {
	return &river.Config{
		Schema:                      cfg.Schema,
		Workers:                     schedule.workers,
		Queues:                      schedule.queues,
		PeriodicJobs:                schedule.periodic,
		JobTimeout:                  runTimeout,
		RescueStuckJobsAfter:        rescueAfter,
		CompletedJobRetentionPeriod: keepFinished,
		PollOnly:                    cfg.PollOnly,
		ReindexerIndexNames:         []string{}, // only an index owner may rebuild it
		ErrorHandler:                errorLog{cfg.Log},
		Middleware: []rivertype.Middleware{
			count(running),
			river.WorkerMiddlewareFunc(cfg.measure),
			continueTraces(cfg.Tracer),
			river.WorkerMiddlewareFunc(recoverPanic),
		},
		Logger: slog.New(riverLog{zerolog.NewSlogHandler(cfg.Log.Level(zerolog.WarnLevel)), schedule.stopping, new(atomic.Int64)}),
	}
}

// schedule holds the configured jobs as River types.
type schedule struct {
	workers  *river.Workers
	queues   map[string]river.QueueConfig
	periodic []*river.PeriodicJob
	stopping <-chan struct{}
	removed  func(kind string, rows int)
}

func newSchedule(cfg Config, stopping <-chan struct{}) *schedule {
	s := &schedule{
		workers: river.NewWorkers(),
		queues: map[string]river.QueueConfig{
			river.QueueDefault: {MaxWorkers: maintenanceWorkers},
			reservationsQueue:  {MaxWorkers: 1},
			intentsQueue:       {MaxWorkers: 1},
		},
		stopping: stopping,
		removed:  cfg.reportRemoved,
	}
	addBatchJob(s, releaseExpiredReservations{}, cfg.ReleaseExpiredReservations, prompt(reservationsQueue, 5*time.Second))
	addBatchJob(s, restoreIntents{}, cfg.RestoreIntents, prompt(intentsQueue, time.Minute))
	addBatchJob(s, cleanIdempotencyRecords{}, cfg.CleanIdempotencyRecords, gentle(time.Minute))
	addBatchJob(s, cleanOutbox{}, cfg.CleanOutbox, gentle(10*time.Minute))
	addBatchJob(s, cleanProcessedMessages{}, cfg.CleanProcessedMessages, gentle(time.Hour))
	addBatchJob(s, cleanWebhookDeliveries{}, cfg.CleanWebhookDeliveries, gentle(time.Hour))
	addBatchJob(s, reconcile{}, cfg.Reconcile, gentle(time.Minute))
	addSettle(s, cfg)
	return s
}

var unfinished = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
	rivertype.JobStateRunning, rivertype.JobStateScheduled,
}

// every schedules a job periodically and at the start, so that a process that restarts
// often still gets to the work. A kind has at most one unfinished job, so that they do
// not pile up behind one that hangs.
func (s *schedule) every(period time.Duration, queue string, args river.JobArgs) {
	opts := river.InsertOpts{
		Queue: queue, MaxAttempts: scheduledAttempts, UniqueOpts: river.UniqueOpts{ByState: unfinished},
	}
	s.periodic = append(s.periodic, river.NewPeriodicJob(
		river.PeriodicInterval(period),
		func() (river.JobArgs, *river.InsertOpts) { return args, &opts },
		&river.PeriodicJobOpts{RunOnStart: true},
	))
}

// ErrOutdatedSchema reports that River's schema is older than the binary.
var ErrOutdatedSchema = errors.New("the schema of the jobs is not current: run `orders migrate up`")

// Start runs the jobs until Stop. It refuses an outdated River schema. It may be
// retried after an error.
func (r *Runner) Start(ctx context.Context) error {
	result, err := r.migrator.Validate(ctx, nil)
	if err != nil {
		return fmt.Errorf("check the schema of the jobs: %w", err)
	}
	if !result.OK {
		return fmt.Errorf("%w (%s)", ErrOutdatedSchema, strings.Join(result.Messages, "; "))
	}
	if err := r.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the jobs: %w", err)
	}
	return nil
}

// Running returns the number of running jobs.
func (r *Runner) Running() int { return int(r.running.Load()) }

// Stop starts no more jobs and waits for running ones. If ctx ends first, it cancels
// them and returns their number.
func (r *Runner) Stop(ctx context.Context) (cancelled int, err error) {
	r.stopBatches()
	if err := r.client.Stop(ctx); err == nil {
		return 0, nil
	}
	cancelled = r.Running()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := r.client.StopAndCancel(ctx); err != nil {
		return cancelled, fmt.Errorf("stop the jobs: %w", err)
	}
	return cancelled, nil
}

func count(running *atomic.Int64) rivertype.Middleware {
	return river.WorkerMiddlewareFunc(func(ctx context.Context, _ *rivertype.JobRow, work func(context.Context) error) error {
		running.Add(1)
		defer running.Add(-1)
		return work(ctx)
	})
}

func (cfg Config) measure(ctx context.Context, job *rivertype.JobRow, work func(context.Context) error) error {
	start := time.Now()
	err := work(ctx)
	if cfg.Worked != nil {
		cfg.Worked(job.Kind, err != nil, time.Since(start))
	}
	return err
}

func (cfg Config) reportRemoved(kind string, rows int) {
	if rows > 0 {
		cfg.Log.Info().Str("job", kind).Int("rows", rows).Msg("rows removed")
	}
	if cfg.Removed != nil {
		cfg.Removed(kind, rows)
	}
}

// recoverPanic converts a job's panic into an error. River would write the complete
// panic value to the log and the table.
func recoverPanic(ctx context.Context, _ *rivertype.JobRow, work func(context.Context) error) (err error) {
	defer panics.Catch(&err)
	return work(ctx)
}
