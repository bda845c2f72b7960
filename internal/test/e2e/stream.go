package e2e

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// CompareStream compares the published events with the outbox and returns the mistakes:
// every event is published once, and each aggregate's events keep their order.
func CompareStream(ctx context.Context, db Querier, published [][]byte) ([]string, error) {
	rows, _ := db.Query(ctx, `SELECT event_id::text FROM outbox ORDER BY id`)
	written, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	missing := map[string]int{} // when each was written, from 1
	for i, id := range written {
		missing[id] = i + 1
	}
	var mistakes []string
	last := map[string]int{} // by aggregate
	for _, body := range published {
		var e struct{ ID, Subject string }
		if err := json.Unmarshal(body, &e); err != nil {
			return nil, fmt.Errorf("read an event: %w", err)
		}
		at := missing[e.ID]
		if at == 0 {
			mistakes = append(mistakes, fmt.Sprintf("event %s was published twice, or is not in the outbox", e.ID))
		}
		if at < last[e.Subject] {
			mistakes = append(mistakes, fmt.Sprintf("%s: event %d was published after event %d", e.Subject, at, last[e.Subject]))
		}
		delete(missing, e.ID)
		last[e.Subject] = at
	}
	if len(missing) > 0 {
		mistakes = append(mistakes, fmt.Sprintf("%d of %d events were not published", len(missing), len(written)))
	}
	return mistakes, nil
}
