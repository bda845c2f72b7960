package postgres

import (
	"context"
	"slices"
	"time"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/fetch"
	"example.com/orders/internal/adapters/out/postgres/null"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
)

// payments implements [payment.Payments].
type payments struct{ tx *session }

// Get loads a payment with its refunds, and its order's owners.
func (s payments) Get(ctx context.Context, id int64) (*payment.Payment, core.Owners, error) {
	var rows []dbsqlc.PaymentByIDRow
	var refunds []dbsqlc.Refund
	var disputes []dbsqlc.Dispute
	err := s.tx.Load(ctx, pgtx.Into(&rows, (*queries).PaymentByID, id), pgtx.Into(&refunds, (*queries).RefundsOfPayment, id),
		pgtx.Into(&disputes, (*queries).DisputesOfPayments, []int64{id}))
	if err != nil {
		return nil, core.Owners{}, err
	}
	if len(rows) == 0 {
		return nil, core.Owners{}, core.ErrNotFound
	}
	found, err := paymentsOf([]dbsqlc.Payment{rows[0].Payment}, refunds, disputes)
	if err != nil {
		return nil, core.Owners{}, err
	}
	return found[0], core.Owners{Customer: rows[0].CustomerID, Seller: rows[0].SellerID}, nil
}

// Of returns an order's payments with their refunds.
func (s payments) Of(ctx context.Context, orderID int64) ([]*payment.Payment, error) {
	var rows []dbsqlc.Payment
	var refunds []dbsqlc.Refund
	var disputes []dbsqlc.Dispute
	ids := []int64{orderID}
	err := s.tx.Load(ctx,
		pgtx.Into(&rows, (*queries).PaymentsOfOrders, ids), pgtx.Into(&refunds, (*queries).RefundsOfOrders, ids),
		pgtx.Into(&disputes, (*queries).DisputesOfOrders, ids))
	if err != nil {
		return nil, err
	}
	return paymentsOf(rows, refunds, disputes)
}

// Search returns a page plus one more payment, newest first.
func (s payments) Search(ctx context.Context, f payment.Search, page core.Page) ([]*payment.Payment, error) {
	by := dbsqlc.SearchPaymentsParams{
		Statuses:   oneOr(f.Status, payment.Processing, payment.Captured, payment.Failed),
		Methods:    oneOr(f.Method, payment.FromBalance, payment.ByCard),
		BeforeTime: null.IfZeroTime(page.After.CreatedAt), BeforeID: page.After.ID, CreatedFrom: null.IfZeroTime(f.Created.From),
		Rows: int32(page.Limit + 1),
	}
	rows, err := fetch.Find(ctx, s.tx, func(q *queries, ctx context.Context, by dbsqlc.SearchPaymentsParams) ([]dbsqlc.Payment, error) {
		if f.Disputed {
			return q.SearchDisputedPayments(ctx, dbsqlc.SearchDisputedPaymentsParams(by))
		}
		return q.SearchPayments(ctx, by)
	}, by)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	var refunds []dbsqlc.Refund
	var disputes []dbsqlc.Dispute
	err = s.tx.Load(ctx, pgtx.Into(&refunds, (*queries).RefundsOfPayments, ids), pgtx.Into(&disputes, (*queries).DisputesOfPayments, ids))
	if err != nil {
		return nil, err
	}
	return paymentsOf(rows, refunds, disputes)
}

// oneOr returns the value as text, or all values if it is empty.
func oneOr[T ~string](value T, all ...T) (text []string) {
	if value != "" {
		return []string{string(value)}
	}
	for _, v := range all {
		text = append(text, string(v))
	}
	return text
}

// Save inserts or updates a payment.
func (s payments) Save(ctx context.Context, p *payment.Payment) error {
	if !p.New {
		return s.tx.Writes().UpdatePayment(ctx, dbsqlc.UpdatePaymentParams{
			ID: p.ID, Status: string(p.Status),
			ExternalPaymentID: null.IfZero(p.Card.ExternalID), Failure: null.IfZero(p.Card.Failure),
			AskedAt: null.IfZeroTime(p.Card.AskedAt),
		})
	}
	return s.tx.write(savedPayment{p.Clone()})
}

// savedPayment is a payment created by a command.
type savedPayment struct{ *payment.Payment }

// join lets later members find the payment, newest first.
func (p savedPayment) join(b *batch) {
	b.newPayments = append(b.newPayments, p)
	b.payments[p.OrderID] = slices.Insert(b.payments[p.OrderID], 0, p.Payment)
}

func newPaymentsParams(made []savedPayment) dbsqlc.InsertPaymentsParams {
	var all dbsqlc.InsertPaymentsParams
	for _, p := range made {
		all.Ids = append(all.Ids, p.ID)
		all.OrderIds = append(all.OrderIds, p.OrderID)
		all.IdempotencyKeys = append(all.IdempotencyKeys, p.By.Key)
		all.CreatedBy = append(all.CreatedBy, p.By.Actor)
		all.Amounts = append(all.Amounts, p.Amount.Decimal())
		all.Currencies = append(all.Currencies, string(p.Amount.Currency()))
		all.Methods = append(all.Methods, string(p.Method))
		all.Statuses = append(all.Statuses, string(p.Status))
		all.Providers = append(all.Providers, provider(p.Payment))
		all.CardTokens = append(all.CardTokens, p.Card.Token)
		all.CreatedAt = append(all.CreatedAt, p.CreatedAt)
	}
	return all
}

