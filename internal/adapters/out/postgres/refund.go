package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// refunds implements [payment.Refunds].
type refunds struct{ tx *session }

// Get loads a refund, and its order's owners.
func (s refunds) Get(ctx context.Context, id int64) (*payment.Refund, core.Owners, error) {
	rows, err := find(ctx, s.tx, (*queries).RefundByID, id)
	if err != nil {
		return nil, core.Owners{}, err
	}
	if len(rows) == 0 {
		return nil, core.Owners{}, core.ErrNotFound
	}
	r, err := refundOf(rows[0].Refund)
	return r, core.Owners{Customer: rows[0].CustomerID, Seller: rows[0].SellerID}, err
}

// Save inserts or updates a refund.
func (s refunds) Save(ctx context.Context, r *payment.Refund) error {
	if !r.New {
		return s.tx.writes().UpdateRefund(ctx, dbsqlc.UpdateRefundParams{
			ID: r.ID, Status: string(r.Status), ExternalRefundID: optional(r.ExternalID),
			AskedAt: optionalTime(r.AskedAt),
		})
	}
	return s.tx.writes().InsertRefund(ctx, dbsqlc.InsertRefundParams{
		ID: r.ID, PaymentID: r.PaymentID, OrderID: r.OrderID, IdempotencyKey: optional(r.By.Key),
		Amount: r.Amount.Decimal(), Currency: string(r.Amount.Currency()), Status: string(r.Status),
		Reason: r.Reason, FullRefund: r.Full, CreatedBy: r.By.Actor, CreatedAt: r.CreatedAt,
	})
}

// OfExternal returns the id of the refund with a provider id, or 0.
func (s refunds) OfExternal(ctx context.Context, externalID string) (int64, error) {
	return firstID(ctx, s.tx, (*queries).RefundOfExternal, externalID)
}

func refundOf(row dbsqlc.Refund) (*payment.Refund, error) {
	amount, err := core.MoneyOf(row.Amount, row.Currency)
	return &payment.Refund{
		ID: row.ID, UUID: row.Uuid, PaymentID: row.PaymentID, OrderID: row.OrderID, Amount: amount,
		Status: payment.RefundStatus(row.Status), Reason: row.Reason, Full: row.FullRefund,
		ExternalID: valueOf(row.ExternalRefundID), AskedAt: timeOf(row.AskedAt), CreatedAt: row.CreatedAt.UTC(),
		By: core.Operation{Actor: row.CreatedBy, Key: valueOf(row.IdempotencyKey)},
	}, err
}
