package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/orders/internal/core"
)

// serverError is what may be told of an error by PostgreSQL: its message and detail
// carry values of rows, so they stay here (AUTH-16).
type serverError struct {
	state      string
	constraint string
	fatal      bool
}

func (e *serverError) Error() string {
	if e.constraint != "" {
		return fmt.Sprintf("SQLSTATE %s on %s", e.state, e.constraint)
	}
	return "SQLSTATE " + e.state
}

// safe strips an error of the values that PostgreSQL puts into its messages.
func safe(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return &serverError{state: pg.Code, constraint: pg.ConstraintName, fatal: pg.Severity != "ERROR"}
	}
	return err
}

// refusedByServer tells that the server itself said no and stayed: the transaction is
// rolled back for certain. A server that is shutting down proves nothing.
func refusedByServer(err error) bool {
	e, ok := errors.AsType[*serverError](safe(err))
	return ok && !e.fatal
}

// lostRace tells that the transaction was rolled back because of another one, and
// that running it again is the answer.
func lostRace(err error) bool {
	e, ok := errors.AsType[*serverError](err)
	if !ok || e.fatal {
		return false
	}
	switch e.state {
	case "40001", "40P01", "23505": // serialization_failure, deadlock_detected, unique_violation
		return true
	}
	return false
}

// unavailable sorts the errors of a transaction that has certainly not committed:
// what the server cannot do now, or a connection that broke, is temporary.
func unavailable(err error) error {
	err = safe(err)
	if err == nil || lostRace(err) || errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if e, ok := errors.AsType[*serverError](err); ok && !e.fatal && !temporary(e.state) {
		return err
	}
	return fmt.Errorf("%w: %w", core.ErrUnavailable, err)
}

// temporary lists the classes of SQLSTATE that pass: connection, resources, operator
// intervention, and lock_not_available.
func temporary(state string) bool {
	return strings.HasPrefix(state, "08") || strings.HasPrefix(state, "53") ||
		strings.HasPrefix(state, "57") || state == "55P03"
}
