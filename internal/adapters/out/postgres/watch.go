package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// errNotReplicated: somebody cancelled the wait of a COMMIT for the standby. The server has
// committed, and a failover may lose it.
var errNotReplicated = errors.New("the wait for the standby was cancelled")

// notReplicated is the key under which a connection remembers that warning.
const notReplicated = "not replicated"

// watch makes the connections of a pool report what may undo a commit: a connection that
// breaks is the first sign of a failover, and a warning says that the standby was not
// waited for.
func watch(cfg *pgxpool.Config, recent *recentRecords) {
	cfg.BeforeClose = func(conn *pgx.Conn) {
		if conn.IsClosed() { // not by the pool
			recent.forget()
		}
	}
	cfg.ConnConfig.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		if n.Routine == "SyncRepWaitForLSN" { // its text depends on the language of the server
			conn.CustomData()[notReplicated] = true
		}
	}
}

// replicated returns errNotReplicated if the server has warned so since the last call.
func replicated(conn *pgconn.PgConn) error {
	if _, warned := conn.CustomData()[notReplicated]; !warned {
		return nil
	}
	delete(conn.CustomData(), notReplicated)
	return errNotReplicated
}
