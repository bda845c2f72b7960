package postgres

import (
	"slices"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

// loaded is what the members of a group work on: what the group has loaded, and what the
// members before have made of it. Members get copies. Only a member that succeeds replaces
// what is here.
type loaded struct {
	balances map[balanceKey]*payment.Balance
	products map[string]*order.Product
	foreign  foreignProducts
	orders   map[int64]*order.Order
	exist    map[int64]bool
	payments map[int64][]*payment.Payment // by order
	// mixed are the orders of which a member has written more than this state shows.
	mixed map[int64]bool

	// What operations did before.
	entriesBy    map[operationOf]*payment.LedgerEntry
	ordersBy     map[operationOf]*order.Order
	entryRefs    map[entryRef]bool
	orderRefs    map[orderRef]bool
	unpaidOrders map[creator]int
}

// foreignProducts are products that the group has read without a lock, by SKU. They belong to
// another seller than the one who orders them, and that order is refused.
type foreignProducts map[string]order.Product

// shownTo returns a product that the grant does not cover. One that it covers was created
// after the group had locked the stock: for this group there is no such product.
func (f foreignProducts) shownTo(g core.Grant, sku string) (*order.Product, bool) {
	p, found := f[sku]
	return &p, found && !g.Covers(p.Owners())
}

type (
	balanceKey struct {
		customer string
		currency core.Currency
	}
	// creator is who creates orders of a customer.
	creator struct{ customer, actor string }
	// operationOf is an operation on what belongs to a customer.
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

// keep converts the rows that the group has loaded.
func (g *group) keep(rows *groupRows) error {
	g.loaded = loaded{
		balances: map[balanceKey]*payment.Balance{}, products: map[string]*order.Product{},
		foreign: foreignProducts{}, orders: map[int64]*order.Order{}, exist: map[int64]bool{}, payments: map[int64][]*payment.Payment{},
		mixed:     map[int64]bool{},
		entriesBy: map[operationOf]*payment.LedgerEntry{}, ordersBy: map[operationOf]*order.Order{},
		entryRefs: map[entryRef]bool{}, orderRefs: map[orderRef]bool{}, unpaidOrders: map[creator]int{},
	}
	if err := g.keepOrders(rows); err != nil {
		return err
	}
	if err := g.keepStock(rows); err != nil {
		return err
	}
	if err := g.keepBalances(rows); err != nil {
		return err
	}
	for _, r := range rows.entryRefs {
		g.entryRefs[entryRef{r.CustomerID, payment.EntryKind(r.Kind), r.Reference}] = true
	}
	for _, r := range rows.orderRefs {
		g.orderRefs[orderRef{creator{r.CustomerID, r.CreatedBy}, r.Reference}] = true
	}
	for _, r := range rows.unpaid {
		g.unpaidOrders[creator{r.CustomerID, r.CreatedBy}] = int(r.Orders)
	}
	return nil
}

func (g *group) keepOrders(rows *groupRows) error {
	for _, id := range rows.exist {
		g.exist[id] = true
	}
	locked, err := ordersOf(linesOf(rows.orders))
	if err != nil {
		return err
	}
	for _, o := range locked {
		g.orders[o.ID] = o
	}
	prior, err := ordersOf(linesOf(rows.prior))
	if err != nil {
		return err
	}
	for _, o := range prior {
		g.ordersBy[operationOf{o.CustomerID, o.CreatedBy}] = o
	}
	payments, err := paymentsOf(rows.payments, rows.refunds)
	for _, p := range payments {
		g.payments[p.OrderID] = append(g.payments[p.OrderID], p)
	}
	return err
}

func (g *group) keepStock(rows *groupRows) error {
	for _, row := range rows.stock {
		p, err := productOf(row)
		if err != nil {
			return err
		}
		g.products[p.SKU] = p
	}
	for _, row := range rows.foreign {
		p, err := productOf(row)
		if err != nil {
			return err
		}
		g.foreign[p.SKU] = *p
	}
	return nil
}

func (g *group) keepBalances(rows *groupRows) error {
	for i, row := range rows.balances {
		b, err := balanceOf(rows.balances[i:i+1], row.CustomerID, core.Currency(row.Currency))
		if err != nil {
			return err
		}
		g.balances[balanceKey{b.CustomerID, core.Currency(row.Currency)}] = b
	}
	for _, row := range rows.entries {
		e, err := entryOf(row)
		if err != nil {
			return err
		}
		g.entriesBy[operationOf{e.CustomerID, e.By}] = e
	}
	return nil
}

// balance returns a copy of a balance, or a new one if it does not exist.
func (g *group) balance(customer string, currency core.Currency) (*payment.Balance, error) {
	if b, exists := g.balances[balanceKey{customer, currency}]; exists {
		return copyOf(b), nil
	}
	return balanceOf(nil, customer, currency)
}

// lockedBalance answers a [balanceWant].
func (g *group) lockedBalance(w balanceWant) (payment.LockedBalance, error) {
	b, err := g.balance(w.CustomerID, w.Currency)
	return payment.LockedBalance{
		Balance:        b,
		Prior:          copyOf(g.entriesBy[operationOf{w.CustomerID, w.By}]),
		ReferenceTaken: g.entryRefs[entryRef{w.CustomerID, w.Kind, w.Reference}],
	}, err
}

// basket answers a [basketWant].
func (g *group) basket(w basketWant) (order.Basket, error) {
	by := creator{w.CustomerID, w.By.Actor}
	basket := order.Basket{
		Stock:          order.Stock{},
		Prior:          copyOf(g.ordersBy[operationOf{w.CustomerID, w.By}]),
		ReferenceTaken: g.orderRefs[orderRef{by, w.Reference}],
		Unpaid:         min(g.unpaidOrders[by], w.CountUnpaid),
	}
	for _, sku := range w.SKUs {
		if p, locked := g.products[sku]; locked {
			basket.Stock[sku] = copyOf(p)
		} else if p, shown := g.foreign.shownTo(w.Grant, sku); shown {
			basket.Stock[sku] = p
		}
	}
	return basket, nil
}

// orderPayments answers an [orderWant].
func (g *group) orderPayments(w orderWant) (*payment.OrderPayments, error) {
	o := g.orders[w.id]
	switch {
	case o == nil:
		return nil, notLocked(g.exist[w.id])
	case !w.grant.Covers(o.Owners()):
		return nil, core.ErrNotGranted
	case g.mixed[w.id]:
		return nil, errMixed
	}
	op := &payment.OrderPayments{Order: copyOf(o), Stock: order.Stock{}}
	for _, l := range o.Lines {
		op.Stock[l.SKU] = copyOf(g.products[l.SKU])
	}
	for _, p := range g.payments[w.id] {
		paid := copyOf(p)
		paid.Refunds = slices.Clone(p.Refunds)
		for i, r := range paid.Refunds {
			paid.Refunds[i] = copyOf(r)
		}
		op.Payments = append(op.Payments, paid)
	}
	var err error
	op.Balance, err = g.balance(o.CustomerID, o.Total.Currency())
	return op, err
}

// copyOf returns a copy of an aggregate, or nil for nil.
func copyOf[T any](v *T) *T {
	if v == nil {
		return nil
	}
	return new(*v)
}
