package reconcile

import (
	"context"
	"maps"
	"slices"
	"time"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core/payment"
)

// comparePage is the number of card payments per statement when comparing with the
// provider's charges.
const comparePage = 500

// PaymentsOf converts payment rows and their refunds.
type PaymentsOf func([]dbsqlc.Payment, []dbsqlc.Refund) ([]*payment.Payment, error)

// CardPayments returns the card payments that reconciliation compares with the
// provider's charges, and those with refunds since then. It reads them in pages.
func (s Store) CardPayments(ctx context.Context, since time.Time, uuids []string, paymentsOf PaymentsOf) ([]*payment.Payment, error) {
	recent, err := s.cardPaymentsSince(ctx, since)
	if err != nil {
		return nil, pgtx.Failed("read the recent card payments", err)
	}
	refunded, err := s.paymentsRefundedSince(ctx, since)
	if err != nil {
		return nil, pgtx.Failed("read the recent refunds", err)
	}
	undecided, err := s.undecidedPayments(ctx)
	if err != nil {
		return nil, pgtx.Failed("read the undecided payments", err)
	}
	named, err := readChunks(uuids, func(uuids []string) ([]dbsqlc.Payment, error) {
		return dbsqlc.New(s.db.Pool()).PaymentsByUUID(ctx, uuids)
	})
	if err != nil {
		return nil, pgtx.Failed("read the payments that the provider names", err)
	}
	byID := map[int64]dbsqlc.Payment{}
	for _, row := range slices.Concat(recent, refunded, undecided, named) {
		if row.Method == string(payment.ByCard) {
			byID[row.ID] = row
		}
	}
	return s.withRefunds(ctx, byID, paymentsOf)
}

// withRefunds loads the payments' refunds, and returns the payments sorted by id.
func (s Store) withRefunds(ctx context.Context, byID map[int64]dbsqlc.Payment, paymentsOf PaymentsOf) ([]*payment.Payment, error) {
	var found []*payment.Payment
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(byID)), comparePage) {
		refunds, err := dbsqlc.New(s.db.Pool()).RefundsOfPayments(ctx, ids)
		if err != nil {
			return nil, pgtx.Failed("read the refunds of card payments", err)
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

func (s Store) cardPaymentsSince(ctx context.Context, since time.Time) ([]dbsqlc.Payment, error) {
	return readPages(func(last dbsqlc.Payment) ([]dbsqlc.Payment, error) {
		if last.ID == 0 {
			last.CreatedAt = since
		}
		return dbsqlc.New(s.db.Pool()).CardPaymentsSince(ctx, dbsqlc.CardPaymentsSinceParams{
			AfterTime: last.CreatedAt, AfterID: last.ID, Page: comparePage,
		})
	})
}

// CountCardPayments returns the number of card payments.
func (s Store) CountCardPayments(ctx context.Context) (n int64, err error) {
	q := dbsqlc.New(s.db.Pool())
	var last dbsqlc.CardPaymentsCountedRow
	for {
		last, err = q.CardPaymentsCounted(ctx, dbsqlc.CardPaymentsCountedParams{AfterTime: last.LastTime, AfterID: last.LastID, Page: maxCounted})
		n += last.Counted
		if err != nil || last.Counted < maxCounted {
			return n, pgtx.Failed("count the card payments", err)
		}
	}
}

func (s Store) paymentsRefundedSince(ctx context.Context, since time.Time) ([]dbsqlc.Payment, error) {
	q := dbsqlc.New(s.db.Pool())
	refunds, err := readPages(func(last dbsqlc.RefundedSinceRow) ([]dbsqlc.RefundedSinceRow, error) {
		if last.ID == 0 {
			last.CreatedAt = since
		}
		return q.RefundedSince(ctx, dbsqlc.RefundedSinceParams{AfterTime: last.CreatedAt, AfterID: last.ID, Page: comparePage})
	})
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(refunds))
	for i, row := range refunds {
		ids[i] = row.PaymentID
	}
	return readChunks(ids, func(ids []int64) ([]dbsqlc.Payment, error) { return q.PaymentsByID(ctx, ids) })
}

// undecidedPayments returns payments that wait for the provider, or whose refunds do,
// regardless of age. It skips the last minute, which has not had time to settle.
func (s Store) undecidedPayments(ctx context.Context) ([]dbsqlc.Payment, error) {
	q := dbsqlc.New(s.db.Pool())
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

// readChunks reads rows by key, one page at a time.
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

// readPages reads pages until one is not full. It passes the previous page's last row,
// initially a zero row.
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
