package pgtx

import (
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// errNotReplicated reports that a COMMIT's wait for the standby was cancelled. The
// server has committed, but a failover may lose it.
var errNotReplicated = errors.New("the wait for the standby was cancelled")

// notReplicated is the connection's custom data key for that warning.
const notReplicated = "not replicated"

// watch reports events that may undo a commit: a broken connection is the first sign of
// a failover, and a warning says that the server did not wait for the standby.
func watch(cfg *pgxpool.Config, onBroken func()) {
	cfg.BeforeClose = func(conn *pgx.Conn) {
		if conn.IsClosed() && onBroken != nil { // not closed by the pool
			onBroken()
		}
	}
	cfg.ConnConfig.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		if n.Routine == "SyncRepWaitForLSN" { // its text is localized
			conn.CustomData()[notReplicated] = true
		}
	}
}

// replicated returns errNotReplicated after such a warning since the last call.
func replicated(conn *pgconn.PgConn) error {
	if _, warned := conn.CustomData()[notReplicated]; !warned {
		return nil
	}
	delete(conn.CustomData(), notReplicated)
	return errNotReplicated
}
