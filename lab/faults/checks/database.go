package checks

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/invariants"
	"example.com/orders/lab/faults/clients"
)

// brokenInvariants returns violated database invariants.
func brokenInvariants(ctx context.Context, f *facts) ([]string, error) {
	stock, err := f.expectedStock(ctx)
	if err != nil {
		return nil, err
	}
	return invariants.Violations(ctx, f.db, stock)
}

// expectedStock returns the stock that clients put and the warehouse delivered.
// Adjustments are database rows.
func (f *facts) expectedStock(ctx context.Context) (e2e.Stock, error) {
	stock := e2e.Stock{}
	for _, p := range slices.Concat(clients.AllProducts(), f.Created) {
		stock[p.SKU] = p.OnHand
	}
	for _, r := range f.Restocked() {
		stock[r.SKU] += r.Quantity
	}
	rows, _ := f.db.Query(ctx, `
		SELECT substring(resource FROM 'product/(.*)'), sum((metadata->>'on_hand')::int - (metadata->>'previous_on_hand')::int)::int
		FROM audit_log WHERE action = 'PutProduct' AND metadata ? 'previous_on_hand' GROUP BY 1`)
	var sku string
	var change int
	_, err := pgx.ForEachRow(rows, []any{&sku, &change}, func() error {
		stock[sku] += change
		return nil
	})
	return stock, err
}

// referencesWithEffects returns references with more than one effect.
func referencesWithEffects(ctx context.Context, f *facts) ([]string, error) {
	return f.texts(ctx, `
		SELECT format('%s orders of %s by %s are %s', count(*), customer_id, created_by, reference)
		FROM orders WHERE reference <> '' GROUP BY customer_id, created_by, reference HAVING count(*) > 1
		UNION ALL
		SELECT format('%s entries (%s) of %s are %s', count(*), kind, customer_id, reference)
		FROM ledger_entry WHERE reference <> '' GROUP BY customer_id, kind, reference HAVING count(*) > 1`)
}

// lostStatuses returns acknowledged statuses that an order never had. An order has one
// event per status.
func lostStatuses(ctx context.Context, f *facts) ([]string, error) {
	reached, err := f.texts(ctx, `SELECT aggregate || ' ' || type FROM outbox WHERE type LIKE 'order.%'`)
	if err != nil {
		return nil, err
	}
	var lost []string
	for _, s := range f.Statuses {
		if event := fmt.Sprintf("order/%d order.%s", s.OrderID, s.Status); !slices.Contains(reached, event) {
			lost = append(lost, event)
		}
	}
	return lost, nil
}

// lostProfiles returns customers whose stored profile is not a possible one.
func lostProfiles(ctx context.Context, f *facts) ([]string, error) {
	var lost []string
	for customer, p := range f.Profiles {
		stored, err := f.texts(ctx, `SELECT coalesce((SELECT email FROM customer_profile WHERE customer_id = $1), '')`, customer)
		if err != nil {
			return nil, err
		}
		if stored[0] != p.Acknowledged && !slices.Contains(p.Unknown, stored[0]) {
			lost = append(lost, fmt.Sprintf("the e-mail of %s is %q, want %q or one of %q", customer, stored[0], p.Acknowledged, p.Unknown))
		}
	}
	return lost, nil
}

// lostJobs returns jobs that River discarded, and undecided payments and refunds
// without a job.
func lostJobs(ctx context.Context, f *facts) ([]string, error) {
	return f.texts(ctx, lostIntents+`
		UNION ALL
		SELECT format('job %s %s is %s', kind, args, state) FROM river.river_job
		WHERE kind IN ('settle_payment', 'settle_refund') AND state NOT IN ('completed', 'available', 'retryable', 'running', 'scheduled')`)
}

// lostIntents selects undecided payments and refunds without a job that will decide
// them.
const lostIntents = `
	SELECT 'payment ' || id FROM payment p WHERE status = 'processing' AND NOT EXISTS (
		SELECT FROM river.river_job WHERE kind = 'settle_payment' AND (args->>'id')::bigint = p.id
		AND state IN ('available', 'retryable', 'running', 'scheduled'))
	UNION ALL
	SELECT 'refund ' || id FROM refund r WHERE status = 'pending' AND NOT EXISTS (
		SELECT FROM river.river_job WHERE kind = 'settle_refund' AND (args->>'id')::bigint = r.id
		AND state IN ('available', 'retryable', 'running', 'scheduled'))`

// openTransactions returns leftovers in an idle service: key locks, and transactions
// older than any job's statement.
func openTransactions(ctx context.Context, f *facts) ([]string, error) {
	return f.texts(ctx, `
		SELECT format('%s advisory locks of process %s', count(*), pid) FROM pg_locks
		WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		GROUP BY pid
		UNION ALL
		SELECT format('process %s: %s since %s', pid, state, xact_start) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'orders' AND xact_start < now() - interval '5 seconds'`)
}

// unauditedActs returns administrator actions without a key that have fewer audit log
// entries than acknowledgements, or more than attempts. [invariants.Violations] counts actions
// with a key.
func unauditedActs(ctx context.Context, f *facts) ([]string, error) {
	entries := map[string]int{}
	for action := range f.Administrator {
		entries[action] = 0
	}
	rows, _ := f.db.Query(ctx, `SELECT action, count(*) FROM audit_log WHERE actor = $1
		AND action NOT IN (`+invariants.AuditedCommands+`) GROUP BY 1`, e2e.Root)
	var action string
	var n int
	_, err := pgx.ForEachRow(rows, []any{&action, &n}, func() error {
		entries[action] = n
		return nil
	})
	var found []string
	for action, n := range entries {
		if acts := f.Administrator[action]; n < acts.Acknowledged || n > acts.Acknowledged+acts.Unknown {
			found = append(found, fmt.Sprintf("%s: %d entries, %d acknowledged and %d of unknown outcome", action, n, acts.Acknowledged, acts.Unknown))
		}
	}
	return found, err
}
