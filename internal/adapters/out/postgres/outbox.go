package postgres

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/relay"
	"example.com/orders/internal/core"
	"example.com/orders/internal/observe/tracing"
)

// outboxWriter implements [core.Outbox].
type outboxWriter struct{ tx *session }

// Add writes an event to the outbox under a new id. The id's random part makes it
// unique across databases, and its time prefix keeps index inserts at the end.
func (s outboxWriter) Add(ctx context.Context, e core.Event) error {
	data, err := relay.EncodeData(e.Data)
	if err != nil {
		return fmt.Errorf("encode event %s: %w", e.Type, err)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make the id of event %s: %w", e.Type, err)
	}
	return s.tx.write(addedEvent{
		EventID: id.String(), Type: string(e.Type), Aggregate: e.Aggregate, Data: data, CreatedAt: s.tx.now,
		Traceparent: tracing.Parent(ctx),
	})
}

// addedEvent is an event added by a command.
type addedEvent dbsqlc.InsertEventParams

func (e addedEvent) join(b *batch) { b.events = append(b.events, e) }

func (e addedEvent) params() dbsqlc.InsertEventParams { return dbsqlc.InsertEventParams(e) }

// eventsParams uses the first event's time: a transaction has only one.
func eventsParams(events []addedEvent) dbsqlc.InsertEventsParams {
	p := dbsqlc.InsertEventsParams{CreatedAt: events[0].CreatedAt}
	for _, e := range events {
		p.EventIds, p.Types = append(p.EventIds, e.EventID), append(p.Types, e.Type)
		p.Aggregates, p.Data = append(p.Aggregates, e.Aggregate), append(p.Data, string(e.Data))
		p.Traceparents = append(p.Traceparents, e.Traceparent)
	}
	return p
}
