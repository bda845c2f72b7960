package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
)

// The generated queries use the database through an interface of three methods. The
// three implementations in this file let them take part in pipelines: queue takes
// writes, recorder collects the queries of a load, and player returns their results.

var (
	errRecorded   = errors.New("the query is in the batch")
	errWritesOnly = errors.New("only queries without results can be queued")
)

// writes returns the generated queries that write. They are queued until the
// transaction reads or commits.
func (t *tx) writes() *dbsqlc.Queries { return dbsqlc.New(queue{t}) }

// queue appends writes to the queue of the transaction. Nobody reads their results: rows
// that a rule protects have been locked before, and a violated constraint fails the
// transaction.
type queue struct{ t *tx }

func (q queue) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if q.t.released {
		return pgconn.CommandTag{}, errReleased
	}
	if m := q.t.member; m != nil {
		m.changes = append(m.changes, statement{sql, args})
		return pgconn.CommandTag{}, nil
	}
	q.t.queued = append(q.t.queued, statement{sql, args})
	return pgconn.CommandTag{}, nil
}

func (queue) Query(context.Context, string, ...any) (pgx.Rows, error) { return nil, errWritesOnly }
func (queue) QueryRow(context.Context, string, ...any) pgx.Row        { return failedRow{errWritesOnly} }

// recorder adds the query of a read to a batch that is about to be sent.
type recorder struct{ batch *pgx.Batch }

func (r recorder) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	r.batch.Queue(sql, args...)
	return pgconn.CommandTag{}, errRecorded
}

func (r recorder) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	r.batch.Queue(sql, args...)
	return nil, errRecorded
}

func (r recorder) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	r.batch.Queue(sql, args...)
	return failedRow{errRecorded}
}

// player returns to a read the result of the query that it recorded.
type player struct{ results pgx.BatchResults }

func (p player) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return p.results.Exec()
}

func (p player) Query(context.Context, string, ...any) (pgx.Rows, error) { return p.results.Query() }
func (p player) QueryRow(context.Context, string, ...any) pgx.Row        { return p.results.QueryRow() }

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

// skipResults reads the results of n statements that return no rows.
func skipResults(results pgx.BatchResults, n int) error {
	for range n {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	return nil
}

// closeResults ends a batch and returns its first error. After an error, Close only
// repeats it.
func closeResults(results pgx.BatchResults, err error) error {
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	return err
}
