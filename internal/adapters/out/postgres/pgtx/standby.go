package pgtx

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
)

const (
	// positionsInBound is how often the primary's position is read per staleness bound.
	positionsInBound = 4
	// standbyTimeout limits a standby read, because the primary may have to follow.
	standbyTimeout = time.Second
	// standbyPause is how long a failed standby is not asked.
	standbyPause = 5 * time.Second
)

// Outcomes for reads that a standby may serve. All but the first fall back to the
// primary.
const (
	standbyServed     = "served"
	standbyBehind     = "behind"     // it has not replayed the required position
	standbyUnmeasured = "unmeasured" // no position is known: the primary does not answer
	standbyFailed     = "failed"     // it does not answer, or has no result
)

// standby serves reads with bounded staleness, without synchronized clocks: it serves a
// read at time r once it has replayed a position that the primary reported after r -
// bound, by this process's clock. So the read sees everything committed before r -
// bound.
type standby struct {
	db    *DB
	bound time.Duration
	stop  context.CancelFunc
	work  sync.WaitGroup

	mu        sync.Mutex
	positions []walPosition // the primary's, oldest first
	failed    bool
	retry     time.Time // after a failure
}

// walPosition is a lower bound for the primary's WAL position at the time asked.
type walPosition struct {
	asked time.Time
	dbsqlc.PositionRow
}

var errBehind = errors.New("the standby is behind")

// openStandby connects to the primary's standby.
func openStandby(ctx context.Context, primary *pgxpool.Pool, cfg Config) (*standby, error) {
	db, err := Open(ctx, Config{URL: cfg.StandbyURL, Pooled: cfg.Pooled, standby: true})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &standby{db: db, bound: cfg.StandbyStaleness, stop: stop}
	s.work.Go(func() { s.follow(ctx, dbsqlc.New(primary)) })
	return s, nil
}

func (s *standby) close() {
	s.stop()
	s.work.Wait()
	s.db.Close()
}

// follow keeps measuring the primary's position.
func (s *standby) follow(ctx context.Context, primary *dbsqlc.Queries) {
	ticker := time.NewTicker(s.bound / positionsInBound)
	defer ticker.Stop()
	for ctx.Err() == nil {
		s.measure(ctx, primary)
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// measure reads the primary's position. It takes the time before, so that the position
// includes everything committed by then.
func (s *standby) measure(ctx context.Context, primary *dbsqlc.Queries) {
	ctx, cancel := context.WithTimeout(ctx, s.bound)
	defer cancel()
	asked := time.Now()
	row, err := primary.Position(ctx)
	if err != nil {
		return // old positions expire
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.positions = append(s.expire(), walPosition{asked, row})
}

// expire removes positions older than the bound.
func (s *standby) expire() []walPosition {
	s.positions = slices.DeleteFunc(s.positions, func(p walPosition) bool { return time.Since(p.asked) > s.bound })
	return s.positions
}

// required returns the position that the standby must have replayed for a read that
// begins now: the oldest within the bound.
func (s *standby) required() (walPosition, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.expire()) == 0 {
		return walPosition{}, false
	}
	return s.positions[0], true
}

// answers reports whether the standby may be asked. After a failure, one read per pause
// probes it.
func (s *standby) answers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.failed {
		return true
	}
	if time.Now().Before(s.retry) {
		return false
	}
	s.retry = time.Now().Add(standbyPause)
	return true
}

func (s *standby) record(failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed = failed; failed {
		s.retry = time.Now().Add(standbyPause)
	}
}

// read runs fn on the standby if it is recent enough, and returns the outcome.
func (s *standby) read(ctx context.Context, fn Work) (outcome string) {
	required, known := s.required()
	switch {
	case !known:
		return standbyUnmeasured
	case !s.answers():
		return standbyFailed
	}
	limited, cancel := context.WithTimeout(ctx, standbyTimeout)
	defer cancel()
	err := s.db.transactOnce(limited, s.db.pool.Acquire, Tx{}, func(ctx context.Context, t *Tx) error {
		if err := t.reach(ctx, required); err != nil {
			return err
		}
		if err := fn(ctx, t); err != nil {
			return err
		}
		if len(t.queued) > 0 {
			return ErrNoPlace // only the primary writes
		}
		return ErrNothingToCommit
	})
	if ctx.Err() == nil {
		s.record(errors.Is(err, core.ErrUnavailable))
	}
	switch {
	case err == nil:
		return standbyServed
	case errors.Is(err, errBehind):
		return standbyBehind
	}
	return standbyFailed
}

// reach returns an error unless the server is a standby that has replayed a position.
// Later statements see at least as much.
func (t *Tx) reach(ctx context.Context, p walPosition) error {
	var row dbsqlc.ReachedRow
	position := dbsqlc.ReachedParams{Flushed: p.Flushed, Timeline: p.Timeline}
	err := t.Load(ctx, Into(&row, (*dbsqlc.Queries).Reached, position))
	if err == nil && !row.Reached {
		err = errBehind
	}
	t.Now = row.Now.UTC()
	return err
}

// ReadStale is [DB.Read] with bounded staleness: the standby serves it if it can. On any
// other outcome it falls back to the primary.
func (db *DB) ReadStale(ctx context.Context, fn Work) error {
	if db.standby != nil {
		outcome := db.standby.read(ctx, fn)
		db.Observe.StandbyAsked(outcome)
		if outcome == standbyServed {
			return nil
		}
	}
	return db.Read(ctx, fn)
}
