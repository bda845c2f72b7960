package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/admission"
	"example.com/orders/internal/adapters/out/postgres/group"
	"example.com/orders/internal/adapters/out/postgres/ids"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

// batch holds the data for one transaction: everything its commands have loaded and
// changed. It implements [group.Batch].
type batch struct {
	ctx context.Context //nolint:containedctx // of the transaction
	tx  *pgtx.Tx
	ids *ids.Pools
	// shared reports whether several commands share the transaction.
	shared bool
	// locking begins the names of the rows that a load is locking.
	locking string
	behind  map[int64]orderRows // by order

	loaded
	changed
}

func newBatch(ctx context.Context, t *pgtx.Tx, from *ids.Pools, shared bool) *batch {
	return &batch{ctx: ctx, tx: t, ids: from, shared: shared, behind: map[int64]orderRows{}, loaded: loaded{
		balances: map[balanceKey]*payment.Balance{}, products: map[string]*order.Product{},
		unlockedProducts: map[string]*order.Product{}, orders: map[int64]*order.Order{}, exist: map[int64]bool{},
		payments: map[int64][]*payment.Payment{}, incomplete: map[int64]bool{},
		entriesBy: map[operationOf]*payment.LedgerEntry{}, ordersBy: map[operationOf]*order.Order{},
		entryRefs: map[entryRef]bool{}, orderRefs: map[orderRef]bool{}, unpaidOrders: map[creator]int{},
	}}
}

// Session implements [group.Batch].
func (b *batch) Session(held *admission.HeldRows) group.Session {
	return &session{batch: b, held: held}
}

// Look implements [group.Batch].
func (b *batch) Look(ctx context.Context, announced []group.Session) error {
	return b.look(ctx, announcedBy(announced)...)
}

// Load implements [group.Batch].
func (b *batch) Load(ctx context.Context, announced []group.Session) error {
	return b.load(ctx, announcedBy(announced)...)
}

func announcedBy(sessions []group.Session) []load {
	loads := make([]load, len(sessions))
	for i, s := range sessions {
		loads[i] = s.(*session).announced //nolint:forcetypeassert // Session made it
	}
	return loads
}

// loaded holds the transaction's aggregates, as loaded or as changed by earlier
// commands. Commands get clones. Only a command that succeeds replaces an aggregate
// here.
type loaded struct {
	balances map[balanceKey]*payment.Balance
	products map[string]*order.Product
	// unlockedProducts belong to a seller other than the one who orders them, and that
	// order is refused.
	unlockedProducts map[string]*order.Product
	orders           map[int64]*order.Order
	exist            map[int64]bool
	payments         map[int64][]*payment.Payment // by order
	// incomplete holds orders with changes that this state does not show.
	incomplete map[int64]bool

	// Results of earlier operations.
	entriesBy    map[operationOf]*payment.LedgerEntry
	ordersBy     map[operationOf]*order.Order
	entryRefs    map[entryRef]bool
	orderRefs    map[orderRef]bool
	unpaidOrders map[creator]int
}

type (
	balanceKey struct {
		customer string
		currency core.Currency
	}
	// creator is an actor who creates orders for a customer.
	creator struct{ customer, actor string }
	// operationOf is an operation on a customer's data.
	operationOf struct {
		customer string
		by       core.Operation
	}
	entryRef struct {
		customer string
		kind     payment.EntryKind
		ref      string
	}
	orderRef struct {
		creator
		ref string
	}
)

// balance returns a copy of a balance, or a new one if it does not exist.
func (b *batch) balance(customer string, currency core.Currency) *payment.Balance {
	if found, exists := b.balances[balanceKey{customer, currency}]; exists {
		return found.Clone()
	}
	return &payment.Balance{CustomerID: customer, Amount: core.Zero(currency), New: true}
}

// lockedBalance answers a [balanceLoad].
func (b *batch) lockedBalance(l balanceLoad) (payment.LockedBalance, error) {
	return payment.LockedBalance{
		Balance:        b.balance(l.CustomerID, l.Currency),
		Prior:          b.entriesBy[operationOf{l.CustomerID, l.By}].Clone(),
		ReferenceTaken: b.entryRefs[entryRef{l.CustomerID, l.Kind, l.Reference}],
	}, nil
}

// basket answers a [basketLoad].
func (b *batch) basket(l basketLoad) (order.Basket, error) {
	by := creator{l.CustomerID, l.By.Actor}
	basket := order.Basket{
		Stock:          order.Stock{},
		Prior:          b.ordersBy[operationOf{l.CustomerID, l.By}].Clone(),
		ReferenceTaken: b.orderRefs[orderRef{by, l.Reference}],
		Unpaid:         min(b.unpaidOrders[by], l.CountUnpaid),
	}
	for _, sku := range l.SKUs {
		if p, locked := b.products[sku]; locked {
			basket.Stock[sku] = p.Clone()
		} else if p := b.unlockedProducts[sku]; p != nil && !l.Grant.Covers(p.Owners()) {
			basket.Stock[sku] = p.Clone() // a covered one was created after the locks: it is missing
		}
	}
	return basket, nil
}

// orderPayments answers an [orderLoad].
func (b *batch) orderPayments(l orderLoad) (*payment.OrderPayments, error) {
	o, stock, err := b.order(l)
	if err != nil {
		return nil, err
	}
	op := &payment.OrderPayments{Order: o, Stock: stock, Balance: b.balance(o.CustomerID, o.Total.Currency())}
	for _, p := range b.payments[l.id] {
		op.Payments = append(op.Payments, p.Clone())
	}
	return op, nil
}

// order returns copies of a locked order and its locked stock.
func (b *batch) order(l orderLoad) (*order.Order, order.Stock, error) {
	o := b.orders[l.id]
	switch {
	case o == nil:
		return nil, nil, notLocked(b.exist[l.id])
	case !l.grant.Covers(o.Owners()):
		return nil, nil, core.ErrNotGranted
	case b.incomplete[l.id]:
		return nil, nil, group.ErrNotJoined
	}
	stock := order.Stock{}
	for _, line := range o.Lines {
		if p := b.products[line.SKU]; p != nil {
			stock[line.SKU] = p.Clone()
		}
	}
	return o.Clone(), stock, nil
}
