package postgres

import (
	"context"
	"time"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/fetch"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
)

// inbox implements [core.Inbox].
type inbox struct{ tx *session }

// Recall implements [core.Inbox].
func (s inbox) Recall(ctx context.Context, source, id string) (bool, time.Time, error) {
	row, err := fetch.Find(ctx, s.tx, (*queries).RecallMessage, dbsqlc.RecallMessageParams{Source: source, MessageID: id})
	return row.Known, row.ForgottenUntil, err
}

// Record implements [core.Inbox]. Two transactions may both find a message unknown and
// record it. The primary key accepts one; the other starts over and finds the message.
func (s inbox) Record(ctx context.Context, m core.Message) error {
	return s.tx.Writes().InsertMessage(ctx, dbsqlc.InsertMessageParams{
		Source: m.Source, MessageID: m.ID, ProcessedAt: s.tx.now, SentAt: m.SentAt,
	})
}

// Renew implements [core.Inbox]. A known message is about to be acknowledged. Because of
// the write, COMMIT waits for the standby as it did when the message was recorded: a
// failover must not lose a message that will not be redelivered.
func (s inbox) Renew(ctx context.Context, m core.Message) error {
	return s.tx.Writes().RenewMessage(ctx, dbsqlc.RenewMessageParams{
		Source: m.Source, MessageID: m.ID, ProcessedAt: s.tx.now, SentAt: m.SentAt,
	})
}

// DeleteOldMessages deletes up to limit records for old messages and returns their number.
func (db *DB) DeleteOldMessages(ctx context.Context, limit int) (int, error) {
	var n int64
	err := db.ExecOnce(ctx, pgtx.Into(&n, (*queries).DeleteOldMessages, int32(limit)))
	return int(n), pgtx.Failed("delete old messages", err)
}
