package main

import (
	"context"
	"log/slog"
	"time"
)

// keepClean deletes expired records, now and then every interval, until ctx ends. All replicas
// may do so at once. An expired record counts as absent, so a late or failed clean-up only
// costs space.
func (s store) keepClean(ctx context.Context, interval time.Duration) {
	const batch = 1000 // small transactions, so that no request waits for them
	for {
		n, err := s.deleteExpired(ctx, batch)
		if err != nil && ctx.Err() == nil {
			slog.Error("clean-up of idempotency records failed", "error", err)
		}
		if err == nil && n == batch {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
	}
}

// deleteExpired deletes up to limit expired records and returns their number.
func (s store) deleteExpired(ctx context.Context, limit int) (int64, error) {
	tag, err := s.pool.Exec(ctx, `DELETE FROM `+table+` WHERE ctid = ANY(ARRAY(
		SELECT ctid FROM `+table+` WHERE expires_at <= now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))`, limit)
	return tag.RowsAffected(), err
}
