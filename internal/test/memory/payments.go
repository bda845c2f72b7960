package memory

import (
	"cmp"
	"context"
	"slices"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
)

// orderPayments implements [payment.OrderPaymentsStore].
type orderPayments struct{ *tx }

// Lock returns an order that the grant covers, with stock and money.
func (t orderPayments) Lock(ctx context.Context, orderID int64, g core.Grant) (*payment.OrderPayments, error) {
	o, err := orders(t).Lock(ctx, orderID, g)
	if err != nil {
		return nil, err
	}
	o.Disputed = false // only a lock of the order alone loads it
	return &payment.OrderPayments{
		Order: o, Stock: t.stockOf(o),
		Payments: t.paymentsOf(orderID), Balance: t.balance(o.CustomerID, o.Total.Currency()),
	}, nil
}

// LockByPayment returns the order of a payment.
func (t orderPayments) LockByPayment(ctx context.Context, paymentID int64) (*payment.OrderPayments, error) {
	return t.LockByPaymentUUID(ctx, uuidOf(paymentID))
}

// LockByPaymentUUID returns the order of the payment with a UUID.
func (t orderPayments) LockByPaymentUUID(ctx context.Context, uuid string) (*payment.OrderPayments, error) {
	for _, p := range t.payments {
		if p.UUID == uuid {
			return t.Lock(ctx, p.OrderID, core.GrantEverybody)
		}
	}
	return nil, core.ErrNotFound
}

// LockByRefund returns the order of a refund.
func (t orderPayments) LockByRefund(ctx context.Context, refundID int64) (*payment.OrderPayments, error) {
	return t.LockByRefundUUID(ctx, uuidOf(refundID))
}

// LockByRefundUUID returns the order of the refund with a UUID.
func (t orderPayments) LockByRefundUUID(ctx context.Context, uuid string) (*payment.OrderPayments, error) {
	for _, r := range t.refunds {
		if r.UUID == uuid {
			return t.Lock(ctx, r.OrderID, core.GrantEverybody)
		}
	}
	return nil, core.ErrNotFound
}

// payments implements [payment.Payments].
type payments struct{ *tx }

// Get returns a payment with all refunds, and the owners of the order.
func (t payments) Get(_ context.Context, id int64) (*payment.Payment, core.Owners, error) {
	p, err := find(t.payments, id)
	if err != nil {
		return nil, core.Owners{}, err
	}
	p.Refunds, p.Disputes = t.refundsOf(id), t.disputesOf(id)
	return p, t.orders[p.OrderID].Owners(), nil
}

// Of returns the payments of an order with their refunds, the newest first.
func (t payments) Of(_ context.Context, orderID int64) ([]*payment.Payment, error) {
	return t.paymentsOf(orderID), nil
}

// Search returns a page of the payments that the search selects and one more, newest first.
func (t payments) Search(_ context.Context, f payment.Search, page core.Page) ([]*payment.Payment, error) {
	selected := func(p *payment.Payment) bool {
		disputed := slices.ContainsFunc(t.disputesOf(p.ID), func(d *cards.Dispute) bool { return d.Status.IsOpen() })
		return (disputed || !f.Disputed) && (f.Status == "" || f.Status == p.Status) && (f.Method == "" || f.Method == p.Method) && f.Created.Includes(p.CreatedAt)
	}
	return t.paymentsPage(selected, page), nil
}

// Save inserts or updates a payment. An operation makes one payment of an order, an order
// has one live payment, and a charge has one payment.
func (t payments) Save(_ context.Context, p *payment.Payment) error {
	taken := func(other *payment.Payment) bool {
		live := other.Status != payment.Failed && p.Status != payment.Failed
		return (other.ID != p.ID || p.New) && (other.OrderID == p.OrderID && (live || other.By.Key == p.By.Key) ||
			p.Card.ExternalID != "" && other.Card.ExternalID == p.Card.ExternalID)
	}
	if has(t.payments, taken) {
		return duplicate("payment of one operation, order or charge")
	}
	stored := copyOf(p)
	stored.UUID, stored.New, stored.Refunds, stored.Disputes = uuidOf(p.ID), false, nil, nil
	stored.CreatedAt, stored.Card.AskedAt = stamp(p.CreatedAt), stamp(p.Card.AskedAt)
	t.payments[p.ID] = stored
	return nil
}

