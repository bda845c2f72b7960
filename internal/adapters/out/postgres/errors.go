package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"example.com/orders/internal/core"
)

// serverError is the part of a PostgreSQL error that may leave this package. Message and
// detail of the original carry values of rows, which must not reach logs (AUTH-16).
type serverError struct {
	state      string
	constraint string
	// fatal reports that the server closed the connection with the error.
	fatal bool
}

// conditions are the names of the SQLSTATEs that operators meet, as PostgreSQL's manual
// has them.
var conditions = map[string]string{
	"25006": "read_only_sql_transaction", "25P03": "idle_in_transaction_session_timeout",
	"40001": "serialization_failure", "40P01": "deadlock_detected",
	"42501": "insufficient_privilege", "42P01": "undefined_table",
	"53100": "disk_full", "53200": "out_of_memory", "53300": "too_many_connections",
	"55P03": "lock_not_available", "57014": "query_canceled",
	"57P01": "admin_shutdown", "57P02": "crash_shutdown", "57P03": "cannot_connect_now",
}

func (e *serverError) Error() string {
	text := "SQLSTATE " + e.state
	if name := conditions[e.state]; name != "" {
		text += " (" + name + ")"
	}
	if e.constraint != "" {
		text += " on " + e.constraint
	}
	return text
}

// safe replaces an error of the server, whose text can contain values of rows, by a
// [serverError]. It returns other errors unchanged.
func safe(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		// The other severity is in the language of the server.
		severity := cmp.Or(pg.SeverityUnlocalized, pg.Severity)
		return &serverError{state: pg.Code, constraint: pg.ConstraintName, fatal: severity != "ERROR"}
	}
	return err
}

// rollbacks are the SQLSTATEs, or their first characters, of errors that only the server
// itself finds: in a statement, in a value or in a constraint. It rolls back then.
var rollbacks = []string{
	"22", "23", "42", // data exceptions, integrity constraints, access rules
	"25006",                            // read_only_sql_transaction
	"40000", "40001", "40002", "40P01", // transaction rollback, except for its unknown completion
	"53100", "53200", "53400", "54", // disk full, out of memory, limits
	"55P03", "57014", // lock_not_available, query_canceled
	"P0", // raised by a trigger
}

// rolledBackByServer reports whether an error in reply to COMMIT proves that the server
// has rolled back. A fatal error proves nothing: a server that shuts down may have
// committed before. Other errors may come from a connection pooler in between, which has
// lost its server: it reports them with the severity of a usual error.
func rolledBackByServer(err error) bool {
	e, ok := errors.AsType[*serverError](safe(err))
	return ok && !e.fatal && slices.ContainsFunc(rollbacks, func(prefix string) bool {
		return strings.HasPrefix(e.state, prefix)
	})
}

// lostRace returns why the transaction was rolled back because of a concurrent one, so that
// it must be run again, and "" for any other error. A unique violation counts: the core
// looks for the row before it inserts one, so the other transaction inserted it in between,
// and the next run finds it.
func lostRace(err error) (reason string) {
	e, ok := errors.AsType[*serverError](err)
	if !ok || e.fatal {
		return ""
	}
	switch e.state {
	case "40001":
		return "serialization_failure"
	case "40P01":
		return "deadlock"
	case "23505":
		return "unique_violation"
	}
	return ""
}

// unavailable classifies the error of a transaction that has certainly not committed. It
// wraps temporary failures in [core.ErrUnavailable]: a server that cannot do the work
// now, a broken connection, and a context that is over. Other errors are defects, such as
// a row that cannot be scanned. They stay as they are, without values of rows.
func unavailable(err error) error {
	err = safe(err)
	if err == nil || lostRace(err) != "" {
		return err
	}
	e, fromServer := errors.AsType[*serverError](err)
	if (fromServer && (e.fatal || temporary(e.state))) || unreachable(err) {
		return fmt.Errorf("%w: %w", core.ErrUnavailable, err)
	}
	return err
}

// unreachable reports whether there was no connection, the connection broke, or the
// caller stopped waiting.
func unreachable(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return connecting || network || slices.ContainsFunc([]error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed, puddle.ErrClosedPool,
		context.Canceled, context.DeadlineExceeded,
	}, func(target error) bool { return errors.Is(err, target) })
}

// stateOf returns the SQLSTATE of an error of the server, or "".
func stateOf(err error) string {
	if e, ok := errors.AsType[*serverError](err); ok {
		return e.state
	}
	return ""
}

const (
	lockNotAvailable    = "55P03" // a lock was waited for too long
	queryCanceled       = "57014" // a statement took too long
	readOnlyTransaction = "25006" // the server accepts no writes
)

// temporary reports whether a SQLSTATE passes by itself: connection exceptions (08),
// insufficient resources (53), operator intervention (57), lock_not_available, and
// read_only_sql_transaction, which every write meets on a server that is no primary.
func temporary(state string) bool {
	return strings.HasPrefix(state, "08") || strings.HasPrefix(state, "53") ||
		strings.HasPrefix(state, "57") || state == lockNotAvailable || state == readOnlyTransaction
}
