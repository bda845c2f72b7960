package pgtx

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/observe/panics"
)

// Cancelling a COMMIT that waits for a synchronous standby would make it visible at
// once, and a failover would then undo it. So the service stops waiting, but the server
// does not: the transaction stays invisible and keeps its locks, its connection and its
// writer place until the answer arrives.

// followInDoubt is how often a COMMIT in doubt checks whether the pool still uses the
// same server.
const followInDoubt = time.Second

// commit sends the queued writes together with COMMIT. If ctx ends before the answer
// arrives, the outcome is unknown.
func (t *Tx) commit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return Unavailable(err) // COMMIT was not sent, so the outcome is known
	}
	if !t.wrote && !t.flushed && len(t.queued) == 0 {
		return t.sendCommit(ctx, t.conn.Conn(), Unavailable) // nothing to replicate
	}
	if t.place == nil {
		if t.place = t.db.Places.TryWrite(); t.place == nil {
			return ErrNoPlace
		}
		defer t.place.Leave()
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

// sendWrites sends COMMIT on a connection that must not be cancelled.
func (t *Tx) sendWrites(ctx context.Context, conn *pgx.Conn) (err error) {
	defer panics.Catch(&err)
	underWay := committingOf(conn.PgConn())
	underWay.Store(true)
	err = t.sendCommit(ctx, conn, func(err error) error {
		if rolledBackByServer(err) {
			return Unavailable(err)
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
// A server that reports a failed statement has rolled back. Without its answer, or with
// an answer from elsewhere, the outcome is unknown because the server may have
// committed. It is also unknown when the server committed without waiting for its
// synchronous standby. pgconn.SafeToRetry cannot tell these cases apart: since pgx 5.9
// it is also true for a lost answer.
func (t *Tx) sendCommit(ctx context.Context, conn *pgx.Conn, classify func(error) error) error {
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

// giveUp stops waiting for a COMMIT and leaves it in doubt.
func (t *Tx) giveUp(answer <-chan error) {
	t.givenUp = true
	go t.awaitAnswer(answer, t.place.Keep())
}

// awaitAnswer frees the connection and writer place when the answer arrives, the pool
// leads to another server, or the pool is closed. In the last two cases it closes the
// socket, which a server waiting for its standby does not notice.
func (t *Tx) awaitAnswer(answer <-chan error, answered func()) {
	defer answered()
	ticker := time.NewTicker(followInDoubt)
	defer ticker.Stop()
	for {
		select {
		case <-answer: //nolint:errcheck // sendWrites has returned it
			t.conn.Release()
			return
		case <-ticker.C:
			if !t.db.hasLeft(t.Server) {
				continue
			}
		case <-t.db.closed:
		}
		_ = t.conn.Hijack().PgConn().Conn().Close() // unblocks sendWrites
		return
	}
}

// hasLeft reports whether the pool leads to a server process started at another time.
func (db *DB) hasLeft(server time.Time) bool {
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	now, err := dbsqlc.New(db.pool).Now(ctx, "")
	return err == nil && !now.ServerStarted.Equal(server)
}

// committing is the connection's custom data key for a COMMIT under way.
const committing = "committing"

var errCommitting = errors.New("a COMMIT must not be cancelled")

// keepCommits stops the driver from cancelling a COMMIT when its connection breaks. The
// driver would dial an extra connection for that.
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
	return conn.CustomData()[committing].(*atomic.Bool) //nolint:forcetypeassert // set by keepCommits
}
