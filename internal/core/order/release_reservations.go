package order

import (
	"context"
	"errors"
	"fmt"

	"example.com/orders/internal/core"
)

// ReleaseExpiredReservations releases the stock of expired reservations, the oldest
// first and at most limit of them. It returns how many it found. The orders remain.
//
// Each order has a transaction of its own, under the lock of the order. A payment at
// the same instant either wins, and then there is nothing to release, or it finds the
// reservation expired. Several replicas may run this at once: no stock is released
// twice.
func (s *Service) ReleaseExpiredReservations(ctx context.Context, limit int) (int, error) {
	var expired []int64
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		expired, err = tx.Reservations.Expired(ctx, limit)
		return err
	})
	if err != nil {
		return 0, err
	}
	var failed error // one order that fails does not stop the others
	for _, id := range expired {
		if err := s.releaseReservation(ctx, id); err != nil {
			failed = errors.Join(failed, fmt.Errorf("release the reservation of order %d: %w", id, err))
		}
	}
	return len(expired), failed
}

func (s *Service) releaseReservation(ctx context.Context, id int64) error {
	return s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		reservation, err := tx.Reservations.Lock(ctx, id, core.Operation{}, core.GrantEverybody)
		if errors.Is(err, core.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		released, err := reservation.Order.ExpireReservation(reservation.Stock, tx.Now)
		if err != nil || !released {
			return err
		}
		return tx.SaveOrder(ctx, reservation.Order, reservation.Stock, EventReservationExpired)
	})
}
