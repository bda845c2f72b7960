package jobs_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/jobs"
	testlog "example.com/orders/internal/test/log"
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
	"example.com/orders/migrations"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	// onlyAtStart is a period that is longer than any test, so that a job runs once.
	onlyAtStart = time.Hour
	// often is a period in which a test sees several runs.
	often = 20 * time.Millisecond

	reservations = "release_expired_reservations"
	records      = "clean_idempotency_records"
)

// batches is a stub of a batch job.
type batches struct {
	// run answers call n, counted from 1. Without it there is nothing to do.
	run   func(ctx context.Context, n int) (int, error)
	calls atomic.Int64
}

func (b *batches) handle(ctx context.Context, _ int) (int, error) {
	n := int(b.calls.Add(1))
	if b.run == nil {
		return 0, nil
	}
	return b.run(ctx, n)
}

// newPool connects to a new database as the service does.
func newPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	return connect(t, pgtest.AsService(t, pgtest.New(t)))
}

func connect(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// newRunner returns a runner of two batch jobs, and its log.
func newRunner(
	t *testing.T, pool *pgxpool.Pool, releaseReservations, cleanRecords *batches, every time.Duration,
) (*jobs.Runner, *testlog.Buffer) {
	t.Helper()
	log := &testlog.Buffer{}
	runner, err := jobs.New(jobs.Config{
		Pool: pool, Schema: migrations.RiverSchema, Log: zerolog.New(log),
		ReleaseExpiredReservations: jobs.BatchJob{Run: releaseReservations.handle, Every: every, Removes: true},
		CleanIdempotencyRecords:    jobs.BatchJob{Run: cleanRecords.handle, Every: every, Removes: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return runner, log
}

// start starts a runner, and stops it at the end of the test.
func start(t *testing.T, runner *jobs.Runner) {
	t.Helper()
	if err := runner.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testwait.Patience)
		defer cancel()
		if _, err := runner.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
}

// countJobs counts the jobs of a kind in a state.
func countJobs(t *testing.T, pool *pgxpool.Pool, kind, state string) int {
	t.Helper()
	var n int
	err := pool.QueryRow(t.Context(),
		"SELECT count(*) FROM river.river_job WHERE kind = $1 AND state::text = $2", kind, state).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A failure ends one run and is logged. The other job and the next run are not
// affected.
func TestRunner_RunsAJobAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	release := &batches{run: func(_ context.Context, n int) (int, error) {
		if n == 1 {
			return 0, errors.New("the database was down")
		}
		return 0, nil
	}}
	clean := &batches{run: func(_ context.Context, n int) (int, error) {
		if n == 1 {
			panic("a bug")
		}
		return 0, nil
	}}
	runner, log := newRunner(t, pool, release, clean, often)
	start(t, runner)
	for _, kind := range []string{reservations, records} {
		testwait.Until(t, kind+" is completed", func() bool { return countJobs(t, pool, kind, "completed") >= 1 })
	}
	for _, text := range []string{"job failed", "the database was down", "a bug"} {
		if !strings.Contains(log.String(), text) {
			t.Errorf("the log does not contain %q:\n%s", text, log)
		}
	}
}

// River would write the whole value to its log and to its table.
func TestRunner_KeepsTheDataOfAPanicOutOfLogAndTable(t *testing.T) {
	t.Parallel()
	const secret = "alice@example.com"
	pool := newPool(t)
	release := &batches{run: func(context.Context, int) (int, error) { panic(struct{ Email string }{secret}) }}
	runner, log := newRunner(t, pool, release, &batches{}, onlyAtStart)
	start(t, runner)
	testwait.Until(t, "the job failed", func() bool { return countJobs(t, pool, reservations, "discarded") == 1 })
	var stored string
	err := pool.QueryRow(t.Context(), "SELECT errors::text FROM river.river_job WHERE kind = $1", reservations).Scan(&stored)
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"log": log.String(), "table": stored} {
		if strings.Contains(text, secret) || !strings.Contains(text, "panic: a value of type struct") {
			t.Errorf("the %s contains %s", where, text)
		}
	}
}

func TestRunner_LogsWhatARunRemoved(t *testing.T) {
	t.Parallel()
	due := []int{500, 500, 7}
	clean := &batches{run: func(_ context.Context, n int) (int, error) { return due[n-1], nil }}
	runner, log := newRunner(t, newPool(t), &batches{}, clean, onlyAtStart)
	start(t, runner)
	testwait.Until(t, "the run has a line in the log", func() bool { return strings.Contains(log.String(), "\n") })
	line := log.Lines(t)[0]
	if line["job"] != records || line["rows"] != 1007.0 || line["level"] != "info" || line["message"] != "rows removed" {
		t.Errorf("the line is %v", line)
	}
}

func TestRunner_RefusesASchemaThatIsNotCurrent(t *testing.T) {
	t.Parallel()
	for _, damage := range []string{
		"DROP SCHEMA river CASCADE",
		"DELETE FROM river.river_migration WHERE version = (SELECT max(version) FROM river.river_migration)",
	} {
		owner := pgtest.New(t)
		if _, err := connect(t, owner).Exec(t.Context(), damage); err != nil {
			t.Fatal(err)
		}
		release := &batches{}
		runner, _ := newRunner(t, connect(t, pgtest.AsService(t, owner)), release, &batches{}, time.Millisecond)
		if err := runner.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "orders migrate up") {
			t.Errorf("after %s, the error does not say what to do: %v", damage, err)
		}
		if release.calls.Load() > 0 {
			t.Error("a job ran although Start failed")
		}
	}
}

func TestStop_WaitsForARunningJob(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	running, finish := make(chan struct{}), make(chan struct{})
	release := &batches{run: func(ctx context.Context, _ int) (int, error) {
		close(running)
		<-finish
		return 0, ctx.Err()
	}}
	runner, _ := newRunner(t, pool, release, &batches{}, onlyAtStart)
	if err := runner.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-running

	// The job ends when Stop waits.
	ctx := &watchedContext{Context: context.WithoutCancel(t.Context()), watched: sync.OnceFunc(func() { close(finish) })}
	if cut, err := runner.Stop(ctx); cut > 0 || err != nil {
		t.Errorf("Stop cancelled %d jobs and returned %v", cut, err)
	}

	if n := countJobs(t, pool, reservations, "completed"); n != 1 {
		t.Errorf("%d completed jobs, want 1", n)
	}
}

// watchedContext reports that somebody waits for its end.
type watchedContext struct {
	context.Context //nolint:containedctx // it is one
	watched         func()
}

func (c *watchedContext) Done() <-chan struct{} {
	c.watched()
	return c.Context.Done()
}

func TestStop_CancelsAJobWhenItsOwnTimeIsOver(t *testing.T) {
	t.Parallel()
	running := make(chan struct{})
	var cancelled atomic.Bool
	release := &batches{run: func(ctx context.Context, _ int) (int, error) {
		close(running)
		<-ctx.Done()
		cancelled.Store(true)
		return 0, ctx.Err()
	}}
	pool := newPool(t)
	runner, _ := newRunner(t, pool, release, &batches{}, onlyAtStart)
	if err := runner.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-running
	testwait.Until(t, "the other job has ended", func() bool { return countJobs(t, pool, records, "completed") == 1 })
	if n := runner.Running(); n != 1 {
		t.Errorf("%d jobs run, want 1", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if cut, err := runner.Stop(ctx); cut != 1 || err != nil {
		t.Errorf("Stop cancelled %d jobs and returned %v, want 1", cut, err)
	}
	if n := runner.Running(); n != 0 {
		t.Errorf("%d jobs run after Stop", n)
	}
	if !cancelled.Load() {
		t.Error("the job still runs after Stop")
	}
}

// A job that hangs has no others of its kind behind it, however often it would be due.
func TestSchedule_DoesNotPileUpBehindAJobThatHangs(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	finish := make(chan struct{})
	release := &batches{run: func(context.Context, int) (int, error) { <-finish; return 0, nil }}
	runner, _ := newRunner(t, pool, release, &batches{}, often)
	start(t, runner)
	t.Cleanup(func() { close(finish) }) // before the runner stops
	testwait.Until(t, "the other job was due ten times", func() bool {
		return countJobs(t, pool, records, "available")+countJobs(t, pool, records, "completed") >= 10
	})
	if n := countJobs(t, pool, reservations, "available"); n > 0 || release.calls.Load() != 1 {
		t.Errorf("%d jobs wait, and %d ran; want none to wait for the one that runs", n, release.calls.Load())
	}
}

// A job whose process died counts as running until it is rescued. Then it runs.
func TestSchedule_ContinuesWhenAProcessDied(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	release := &batches{}
	dead, _ := newRunner(t, pool, release, &batches{}, onlyAtStart)
	if err := dead.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the job has run", func() bool { return countJobs(t, pool, reservations, "completed") == 1 })
	if _, err := dead.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := pool.Exec(t.Context(), `UPDATE river.river_job
		SET state = 'running', finalized_at = NULL, attempted_at = now() - interval '1 minute' WHERE kind = $1`, reservations)
	if err != nil {
		t.Fatal(err)
	}
	runner, _ := newRunner(t, pool, release, &batches{}, onlyAtStart)
	start(t, runner)
	testwait.Until(t, "the job runs again", func() bool { return release.calls.Load() == 2 })
}

// Stock returns to sale while everything else takes its time.
func TestSchedule_ReleasesReservationsWhileOtherJobsRun(t *testing.T) {
	t.Parallel()
	finish := make(chan struct{})
	var running atomic.Int64
	hang := jobs.BatchJob{Every: onlyAtStart, Run: func(context.Context, int) (int, error) {
		running.Add(1)
		<-finish
		return 0, nil
	}}
	release := &batches{}
	runner, err := jobs.New(jobs.Config{
		Pool: newPool(t), Schema: migrations.RiverSchema, Log: zerolog.New(zerolog.NewTestWriter(t)),
		ReleaseExpiredReservations: jobs.BatchJob{Run: release.handle, Every: often},
		CleanIdempotencyRecords:    hang, CleanOutbox: hang, CleanProcessedMessages: hang, CleanWebhookDeliveries: hang,
		Reconcile: hang,
	})
	if err != nil {
		t.Fatal(err)
	}
	start(t, runner)
	t.Cleanup(func() { close(finish) }) // before the runner stops
	testwait.Until(t, "other jobs hang", func() bool { return running.Load() >= 2 })
	before := release.calls.Load()
	testwait.Until(t, "reservations are released", func() bool { return release.calls.Load() >= before+3 })
	testwait.Until(t, "all other jobs run", func() bool { return running.Load() == 5 })
}
