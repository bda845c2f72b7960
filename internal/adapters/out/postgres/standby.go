package postgres

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
	// positionsInBound is how often the position of the primary is read in the time by which
	// an answer may be old.
	positionsInBound = 4
	// standbyTimeout bounds a read of the standby: the primary has to be asked after it.
	standbyTimeout = time.Second
	// standbyPause is how long a standby is left alone that did not answer.
	standbyPause = 5 * time.Second
)

// The outcomes of reads that a standby may serve. All but the first are served by the
// primary.
const (
	standbyServed     = "served"
	standbyBehind     = "behind"     // it has not replayed what it must have
	standbyUnmeasured = "unmeasured" // nobody knows what it must have: the primary does not answer
	standbyFailed     = "failed"     // it does not answer, or has no answer
)

// standby serves reads that may be old by a bound. The bound needs no clock that servers
// agree on: a read at the time r is served if the standby has replayed what the primary had
// written when it was asked after r - bound, by the clock of this process. What was
// committed before that is visible.
type standby struct {
	db    *DB
	bound time.Duration
	stop  context.CancelFunc
	work  sync.WaitGroup

	mu        sync.Mutex
	positions []walPosition // of the primary, the oldest first
	failed    bool
	retry     time.Time // of a standby that has failed
}

// walPosition is what the primary had written when it was asked, at the earliest.
type walPosition struct {
	asked time.Time
	dbsqlc.PositionRow
}

var errBehind = errors.New("the standby is behind")

// openStandby connects to a standby of the primary.
func openStandby(ctx context.Context, primary *pgxpool.Pool, cfg Config) (*standby, error) {
	db, err := Open(ctx, Config{URL: cfg.StandbyURL, Pooled: cfg.Pooled, Traced: cfg.Traced, standby: true})
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

// follow reads the position of the primary again and again.
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

// measure reads the position of the primary. The time is taken before: what was committed
// until then is part of it.
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

// expire removes the positions that are older than the bound.
func (s *standby) expire() []walPosition {
	s.positions = slices.DeleteFunc(s.positions, func(p walPosition) bool { return time.Since(p.asked) > s.bound })
	return s.positions
}

// required returns what the standby must have replayed to serve a read that begins now:
// the oldest position within the bound.
func (s *standby) required() (walPosition, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.expire()) == 0 {
		return walPosition{}, false
	}
	return s.positions[0], true
}

// answers reports whether the standby may be asked. If it failed, one read tries it after
// each pause.
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

// read runs fn on the standby, if that is recent enough, and returns the outcome.
func (s *standby) read(ctx context.Context, fn func(context.Context, *tx) error) (outcome string) {
	required, known := s.required()
	switch {
	case !known:
		return standbyUnmeasured
	case !s.answers():
		return standbyFailed
	}
	limited, cancel := context.WithTimeout(ctx, standbyTimeout)
	defer cancel()
	err := s.db.transactOnce(limited, s.db.pool.Acquire, func(ctx context.Context, t *tx) error {
		if err := t.reach(ctx, required); err != nil {
			return err
		}
		if err := fn(ctx, t); err != nil {
			return err
		}
		if len(t.queued) > 0 {
			return errNoPlace // only the primary writes
		}
		return errNothingToCommit
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

// reach returns an error unless the server is a standby that has replayed a position. The
// statements after it see at least as much.
func (t *tx) reach(ctx context.Context, p walPosition) error {
	var row dbsqlc.ReachedRow
	err := t.load(ctx, func(q *dbsqlc.Queries) (err error) {
		row, err = q.Reached(ctx, dbsqlc.ReachedParams{Flushed: p.Flushed, Timeline: p.Timeline})
		return err
	})
	if err == nil && !row.Reached {
		err = errBehind
	}
	t.now = row.Now.UTC()
	return err
}

// readStale is read for what may be old by the bound. The standby serves it if there is
// one that can; whatever its answer is otherwise, the primary has the last word.
func (db *DB) readStale(ctx context.Context, fn func(context.Context, *tx) error) error {
	if _, joins := ctx.Value(txKey{}).(*tx); !joins && db.standby != nil {
		outcome := db.standby.read(ctx, fn)
		db.observe.StandbyAsked(outcome)
		if outcome == standbyServed {
			return nil
		}
	}
	return db.read(ctx, fn)
}
