package fakestripe

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Charge sums up the charges for one payment.
type Charge struct {
	// Payment is orders_payment in the metadata.
	Payment string
	// Count is the number of charges. More than one must never happen.
	Count int
	// ID is the id of the first intent.
	ID string
	// Amount and Refunded are sums, in the smallest unit of the currency.
	Amount   int64
	Currency string
	Refunded int64
	// Disputed holds the money that disputes keep, with their fees, by currency:
	// "1500 eur, 300 rub".
	Disputed string
}

// Charges returns captured money by payment. It skips charges without orders_payment in
// their metadata.
func (s *Server) Charges(ctx context.Context) (map[string]Charge, error) {
	rows, _ := s.pool.Query(ctx, `
		SELECT metadata->>'orders_payment' AS payment, count(*), (array_agg(id ORDER BY number))[1],
		       sum(amount)::bigint, min(currency),
		       coalesce(sum((SELECT sum(amount) FROM fakestripe.refund r
		                     WHERE r.intent = i.id AND r.status = 'succeeded')), 0)::bigint,
		       coalesce((SELECT string_agg(taken, ', ' ORDER BY taken) FROM (
		           SELECT sum((t->>'fee')::bigint - (t->>'amount')::bigint) || ' ' || (t->>'currency') AS taken
		           FROM fakestripe.dispute d, jsonb_array_elements(d.transactions) t
		           WHERE d.intent = ANY(array_agg(i.id)) GROUP BY t->>'currency'
		       ) d), '')
		FROM fakestripe.intent i
		WHERE status = 'succeeded' AND metadata ? 'orders_payment'
		GROUP BY 1`)
	charges, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Charge])
	if err != nil {
		return nil, fmt.Errorf("load the charges of fakestripe: %w", err)
	}
	byPayment := make(map[string]Charge, len(charges))
	for _, c := range charges {
		byPayment[c.Payment] = c
	}
	return byPayment, nil
}

// Intents returns the number of intents per payment. A second one is a second charge,
// or will be when both are decided.
func (s *Server) Intents(ctx context.Context) (map[string]int, error) {
	rows, _ := s.pool.Query(ctx, `
		SELECT metadata->>'orders_payment', count(*) FROM fakestripe.intent WHERE metadata ? 'orders_payment' GROUP BY 1`)
	intents := map[string]int{}
	var payment string
	var n int
	_, err := pgx.ForEachRow(rows, []any{&payment, &n}, func() error {
		intents[payment] = n
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count the intents of fakestripe: %w", err)
	}
	return intents, nil
}

// Webhook is one delivery. A duplicated event has two.
type Webhook struct {
	EventID   string
	Type      string
	Payload   string
	Attempts  int
	Delivered bool
}

// Webhooks returns all deliveries, finished or not, in event order.
func (s *Server) Webhooks(ctx context.Context) ([]Webhook, error) {
	rows, _ := s.pool.Query(ctx, `
		SELECT event, type, payload, attempts, delivered IS NOT NULL FROM fakestripe.delivery ORDER BY number`)
	webhooks, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Webhook])
	if err != nil {
		return nil, fmt.Errorf("load the webhooks of fakestripe: %w", err)
	}
	return webhooks, nil
}
