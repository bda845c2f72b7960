package postgres

import (
	"context"
	"maps"
	"slices"
	"time"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core/payment"
)

// comparePage is how many card payments a statement reads for the comparison with the
// provider's charges.
const comparePage = 500

// LoadPass returns the pass of reconciliation that has begun; see
// [payment.ReconciliationProgress].
func (db *DB) LoadPass(ctx context.Context) (payment.Pass, error) {
	rows, err := dbsqlc.New(db.pool).ReconciliationPass(ctx)
	if err != nil || len(rows) == 0 {
		return payment.Pass{}, failed("read the progress of reconciliation", err)
	}
	return payment.Pass{
		Version: rows[0].Version, Position: rows[0].Position, Found: int(rows[0].Found), SinceLast: seconds(rows[0].Age),
	}, nil
}

// SavePass saves the pass after a step; see [payment.ReconciliationProgress].
func (db *DB) SavePass(ctx context.Context, pass payment.Pass) (bool, error) {
	var n int64
	err := db.writeOnce(ctx, func(q *dbsqlc.Queries) (err error) {
		n, err = q.SaveReconciliationPass(ctx, dbsqlc.SaveReconciliationPassParams{
			NextPosition: pass.Position, Found: int64(pass.Found), Version: pass.Version,
		})
		return err
	})
	return n == 1, failed("save the progress of reconciliation", err)
}

// ReconciliationResult returns how many mismatches there are, and the time since the last
// complete pass, negative if there was none.
func (db *DB) ReconciliationResult(ctx context.Context) (mismatches int64, age time.Duration, err error) {
	rows, err := dbsqlc.New(db.pool).ReconciliationResult(ctx)
	if err != nil || len(rows) == 0 {
		return 0, -1, failed("read the result of reconciliation", err)
	}
	return rows[0].Mismatches, seconds(rows[0].Age), nil
}

// CardPayments returns the card payments to compare with the provider's; see
// [payment.ReconciliationStore]. Each statement reads one page of them.
func (db *DB) CardPayments(ctx context.Context, since time.Time, uuids []string) ([]*payment.Payment, error) {
	recent, err := db.cardPaymentsSince(ctx, since)
	if err != nil {
		return nil, failed("read the recent card payments", err)
	}
	undecided, err := db.undecidedPayments(ctx)
	if err != nil {
		return nil, failed("read the undecided payments", err)
	}
	named, err := readChunks(uuids, func(uuids []string) ([]dbsqlc.Payment, error) {
		return dbsqlc.New(db.pool).PaymentsByUUID(ctx, uuids)
	})
	if err != nil {
		return nil, failed("read the payments that the provider names", err)
	}
	byID := map[int64]dbsqlc.Payment{}
	for _, row := range slices.Concat(recent, undecided, named) {
		if row.Method == string(payment.ByCard) {
			byID[row.ID] = row
		}
	}
	return db.withRefunds(ctx, byID)
}

// withRefunds reads the refunds of payments, and returns the payments by their id.
func (db *DB) withRefunds(ctx context.Context, byID map[int64]dbsqlc.Payment) ([]*payment.Payment, error) {
	var found []*payment.Payment
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(byID)), comparePage) {
		refunds, err := dbsqlc.New(db.pool).RefundsOfPayments(ctx, ids)
		if err != nil {
			return nil, failed("read the refunds of card payments", err)
		}
		rows := make([]dbsqlc.Payment, len(ids))
		for i, id := range ids {
			rows[i] = byID[id]
		}
		payments, err := paymentsOf(rows, refunds)
		if err != nil {
			return nil, err
		}
		found = append(found, payments...)
	}
	return found, nil
}

func (db *DB) cardPaymentsSince(ctx context.Context, since time.Time) ([]dbsqlc.Payment, error) {
	return readPages(func(last dbsqlc.Payment) ([]dbsqlc.Payment, error) {
		if last.ID == 0 {
			last.CreatedAt = since
		}
		return dbsqlc.New(db.pool).CardPaymentsSince(ctx, dbsqlc.CardPaymentsSinceParams{
			AfterTime: last.CreatedAt, AfterID: last.ID, Page: comparePage,
		})
	})
}

// undecidedPayments returns the payments of any age that wait for the provider, or whose
// refunds do. It leaves out those of the last minute, which have not had time to settle.
func (db *DB) undecidedPayments(ctx context.Context) ([]dbsqlc.Payment, error) {
	q := dbsqlc.New(db.pool)
	payments, err := readPages(func(last dbsqlc.UndecidedPaymentsRow) ([]dbsqlc.UndecidedPaymentsRow, error) {
		return q.UndecidedPayments(ctx, dbsqlc.UndecidedPaymentsParams{
			AfterTime: last.CreatedAt, AfterID: last.ID, MaxPayments: comparePage,
		})
	})
	if err != nil {
		return nil, err
	}
	refunds, err := readPages(func(last dbsqlc.UndecidedRefundsRow) ([]dbsqlc.UndecidedRefundsRow, error) {
		return q.UndecidedRefunds(ctx, dbsqlc.UndecidedRefundsParams{
			AfterTime: last.CreatedAt, AfterID: last.ID, MaxRefunds: comparePage,
		})
	})
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, row := range payments {
		ids = append(ids, row.ID)
	}
	for _, row := range refunds {
		ids = append(ids, row.PaymentID)
	}
	return readChunks(ids, func(ids []int64) ([]dbsqlc.Payment, error) { return q.PaymentsByID(ctx, ids) })
}

// readChunks reads the rows of keys, a page of keys at a time.
func readChunks[K, T any](keys []K, read func(keys []K) ([]T, error)) ([]T, error) {
	var all []T
	for chunk := range slices.Chunk(keys, comparePage) {
		rows, err := read(chunk)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// readPages reads pages until one is not full. It passes the last row of the page before,
// at first a zero row.
func readPages[T any](read func(last T) ([]T, error)) ([]T, error) {
	var all []T
	var last T
	for {
		page, err := read(last)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < comparePage {
			return all, nil
		}
		last = page[len(page)-1]
	}
}