// OfCharge returns the id of the payment with a provider charge, or 0.
func (s payments) OfCharge(ctx context.Context, externalID string) (int64, error) {
	return firstID(ctx, s.tx, (*queries).PaymentOfCharge, externalID)
}

// provider returns a card payment's provider. There is only one.
func provider(p *payment.Payment) string {
	if p.Method != payment.ByCard {
		return ""
	}
	return "stripe"
}

// CardPayments returns the card payments to compare with the provider's; see
// [reconcile.Store.CardPayments].
func (db *DB) CardPayments(ctx context.Context, since time.Time, uuids []string) ([]*payment.Payment, []string, error) {
	return db.Store.CardPayments(ctx, since, uuids, paymentsOf)
}

// paymentsOf converts payments and assigns their refunds and disputes.
func paymentsOf(rows []dbsqlc.Payment, refunds []dbsqlc.Refund, disputes []dbsqlc.Dispute) ([]*payment.Payment, error) {
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
				Token: null.Value(row.CardToken), AskedAt: null.Value(row.AskedAt).UTC(),
				ExternalID: null.Value(row.ExternalPaymentID), Failure: null.Value(row.Failure),
			},
		}
		byID[row.ID] = found[i]
	}
	for _, row := range refunds {
		r, err := refundOf(row)
		if err != nil {
			return nil, err
		}
		// Without a lock, a refund can be newer than the loaded payments.
		if p, ok := byID[r.PaymentID]; ok {
			p.Refunds = append(p.Refunds, r)
		}
	}
	for _, row := range disputes {
		d, err := disputeOf(row)
		if err != nil {
			return nil, err
		}
		if p, ok := byID[row.PaymentID]; ok {
			p.Disputes = append(p.Disputes, d)
		}
	}
	return found, nil
}

// disputes implements [payment.Disputes].
type disputes struct{ tx *session }

// Save inserts or updates a dispute.
func (s disputes) Save(ctx context.Context, p *payment.Payment, d *cards.Dispute) error {
	return s.tx.Writes().SaveDispute(ctx, dbsqlc.SaveDisputeParams{
		ExternalID: d.ID, PaymentID: p.ID, OrderID: p.OrderID, Amount: d.Amount.Decimal(), Currency: string(d.Amount.Currency()),
		Reason: d.Reason, Status: string(d.Status), DueBy: null.IfZeroTime(d.DueBy), CreatedAt: d.CreatedAt,
	})
}

func disputeOf(row dbsqlc.Dispute) (*cards.Dispute, error) {
	amount, err := core.MoneyOf(row.Amount, row.Currency)
	return &cards.Dispute{
		ID: row.ExternalID, Amount: amount, Reason: row.Reason, Status: cards.DisputeStatus(row.Status),
		DueBy: null.Value(row.DueBy).UTC(), CreatedAt: row.CreatedAt.UTC(),
	}, err
}

// refunds implements [payment.Refunds].
type refunds struct{ tx *session }

// Get loads a refund, and its order's owners.
func (s refunds) Get(ctx context.Context, id int64) (*payment.Refund, core.Owners, error) {
	rows, err := fetch.Find(ctx, s.tx, (*queries).RefundByID, id)
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
		return s.tx.Writes().UpdateRefund(ctx, dbsqlc.UpdateRefundParams{
			ID: r.ID, Status: string(r.Status), ExternalRefundID: null.IfZero(r.ExternalID),
			Failure: null.IfZero(r.Failure), AskedAt: null.IfZeroTime(r.AskedAt),
		})
	}
	return s.tx.Writes().InsertRefund(ctx, dbsqlc.InsertRefundParams{
		ID: r.ID, PaymentID: r.PaymentID, OrderID: r.OrderID, IdempotencyKey: null.IfZero(r.By.Key),
		Amount: r.Amount.Decimal(), Currency: string(r.Amount.Currency()), Status: string(r.Status),
		Reason: r.Reason, Reference: r.Reference, FullRefund: r.Full, ExternalRefundID: null.IfZero(r.ExternalID),
		MadeAtProvider: r.MadeAtProvider, CreatedBy: r.By.Actor, CreatedAt: r.CreatedAt,
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
		Status: payment.RefundStatus(row.Status), Reason: row.Reason, Reference: row.Reference, Full: row.FullRefund,
		MadeAtProvider: row.MadeAtProvider, ExternalID: null.Value(row.ExternalRefundID), Failure: null.Value(row.Failure), AskedAt: null.Value(row.AskedAt).UTC(),
		CreatedAt: row.CreatedAt.UTC(), By: core.Operation{Actor: row.CreatedBy, Key: null.Value(row.IdempotencyKey)},
	}, err
}
