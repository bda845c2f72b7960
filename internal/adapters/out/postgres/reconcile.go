package postgres

import (
	"context"
	"fmt"
	"time"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core/payment"
)

// Differences compares the books with themselves; see [payment.Books].
func (db *DB) Differences(ctx context.Context) ([]payment.Difference, error) {
	rows, err := dbsqlc.New(db.pool).BookDifferences(ctx)
	if err != nil {
		return nil, unavailable(fmt.Errorf("compare the books: %w", err))
	}
	found := make([]payment.Difference, len(rows))
	for i, row := range rows {
		found[i] = payment.Difference(row)
	}
	return found, nil
}

// CardPayments gives card payments to compare with the provider's; see [payment.Books].
func (db *DB) CardPayments(ctx context.Context, since time.Time, named []int64) ([]*payment.Payment, error) {
	q := dbsqlc.New(db.pool)
	rows, err := q.CardPaymentsToCompare(ctx, dbsqlc.CardPaymentsToCompareParams{Since: since, Ids: named})
	if err != nil {
		return nil, unavailable(fmt.Errorf("read the card payments: %w", err))
	}
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	refunds, err := q.RefundsOfPayments(ctx, ids)
	if err != nil {
		return nil, unavailable(fmt.Errorf("read the refunds: %w", err))
	}
	return paymentsOf(rows, refunds)
}