// OfCharge returns the id of the payment that has a charge of the provider, or 0.
func (t payments) OfCharge(_ context.Context, externalID string) (int64, error) {
	for _, p := range t.payments {
		if p.Card.ExternalID == externalID {
			return p.ID, nil
		}
	}
	return 0, nil
}

func (t *tx) paymentsOf(orderID int64) []*payment.Payment {
	return t.paymentsPage(func(p *payment.Payment) bool { return p.OrderID == orderID }, all)
}

// paymentsPage returns payments with their refunds, newest first.
func (t *tx) paymentsPage(selected func(*payment.Payment) bool, page core.Page) []*payment.Payment {
	at := func(p *payment.Payment) core.Position { return core.Position{CreatedAt: p.CreatedAt, ID: p.ID} }
	found := list(t.payments, selected, at, page)
	for _, p := range found {
		p.Refunds, p.Disputes = t.refundsOf(p.ID), t.disputesOf(p.ID)
	}
	return found
}

// disputes implements [payment.Disputes].
type disputes struct{ *tx }

// Save inserts or updates a dispute.
func (t disputes) Save(_ context.Context, p *payment.Payment, d *cards.Dispute) error {
	stored := &dispute{*d, p.ID, p.OrderID}
	stored.DueBy, stored.CreatedAt = stamp(d.DueBy), stamp(d.CreatedAt)
	t.disputes[d.ID] = stored
	return nil
}

