package reconcile

import (
	"context"
	"slices"
	"time"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core/payment"
)

// comparePage is the number of card payments per statement when comparing with the
// provider's charges.
const comparePage = 500

// PaymentsOf converts payment rows and their refunds and disputes.
type PaymentsOf func([]dbsqlc.Payment, []dbsqlc.Refund, []dbsqlc.Dispute) ([]*payment.Payment, error)

// CardPayments returns the card payments that reconciliation compares with the
// provider's charges, and those with refunds since then. It also returns the keys of
// unreadable ones: a payment is read with all its refunds or not at all, because one that
// seems to have no refund may be refunded. It reads them in pages.
func (s Store) CardPayments(
	ctx context.Context, since time.Time, uuids []string, paymentsOf PaymentsOf,
) (found []*payment.Payment, unreadable []string, err error) {
	ids, err := s.comparedPayments(ctx, since, uuids)
	if err != nil {
		return nil, nil, err
	}
	for page := range slices.Chunk(ids, comparePage) {
		cards, err := dbsqlc.New(s.db.Pool()).CardPaymentsAmong(ctx, page)
		if err != nil {
			return nil, nil, pgtx.Failed("find the card payments", err)
		}
		var readable []int64
		for _, p := range cards {
			if p.Unreadable {
				unreadable = append(unreadable, (&payment.Payment{UUID: p.Uuid}).Key())
				continue
			}
			readable = append(readable, p.ID)
		}
		payments, err := s.withRefunds(ctx, readable, paymentsOf)
		if err != nil {
			return nil, nil, err
		}
		found = append(found, payments...)
	}
	return found, unreadable, nil
}

// comparedPayments returns the ids of payments to compare, sorted. Not all are by card.
func (s Store) comparedPayments(ctx context.Context, since time.Time, uuids []string) ([]int64, error) {
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
	ids := slices.Concat(recent, refunded, undecided)
	for page := range slices.Chunk(uuids, comparePage) {
		named, err := dbsqlc.New(s.db.Pool()).PaymentsOfUUIDs(ctx, page)
		if err != nil {
			return nil, pgtx.Failed("read the payments that the provider names", err)
		}
		ids = append(ids, named...)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// withRefunds loads card payments, and their refunds and disputes.
func (s Store) withRefunds(ctx context.Context, ids []int64, paymentsOf PaymentsOf) ([]*payment.Payment, error) {
	rows, err := dbsqlc.New(s.db.Pool()).PaymentsOfIDs(ctx, ids)
	if err != nil {
		return nil, pgtx.Failed("read card payments", err)
	}
	refunds, err := dbsqlc.New(s.db.Pool()).RefundsOfPayments(ctx, ids)
	if err != nil {
		return nil, pgtx.Failed("read the refunds of card payments", err)
	}
	disputes, err := dbsqlc.New(s.db.Pool()).DisputesOfPayments(ctx, ids)
	if err != nil {
		return nil, pgtx.Failed("read the disputes of card payments", err)
	}
	return paymentsOf(rows, refunds, disputes)
}

func (s Store) cardPaymentsSince(ctx context.Context, since time.Time) (ids []int64, err error) {
	payments, err := readPages(func(last dbsqlc.CardPaymentsSinceRow) ([]dbsqlc.CardPaymentsSinceRow, error) {
		if last.ID == 0 {
			last.CreatedAt = since
		}
		return dbsqlc.New(s.db.Pool()).CardPaymentsSince(ctx, dbsqlc.CardPaymentsSinceParams{
			AfterTime: last.CreatedAt, AfterID: last.ID, Page: comparePage,
		})
	})
	for _, row := range payments {
		ids = append(ids, row.ID)
	}
	return ids, err
}

// DisputedCharges returns the provider's ids of charges with an open dispute.
func (s Store) DisputedCharges(ctx context.Context) ([]string, error) {
	charges, err := dbsqlc.New(s.db.Pool()).DisputedCharges(ctx)
	return charges, pgtx.Failed("read the disputed charges", err)
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

func (s Store) paymentsRefundedSince(ctx context.Context, since time.Time) (ids []int64, err error) {
	q := dbsqlc.New(s.db.Pool())
	refunds, err := readPages(func(last dbsqlc.RefundedSinceRow) ([]dbsqlc.RefundedSinceRow, error) {
		if last.ID == 0 {
			last.CreatedAt = since
		}
		return q.RefundedSince(ctx, dbsqlc.RefundedSinceParams{AfterTime: last.CreatedAt, AfterID: last.ID, Page: comparePage})
	})
	for _, row := range refunds {
		ids = append(ids, row.PaymentID)
	}
	return ids, err
}

// undecidedPayments returns payments that wait for the provider, or whose refunds do,
// regardless of age. It skips the last minute, which has not had time to settle.
func (s Store) undecidedPayments(ctx context.Context) (ids []int64, err error) {
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
	for _, row := range payments {
		ids = append(ids, row.ID)
	}
	for _, row := range refunds {
		ids = append(ids, row.PaymentID)
	}
	return ids, err
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
