// Package jobs is the way in for work that nobody asks for over HTTP: what is due by
// the clock. It runs on River, in a schema and on connections of its own, so that it
// never takes a connection from traffic.
//
// Every replica works. Doing a job twice, or on two replicas at once, does no harm: the
// use cases look again under their locks, and clean-up passes over what others are at.
package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	"github.com/rs/zerolog"
)

const (
	// runTimeout bounds one run.
	runTimeout = time.Minute
	// settlers is how many questions to the provider are open at once in one process.
	settlers = 8
	// rescueAfter is longer than a job may take.
	rescueAfter = 2 * time.Minute
	// keepFor is how long finished jobs can be looked at.
	keepFor = time.Hour
)

// Config says what is done how often.
type Config struct {
	// Pool is for jobs alone; four connections will do.
	Pool *pgxpool.Pool
	// Schema is where River keeps its tables.
	Schema string
	// ReleaseReservations frees the stock of at most limit lapsed holds and tells how many
	// there were; CleanKeys removes at most limit expired idempotency records.
	ReleaseReservations func(ctx context.Context, limit int) (int, error)
	CleanKeys           func(ctx context.Context, limit int) (int, error)
	// CleanOutbox removes events that left long ago, CleanMessages the notes of messages
	// that nobody sends again.
	CleanOutbox   func(ctx context.Context, limit int) (int, error)
	CleanMessages func(ctx context.Context, limit int) (int, error)
	// Settle and SettleRefund ask the card provider about one payment or refund; nil where
	// cards are not accepted. Again tells that it is not the first try.
	Settle       func(ctx context.Context, paymentID int64, again bool) error
	SettleRefund func(ctx context.Context, refundID int64, again bool) error
	// Reconcile compares the books and says what differs; it runs every ReconcileEvery,
	// zero is every hour.
	Reconcile      func(ctx context.Context) error
	ReconcileEvery time.Duration
	// ReservationsEvery and KeysEvery are how often; zero is every 5 s and every minute.
	ReservationsEvery time.Duration
	KeysEvery         time.Duration
	// RescueAfter is when a job whose process died is given to another one; zero is after
	// two minutes.
	RescueAfter time.Duration
	Log         zerolog.Logger
}

// Runner works on jobs between Start and Stop.
type Runner struct {
	client   *river.Client[pgx.Tx]
	migrator *rivermigrate.Migrator[pgx.Tx]
	// endSweeps lets sweeps end after the batch that they are at.
	endSweeps func()
}

// New sets the jobs up. Nothing runs yet.
func New(cfg Config) (*Runner, error) {
	workers, stopping := river.NewWorkers(), make(chan struct{})
	river.AddWorker(workers, &sweeper[releaseReservations]{sweep: cfg.ReleaseReservations, stopping: stopping})
	river.AddWorker(workers, &sweeper[cleanKeys]{sweep: cfg.CleanKeys, stopping: stopping})
	river.AddWorker(workers, &sweeper[cleanOutbox]{sweep: cfg.CleanOutbox, stopping: stopping})
	river.AddWorker(workers, &sweeper[cleanMessages]{sweep: cfg.CleanMessages, stopping: stopping})
	river.AddWorker(workers, &reconciler{reconcile: cfg.Reconcile})
	queues := map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2}}
	if cfg.Settle != nil {
		river.AddWorker(workers, &settler[settlePayment]{settle: cfg.Settle})
		river.AddWorker(workers, &settler[settleRefund]{settle: cfg.SettleRefund})
		queues["payments"] = river.QueueConfig{MaxWorkers: settlers}
	}
	driver := riverpgxv5.New(cfg.Pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Schema: cfg.Schema, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("set up the jobs: %w", err)
	}
	client, err := river.NewClient(driver, &river.Config{
		Schema:  cfg.Schema,
		Workers: workers,
		Queues:  queues,
		PeriodicJobs: []*river.PeriodicJob{
			every(cfg.ReservationsEvery, 5*time.Second, releaseReservations{}),
			every(cfg.KeysEvery, time.Minute, cleanKeys{}),
			every(0, 10*time.Minute, cleanOutbox{}),
			every(0, time.Hour, cleanMessages{}),
			every(cfg.ReconcileEvery, time.Hour, reconcile{}),
		},
		JobTimeout:                  runTimeout,
		RescueStuckJobsAfter:        cmp.Or(cfg.RescueAfter, rescueAfter),
		CompletedJobRetentionPeriod: keepFor,
		ErrorHandler:                failures{cfg.Log},
		Logger:                      slog.New(zerolog.NewSlogHandler(cfg.Log.Level(zerolog.WarnLevel))),
	})
	if err != nil {
		return nil, fmt.Errorf("set up the jobs: %w", err)
	}
	return &Runner{client, migrator, sync.OnceFunc(func() { close(stopping) })}, nil
}

// failures tells the log of runs that failed: River does so below the level that we
// hear.
type failures struct{ log zerolog.Logger }

// HandleError logs an error. What was left undone is for the next run.
func (f failures) HandleError(_ context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	f.log.Error().Err(err).Str("job", job.Kind).Msg("a job failed")
	return nil
}

// HandlePanic has nothing to add: panics River logs as errors.
func (failures) HandlePanic(context.Context, *rivertype.JobRow, any, string) *river.ErrorHandlerResult {
	return nil
}

// every schedules args, and once at the start: a process that restarts often must not
// put its work off for ever.
func every(period, otherwise time.Duration, args river.JobArgs) *river.PeriodicJob {
	if period == 0 {
		period = otherwise
	}
	return river.NewPeriodicJob(river.PeriodicInterval(period),
		func() (river.JobArgs, *river.InsertOpts) { return args, &river.InsertOpts{MaxAttempts: 1} },
		&river.PeriodicJobOpts{RunOnStart: true})
}

// Start begins to work, until Stop. It refuses a schema of River that is not current.
func (r *Runner) Start(ctx context.Context) error {
	result, err := r.migrator.Validate(ctx, nil)
	if err != nil {
		return fmt.Errorf("look at the jobs' schema: %w", err)
	}
	if !result.OK {
		return errors.New("the jobs' schema is not current: run `orders migrate up` (" + strings.Join(result.Messages, "; ") + ")")
	}
	if err := r.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the jobs: %w", err)
	}
	return nil
}

// Stop takes no more jobs and waits for those that run; when ctx ends first, it breaks
// them off.
func (r *Runner) Stop(ctx context.Context) error {
	r.endSweeps()
	if err := r.client.Stop(ctx); err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := r.client.StopAndCancel(ctx); err != nil {
		return fmt.Errorf("stop the jobs: %w", err)
	}
	return nil
}

// reconcile compares the books.
type reconcile struct{}

func (reconcile) Kind() string { return "reconcile" }

type reconciler struct {
	river.WorkerDefaults[reconcile]
	reconcile func(ctx context.Context) error
}

// Work compares once.
func (r *reconciler) Work(ctx context.Context, _ *river.Job[reconcile]) error {
	return r.reconcile(ctx)
}
