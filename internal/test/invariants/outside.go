package invariants

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/dev/fakestripe"
	pgtest "example.com/orders/internal/test/pg"
)

// CapturedByCard returns the captured card payments as the provider reports them: by
// our reference, with amounts in the smallest unit. It includes payments captured after
// they had failed, which are given back.
func CapturedByCard(ctx context.Context, db pgtest.Querier) (map[string]fakestripe.Charge, error) {
	rows, _ := db.Query(ctx, `
		WITH minor (currency, units) AS (VALUES ('JPY', 1), ('KWD', 1000)) -- others have 100
		SELECT 'payment-' || p.uuid, 1, coalesce(p.external_payment_id, ''), (p.amount * coalesce(units, 100))::bigint, lower(p.currency),
		       (coalesce(units, 100) * coalesce((SELECT sum(r.amount) FROM refund r WHERE r.payment_id = p.id AND r.status = 'succeeded'), 0))::bigint,
		       coalesce((SELECT string_agg(taken, ', ' ORDER BY taken) FROM (
		           SELECT sum(CASE credit WHEN 'provider' THEN 1 ELSE -1 END * d.amount * coalesce(m.units, 100))::bigint || ' ' || lower(d.currency) AS taken
		           FROM ledger_entry d LEFT JOIN minor m USING (currency)
		           WHERE d.payment_id = p.id AND d.kind IN ('dispute', 'dispute_fee') GROUP BY d.currency
		       ) d), '')
		FROM payment p LEFT JOIN minor USING (currency)
		WHERE p.method = 'card' AND (p.status = 'captured'
			OR EXISTS (SELECT FROM ledger_entry e WHERE e.payment_id = p.id AND e.credit = 'unapplied'))`)
	captured, err := pgx.CollectRows(rows, pgx.RowToStructByPos[fakestripe.Charge])
	if err != nil {
		return nil, fmt.Errorf("read the card payments: %w", err)
	}
	ours := map[string]fakestripe.Charge{}
	for _, charge := range captured {
		ours[charge.Payment] = charge
	}
	return ours, nil
}

// CompareStream compares the published events with the outbox and returns the mistakes:
// every event is published once, and the events of each aggregate keep their order.
func CompareStream(ctx context.Context, db pgtest.Querier, published [][]byte) ([]string, error) {
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
		mistakes = append(mistakes, fmt.Sprintf("%d of %d events were not published: %s", len(missing), len(written), slices.Sorted(maps.Keys(missing))))
	}
	return mistakes, nil
}
