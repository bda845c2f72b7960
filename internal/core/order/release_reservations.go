package order

import (
	"context"
	"errors"
	"fmt"

	"example.com/orders/internal/core"
)

// maxNamed is the number of failed orders that an error names.
const maxNamed = 5

// ReleaseExpiredReservations releases up to limit expired reservations after a
// position, oldest first. It returns the position of the last one and how many it
// found. The orders remain.
//
// Each order is released in a separate transaction, under the order lock. A concurrent
// payment either wins and keeps the stock, or finds the reservation expired. Several
// replicas may run this at once: no stock is released twice. A failed order does not
// stop the next one.
func (s *Service) ReleaseExpiredReservations(ctx context.Context, after Expiry, limit int) (Expiry, int, error) {
	expired, err := s.expiredReservations(ctx, after, limit)
	if err != nil {
		return after, 0, err
	}
	var failed []error
	for n, e := range expired {
		if err := ctx.Err(); err != nil {
			return after, n, errors.Join(joinFailures(failed), err)
		}
		if err := s.releaseReservation(ctx, e.OrderID); err != nil {
			failed = append(failed, fmt.Errorf("release the reservation of order %d: %w", e.OrderID, err))
		}
		after = e
	}
	return after, len(expired), joinFailures(failed)
}

func (s *Service) expiredReservations(ctx context.Context, after Expiry, limit int) (expired []Expiry, err error) {
	err = s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		expired, err = tx.Reservations.Expired(ctx, after, limit)
		return err
	})
	return expired, err
}

// joinFailures names only the first failures: there may be many, on every run.
func joinFailures(failed []error) error {
	if len(failed) <= maxNamed {
		return errors.Join(failed...)
	}
	return errors.Join(append(failed[:maxNamed:maxNamed], fmt.Errorf("and %d orders more", len(failed)-maxNamed))...)
}

func (s *Service) releaseReservation(ctx context.Context, id int64) error {
	return s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		reservation, err := tx.Reservations.Lock(ctx, ReservationQuery{OrderID: id, Grant: core.GrantEverybody})
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
