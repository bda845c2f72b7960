package fakestripe

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// DecideLate decides all late payments and refunds now, before their time.
func (s *Server) DecideLate(ctx context.Context) error {
	return s.decide(ctx, 1000*time.Hour) // longer than any Config.Late
}

// decideDue decides due payments and refunds.
func (s *Server) decideDue(ctx context.Context) error { return s.decide(ctx, 0) }

func (s *Server) decide(ctx context.Context, ahead time.Duration) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := s.decideIntents(ctx, tx, ahead); err != nil {
			return err
		}
		return s.decideRefunds(ctx, tx, ahead)
	})
	if err != nil {
		return fmt.Errorf("decide late payments: %w", err)
	}
	return nil
}

// undecided selects and locks the rows to decide, skipping those locked by a second
// call.
const undecided = `WHERE decide_at <= now() + $1::interval ORDER BY number FOR UPDATE SKIP LOCKED`

func (s *Server) decideIntents(ctx context.Context, tx pgx.Tx, ahead time.Duration) error {
	rows, _ := tx.Query(ctx, `SELECT id, token FROM fakestripe.intent `+undecided, ahead)
	type late struct{ ID, Token string }
	due, err := pgx.CollectRows(rows, pgx.RowToStructByPos[late])
	if err != nil {
		return err
	}
	for _, i := range due {
		status, declineCode := "succeeded", behaviours[i.Token].declines
		if declineCode != "" {
			status = "requires_payment_method"
		}
		if err := s.decideIntent(ctx, tx, i.ID, status, declineCode); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) decideRefunds(ctx context.Context, tx pgx.Tx, ahead time.Duration) error {
	rows, _ := tx.Query(ctx, `SELECT id FROM fakestripe.refund `+undecided, ahead)
	due, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, id := range due {
		if err := s.decideRefund(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}
