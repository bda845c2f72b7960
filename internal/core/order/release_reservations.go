package order

import (
	"context"
	"errors"
	"fmt"

	"example.com/orders/internal/core"
)

// ReleaseExpiredReservations frees the stock of orders whose hold is over, the oldest first
// and at most limit of them, and tells how many there were to look at. The orders stay.
//
// Each order is a transaction of its own under the order's lock: a confirmation at the
// same instant has won, and then there is nothing to free, or comes too late and is
// told so. Running it twice, or on several replicas at once, frees nothing twice.
func (s *Service) ReleaseExpiredReservations(ctx context.Context, limit int) (int, error) {
	var lapsed []int64
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		lapsed, err = tx.Reservations.Expired(ctx, limit)
		return err
	})
	if err != nil {
		return 0, err
	}
	var failed error // one order that cannot be released does not stop the others
	for _, id := range lapsed {
		if err := s.releaseReservation(ctx, id); err != nil {
			failed = errors.Join(failed, fmt.Errorf("release the hold of order %d: %w", id, err))
		}
	}
	return len(lapsed), failed
}

func (s *Service) releaseReservation(ctx context.Context, id int64) error {
	return s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		reservation, err := tx.Reservations.Lock(ctx, id, core.Operation{})
		if errors.Is(err, core.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		freed, err := reservation.Order.ExpireReservation(reservation.Stock, tx.Now)
		if err != nil || !freed {
			return err
		}
		return tx.SaveOrder(ctx, reservation.Order, reservation.Stock, "reservation_expired")
	})
}
