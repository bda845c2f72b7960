package pgtx

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
)

// The generated queries access the database through an interface with three methods.
// The three implementations in this file let them share round trips: Writer queues
// writes, recorder collects a load's queries, and player returns their results.

var (
	errRecorded   = errors.New("the query is in the batch")
	errWritesOnly = errors.New("only queries without results can be queued")
)

// Writes returns generated queries for writing. They are queued until the next load or
// COMMIT.
func (t *Tx) Writes() *dbsqlc.Queries { return dbsqlc.New(Writer(t.Queue)) }

// Writer receives generated queries that write. Their results are not read: protected
// rows were locked before, and a violated constraint fails the transaction.
type Writer func(sql string, args []any) error

// Exec implements [dbsqlc.DBTX].
func (w Writer) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return pgconn.CommandTag{}, w(sql, args)
}

// Query implements [dbsqlc.DBTX].
func (Writer) Query(context.Context, string, ...any) (pgx.Rows, error) { return nil, errWritesOnly }

// QueryRow implements [dbsqlc.DBTX].
func (Writer) QueryRow(context.Context, string, ...any) pgx.Row { return failedRow{errWritesOnly} }

// recorder adds a read's query to a batch.
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

// player returns the result for a recorded query.
type player struct{ results pgx.BatchResults }

func (p player) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return p.results.Exec()
}

func (p player) Query(context.Context, string, ...any) (pgx.Rows, error) { return p.results.Query() }
func (p player) QueryRow(context.Context, string, ...any) pgx.Row        { return p.results.QueryRow() }

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

// skipResults reads n results without rows.
func skipResults(results pgx.BatchResults, n int) error {
	for range n {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	return nil
}

// closeResults closes a batch and returns its first error. After an error, Close only
// repeats it.
func closeResults(results pgx.BatchResults, err error) error {
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	return err
}

// Queue adds a statement without a result to the queued writes.
func (t *Tx) Queue(sql string, args []any) error {
	if t.released {
		return ErrReleased
	}
	t.queued = append(t.queued, statement{sql, args})
	return nil
}

// WriteRows queues a statement for rows, if there are any.
func WriteRows[R, P any](
	ctx context.Context, rows []R, write func(context.Context, P) error, params func([]R) P,
) error {
	if len(rows) == 0 {
		return nil
	}
	return write(ctx, params(rows))
}

// WriteOneOrMany is [WriteRows] with a statement without arrays for one row. Such a
// statement saves 30 µs (an order) to 60 µs (a balance) of CPU. A command alone takes the
// service and the server 1 to 1.8 ms, and writes up to four such rows.
func WriteOneOrMany[R, P, M any](
	ctx context.Context, rows []R, one func(context.Context, P) error, params func(R) P,
	many func(context.Context, M) error, paramsOfMany func([]R) M,
) error {
	if len(rows) == 1 {
		return one(ctx, params(rows[0]))
	}
	return WriteRows(ctx, rows, many, paramsOfMany)
}
