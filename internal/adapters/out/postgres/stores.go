package postgres

import (
	"example.com/orders/internal/adapters/out/postgres/endpoints"
	"example.com/orders/internal/core/audit"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/webhook"
)

// Orders returns the store for order use cases.
func (db *DB) Orders() order.Store { return store[order.Tx]{db, (*session).orders} }

// Payments returns the store for payment use cases.
func (db *DB) Payments() payment.Store { return store[payment.Tx]{db, (*session).payments} }

// Customers returns the store for customer use cases.
func (db *DB) Customers() customer.Store { return store[customer.Tx]{db, (*session).customers} }

// Webhooks returns the store for webhook use cases.
func (db *DB) Webhooks() webhook.Store { return store[webhook.Tx]{db, (*session).webhooks} }

// Audit returns the store for audit log use cases.
func (db *DB) Audit() audit.Store { return store[audit.Tx]{db, (*session).audit} }

func (t *session) orders() order.Tx {
	return order.Tx{
		Now: t.now, IDs: t, Orders: orders{t}, Reservations: reservations{t}, Products: products{t},
		StockAdjustments: stockAdjustments{t},
		Outbox:           outboxWriter{t}, AuditLog: auditLog{t}, Inbox: inbox{t},
	}
}

func (t *session) payments() payment.Tx {
	return payment.Tx{
		Tx: t.orders(), OrderPayments: orderPaymentsStore{t}, Payments: payments{t}, Refunds: refunds{t}, Disputes: disputes{t},
		Balances: balances{t}, Ledger: ledger{t}, Intents: intents{t},
	}
}

func (t *session) customers() customer.Tx {
	return customer.Tx{Now: t.now, Profiles: profiles{t}, AuditLog: auditLog{t}}
}

func (t *session) webhooks() webhook.Tx {
	return webhook.Tx{
		Now: t.now, Endpoints: endpoints.Endpoints{Session: t}, Deliveries: endpoints.Deliveries{Session: t},
		Outbox: outboxWriter{t}, AuditLog: auditLog{t},
	}
}

func (t *session) audit() audit.Tx {
	return audit.Tx{Entries: auditEntries{t}, AuditLog: auditLog{t}}
}
