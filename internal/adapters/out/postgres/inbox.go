package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
)

// inbox implements [core.Inbox].
type inbox struct{ tx *session }

// FirstTime records a message unless it is already recorded. Two transactions with the
// same message may both find nothing and insert it. The primary key accepts one; the
// other starts over and finds the message.
//
// A known message is about to be acknowledged, so the transaction waits for the standby
// like the one that recorded it: a failover must not lose a message that will not be
// redelivered.
func (s inbox) FirstTime(ctx context.Context, source, messageID string) (bool, error) {
	known, err := find(ctx, s.tx, (*queries).FindMessage, dbsqlc.FindMessageParams{Source: source, MessageID: messageID})
	if err != nil {
		return false, err
	}
	if len(known) > 0 {
		return false, s.tx.writes().AwaitReplication(ctx)
	}
	return true, s.tx.writes().InsertMessage(ctx, dbsqlc.InsertMessageParams{
		Source: source, MessageID: messageID, ProcessedAt: s.tx.now,
	})
}

// DeleteOldMessages deletes up to limit records for messages too old to be redelivered,
// and returns their number.
func (db *DB) DeleteOldMessages(ctx context.Context, limit int) (int, error) {
	var n int64
	err := db.WriteOnce(ctx, pgtx.Into(&n, (*queries).DeleteOldMessages, int32(limit)))
	return int(n), pgtx.Failed("delete old messages", err)
}
