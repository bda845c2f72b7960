package fakestripe

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Charge is what the double has charged for one payment.
type Charge struct {
	// PaymentID is the payment_id of the metadata.
	PaymentID int64
	// Count is how often it was charged: more than once is what must never be.
	Count int
	// ID names the charge, or the first of them.
	ID string
	// Amount and Refunded are sums, in the currency's smallest unit.
	Amount   int64
	Currency string
	Refunded int64
}

// Charges gives what was captured, by payment. Charges without a payment_id are left out.
func (s *Server) Charges(ctx context.Context) (map[int64]Charge, error) {
	rows, _ := s.pool.Query(ctx, `
		SELECT (metadata->>'payment_id')::bigint AS payment_id, count(*), (array_agg(id ORDER BY number))[1],
		       sum(amount)::bigint, min(currency),
		       coalesce(sum((SELECT sum(amount) FROM psp_double.refund r WHERE r.intent = i.id AND r.status = 'succeeded')), 0)::bigint
		FROM psp_double.intent i
		WHERE status = 'succeeded' AND metadata->>'payment_id' ~ '^\d{1,18}$'
		GROUP BY 1`)
	charges, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Charge])
	if err != nil {
		return nil, fmt.Errorf("charges of the payment provider's double: %w", err)
	}
	byPayment := make(map[int64]Charge, len(charges))
	for _, c := range charges {
		byPayment[c.PaymentID] = c
	}
	return byPayment, nil
}

// Webhook is one delivery of an event. An event that is sent twice has two.
type Webhook struct {
	EventID   string
	Type      string
	Payload   string
	Tries     int
	Delivered bool
}

// Webhooks gives all deliveries, done and to be done, in the order in which they are due at first.
func (s *Server) Webhooks(ctx context.Context) ([]Webhook, error) {
	rows, _ := s.pool.Query(ctx, `
		SELECT event, type, payload, tries, delivered IS NOT NULL FROM psp_double.delivery ORDER BY number`)
	webhooks, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Webhook])
	if err != nil {
		return nil, fmt.Errorf("webhooks of the payment provider's double: %w", err)
	}
	return webhooks, nil
}
