package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// payments implements [payment.Payments].
type payments struct{ t *tx }

// Of gives the payments of an order with their refunds.
func (s payments) Of(ctx context.Context, orderID int64) ([]*payment.Payment, error) {
	var rows []dbsqlc.Payment
	var refunds []dbsqlc.Refund
	err := s.t.load(ctx,
		func(q *dbsqlc.Queries) (err error) { rows, err = q.PaymentsOfOrder(ctx, orderID); return err },
		func(q *dbsqlc.Queries) (err error) { refunds, err = q.RefundsOfOrder(ctx, orderID); return err },
	)
	if err != nil {
		return nil, err
	}
	return paymentsOf(rows, refunds)
}

// SaveRefund writes a new refund.
func (s payments) SaveRefund(ctx context.Context, r *payment.Refund) error {
	return s.t.writes().InsertRefund(ctx, dbsqlc.InsertRefundParams{
		ID: r.ID, PaymentID: r.PaymentID, OrderID: r.OrderID, IdempotencyKey: optional(r.By.Key),
		Amount: r.Amount.Decimal(), Currency: string(r.Amount.Currency()), Status: string(r.Status),
		Reason: r.Reason, FullRefund: r.Full, CreatedBy: r.By.Actor, CreatedAt: r.CreatedAt,
	})
}

// Save writes a new payment.
func (s payments) Save(ctx context.Context, p *payment.Payment) error {
	return s.t.writes().InsertPayment(ctx, dbsqlc.InsertPaymentParams{
		ID: p.ID, OrderID: p.OrderID, IdempotencyKey: p.By.Key,
		Amount: p.Amount.Decimal(), Currency: string(p.Amount.Currency()),
		Method: string(p.Method), Status: string(p.Status), CreatedBy: p.By.Actor, CreatedAt: p.CreatedAt,
		Provider: provider(p), CardToken: optional(p.Card.Token),
	})
}

// provider names who knows the payment besides us: the one provider there is, or nobody.
func provider(p *payment.Payment) *string {
	if p.Method != payment.ByCard {
		return nil
	}
	return optional("stripe")
}

// Update writes what became of a payment.
func (s payments) Update(ctx context.Context, p *payment.Payment) error {
	return s.t.writes().UpdatePayment(ctx, dbsqlc.UpdatePaymentParams{
		ID: p.ID, Status: string(p.Status),
		ExternalPaymentID: optional(p.Card.ExternalID), Failure: optional(p.Card.Failure),
	})
}

// UpdateRefund writes what became of a refund.
func (s payments) UpdateRefund(ctx context.Context, r *payment.Refund) error {
	return s.t.writes().UpdateRefund(ctx, dbsqlc.UpdateRefundParams{
		ID: r.ID, Status: string(r.Status), ExternalRefundID: optional(r.ExternalID),
	})
}

// paymentsOf gives payments their refunds.
func paymentsOf(rows []dbsqlc.Payment, refunds []dbsqlc.Refund) ([]*payment.Payment, error) {
	found := make([]*payment.Payment, len(rows))
	byID := make(map[int64]*payment.Payment, len(rows))
	for i, row := range rows {
		amount, err := core.MoneyOf(row.Amount, row.Currency)
		if err != nil {
			return nil, err
		}
		found[i] = &payment.Payment{
			ID: row.ID, OrderID: row.OrderID, Method: payment.Method(row.Method), Amount: amount,
			Status: payment.Status(row.Status), CreatedAt: row.CreatedAt.UTC(),
			By:   core.Operation{Actor: row.CreatedBy, Key: row.IdempotencyKey},
			Card: payment.Card{Token: valueOf(row.CardToken), ExternalID: valueOf(row.ExternalPaymentID), Failure: valueOf(row.Failure)},
		}
		byID[row.ID] = found[i]
	}
	for _, row := range refunds {
		r, err := refundOf(row)
		if err != nil {
			return nil, err
		}
		// Without a lock, a refund may be younger than the payments that were read.
		if p, ok := byID[r.PaymentID]; ok {
			p.Refunds = append(p.Refunds, r)
		}
	}
	return found, nil
}

func refundOf(row dbsqlc.Refund) (*payment.Refund, error) {
	amount, err := core.MoneyOf(row.Amount, row.Currency)
	return &payment.Refund{
		ID: row.ID, PaymentID: row.PaymentID, OrderID: row.OrderID, Amount: amount,
		Status: payment.RefundStatus(row.Status), Reason: row.Reason, Full: row.FullRefund, ExternalID: valueOf(row.ExternalRefundID), CreatedAt: row.CreatedAt.UTC(),
		By: core.Operation{Actor: row.CreatedBy, Key: valueOf(row.IdempotencyKey)},
	}, err
}
