// Package jobs runs background jobs on River: those that are due by the clock, and
// those that a use case inserted in its transaction. River keeps its tables in a schema
// of their own, and the jobs use a pool of their own, so they never take a connection
// from traffic.
//
// Every replica runs jobs, and a job may run twice. After a long pause of its process,
// River starts it on another replica while the first run is still at work; and the
// replica that takes over the schedule starts jobs that have just run. So every job
// must be harmless when it runs twice, in turn or at the same time; [Config] says for
// each why it is.
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

	"example.com/orders/internal/panics"
)

const (
	// runTimeout bounds one run of a job, and longTimeout that of a job that reads much or
	// waits for the card provider.
	runTimeout  = 20 * time.Second
	longTimeout = time.Minute
	// rescueAfter is when another replica takes over a job whose process died, unless the
	// job may run for longer than that.
	rescueAfter = 30 * time.Second
	// keepFinished is how long River keeps finished jobs for inspection.
	keepFinished = time.Hour
	// scheduledAttempts is how often a job that is due by the clock runs until the next
	// one is due: when it fails, or when its process dies, once more.
	scheduledAttempts = 2
	// stopTimeout bounds the end of jobs that were cancelled.
	stopTimeout = 5 * time.Second
)

// The queues. A job waits only for jobs in the same queue. A kind that an earlier version
// does not know needs a queue that it does not know either: River fetches all that is in
// a queue, and throws away kinds that it does not know.
const (
	// reservationsQueue has its own workers, because customers wait for the stock.
	reservationsQueue = "reservations"
	// intentsQueue is for the job that restores intents.
	intentsQueue = "intents"
	// settleQueue is the queue in which the use cases insert the jobs that ask the card
	// provider, which may be slow. Only a process with cards works on it.
	settleQueue = "payments"

	// maintenanceWorkers is one for each kind of job in the default queue.
	maintenanceWorkers = 4
	settleWorkers      = 8
)

// Config lists the jobs. A job that is due by the clock and has no function does not run.
type Config struct {
	// Pool is for the jobs alone; four connections are enough.
	Pool *pgxpool.Pool
	// Schema is where River keeps its tables.
	Schema string
	Log    zerolog.Logger
	// Tracer is nil where nothing is traced.
	Tracer trace.Tracer
	// PollOnly makes River look for changes instead of listening for notifications: behind
	// a pooler, LISTEN would stay on a connection that others use.
	PollOnly bool
	// Worked is called after each run of a job; nil for nobody.
	Worked func(kind string, failed bool, took time.Duration)
	// Removed is called with the rows that a run deleted or changed, and once with 0 for each
	// job that does so; nil for nobody.
	Removed func(kind string, rows int)

	// ReleaseExpiredReservations returns the stock of expired reservations, every 5 s.
	// Each order is locked, so a second run finds its reservation released already.
	ReleaseExpiredReservations BatchJob
	// RestoreIntents inserts the jobs of payments and refunds that are not decided and whose
	// job is gone, every minute. A second run finds the jobs of the first.
	RestoreIntents BatchJob
	// CleanIdempotencyRecords deletes expired idempotency records, every minute. A
	// second run at the same time skips the rows that the first has locked.
	CleanIdempotencyRecords BatchJob
	// CleanOutbox deletes events that were published long ago, every 10 minutes. A
	// second run at the same time skips the rows that the first has locked.
	CleanOutbox BatchJob
	// CleanProcessedMessages deletes the ids of messages that are too old to be
	// delivered again, every hour. A second run at the same time skips the rows that
	// the first has locked.
	CleanProcessedMessages BatchJob

	// Reconcile compares our rows with one another and with the card provider, in steps,
	// every minute: most runs find that no pass is due. A second run at the same time
	// saves no step that the first has saved, and gives back no late capture again.
	Reconcile BatchJob

	// SettlePayment asks the card provider for the outcome of a payment, SettleRefund
	// for that of a refund. The use case inserts the job in its own transaction. A second
	// run moves no money: the provider carries out an idempotency key once, the row says
	// whether it was asked before, and a decided payment or refund does not change.
	SettlePayment func(ctx context.Context, paymentID int64) error
	SettleRefund  func(ctx context.Context, refundID int64) error
}

// Runner runs the jobs between Start and Stop.
type Runner struct {
	client   *river.Client[pgx.Tx]
	migrator *rivermigrate.Migrator[pgx.Tx]
	// stopBatches lets batch jobs end after the batch that they are at.
	stopBatches func()
	running     *atomic.Int64
}

// New returns a runner of the jobs in cfg. Nothing runs yet.
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
		ReindexerIndexNames:         []string{}, // none: only the owner of an index may rebuild it
		ErrorHandler:                errorLog{cfg.Log},
		Middleware: []rivertype.Middleware{
			count(running),
			river.WorkerMiddlewareFunc(cfg.measure),
			continueTraces(cfg.Tracer),
			river.WorkerMiddlewareFunc(recoverPanic),
		},
		Logger: slog.New(riverLog{zerolog.NewSlogHandler(cfg.Log.Level(zerolog.WarnLevel)), schedule.stopping}),
	}
}

// schedule is the configured jobs in River's terms.
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
	addBatchJob(s, reconcile{}, cfg.Reconcile, gentle(time.Minute))
	addSettle(s, cfg)
	return s
}

// unfinished are the states of a job that has work to do.
var unfinished = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
	rivertype.JobStateRunning, rivertype.JobStateScheduled,
}

// every schedules a job, and once at the start: a process that restarts often must
// still get to its work. While a job of its kind is unfinished, no other is inserted, so
// that they do not pile up behind one that hangs.
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

// ErrOutdatedSchema reports that the schema of the jobs is older than the binary.
var ErrOutdatedSchema = errors.New("the schema of the jobs is not current: run `orders migrate up`")

// Start runs the jobs until Stop. It refuses a schema of River that is not current. After
// an error it may be called again.
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

// Running returns how many jobs run.
func (r *Runner) Running() int { return int(r.running.Load()) }

// Stop starts no more jobs and waits for those that run. If ctx ends first, it cancels
// them, and returns how many these were.
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

// count counts the jobs that run.
func count(running *atomic.Int64) rivertype.Middleware {
	return river.WorkerMiddlewareFunc(func(ctx context.Context, _ *rivertype.JobRow, work func(context.Context) error) error {
		running.Add(1)
		defer running.Add(-1)
		return work(ctx)
	})
}

// measure reports a run of a job.
func (cfg Config) measure(ctx context.Context, job *rivertype.JobRow, work func(context.Context) error) error {
	start := time.Now()
	err := work(ctx)
	if cfg.Worked != nil {
		cfg.Worked(job.Kind, err != nil, time.Since(start))
	}
	return err
}

// reportRemoved reports the rows that a run deleted or changed.
func (cfg Config) reportRemoved(kind string, rows int) {
	if rows > 0 {
		cfg.Log.Info().Str("job", kind).Int("rows", rows).Msg("rows removed")
	}
	if cfg.Removed != nil {
		cfg.Removed(kind, rows)
	}
}

// recoverPanic turns the panic of a job into an error. River would write the whole value
// of the panic to its log and to its table.
func recoverPanic(ctx context.Context, _ *rivertype.JobRow, work func(context.Context) error) (err error) {
	defer panics.Catch(&err)
	return work(ctx)
}
