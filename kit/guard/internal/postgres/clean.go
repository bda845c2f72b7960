package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// batch bounds a transaction of the clean-up, so that no request waits for it.
const batch = 1000

// Clean deletes all expired records and returns their number.
func (s *Store) Clean(ctx context.Context) (deleted int64, err error) {
	for {
		n, err := s.cleanOnce(ctx)
		deleted += n
		if err != nil || n < batch {
			return deleted, err
		}
	}
}

func (s *Store) cleanOnce(ctx context.Context) (int64, error) {
	expired := s.Table.deleteExpired(batch)
	tx, err := s.DB.Begin(ctx, expired)
	if err != nil {
		return 0, fmt.Errorf("delete expired records: %w", err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // a transaction that cannot be rolled back is not committed
	if err := tx.Commit(ctx); err != nil {
		return 0, fmt.Errorf("delete expired records: %w", err)
	}
	return expired.Affected, nil
}

// KeepClean deletes expired records at once, and again after each interval, until ctx
// ends. It logs failures.
func (s *Store) KeepClean(ctx context.Context, every time.Duration) {
	for {
		if _, err := s.Clean(ctx); err != nil && ctx.Err() == nil {
			slog.ErrorContext(ctx, "clean-up of idempotency records failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}
