package postgres

import (
	"context"
	"slices"

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
	return s.t.write(ctx, savedPayment{p})
}

// savedPayment is a payment that a command has made.
type savedPayment struct{ *payment.Payment }

func (p savedPayment) alone(ctx context.Context, q *dbsqlc.Queries) error {
	return q.InsertPayment(ctx, dbsqlc.InsertPaymentParams{
		ID: p.ID, OrderID: p.OrderID, IdempotencyKey: p.By.Key,
		Amount: p.Amount.Decimal(), Currency: string(p.Amount.Currency()),
		Method: string(p.Method), Status: string(p.Status), CreatedBy: p.By.Actor, CreatedAt: p.CreatedAt,
		Provider: optional(provider(p.Payment)), CardToken: optional(p.Card.Token),
	})
}

// join lets later members find the payment, the newest first.
func (p savedPayment) join(g *group) {
	g.newPayments = append(g.newPayments, p)
	g.payments[p.OrderID] = slices.Insert(g.payments[p.OrderID], 0, p.Payment)
}

func newPaymentsParams(made []savedPayment) dbsqlc.InsertPaymentsParams {
	var all dbsqlc.InsertPaymentsParams
	for _, p := range made {
		all.Ids, all.OrderIds = append(all.Ids, p.ID), append(all.OrderIds, p.OrderID)
		all.IdempotencyKeys, all.CreatedBy = append(all.IdempotencyKeys, p.By.Key), append(all.CreatedBy, p.By.Actor)
		all.Amounts, all.Currencies = append(all.Amounts, p.Amount.Decimal()), append(all.Currencies, string(p.Amount.Currency()))
		all.Methods, all.Statuses = append(all.Methods, string(p.Method)), append(all.Statuses, string(p.Status))
		all.Providers, all.CardTokens = append(all.Providers, provider(p.Payment)), append(all.CardTokens, p.Card.Token)
		all.CreatedAt = append(all.CreatedAt, p.CreatedAt)
	}
	return all
}

// OfCharge returns the id of the payment that has a charge of the provider, or 0.
func (s payments) OfCharge(ctx context.Context, externalID string) (int64, error) {
	return s.t.firstID(ctx, func(q *dbsqlc.Queries) ([]int64, error) { return q.PaymentOfCharge(ctx, externalID) })
}

// provider returns the name of the provider of a card payment. There is only one.
func provider(p *payment.Payment) string {
	if p.Method != payment.ByCard {
		return ""
	}
	return "stripe"
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
