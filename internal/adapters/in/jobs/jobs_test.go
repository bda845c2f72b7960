package jobs_test

import (
	"bytes"
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
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
	"example.com/orders/migrations"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// patience is how long a test waits for what must happen.
const patience = testwait.Patience

// seldom is a period that no test lives to see the end of.
const seldom = time.Hour

// sweep is work that remembers how it was asked. The answer to call n, from 1, is up to
// the test; without one there is nothing to do.
type sweep struct {
	answer func(ctx context.Context, n int) (int, error)
	calls  atomic.Int64
	mu     sync.Mutex
	limits []int
}

func (s *sweep) run(ctx context.Context, limit int) (int, error) {
	s.mu.Lock()
	s.limits = append(s.limits, limit)
	s.mu.Unlock()
	n := int(s.calls.Add(1))
	if s.answer == nil {
		return 0, nil
	}
	return s.answer(ctx, n)
}

func newPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// newRunner sets up jobs with these sweeps. What they log is for the test to read.
func newRunner(t *testing.T, pool *pgxpool.Pool, holds, keys *sweep, every time.Duration) (*jobs.Runner, *syncBuffer) {
	t.Helper()
	logged := &syncBuffer{}
	runner, err := jobs.New(jobs.Config{
		Pool: pool, Schema: migrations.RiverSchema, Log: zerolog.New(logged),
		ReleaseReservations: holds.run, CleanKeys: keys.run, ReservationsEvery: every, KeysEvery: every,
	})
	if err != nil {
		t.Fatal(err)
	}
	return runner, logged
}

// start starts a runner, and stops it at the end of the test.
func start(t *testing.T, runner *jobs.Runner) {
	t.Helper()
	if err := runner.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := runner.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
}

type syncBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

var eventually = testwait.Until

// jobsIn counts the jobs of a kind in a state.
func jobsIn(t *testing.T, pool *pgxpool.Pool, kind, state string) int {
	t.Helper()
	var n int
	err := pool.QueryRow(t.Context(), "SELECT count(*) FROM river.river_job WHERE kind = $1 AND state::text = $2", kind, state).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestBothSweepsRunAtTheStart(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	holds, keys := &sweep{}, &sweep{}
	runner, _ := newRunner(t, pool, holds, keys, seldom)
	start(t, runner)
	eventually(t, "both jobs are completed", func() bool {
		return jobsIn(t, pool, "release_expired_reservations", "completed") == 1 && jobsIn(t, pool, "clean_idempotency_records", "completed") == 1
	})
	if holds.calls.Load() != 1 || keys.calls.Load() != 1 {
		t.Errorf("%d and %d sweeps, want one each", holds.calls.Load(), keys.calls.Load())
	}
}

func TestBothSweepsRunPeriodically(t *testing.T) {
	t.Parallel()
	holds, keys := &sweep{}, &sweep{}
	runner, _ := newRunner(t, newPool(t), holds, keys, 20*time.Millisecond)
	start(t, runner)
	eventually(t, "both have run four times", func() bool { return holds.calls.Load() >= 4 && keys.calls.Load() >= 4 })
}

func TestASweepGoesOnWhileItsBatchesAreFull(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	due := []int{500, 500, 500, 7, 0}
	holds := &sweep{answer: func(_ context.Context, n int) (int, error) { return due[n-1], nil }}
	runner, _ := newRunner(t, pool, holds, &sweep{}, seldom)
	start(t, runner)
	eventually(t, "the job is completed", func() bool { return jobsIn(t, pool, "release_expired_reservations", "completed") == 1 })
	if len(holds.limits) != 4 {
		t.Errorf("%d batches, want 4", len(holds.limits))
	}
	for _, limit := range holds.limits {
		if limit != 500 {
			t.Errorf("a batch of %d, want 500", limit)
		}
	}
}

// A failure ends the run and is told. The other sweep, and the next run, go on.
func TestAFailedSweepHasAnotherChance(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	holds := &sweep{answer: func(_ context.Context, n int) (int, error) {
		if n == 1 {
			return 500, errors.New("the database was away")
		}
		return 0, nil
	}}
	keys := &sweep{answer: func(_ context.Context, n int) (int, error) {
		if n == 1 {
			panic("a bug")
		}
		return 0, nil
	}}
	runner, logged := newRunner(t, pool, holds, keys, 20*time.Millisecond)
	start(t, runner)
	for _, kind := range []string{"release_expired_reservations", "clean_idempotency_records"} {
		eventually(t, kind+" failed once and was completed later", func() bool {
			return jobsIn(t, pool, kind, "discarded") == 1 && jobsIn(t, pool, kind, "completed") >= 1
		})
	}
	for _, message := range []string{"the database was away", "a bug"} {
		if !strings.Contains(logged.String(), message) {
			t.Errorf("the log does not tell %q:\n%s", message, logged)
		}
	}
}

func TestStartRefusesASchemaThatIsNotCurrent(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"no schema":            "DROP SCHEMA river CASCADE",
		"no tables":            "DROP SCHEMA river CASCADE; CREATE SCHEMA river",
		"a migration too few":  "DELETE FROM river.river_migration WHERE version = (SELECT max(version) FROM river.river_migration)",
		"nothing was migrated": "DELETE FROM river.river_migration",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := newPool(t)
			if _, err := pool.Exec(t.Context(), damage); err != nil {
				t.Fatal(err)
			}
			holds, keys := &sweep{}, &sweep{}
			runner, _ := newRunner(t, pool, holds, keys, time.Millisecond)
			err := runner.Start(t.Context())
			if err == nil {
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), "orders migrate up") {
				t.Errorf("the error does not say what to do: %v", err)
			}
			if holds.calls.Load()+keys.calls.Load() > 0 {
				t.Error("it worked all the same")
			}
		})
	}
}

