package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
)

// inbox implements [core.Inbox].
type inbox struct{ t *tx }

// FirstTime records a message unless it is recorded. Two transactions with the same
// message may both find nothing and both insert it. The primary key accepts one of them;
// the other starts from the beginning and finds the message.
//
// A known message is about to be acknowledged, so the transaction waits for the standby,
// as the one that recorded it did: a failover must not lose what nobody sends again.
func (s inbox) FirstTime(ctx context.Context, source, messageID string) (bool, error) {
	known := false
	err := s.t.load(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.FindMessage(ctx, dbsqlc.FindMessageParams{Source: source, MessageID: messageID})
		known = len(rows) > 0
		return err
	})
	if err != nil {
		return false, err
	}
	if known {
		return false, s.t.writes().AwaitReplication(ctx)
	}
	return true, s.t.writes().InsertMessage(ctx, dbsqlc.InsertMessageParams{
		Source: source, MessageID: messageID, ProcessedAt: s.t.now,
	})
}

// DeleteOldMessages deletes up to limit records of messages that are so old that nobody
// sends them any more, and returns their number.
func (db *DB) DeleteOldMessages(ctx context.Context, limit int) (int, error) {
	var n int64
	err := db.writeOnce(ctx, func(q *dbsqlc.Queries) (err error) {
		n, err = q.DeleteOldMessages(ctx, int32(limit))
		return err
	})
	return int(n), failed("delete old messages", err)
}
