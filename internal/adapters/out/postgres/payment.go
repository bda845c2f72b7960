package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// payments implements [payment.Payments].
type payments struct{ t *tx }

// Get loads a payment with its refunds, and the owners of its order.
func (s payments) Get(ctx context.Context, id int64) (*payment.Payment, core.Owners, error) {
	var rows []dbsqlc.PaymentByIDRow
	var refunds []dbsqlc.Refund
	err := s.t.load(ctx,
		func(q *dbsqlc.Queries) (err error) { rows, err = q.PaymentByID(ctx, id); return err },
		func(q *dbsqlc.Queries) (err error) { refunds, err = q.RefundsOfPayment(ctx, id); return err },
	)
	if err != nil {
		return nil, core.Owners{}, err
	}
	if len(rows) == 0 {
		return nil, core.Owners{}, core.ErrNotFound
	}
	found, err := paymentsOf([]dbsqlc.Payment{rows[0].Payment}, refunds)
	if err != nil {
		return nil, core.Owners{}, err
	}
	return found[0], core.Owners{Customer: rows[0].CustomerID, Seller: rows[0].SellerID}, nil
}

// Of returns the payments of an order with their refunds.
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

// Save inserts or updates a payment.
func (s payments) Save(ctx context.Context, p *payment.Payment) error {
	if !p.New {
		return s.t.writes().UpdatePayment(ctx, dbsqlc.UpdatePaymentParams{
			ID: p.ID, Status: string(p.Status),
			ExternalPaymentID: optional(p.Card.ExternalID), Failure: optional(p.Card.Failure),
			AskedAt: optionalTime(p.Card.AskedAt),
		})
	}
	return s.t.writes().InsertPayment(ctx, dbsqlc.InsertPaymentParams{
		ID: p.ID, OrderID: p.OrderID, IdempotencyKey: p.By.Key,
		Amount: p.Amount.Decimal(), Currency: string(p.Amount.Currency()),
		Method: string(p.Method), Status: string(p.Status), CreatedBy: p.By.Actor, CreatedAt: p.CreatedAt,
		Provider: provider(p), CardToken: optional(p.Card.Token),
	})
}

// OfCharge returns the id of the payment that has a charge of the provider, or 0.
func (s payments) OfCharge(ctx context.Context, externalID string) (int64, error) {
	return s.t.firstID(ctx, func(q *dbsqlc.Queries) ([]int64, error) { return q.PaymentOfCharge(ctx, externalID) })
}

// provider returns the name of the provider of a card payment. There is only one.
func provider(p *payment.Payment) *string {
	if p.Method != payment.ByCard {
		return nil
	}
	return optional("stripe")
}

// paymentsOf converts payments and assigns their refunds to them.
func paymentsOf(rows []dbsqlc.Payment, refunds []dbsqlc.Refund) ([]*payment.Payment, error) {
	found := make([]*payment.Payment, len(rows))
	byID := make(map[int64]*payment.Payment, len(rows))
	for i, row := range rows {
		amount, err := core.MoneyOf(row.Amount, row.Currency)
		if err != nil {
			return nil, err
		}
		found[i] = &payment.Payment{
			ID: row.ID, UUID: row.Uuid, OrderID: row.OrderID, Method: payment.Method(row.Method), Amount: amount,
			Status: payment.Status(row.Status), CreatedAt: row.CreatedAt.UTC(),
			By: core.Operation{Actor: row.CreatedBy, Key: row.IdempotencyKey},
			Card: payment.Card{
				Token: valueOf(row.CardToken), AskedAt: timeOf(row.AskedAt),
				ExternalID: valueOf(row.ExternalPaymentID), Failure: valueOf(row.Failure),
			},
		}
		byID[row.ID] = found[i]
	}
	for _, row := range refunds {
		r, err := refundOf(row)
		if err != nil {
			return nil, err
		}
		// Without a lock, a refund can be younger than the payments that were read.
		if p, ok := byID[r.PaymentID]; ok {
			p.Refunds = append(p.Refunds, r)
		}
	}
	return found, nil
}
