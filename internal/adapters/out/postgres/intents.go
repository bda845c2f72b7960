package postgres

import (
	"context"
	"fmt"
)

// JobKind names a kind of River job that this adapter puts beside the rows it is about.
type JobKind string

// The kinds. Their arguments are {"id": …}.
const (
	SettlePayment JobKind = "settle_payment"
	SettleRefund  JobKind = "settle_refund"
)

// insertJob inserts a job as River's own insert-only clients do, so that it can wait
// with the other writes and commit with them. An unanswered question is asked for as
// long as it takes, hence the number of attempts.
const insertJob = `INSERT INTO river.river_job (kind, args, max_attempts, priority, queue, state)
VALUES ($1, $2, 32000, 1, 'payments', 'available')`

// intents implements [payment.Intents].
type intents struct{ t *tx }

// Settle puts a job beside a card payment.
func (s intents) Settle(ctx context.Context, paymentID int64) error {
	return s.insert(ctx, SettlePayment, paymentID)
}

// SettleRefund puts a job beside a refund to a card.
func (s intents) SettleRefund(ctx context.Context, refundID int64) error {
	return s.insert(ctx, SettleRefund, refundID)
}

func (s intents) insert(ctx context.Context, kind JobKind, id int64) error {
	_, err := queue(s).Exec(ctx, insertJob, string(kind), fmt.Appendf(nil, `{"id": %d}`, id))
	return err
}
