package fakestripe

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// DecideLate decides now what is late, without waiting for its time.
func (s *Server) DecideLate(ctx context.Context) error {
	// Far enough, and not infinity: the column says when, and infinity is never.
	return s.decide(ctx, 1000*time.Hour)
}

// decideDue decides what is late and whose time has come.
func (s *Server) decideDue(ctx context.Context) error { return s.decide(ctx, 0) }

func (s *Server) decide(ctx context.Context, ahead time.Duration) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := s.decideIntents(ctx, tx, ahead); err != nil {
			return err
		}
		return s.decideRefunds(ctx, tx, ahead)
	})
	if err != nil {
		return fmt.Errorf("decide what is late: %w", err)
	}
	return nil
}

// undecided locks what is to be decided. What another locks is left to it.
const undecided = `WHERE decides <= now() + $1::interval ORDER BY number FOR UPDATE SKIP LOCKED`

func (s *Server) decideIntents(ctx context.Context, tx pgx.Tx, ahead time.Duration) error {
	rows, _ := tx.Query(ctx, `SELECT id, token FROM psp_double.intent `+undecided, ahead)
	type late struct{ ID, Token string }
	due, err := pgx.CollectRows(rows, pgx.RowToStructByPos[late])
	if err != nil {
		return err
	}
	for _, i := range due {
		status, declined := "succeeded", behaviours[i.Token].declines
		if declined != "" {
			status = "requires_payment_method"
		}
		if err := s.decideIntent(ctx, tx, i.ID, status, declined); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) decideRefunds(ctx context.Context, tx pgx.Tx, ahead time.Duration) error {
	rows, _ := tx.Query(ctx, `SELECT id FROM psp_double.refund `+undecided, ahead)
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
