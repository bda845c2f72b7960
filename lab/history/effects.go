package history

import (
	"context"
	"fmt"

	"github.com/govalues/decimal"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/core"
)

// effectsOfKeys selects a row for each business effect: its command key. The ledger
// entry for a payment or a refund is part of that effect.
const effectsOfKeys = `
	SELECT created_by AS scope, idempotency_key AS key FROM orders
	UNION ALL SELECT cancelled_by, cancel_key FROM orders WHERE cancel_key IS NOT NULL
	UNION ALL SELECT created_by, idempotency_key FROM reservation_extension
	UNION ALL SELECT created_by, idempotency_key FROM payment
	UNION ALL SELECT created_by, idempotency_key FROM refund WHERE idempotency_key IS NOT NULL
	UNION ALL SELECT created_by, idempotency_key FROM ledger_entry WHERE idempotency_key IS NOT NULL
	UNION ALL SELECT created_by, idempotency_key FROM stock_adjustment`

// CountEffects returns the number of business effects by key.
func CountEffects(ctx context.Context, db *pgxpool.Pool) (map[ID]int, error) {
	rows, err := db.Query(ctx, "SELECT scope, key, count(*) FROM ("+effectsOfKeys+") effect GROUP BY scope, key")
	if err != nil {
		return nil, fmt.Errorf("count the effects of keys: %w", err)
	}
	effects := map[ID]int{}
	var id ID
	var n int
	_, err = pgx.ForEachRow(rows, []any{&id.Scope, &id.Key, &n}, func() error {
		effects[id] = n
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count the effects of keys: %w", err)
	}
	return effects, nil
}

// AccountOf returns the name for a customer balance in a currency, as in [Attempt]
// and [Entry].
func AccountOf(customer, currency string) string { return customer + " " + currency }

const stockOf = "stock of "

// StockOf returns the name for a product's available stock, as in [Attempt].
func StockOf(sku string) string { return stockOf + sku }

// ledgerOfCustomers selects the entries that changed a balance. The key for a payment,
// a refund or a cancellation is in the row that it made.
const ledgerOfCustomers = `
	SELECT e.customer_id, e.currency, e.position,
	       (CASE WHEN e.credit = 'customer/' || e.customer_id THEN e.amount ELSE -e.amount END)::text,
	       e.balance_after::text,
	       coalesce(e.created_by, r.created_by, p.created_by, ''),
	       coalesce(e.idempotency_key, CASE
	           WHEN r.id IS NULL THEN p.idempotency_key
	           WHEN r.idempotency_key IS NULL THEN o.cancel_key
	           ELSE r.idempotency_key END, '')
	FROM ledger_entry e
	LEFT JOIN refund r ON r.id = e.refund_id
	LEFT JOIN payment p ON p.id = e.payment_id
	LEFT JOIN orders o ON o.id = r.order_id
	WHERE e.customer_id IS NOT NULL
	ORDER BY e.customer_id, e.currency, e.position`

// LoadLedger returns all balance entries in order.
func LoadLedger(ctx context.Context, db *pgxpool.Pool) ([]Entry, error) {
	rows, err := db.Query(ctx, ledgerOfCustomers)
	if err != nil {
		return nil, fmt.Errorf("load the ledger: %w", err)
	}
	entries := []Entry{}
	var e Entry
	var customer, currency, change, after string
	_, err = pgx.ForEachRow(rows, []any{&customer, &currency, &e.Position, &change, &after, &e.Scope, &e.Key}, func() error {
		e.Account = AccountOf(customer, currency)
		if e.Key == "" {
			e.ID = ID{} // a webhook or a job made it
		}
		if e.Change, err = smallestUnits(change, currency); err != nil {
			return err
		}
		if e.After, err = smallestUnits(after, currency); err != nil {
			return err
		}
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load the ledger: %w", err)
	}
	return entries, nil
}

// smallestUnits converts an amount: 12.30 RUB is 1230.
func smallestUnits(amount, currency string) (int64, error) {
	d, err := decimal.Parse(amount)
	if err != nil {
		return 0, err
	}
	whole, fraction, ok := d.Int64(core.Currency(currency).Decimals())
	if !ok {
		return 0, fmt.Errorf("%s %s is no number of smallest units", amount, currency)
	}
	unit := int64(1)
	for range core.Currency(currency).Decimals() {
		unit *= 10
	}
	return whole*unit + fraction, nil
}
