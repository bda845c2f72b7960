package fakestripe

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// RefundInDashboard refunds an amount of an intent as a person does at the provider: the
// refund has no metadata. The status is "succeeded", or "pending" until Config.Late has
// passed. It returns the id.
func (s *Server) RefundInDashboard(ctx context.Context, intentID string, amount int64, status string) (id string, err error) {
	return id, pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		i, err := lockIntent(ctx, tx, intentID)
		if err != nil {
			return err
		}
		if err := checkRefund(ctx, tx, i, amount); err != nil {
			return err
		}
		f, err := s.insertRefund(ctx, tx, i, amount, behaviour{late: status == "pending"}, map[string]string{}, "requested_by_customer")
		if err != nil {
			return err
		}
		id = f.ID
		if i, err = lockIntent(ctx, tx, intentID); err != nil {
			return err
		}
		i.LatestCharge.PaymentIntent, i.LatestCharge.Metadata = i.ID, i.Metadata
		return s.addEvents(ctx, tx, false, event{"charge.refunded", i.LatestCharge})
	})
}

// FailRefund makes a refund fail that has succeeded: the customer's bank has returned it.
func (s *Server) FailRefund(ctx context.Context, id string) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			UPDATE fakestripe.refund SET status = 'failed', failure = 'lost_or_stolen_card', decide_at = NULL WHERE id = $1`, id)
		if err != nil {
			return err
		}
		f, err := loadRefund(ctx, tx, id)
		if err != nil {
			return err
		}
		return s.addEvents(ctx, tx, false, event{"refund.failed", f})
	})
}

// LatestCharge returns the id and the amount of the newest captured intent.
func (s *Server) LatestCharge(ctx context.Context) (id string, amount int64, err error) {
	err = s.pool.QueryRow(ctx, `
		SELECT id, amount FROM fakestripe.intent WHERE status = 'succeeded' ORDER BY number DESC LIMIT 1`).Scan(&id, &amount)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errors.New("no card payment has been captured")
	}
	return id, amount, err
}

// LatestDispute returns the id of the newest dispute.
func (s *Server) LatestDispute(ctx context.Context) (id string, err error) {
	err = s.pool.QueryRow(ctx, `SELECT id FROM fakestripe.dispute ORDER BY number DESC LIMIT 1`).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errors.New("no dispute has been opened")
	}
	return id, err
}

// ArrangeWebhooks replaces the webhooks that wait by those that arrange returns, in that
// order: it can lose, repeat, reorder and change them.
func (s *Server) ArrangeWebhooks(ctx context.Context, arrange func([]Webhook) []Webhook) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, `
			WITH taken AS (DELETE FROM fakestripe.delivery WHERE delivered IS NULL RETURNING *)
			SELECT event, type, payload, attempts, false FROM taken ORDER BY number`)
		waiting, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Webhook])
		if err != nil {
			return fmt.Errorf("take the webhooks of fakestripe: %w", err)
		}
		for _, w := range arrange(waiting) {
			_, err := tx.Exec(ctx, `
				INSERT INTO fakestripe.delivery (event, type, payload, due) VALUES ($1, $2, $3, now())`, w.EventID, w.Type, w.Payload)
			if err != nil {
				return err
			}
		}
		return nil
	})
}
