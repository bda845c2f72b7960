package pgtx

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

	"example.com/orders/internal/core"
)

// serverError is the part of a PostgreSQL error that may leave this package. The
// original message and detail contain row values, which must not reach logs (AUTH-16).
type serverError struct {
	state      string
	constraint string
	// fatal reports that the server closed the connection with the error.
	fatal bool
	// replanned reports that a prepared statement's result type has changed.
	replanned bool
}

// conditions names the SQLSTATEs that operators meet, as in PostgreSQL's manual.
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

// safe replaces a server error, whose text can contain row values, with a
// [serverError]. It returns other errors unchanged.
func safe(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		// pg.Severity is localized.
		severity := cmp.Or(pg.SeverityUnlocalized, pg.Severity)
		return &serverError{
			state: pg.Code, constraint: pg.ConstraintName, fatal: severity != "ERROR",
			replanned: pg.Routine == "RevalidateCachedQuery", // the message is localized
		}
	}
	return err
}

// rollbacks are SQLSTATEs, or their prefixes, that only the server itself reports,
// about a statement, value or constraint. It has then rolled back.
var rollbacks = []string{
	"0A000", "22", "23", "26000", "42", // prepared statements, data exceptions, integrity constraints, access rules
	"25006",                            // read_only_sql_transaction
	"40000", "40001", "40002", "40P01", // transaction rollback, except for its unknown completion
	"53100", "53200", "53400", "54", // disk full, out of memory, limits
	"55P03", "57014", // lock_not_available, query_canceled
	"P0", // raised by a trigger
}

// rolledBackByServer reports whether an error in reply to COMMIT proves a rollback. A
// fatal error proves nothing, because a server may commit before it shuts down. Other
// codes may come from a connection pooler that lost its server and reports them with
// the usual severity.
func rolledBackByServer(err error) bool {
	e, ok := errors.AsType[*serverError](safe(err))
	return ok && !e.fatal && slices.ContainsFunc(rollbacks, func(prefix string) bool {
		return strings.HasPrefix(e.state, prefix)
	})
}

// lostRace returns why a concurrent transaction caused the rollback, so that the caller
// retries, and "" for any other error. Unique violations count: the core looks a row up
// before inserting it, so another transaction inserted it in between, and the retry
// finds it. Outdated prepared statements also count, after a migration changed a column
// type or a pooler reset the connection: the driver prepares them again.
func lostRace(err error) (reason string) {
	e, ok := errors.AsType[*serverError](err)
	if !ok || e.fatal || errors.Is(err, core.ErrOutcomeUnknown) {
		return ""
	}
	if e.replanned || e.state == "26000" || e.state == "42P05" { // unknown, or prepared before
		return "prepared_statement"
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

// Unavailable classifies the error of a transaction that certainly did not commit. It
// wraps temporary failures in [core.ErrUnavailable]: an overloaded server, a broken
// connection, a context that ended. Other errors are defects, such as a row that cannot
// be scanned, and are returned without row values.
func Unavailable(err error) error {
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

// noConnection classifies the error of a pool that has no connection to give: the server is
// away or refuses, or the pool is closed. The caller's context may have ended.
func noConnection(err error) error {
	return fmt.Errorf("%w: %w", core.ErrUnavailable, safe(err))
}

// unreachable reports whether connecting failed, the connection broke, or the caller
// stopped waiting. Only a query on the pool itself fails to connect here: a transaction
// acquires its connection first; see noConnection.
func unreachable(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return connecting || network || slices.ContainsFunc([]error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed,
		context.Canceled, context.DeadlineExceeded,
	}, func(target error) bool { return errors.Is(err, target) })
}

// stateOf returns the SQLSTATE, or "".
func stateOf(err error) string {
	if e, ok := errors.AsType[*serverError](err); ok {
		return e.state
	}
	return ""
}

// LockTimedOut reports whether a statement reached its lock timeout.
func LockTimedOut(err error) bool { return stateOf(safe(err)) == lockNotAvailable }

// Cancelled reports whether the server cancelled a slow statement.
func Cancelled(err error) bool { return stateOf(err) == queryCanceled }

const (
	lockNotAvailable    = "55P03" // lock timeout
	queryCanceled       = "57014" // statement timeout
	readOnlyTransaction = "25006" // the server rejects writes
)

// temporary reports whether a SQLSTATE passes by itself: connection exceptions (08),
// insufficient resources (53), operator intervention (57), lock_not_available, and
// read_only_sql_transaction, which writes meet on a server that is not the primary.
func temporary(state string) bool {
	return strings.HasPrefix(state, "08") || strings.HasPrefix(state, "53") ||
		strings.HasPrefix(state, "57") || state == lockNotAvailable || state == readOnlyTransaction
}

// Failed wraps an action's error; see [Unavailable]. It returns nil for nil.
func Failed(action string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", action, Unavailable(err))
}
