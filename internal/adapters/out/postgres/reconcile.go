package postgres

import (
	"context"
	"fmt"
	"time"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core/payment"
)

// Mismatches compares our own data; see [payment.ReconciliationStore].
func (db *DB) Mismatches(ctx context.Context) ([]payment.Mismatch, error) {
	var rows []dbsqlc.LedgerMismatchesRow
	err := db.read(ctx, func(ctx context.Context, t *tx) error {
		return t.load(ctx, planForWholeTables(ctx), func(q *dbsqlc.Queries) (err error) {
			rows, err = q.LedgerMismatches(ctx)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("compare the ledger: %w", err)
	}
	found := make([]payment.Mismatch, len(rows))
	for i, row := range rows {
		found[i] = payment.Mismatch(row)
	}
	return found, nil
}

// CardPayments returns the card payments to compare with the provider's; see
// [payment.ReconciliationStore].
func (db *DB) CardPayments(ctx context.Context, since time.Time, uuids []string) ([]*payment.Payment, error) {
	var rows []dbsqlc.Payment
	var refunds []dbsqlc.Refund
	err := db.read(ctx, func(ctx context.Context, t *tx) error {
		err := t.load(ctx, planForWholeTables(ctx), func(q *dbsqlc.Queries) (err error) {
			rows, err = q.CardPaymentsToCompare(ctx, dbsqlc.CardPaymentsToCompareParams{Since: since, Uuids: uuids})
			return err
		})
		if err != nil {
			return err
		}
		ids := make([]int64, len(rows))
		for i, row := range rows {
			ids[i] = row.ID
		}
		return t.load(ctx, func(q *dbsqlc.Queries) (err error) {
			refunds, err = q.RefundsOfPayments(ctx, ids)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the card payments: %w", err)
	}
	return paymentsOf(rows, refunds)
}

// planForWholeTables replaces the planner settings of the connection until the end of
// the transaction. They suit statements that read a few rows; these read whole tables.
func planForWholeTables(ctx context.Context) read {
	return func(q *dbsqlc.Queries) error { return q.PlanForWholeTables(ctx) }
}
