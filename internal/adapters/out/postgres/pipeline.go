package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
)

// The generated queries know the database as an interface of three methods. These
// three implementations let them take part in pipelines.

var (
	errRecorded = errors.New("the query is in the batch")
	errNotHere  = errors.New("queries that write and queries that read go different ways")
)

// writes returns the generated queries that write. They are queued until the
// transaction reads or commits.
func (t *tx) writes() *dbsqlc.Queries { return dbsqlc.New(queue{t}) }

// queue lets writes wait in the transaction. Nothing reads what they answer: rows
// that a rule protects were locked before, and constraints do the rest.
type queue struct{ t *tx }

func (q queue) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if q.t.ended {
		return pgconn.CommandTag{}, errEnded
	}
	q.t.queued = append(q.t.queued, statement{sql, args})
	return pgconn.CommandTag{}, nil
}

func (queue) Query(context.Context, string, ...any) (pgx.Rows, error) { return nil, errNotHere }
func (queue) QueryRow(context.Context, string, ...any) pgx.Row        { return failedRow{errNotHere} }

// recorder puts the query of a read into a batch that is about to be sent.
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

// player gives a read the answer to the query that it recorded.
type player struct{ results pgx.BatchResults }

func (p player) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return p.results.Exec()
}

func (p player) Query(context.Context, string, ...any) (pgx.Rows, error) { return p.results.Query() }
func (p player) QueryRow(context.Context, string, ...any) pgx.Row        { return p.results.QueryRow() }

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }
