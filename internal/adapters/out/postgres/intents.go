package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/reconcile"
	"example.com/orders/internal/observe/tracing"
)

// River job kinds that this adapter inserts, with arguments {"id": …}.
const (
	SettlePayment = reconcile.SettlePayment
	SettleRefund  = reconcile.SettleRefund
)

// intents implements [payment.Intents].
type intents struct{ tx *session }

// Settle adds the job that charges a payment's card.
func (s intents) Settle(ctx context.Context, paymentID int64) error {
	return s.insert(ctx, SettlePayment, paymentID)
}

// SettleRefund adds the job that refunds to a card.
func (s intents) SettleRefund(ctx context.Context, refundID int64) error {
	return s.insert(ctx, SettleRefund, refundID)
}

func (s intents) insert(ctx context.Context, kind string, id int64) error {
	return s.tx.write(statement{reconcile.InsertJobs, []any{kind, []int64{id}, tracing.Parent(ctx)}})
}
