package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/tracing"
)

// The kinds of River job that this adapter inserts. Their arguments are {"id": …}.
const (
	SettlePayment = "settle_payment"
	SettleRefund  = "settle_refund"
)

// insertJobs inserts jobs as River's own insert-only clients do, so that they are queued
// with the other writes and commit with them. A job is repeated until the provider has
// decided, hence the number of attempts.
//
// River's unique index admits one job for each payment or refund among those that are
// available, pending, retryable, running or scheduled, which is what the bits say.
//
// The metadata name the trace that a job belongs to, if there is one.
const insertJobs = `INSERT INTO river.river_job (kind, args, max_attempts, priority, queue, state, unique_key, unique_states, metadata)
SELECT $1::text, jsonb_build_object('id', id), 32000, 1, 'payments', 'available', convert_to($1::text || '/' || id, 'UTF8'), B'11110001',
       jsonb_strip_nulls(jsonb_build_object('traceparent', NULLIF($3::text, '')))
FROM unnest($2::bigint[]) id
ON CONFLICT (unique_key)
    WHERE unique_key IS NOT NULL AND unique_states IS NOT NULL AND river.river_job_state_in_bitmask(unique_states, state)
    DO NOTHING
RETURNING (args->>'id')::bigint`

// intents implements [payment.Intents].
type intents struct{ t *tx }

// Settle adds the job that charges the card of a payment.
func (s intents) Settle(ctx context.Context, paymentID int64) error {
	return s.insert(ctx, SettlePayment, paymentID)
}

// SettleRefund adds the job that refunds to a card.
func (s intents) SettleRefund(ctx context.Context, refundID int64) error {
	return s.insert(ctx, SettleRefund, refundID)
}

func (s intents) insert(ctx context.Context, kind string, id int64) error {
	_, err := queue(s).Exec(ctx, insertJobs, kind, []int64{id}, tracing.Parent(ctx))
	return err
}

// Restored is what was restored among some payments or refunds that are not decided.
type Restored struct {
	// Last is the position of the last of them, and Found their number.
	Last  core.Position
	Found int
	// IDs are those whose job was gone and has been inserted.
	IDs []int64
}

// RestorePaymentJobs goes through up to limit undecided payments after a position, the
// oldest first, and inserts the jobs that are gone.
func (db *DB) RestorePaymentJobs(ctx context.Context, after core.Position, limit int) (Restored, error) {
	rows, err := dbsqlc.New(db.pool).UndecidedPayments(ctx, dbsqlc.UndecidedPaymentsParams{
		AfterTime: after.CreatedAt, AfterID: after.ID, MaxPayments: int32(limit),
	})
	if err != nil {
		return Restored{}, failed("read undecided payments", err)
	}
	undecided := make([]core.Position, len(rows))
	for i, row := range rows {
		undecided[i] = core.Position(row)
	}
	return db.restoreJobs(ctx, SettlePayment, undecided)
}

// RestoreRefundJobs is [DB.RestorePaymentJobs] for refunds.
func (db *DB) RestoreRefundJobs(ctx context.Context, after core.Position, limit int) (Restored, error) {
	rows, err := dbsqlc.New(db.pool).UndecidedRefunds(ctx, dbsqlc.UndecidedRefundsParams{
		AfterTime: after.CreatedAt, AfterID: after.ID, MaxRefunds: int32(limit),
	})
	if err != nil {
		return Restored{}, failed("read undecided refunds", err)
	}
	undecided := make([]core.Position, len(rows))
	for i, row := range rows {
		undecided[i] = core.Position{CreatedAt: row.CreatedAt, ID: row.ID}
	}
	return db.restoreJobs(ctx, SettleRefund, undecided)
}

// restoreJobs may run twice at a time: a job that the other run has inserted is not
// inserted a second time.
func (db *DB) restoreJobs(ctx context.Context, kind string, undecided []core.Position) (Restored, error) {
	if len(undecided) == 0 {
		return Restored{}, nil
	}
	ids := make([]int64, len(undecided))
	for i, u := range undecided {
		ids[i] = u.ID
	}
	var restored []int64
	err := db.transactUnrepeated(ctx, func(ctx context.Context, t *tx) error {
		if _, err := t.loadFirst(ctx); err != nil {
			return err
		}
		rows, _ := t.conn.Query(ctx, insertJobs, kind, ids, "") // CollectRows returns the error
		var err error
		restored, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	return Restored{Last: undecided[len(undecided)-1], Found: len(undecided), IDs: restored}, failed("restore jobs", err)
}
