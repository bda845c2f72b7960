package postgres

import (
	"context"
	"fmt"
)

// The kinds of River job that this adapter inserts. Their arguments are {"id": …}.
const (
	SettlePayment = "settle_payment"
	SettleRefund  = "settle_refund"
)

// insertJob inserts a job as River's own insert-only clients do, so that it is queued
// with the other writes and commits with them. A job is repeated until the provider has
// decided, hence the number of attempts.
const insertJob = `INSERT INTO river.river_job (kind, args, max_attempts, priority, queue, state)
VALUES ($1, $2, 32000, 1, 'payments', 'available')`

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
	_, err := queue(s).Exec(ctx, insertJob, kind, fmt.Appendf(nil, `{"id": %d}`, id))
	return err
}