func TestStopWaitsForTheRunningJob(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	running, release := make(chan struct{}), make(chan struct{})
	var finished, brokenOff atomic.Bool
	holds := &sweep{answer: func(ctx context.Context, _ int) (int, error) {
		close(running)
		select {
		case <-release:
		case <-ctx.Done():
			brokenOff.Store(true)
		}
		finished.Store(true)
		return 0, nil
	}}
	runner, _ := newRunner(t, pool, holds, &sweep{}, seldom)
	if err := runner.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-running
	stopped := make(chan error, 1)
	go func() { stopped <- runner.Stop(context.WithoutCancel(t.Context())) }()
	select {
	case err := <-stopped:
		t.Fatalf("Stop did not wait for the job: %v", err)
	case <-time.After(300 * time.Millisecond): // longer than Stop takes with nothing to wait for
	}
	close(release)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if !finished.Load() || brokenOff.Load() {
		t.Errorf("when Stop returned, the job was finished: %t, broken off: %t", finished.Load(), brokenOff.Load())
	}
	if n := jobsIn(t, pool, "release_expired_reservations", "completed"); n != 1 {
		t.Errorf("%d completed jobs, want 1", n)
	}
}

func TestStopBreaksOffAJobThatTakesTooLong(t *testing.T) {
	t.Parallel()
	running := make(chan struct{})
	var brokenOff atomic.Bool
	holds := &sweep{answer: func(ctx context.Context, _ int) (int, error) {
		close(running)
		<-ctx.Done()
		brokenOff.Store(true)
		return 0, ctx.Err()
	}}
	runner, _ := newRunner(t, newPool(t), holds, &sweep{}, seldom)
	if err := runner.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-running
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := runner.Stop(ctx); err != nil {
		t.Error(err)
	}
	if !brokenOff.Load() {
		t.Error("Stop left the job to itself")
	}
}

// One of several runners schedules; when it goes, another one does.
func TestAnotherRunnerTakesOver(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	first, second := &sweep{}, &sweep{}
	leader, _ := newRunner(t, pool, first, &sweep{}, 20*time.Millisecond)
	if err := leader.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first works", func() bool { return first.calls.Load() > 0 })
	heir, _ := newRunner(t, pool, second, &sweep{}, 20*time.Millisecond)
	start(t, heir)
	if err := leader.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	calls := first.calls.Load()
	before := second.calls.Load()
	eventually(t, "the second goes on", func() bool { return second.calls.Load() >= before+3 })
	if first.calls.Load() != calls {
		t.Error("the first works on after Stop")
	}
}
