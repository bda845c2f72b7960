package postgres

import (
	"context"
	"fmt"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
)

// inbox implements [core.Inbox].
type inbox struct{ t *tx }

// FirstTime notes a message unless it is noted. Of two that come at once both find
// nothing; the primary key lets one in, and the other starts again and finds it.
func (s inbox) FirstTime(ctx context.Context, source, messageID string) (bool, error) {
	known := false
	err := s.t.load(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.FindMessage(ctx, dbsqlc.FindMessageParams{Source: source, MessageID: messageID})
		known = len(rows) > 0
		return err
	})
	if err != nil || known {
		return false, err
	}
	return true, s.t.writes().InsertMessage(ctx, dbsqlc.InsertMessageParams{
		Source: source, MessageID: messageID, ProcessedAt: s.t.now,
	})
}

// DeleteOldMessages removes up to limit notes of messages that are so old that nobody
// sends them again, and tells how many there were.
func (db *DB) DeleteOldMessages(ctx context.Context, limit int) (int, error) {
	n, err := dbsqlc.New(db.pool).DeleteOldMessages(ctx, int32(limit))
	if err != nil {
		return 0, unavailable(fmt.Errorf("delete old messages: %w", err))
	}
	return int(n), nil
}
