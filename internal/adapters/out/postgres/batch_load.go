package postgres

import (
	"context"
	"slices"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/lanes"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/adapters/out/postgres/records"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

// Loads that commands can share.
type (
	balanceWant payment.BalanceQuery
	basketWant  order.BasketQuery
	// orderWant loads an order and its payments.
	orderWant struct {
		id    int64
		grant core.Grant
	}
)

// lock is the order and its grant, as the queries about one order take them.
func (w orderWant) lock() dbsqlc.LockOrderParams {
	return dbsqlc.LockOrderParams{ID: w.id, Everybody: w.grant.Everybody, AsCustomer: w.grant.Customer, AsSeller: w.grant.Seller}
}

// wants groups loads by kind.
type wants struct {
	balances []balanceWant
	baskets  []basketWant
	counted  []basketWant // those whose unpaid orders are counted
	orders   []orderWant
	// The wanted orders' ids, and each member's grant.
	ids                []int64
	everybody          []bool
	customers, sellers []string
}

func wantsOf(all ...want) (w wants) {
	for _, one := range all {
		switch one := one.(type) {
		case balanceWant:
			w.balances = append(w.balances, one)
		case basketWant:
			w.baskets = append(w.baskets, one)
			if one.CountUnpaid > 0 {
				w.counted = append(w.counted, one)
			}
		case orderWant:
			w.orders, w.ids = append(w.orders, one), append(w.ids, one.id)
			w.everybody = append(w.everybody, one.grant.Everybody)
			w.customers, w.sellers = append(w.customers, one.grant.Customer), append(w.sellers, one.grant.Seller)
		}
	}
	return w
}

// load loads for all commands in one round trip, and locks in the global order:
// creators, orders, stock, balances. It reads earlier results after the locks, so that
// they include commits by the previous holders.
func (b *batch) load(ctx context.Context, all ...want) error {
	if len(all) == 0 {
		return nil
	}
	w := wantsOf(all...)
	reads := b.tx.DrawIDs(map[core.Sequence]int{
		core.OrderIDs: len(w.baskets), core.PaymentIDs: len(w.orders), core.RefundIDs: len(w.orders),
		core.LedgerEntryIDs: len(w.orders) + len(w.balances),
	})
	for _, kind := range []struct {
		locks  string
		wanted int
		reads  func(wants) []pgtx.Read
	}{
		{creatorRow, len(w.counted), b.creators},
		{orderRow, len(w.orders), b.ordersToLock},
		{productRow, len(w.orders) + len(w.baskets), b.stockToLock},
		{balanceRow, len(w.orders) + len(w.balances), b.balancesToLock},
		{"", len(w.orders), b.paymentsToShow},
		{"", len(w.balances), b.priorEntries},
		{"", len(w.baskets), b.priorOrders},
	} {
		if kind.wanted > 0 {
			for _, read := range kind.reads(w) {
				reads = append(reads, func(ctx context.Context, q *queries) error {
					b.locking = kind.locks
					return read(ctx, q)
				})
			}
		}
	}
	return b.tx.Load(ctx, reads...)
}

// eachOrder passes the orders of a query's lines to keep.
func eachOrder(lines []orderLine, err error, keep func(*order.Order)) error {
	if err != nil {
		return err
	}
	found, err := ordersOf(lines)
	for _, o := range found {
		keep(o)
	}
	return err
}

// creators locks each pair of customer and actor, and counts their unpaid orders. Its
// limit is higher than for one command, because each earlier member may pay an order.
func (b *batch) creators(w wants) []pgtx.Read {
	var locks dbsqlc.LockCreatorsParams
	count := dbsqlc.CountUnpaidOrdersOfParams{}
	seen := map[creator]bool{}
	for _, basket := range w.counted {
		c := creator{basket.CustomerID, basket.By.Actor}
		if seen[c] {
			continue
		}
		seen[c] = true
		first, second := records.CreatorLock(c.customer, c.actor)
		locks.Firsts, locks.Seconds = append(locks.Firsts, first), append(locks.Seconds, second)
		count.CustomerIds, count.Creators = append(count.CustomerIds, c.customer), append(count.Creators, c.actor)
		count.AtMost = max(count.AtMost, int32(basket.CountUnpaid+lanes.MaxGroup))
	}
	return []pgtx.Read{
		func(ctx context.Context, q *queries) error { return q.LockCreators(ctx, locks) },
		pgtx.Each((*queries).CountUnpaidOrdersOf, count, func(r dbsqlc.CountUnpaidOrdersOfRow) error {
			b.unpaidOrders[creator{r.CustomerID, r.CreatedBy}] = int(r.Orders)
			return nil
		}),
	}
}

func (b *batch) ordersToLock(w wants) []pgtx.Read {
	keep := func(o *order.Order) {
		b.orders[o.ID], b.behind[o.ID] = o, rowsBehind(o)
		delete(b.payments, o.ID) // this load replaces an earlier one, and shows all changes
		delete(b.mixed, o.ID)
	}
	return []pgtx.Read{
		pgtx.Each((*queries).OrdersExist, w.ids, func(id int64) error { b.exist[id] = true; return nil }),
		func(ctx context.Context, q *queries) error {
			if len(w.ids) == 1 {
				found, err := q.LockOrder(ctx, w.orders[0].lock())
				return eachOrder(linesOf(found), err, keep)
			}
			found, err := q.LockOrders(ctx, dbsqlc.LockOrdersParams{
				Ids: w.ids, Everybody: w.everybody, AsCustomers: w.customers, AsSellers: w.sellers,
			})
			return eachOrder(linesOf(found), err, keep)
		},
	}
}

// stockToLock locks the products in baskets and orders. Basket products that the grant
// does not cover are read without a lock.
func (b *batch) stockToLock(w wants) []pgtx.Read {
	lock := dbsqlc.LockStockParams{OrderIds: w.ids, Everybody: w.everybody, AsCustomers: w.customers, AsSellers: w.sellers}
	for _, basket := range w.baskets {
		if basket.Grant.Everybody {
			lock.Skus = append(lock.Skus, basket.SKUs...)
			continue
		}
		for _, sku := range basket.SKUs {
			lock.SkusOfSellers, lock.Sellers = append(lock.SkusOfSellers, sku), append(lock.Sellers, basket.Grant.Seller)
		}
	}
	keep := func(row dbsqlc.Product) (err error) { b.products[row.Sku], err = productOf(row); return err }
	switch {
	case len(w.ids) == 0 && len(lock.Sellers) == 0:
		return []pgtx.Read{pgtx.Each((*queries).LockProducts, lock.Skus, keep)}
	case len(w.ids) == 1 && len(w.baskets) == 0:
		return []pgtx.Read{pgtx.Each((*queries).LockStockOfOrder, dbsqlc.LockStockOfOrderParams(w.orders[0].lock()), keep)}
	}
	reads := []pgtx.Read{pgtx.Each((*queries).LockStock, lock, keep)}
	if len(lock.SkusOfSellers) > 0 {
		reads = append(reads, pgtx.Each((*queries).ProductsBySKU, lock.SkusOfSellers, func(row dbsqlc.Product) (err error) {
			b.foreign[row.Sku], err = productOf(row)
			return err
		}))
	}
	return reads
}

func (b *batch) balancesToLock(w wants) []pgtx.Read {
	lock := dbsqlc.LockBalancesParams{OrderIds: w.ids, Everybody: w.everybody, AsCustomers: w.customers, AsSellers: w.sellers}
	for _, one := range w.balances {
		lock.CustomerIds, lock.Currencies = append(lock.CustomerIds, one.CustomerID), append(lock.Currencies, string(one.Currency))
	}
	keep := func(row dbsqlc.Balance) (err error) {
		b.balances[balanceKey{row.CustomerID, core.Currency(row.Currency)}], err = balanceOf(row)
		return err
	}
	switch {
	case len(w.ids) == 0 && len(w.balances) == 1:
		one := dbsqlc.LockBalanceParams{CustomerID: lock.CustomerIds[0], Currency: lock.Currencies[0]}
		return []pgtx.Read{pgtx.Each((*queries).LockBalance, one, keep)}
	case len(w.ids) == 1 && len(w.balances) == 0:
		return []pgtx.Read{pgtx.Each((*queries).LockBalanceOfOrder, dbsqlc.LockBalanceOfOrderParams(w.orders[0].lock()), keep)}
	}
	return []pgtx.Read{pgtx.Each((*queries).LockBalances, lock, keep)}
}

// paymentsToShow reads the payments once of an order that several members want.
func (b *batch) paymentsToShow(w wants) []pgtx.Read {
	ids := slices.Compact(slices.Sorted(slices.Values(w.ids)))
	var rows []dbsqlc.Payment
	return []pgtx.Read{
		pgtx.Into(&rows, (*queries).PaymentsOfOrders, ids),
		func(ctx context.Context, q *queries) error {
			refunds, err := q.RefundsOfOrders(ctx, ids)
			if err != nil {
				return err
			}
			found, err := paymentsOf(rows, refunds)
			for _, p := range found {
				b.payments[p.OrderID] = append(b.payments[p.OrderID], p)
			}
			return err
		},
	}
}

func (b *batch) priorEntries(w wants) []pgtx.Read {
	var by dbsqlc.LedgerEntriesByOperationParams
	var refs dbsqlc.LedgerEntriesByReferenceParams
	for _, one := range w.balances {
		by.CustomerIds = append(by.CustomerIds, one.CustomerID)
		by.CreatedBy, by.IdempotencyKeys = append(by.CreatedBy, one.By.Actor), append(by.IdempotencyKeys, one.By.Key)
		if one.Reference != "" {
			refs.CustomerIds = append(refs.CustomerIds, one.CustomerID)
			refs.Kinds, refs.Refs = append(refs.Kinds, string(one.Kind)), append(refs.Refs, one.Reference)
		}
	}
	keep := func(row dbsqlc.LedgerEntry) error {
		e, err := entryOf(row)
		if err == nil {
			b.entriesBy[operationOf{e.CustomerID, e.By}] = e
		}
		return err
	}
	reads := []pgtx.Read{pgtx.Each((*queries).LedgerEntriesByOperation, by, keep)}
	if len(refs.Refs) > 0 {
		reads = append(reads, pgtx.Each((*queries).LedgerEntriesByReference, refs, func(r dbsqlc.LedgerEntriesByReferenceRow) error {
			b.entryRefs[entryRef{r.CustomerID, payment.EntryKind(r.Kind), r.Reference}] = true
			return nil
		}))
	}
	return reads
}

func (b *batch) priorOrders(w wants) []pgtx.Read {
	var by dbsqlc.OrdersByOperationParams
	var refs dbsqlc.OrdersByReferenceParams
	for _, one := range w.baskets {
		by.CustomerIds = append(by.CustomerIds, one.CustomerID)
		by.CreatedBy, by.IdempotencyKeys = append(by.CreatedBy, one.By.Actor), append(by.IdempotencyKeys, one.By.Key)
		if one.Reference != "" {
			refs.CustomerIds, refs.Creators = append(refs.CustomerIds, one.CustomerID), append(refs.Creators, one.By.Actor)
			refs.Refs = append(refs.Refs, one.Reference)
		}
	}
	keep := func(o *order.Order) { b.ordersBy[operationOf{o.CustomerID, o.CreatedBy}] = o }
	reads := []pgtx.Read{func(ctx context.Context, q *queries) error {
		found, err := q.OrdersByOperation(ctx, by)
		return eachOrder(linesOf(found), err, keep)
	}}
	if len(refs.Refs) > 0 {
		reads = append(reads, pgtx.Each((*queries).OrdersByReference, refs, func(r dbsqlc.OrdersByReferenceRow) error {
			b.orderRefs[orderRef{creator{r.CustomerID, r.CreatedBy}, r.Reference}] = true
			return nil
		}))
	}
	return reads
}
