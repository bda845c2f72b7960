package reconcile

import (
	"context"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
)

// River job kinds that this adapter inserts, with arguments {"id": …}.
const (
	SettlePayment = "settle_payment"
	SettleRefund  = "settle_refund"
)

// InsertJobs inserts jobs like River's insert-only clients, so that they are queued
// with the other writes and commit with them. A job is retried until the provider has
// decided, hence the number of attempts.
//
// River's unique index admits one job per payment or refund in the states available,
// pending, retryable, running and scheduled, which the bits encode.
//
// The metadata contains the job's trace, if any.
const InsertJobs = `INSERT INTO river.river_job (kind, args, max_attempts, priority, queue, state, unique_key, unique_states, metadata)
SELECT $1::text, jsonb_build_object('id', id), 32000, 1, 'payments', 'available', convert_to($1::text || '/' || id, 'UTF8'), B'11110001',
       jsonb_strip_nulls(jsonb_build_object('traceparent', NULLIF($3::text, '')))
FROM unnest($2::bigint[]) id
ON CONFLICT (unique_key)
    WHERE unique_key IS NOT NULL AND unique_states IS NOT NULL AND river.river_job_state_in_bitmask(unique_states, state)
    DO NOTHING
RETURNING (args->>'id')::bigint`

// Restored is the result for one page of undecided payments or refunds.
type Restored struct {
	// Last is the last one's position, and Found their number.
	Last  core.Position
	Found int
	// IDs are those whose missing job was inserted.
	IDs []int64
}

// RestorePaymentJobs reads up to limit undecided payments after a position, oldest
// first, and inserts their missing jobs.
func (s Store) RestorePaymentJobs(ctx context.Context, after core.Position, limit int) (Restored, error) {
	rows, err := dbsqlc.New(s.db.Pool()).UndecidedPayments(ctx, dbsqlc.UndecidedPaymentsParams{
		AfterTime: after.CreatedAt, AfterID: after.ID, MaxPayments: int32(limit),
	})
	return restoreJobs(ctx, s.db, SettlePayment, rows, err, func(row dbsqlc.UndecidedPaymentsRow) core.Position {
		return core.Position(row)
	})
}

// RestoreRefundJobs is [Store.RestorePaymentJobs] for refunds.
func (s Store) RestoreRefundJobs(ctx context.Context, after core.Position, limit int) (Restored, error) {
	rows, err := dbsqlc.New(s.db.Pool()).UndecidedRefunds(ctx, dbsqlc.UndecidedRefundsParams{
		AfterTime: after.CreatedAt, AfterID: after.ID, MaxRefunds: int32(limit),
	})
	return restoreJobs(ctx, s.db, SettleRefund, rows, err, func(row dbsqlc.UndecidedRefundsRow) core.Position {
		return core.Position{CreatedAt: row.CreatedAt, ID: row.ID}
	})
}

// restoreJobs may run concurrently: the unique index admits each job once.
func restoreJobs[R any](
	ctx context.Context, db *pgtx.DB, kind string, undecided []R, err error, position func(R) core.Position,
) (r Restored, _ error) {
	if err != nil || len(undecided) == 0 {
		return r, pgtx.Failed("read what jobs of kind "+kind+" decide", err)
	}
	ids := make([]int64, len(undecided))
	for i, row := range undecided {
		r.Last, r.Found = position(row), i+1
		ids[i] = r.Last.ID
	}
	err = db.WriteOnce(ctx, func(ctx context.Context, t *pgtx.Tx) error {
		if _, err := t.LoadFirst(ctx); err != nil {
			return err
		}
		rows, _ := t.Conn().Query(ctx, InsertJobs, kind, ids, "") // CollectRows returns the error
		r.IDs, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	return r, pgtx.Failed("restore jobs", err)
}