// disputesOf returns the disputes of a payment, newest first.
func (t *tx) disputesOf(paymentID int64) (found []*cards.Dispute) {
	for _, d := range t.disputes {
		if d.paymentID == paymentID {
			found = append(found, copyOf(&d.Dispute))
		}
	}
	slices.SortFunc(found, func(a, b *cards.Dispute) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	return found
}

// refunds implements [payment.Refunds].
type refunds struct{ *tx }

// Get returns a refund, and the owners of the order.
func (t refunds) Get(_ context.Context, id int64) (*payment.Refund, core.Owners, error) {
	r, err := find(t.refunds, id)
	if err != nil {
		return nil, core.Owners{}, err
	}
	return r, t.orders[r.OrderID].Owners(), nil
}

// Save inserts or updates a refund. An operation makes one refund of a payment, and so does a
// creator with a reference, and so is one at the provider; a refund without a key belongs to no
// operation.
func (t refunds) Save(_ context.Context, r *payment.Refund) error {
	taken := func(other *payment.Refund) bool {
		if other.ID != r.ID && r.ExternalID != "" && other.ExternalID == r.ExternalID {
			return true
		}
		return r.New && other.PaymentID == r.PaymentID && other.By.Actor == r.By.Actor &&
			(r.By.Key != "" && other.By.Key == r.By.Key || r.Reference != "" && other.Reference == r.Reference)
	}
	if has(t.refunds, taken) {
		return duplicate("refund of one operation, reference or refund at the provider")
	}
	stored := copyOf(r)
	stored.UUID, stored.New = uuidOf(r.ID), false
	stored.CreatedAt, stored.AskedAt = stamp(r.CreatedAt), stamp(r.AskedAt)
	t.refunds[r.ID] = stored
	return nil
}

// OfExternal returns the id of the refund that has an id at the provider, or 0.
func (t refunds) OfExternal(_ context.Context, externalID string) (int64, error) {
	for _, r := range t.refunds {
		if r.ExternalID == externalID {
			return r.ID, nil
		}
	}
	return 0, nil
}

func (t *tx) refundsOf(paymentID int64) []*payment.Refund {
	at := func(r *payment.Refund) core.Position { return core.Position{CreatedAt: r.CreatedAt, ID: r.ID} }
	return list(t.refunds, func(r *payment.Refund) bool { return r.PaymentID == paymentID }, at, all)
}

// balances implements [payment.Balances].
type balances struct{ *tx }

// Lock returns a balance, and the entry that the operation made before.
func (t balances) Lock(_ context.Context, q payment.BalanceQuery) (payment.LockedBalance, error) {
	locked := payment.LockedBalance{Balance: t.balance(q.CustomerID, q.Currency)}
	for _, e := range t.entries {
		if e.CustomerID != q.CustomerID {
			continue
		}
		if e.By == q.By {
			locked.Prior = copyOf(e)
		}
		locked.ReferenceTaken = locked.ReferenceTaken || e.Reference != "" && e.Reference == q.Reference && e.Kind == q.Kind
	}
	return locked, nil
}

// Of returns the balances of a customer.
func (t balances) Of(_ context.Context, customerID string) ([]*payment.Balance, error) {
	found := []*payment.Balance{}
	for key, b := range t.balances {
		if key.customerID == customerID {
			found = append(found, copyOf(b))
		}
	}
	slices.SortFunc(found, func(a, b *payment.Balance) int {
		return cmp.Compare(a.Amount.Currency(), b.Amount.Currency())
	})
	return found, nil
}

// Save inserts or updates a balance. A customer has one balance in each currency.
func (t balances) Save(_ context.Context, b *payment.Balance) error {
	key := balanceKey{b.CustomerID, b.Amount.Currency()}
	if t.balances[key] != nil && b.New {
		return duplicate("balance in one currency")
	}
	stored := copyOf(b)
	stored.New, stored.ChangedAt = false, stamp(b.ChangedAt)
	t.balances[key] = stored
	return nil
}

func (t *tx) balance(customerID string, currency core.Currency) *payment.Balance {
	if b, found := t.balances[balanceKey{customerID, currency}]; found {
		return copyOf(b)
	}
	return &payment.Balance{CustomerID: customerID, Amount: core.Zero(currency), New: true}
}

// ledger implements [payment.Ledger].
type ledger struct{ *tx }

// Append inserts an entry. An operation changes a customer balance once; an entry
// without a key belongs to no operation. No two entries of a customer and kind have one
// reference, and no two of a balance have one position.
func (t ledger) Append(_ context.Context, e *payment.LedgerEntry) error {
	taken := func(other *payment.LedgerEntry) bool {
		return other.CustomerID == e.CustomerID && (e.By.Key != "" && other.By == e.By ||
			e.Reference != "" && other.Reference == e.Reference && other.Kind == e.Kind ||
			e.Position > 0 && other.Position == e.Position && other.Amount.Currency() == e.Amount.Currency())
	}
	if has(t.entries, taken) {
		return duplicate("entry of one operation, reference or position")
	}
	stored := copyOf(e)
	stored.CreatedAt = stamp(e.CreatedAt)
	t.entries[e.ID] = stored
	return nil
}

// HasReference reports whether there is an entry about a transaction of the provider.
func (t ledger) HasReference(_ context.Context, kind payment.EntryKind, reference string) (bool, error) {
	return has(t.entries, func(e *payment.LedgerEntry) bool { return e.Kind == kind && e.Reference == reference }), nil
}

// List returns a page of the entries that the filter selects and one more, newest first.
func (t ledger) List(_ context.Context, f payment.EntryFilter, page core.Page) ([]*payment.LedgerEntry, error) {
	selected := func(e *payment.LedgerEntry) bool {
		return e.CustomerID == f.CustomerID && (f.Reference == "" || f.Reference == e.Reference) && f.Created.Includes(e.CreatedAt)
	}
	at := func(e *payment.LedgerEntry) core.Position { return core.Position{CreatedAt: e.CreatedAt, ID: e.ID} }
	return list(t.entries, selected, at, page), nil
}

// intents implements [payment.Intents]. No use case depends on what becomes of the jobs.
type intents struct{}

// Settle drops the job that charges the card of a payment.
func (intents) Settle(context.Context, int64) error { return nil }

// SettleRefund drops the job that refunds to a card.
func (intents) SettleRefund(context.Context, int64) error { return nil }
