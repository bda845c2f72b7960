package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/semaphore"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/panics"
)

// A COMMIT that waits for a synchronous standby must not be cancelled: the server would make
// it visible at once, and a failover would take back what others have seen. So the service
// stops to wait for the answer, but the server does not: the transaction stays invisible and
// keeps its locks, its connection and its place among the writers until it is answered.

const (
	// maxInDoubt is how many COMMITs may be in doubt before new commands are refused: they
	// would not end either.
	maxInDoubt = 4
	// followInDoubt is how often a COMMIT in doubt asks whether its server is still the one
	// that the pool leads to.
	followInDoubt = time.Second
)

// errInDoubt refuses a command while too many COMMITs are in doubt.
var errInDoubt = fmt.Errorf("%w: too many commits are in doubt", core.ErrUnavailable)

// doubts are the COMMITs of a pool that were given up before their answer arrived.
type doubts struct {
	count, limit int64
	closed       chan struct{}
	close        func()
}

func newDoubts(writers int64) doubts {
	closed := make(chan struct{})
	return doubts{limit: min(maxInDoubt, writers), closed: closed, close: sync.OnceFunc(func() { close(closed) })}
}

// many reports whether new commands are refused.
func (d *doubts) many() bool { return atomic.LoadInt64(&d.count) >= d.limit }

// CommitsInDoubt returns how many COMMITs were given up and have not been answered yet.
func (db *DB) CommitsInDoubt() int { return int(atomic.LoadInt64(&db.doubts.count)) }

// writerPlace is the right of a transaction to write. A COMMIT in doubt keeps it.
type writerPlace struct {
	writers *semaphore.Weighted
	kept    bool
}

func (p *writerPlace) leave() {
	if !p.kept {
		p.writers.Release(1)
	}
}

// enterWriters waits for a place among the writers, unless too many COMMITs are in doubt.
func (db *DB) enterWriters(ctx context.Context) (*writerPlace, error) {
	if db.doubts.many() {
		return nil, errInDoubt
	}
	if err := db.writers.Acquire(ctx, 1); err != nil {
		return nil, unavailable(fmt.Errorf("wait for other commands: %w", err))
	}
	return &writerPlace{writers: db.writers}, nil
}

// commit sends the queued writes together with COMMIT, and waits for the answer until ctx is
// over. After that, the outcome is unknown.
func (t *tx) commit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return unavailable(err) // COMMIT has not been sent, so the outcome is known
	}
	if !t.wrote && !t.flushed && len(t.queued) == 0 {
		return t.sendCommit(ctx, t.conn.Conn(), unavailable) // the server waits for nobody
	}
	if t.place == nil {
		if !t.db.writers.TryAcquire(1) {
			return errNoPlace
		}
		t.place = &writerPlace{writers: t.db.writers}
		defer t.place.leave()
	}
	answer, conn := make(chan error, 1), t.conn.Conn()
	go func() { answer <- t.sendWrites(context.WithoutCancel(ctx), conn) }()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
	}
	t.giveUp(answer)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.db.servers.leave()
	}
	return fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, ctx.Err())
}

// sendWrites sends COMMIT on a connection that is not to be cancelled, whatever breaks.
func (t *tx) sendWrites(ctx context.Context, conn *pgx.Conn) (err error) {
	defer panics.Catch(&err)
	underWay := committingOf(conn.PgConn())
	underWay.Store(true)
	err = t.sendCommit(ctx, conn, func(err error) error {
		if rolledBackByServer(err) {
			return unavailable(err)
		}
		return fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, safe(err))
	})
	if !conn.IsClosed() {
		underWay.Store(false)
	}
	return err
}

// sendCommit sends the queued writes together with COMMIT.
//
// When the server reports that a statement failed, it has rolled back. When its answer
// does not arrive, or when somebody else answers for it, the outcome is unknown: the
// server may have committed. It is also unknown when the server has committed and did not
// wait for its synchronous standby. pgconn.SafeToRetry does not help to tell the cases
// apart: since pgx 5.9 it is true for a lost answer, too.
func (t *tx) sendCommit(ctx context.Context, conn *pgx.Conn, classify func(error) error) error {
	batch := t.flush(false)
	batch.Queue("commit")
	results := conn.SendBatch(ctx, batch)
	err := skipResults(results, batch.Len()-1)
	var tag pgconn.CommandTag
	if err == nil {
		tag, err = results.Exec()
	}
	err = closeResults(results, err)
	if err == nil {
		err = replicated(conn.PgConn())
	}
	switch {
	case err != nil:
		return classify(err)
	case tag.String() != "COMMIT":
		// COMMIT of a failed transaction succeeds with the tag ROLLBACK.
		return errors.New("the database rolled back instead of committing")
	}
	return nil
}

// giveUp leaves a COMMIT to itself until it is answered.
func (t *tx) giveUp(answer <-chan error) {
	t.givenUp, t.place.kept = true, true
	atomic.AddInt64(&t.db.doubts.count, 1)
	go t.awaitAnswer(answer)
}

// awaitAnswer frees the connection and the place of a COMMIT in doubt when it is answered,
// when the pool leads to another server, or when it is closed. The socket is closed then: a
// server that waits for its standby does not notice.
func (t *tx) awaitAnswer(answer <-chan error) {
	defer t.place.writers.Release(1)
	defer atomic.AddInt64(&t.db.doubts.count, -1)
	ticker := time.NewTicker(followInDoubt)
	defer ticker.Stop()
	for {
		select {
		case <-answer: //nolint:errcheck // whoever sent COMMIT has been answered
			t.conn.Release()
			return
		case <-ticker.C:
			if !t.db.hasLeft(t.server) {
				continue
			}
		case <-t.db.doubts.closed:
		}
		_ = t.conn.Hijack().PgConn().Conn().Close() // ends the wait for the answer
		return
	}
}

// hasLeft reports whether the pool leads to another server process than one that was started
// at a time.
func (db *DB) hasLeft(server time.Time) bool {
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	now, err := dbsqlc.New(db.pool).Now(ctx)
	return err == nil && !now.ServerStarted.Equal(server)
}

// committing is the key under which a connection remembers whether a COMMIT is under way.
const committing = "committing"

var errCommitting = errors.New("a COMMIT must not be cancelled")

// keepCommits makes a connection that breaks during COMMIT refuse to ask the server to cancel
// it. The driver does so on an extra connection.
func keepCommits(cfg *pgx.ConnConfig) {
	underWay := new(atomic.Bool)
	dial, validate := cfg.DialFunc, cfg.ValidateConnect
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if underWay.Load() {
			return nil, errCommitting
		}
		return dial(ctx, network, addr)
	}
	cfg.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		conn.CustomData()[committing] = underWay
		if validate == nil {
			return nil
		}
		return validate(ctx, conn)
	}
}

func committingOf(conn *pgconn.PgConn) *atomic.Bool {
	return conn.CustomData()[committing].(*atomic.Bool) //nolint:forcetypeassert // keepCommits has set it
}
