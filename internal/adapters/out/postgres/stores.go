package postgres

import (
	"context"

	"example.com/orders/internal/core/audit"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

// Orders returns the store of the use cases about orders.
func (db *DB) Orders() order.Store { return orderStore{db} }

// Payments returns the store of the use cases about money.
func (db *DB) Payments() payment.Store { return paymentStore{db} }

// Customers returns the store of the use cases about customers.
func (db *DB) Customers() customer.Store { return customerStore{db} }

// Audit returns the store of the use cases about the audit log.
func (db *DB) Audit() audit.Store { return auditStore{db} }

type orderStore struct{ db *DB }

func (s orderStore) InTx(ctx context.Context, fn func(context.Context, order.Tx) error) error {
	return s.db.inTx(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, t.orders()) })
}

func (s orderStore) Read(ctx context.Context, fn func(context.Context, order.Tx) error) error {
	return s.db.read(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, t.orders()) })
}

func (s orderStore) ReadStale(ctx context.Context, fn func(context.Context, order.Tx) error) error {
	return s.db.readStale(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, t.orders()) })
}

type paymentStore struct{ db *DB }

func (s paymentStore) InTx(ctx context.Context, fn func(context.Context, payment.Tx) error) error {
	return s.db.inTx(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, t.payments()) })
}

func (s paymentStore) Read(ctx context.Context, fn func(context.Context, payment.Tx) error) error {
	return s.db.read(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, t.payments()) })
}

type customerStore struct{ db *DB }

func (s customerStore) InTx(ctx context.Context, fn func(context.Context, customer.Tx) error) error {
	return s.db.inTx(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, t.customers()) })
}

func (s customerStore) Read(ctx context.Context, fn func(context.Context, customer.Tx) error) error {
	return s.db.read(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, t.customers()) })
}

type auditStore struct{ db *DB }

func (s auditStore) InTx(ctx context.Context, fn func(context.Context, audit.Tx) error) error {
	return s.db.inTx(ctx, func(ctx context.Context, t *tx) error {
		return fn(ctx, audit.Tx{Entries: auditEntries{t}, AuditLog: auditLog{t}})
	})
}

func (t *tx) orders() order.Tx {
	return order.Tx{
		Now: t.now, IDs: t, Orders: orders{t}, Reservations: reservations{t}, Products: products{t},
		StockAdjustments: stockAdjustments{t},
		Outbox:           outboxWriter{t}, AuditLog: auditLog{t}, Inbox: inbox{t},
	}
}

func (t *tx) payments() payment.Tx {
	return payment.Tx{
		Tx: t.orders(), OrderPayments: orderPaymentsStore{t}, Payments: payments{t}, Refunds: refunds{t},
		Balances: balances{t}, Ledger: ledger{t}, Intents: intents{t},
	}
}

func (t *tx) customers() customer.Tx {
	return customer.Tx{Now: t.now, Profiles: profiles{t}, AuditLog: auditLog{t}}
}
