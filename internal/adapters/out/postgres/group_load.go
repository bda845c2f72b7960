package postgres

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

// The wants: one type for each load that can be joined.
type (
	balanceWant payment.BalanceQuery
	basketWant  order.BasketQuery
	// orderWant asks for an order and its money.
	orderWant struct {
		id    int64
		grant core.Grant
	}
)

func (w balanceWant) rows() []string {
	return []string{"balance/" + w.CustomerID + "/" + string(w.Currency)}
}

func (w basketWant) rows() []string {
	rows := make([]string, len(w.SKUs))
	for i, sku := range w.SKUs {
		rows[i] = "product/" + sku
	}
	return rows
}

func (w orderWant) rows() []string { return []string{"order/" + strconv.FormatInt(w.id, 10)} }

// errAnnounced ends the first run of a member.
var errAnnounced = errors.New("the load is noted")

// ask notes what a member wants, the first time. The second time it answers from what the
// group has loaded, which does not include what the member has written before.
func ask[W want, A any](m *member, w W, answer func(W) (A, error)) (A, error) {
	var none A
	switch {
	case m.asked, len(m.changes) > 0:
		return none, errNotJoined
	case m.wants == nil:
		m.wants = w
		return none, errAnnounced
	}
	m.asked = true
	return answer(w)
}

// wants are the wants of all members by kind.
type wants struct {
	balances []balanceWant
	baskets  []basketWant
	orders   []orderWant
}

// wanted collects the wants of the members.
func (g *group) wanted() wants {
	var all wants
	for _, m := range g.claimed() {
		switch w := m.wants.(type) {
		case balanceWant:
			all.balances = append(all.balances, w)
		case basketWant:
			all.baskets = append(all.baskets, w)
		case orderWant:
			all.orders = append(all.orders, w)
		}
	}
	return all
}

// load loads what the members want, in one round trip, and locks in the global order:
// creators, orders, stock, balances. Look-ups of what an operation did before come after
// the locks, so that they see what the last holder has committed.
func (g *group) load(ctx context.Context) error {
	w := g.wanted()
	rows := &groupRows{}
	reads := g.idReads(ctx, w)
	if counted := w.counted(); len(counted) > 0 {
		reads = append(reads, rows.creators(ctx, counted)...)
	}
	if len(w.orders) > 0 {
		reads = append(reads, rows.ordersToLock(ctx, w)...)
	}
	if len(w.orders)+len(w.baskets) > 0 {
		reads = append(reads, rows.stockToLock(ctx, w)...)
	}
	if len(w.orders)+len(w.balances) > 0 {
		reads = append(reads, rows.balancesToLock(ctx, w)...)
	}
	if len(w.orders) > 0 {
		reads = append(reads, rows.paymentsOf(ctx, w)...)
	}
	if len(w.balances) > 0 {
		reads = append(reads, rows.priorEntries(ctx, w)...)
	}
	if len(w.baskets) > 0 {
		reads = append(reads, rows.priorOrders(ctx, w)...)
	}
	if len(reads) == 0 {
		return nil
	}
	if err := g.tx.load(ctx, reads...); err != nil {
		return err
	}
	return g.keep(rows)
}

// groupRows are the answers to the load of a group.
type groupRows struct {
	unpaid    []dbsqlc.CountUnpaidOrdersOfRow
	exist     []int64
	orders    []dbsqlc.LockOrdersRow
	stock     []dbsqlc.Product
	foreign   []dbsqlc.Product
	balances  []dbsqlc.Balance
	payments  []dbsqlc.Payment
	refunds   []dbsqlc.Refund
	entries   []dbsqlc.LedgerEntry
	entryRefs []dbsqlc.LedgerEntriesByReferenceRow
	prior     []dbsqlc.OrdersByOperationRow
	orderRefs []dbsqlc.OrdersByReferenceRow
}

// counted returns the baskets whose unpaid orders are counted.
func (w wants) counted() []basketWant {
	var counted []basketWant
	for _, b := range w.baskets {
		if b.CountUnpaid > 0 {
			counted = append(counted, b)
		}
	}
	return counted
}

// creators locks the pairs of customer and actor, and counts their unpaid orders. It counts
// further than one command would: members before it may pay an order each.
func (rows *groupRows) creators(ctx context.Context, counted []basketWant) []read {
	var locks dbsqlc.LockCreatorsParams
	count := dbsqlc.CountUnpaidOrdersOfParams{}
	seen := map[creator]bool{}
	for _, b := range counted {
		c := creator{b.CustomerID, b.By.Actor}
		if seen[c] {
			continue
		}
		seen[c] = true
		lock := lockOfCreator(b.CustomerID, b.By.Actor)
		locks.Firsts, locks.Seconds = append(locks.Firsts, lock.First), append(locks.Seconds, lock.Second)
		count.CustomerIds, count.Creators = append(count.CustomerIds, c.customer), append(count.Creators, c.actor)
		count.AtMost = max(count.AtMost, int32(b.CountUnpaid+maxGroup))
	}
	return []read{
		func(q *dbsqlc.Queries) error { return q.LockCreators(ctx, locks) },
		func(q *dbsqlc.Queries) (err error) { rows.unpaid, err = q.CountUnpaidOrdersOf(ctx, count); return err },
	}
}

func (rows *groupRows) ordersToLock(ctx context.Context, w wants) []read {
	ids, everybody, customers, sellers := w.grants()
	return []read{
		func(q *dbsqlc.Queries) (err error) { rows.exist, err = q.OrdersExist(ctx, ids); return err },
		func(q *dbsqlc.Queries) (err error) {
			rows.orders, err = q.LockOrders(ctx, dbsqlc.LockOrdersParams{
				Ids: ids, Everybody: everybody, AsCustomers: customers, AsSellers: sellers,
			})
			return err
		},
	}
}

// stockToLock locks the products of baskets and of orders. Products of baskets that their
// grant does not cover are read without a lock.
func (rows *groupRows) stockToLock(ctx context.Context, w wants) []read {
	ids, everybody, customers, sellers := w.grants()
	lock := dbsqlc.LockStockParams{OrderIds: ids, Everybody: everybody, AsCustomers: customers, AsSellers: sellers}
	for _, b := range w.baskets {
		if b.Grant.Everybody {
			lock.Skus = append(lock.Skus, b.SKUs...)
			continue
		}
		for _, sku := range b.SKUs {
			lock.SkusOfSellers, lock.Sellers = append(lock.SkusOfSellers, sku), append(lock.Sellers, b.Grant.Seller)
		}
	}
	reads := []read{func(q *dbsqlc.Queries) (err error) { rows.stock, err = q.LockStock(ctx, lock); return err }}
	if len(lock.SkusOfSellers) > 0 {
		reads = append(reads, func(q *dbsqlc.Queries) (err error) {
			rows.foreign, err = q.ProductsBySKU(ctx, lock.SkusOfSellers)
			return err
		})
	}
	return reads
}

func (rows *groupRows) balancesToLock(ctx context.Context, w wants) []read {
	ids, everybody, customers, sellers := w.grants()
	lock := dbsqlc.LockBalancesParams{OrderIds: ids, Everybody: everybody, AsCustomers: customers, AsSellers: sellers}
	for _, b := range w.balances {
		lock.CustomerIds, lock.Currencies = append(lock.CustomerIds, b.CustomerID), append(lock.Currencies, string(b.Currency))
	}
	return []read{func(q *dbsqlc.Queries) (err error) { rows.balances, err = q.LockBalances(ctx, lock); return err }}
}

func (rows *groupRows) paymentsOf(ctx context.Context, w wants) []read {
	ids, _, _, _ := w.grants()
	slices.Sort(ids)
	ids = slices.Compact(ids) // an order that several members want has its payments once
	return []read{
		func(q *dbsqlc.Queries) (err error) { rows.payments, err = q.PaymentsOfOrders(ctx, ids); return err },
		func(q *dbsqlc.Queries) (err error) { rows.refunds, err = q.RefundsOfOrders(ctx, ids); return err },
	}
}

func (rows *groupRows) priorEntries(ctx context.Context, w wants) []read {
	var by dbsqlc.LedgerEntriesByOperationParams
	var refs dbsqlc.LedgerEntriesByReferenceParams
	for _, b := range w.balances {
		by.CustomerIds = append(by.CustomerIds, b.CustomerID)
		by.CreatedBy, by.IdempotencyKeys = append(by.CreatedBy, b.By.Actor), append(by.IdempotencyKeys, b.By.Key)
		if b.Reference != "" {
			refs.CustomerIds = append(refs.CustomerIds, b.CustomerID)
			refs.Kinds, refs.Refs = append(refs.Kinds, string(b.Kind)), append(refs.Refs, b.Reference)
		}
	}
	reads := []read{func(q *dbsqlc.Queries) (err error) {
		rows.entries, err = q.LedgerEntriesByOperation(ctx, by)
		return err
	}}
	if len(refs.Refs) > 0 {
		reads = append(reads, func(q *dbsqlc.Queries) (err error) {
			rows.entryRefs, err = q.LedgerEntriesByReference(ctx, refs)
			return err
		})
	}
	return reads
}

func (rows *groupRows) priorOrders(ctx context.Context, w wants) []read {
	var by dbsqlc.OrdersByOperationParams
	var refs dbsqlc.OrdersByReferenceParams
	for _, b := range w.baskets {
		by.CustomerIds = append(by.CustomerIds, b.CustomerID)
		by.CreatedBy, by.IdempotencyKeys = append(by.CreatedBy, b.By.Actor), append(by.IdempotencyKeys, b.By.Key)
		if b.Reference != "" {
			refs.CustomerIds, refs.Creators = append(refs.CustomerIds, b.CustomerID), append(refs.Creators, b.By.Actor)
			refs.Refs = append(refs.Refs, b.Reference)
		}
	}
	reads := []read{func(q *dbsqlc.Queries) (err error) { rows.prior, err = q.OrdersByOperation(ctx, by); return err }}
	if len(refs.Refs) > 0 {
		reads = append(reads, func(q *dbsqlc.Queries) (err error) {
			rows.orderRefs, err = q.OrdersByReference(ctx, refs)
			return err
		})
	}
	return reads
}

// grants returns the orders that are wanted, and whose orders each member may use.
func (w wants) grants() (ids []int64, everybody []bool, customers, sellers []string) {
	for _, o := range w.orders {
		ids, everybody = append(ids, o.id), append(everybody, o.grant.Everybody)
		customers, sellers = append(customers, o.grant.Customer), append(sellers, o.grant.Seller)
	}
	return ids, everybody, customers, sellers
}

// idReads draws a block of ids ahead for the members, if the process has too few.
func (g *group) idReads(ctx context.Context, w wants) []read {
	var reads []read
	for of, needed := range map[core.Sequence]int{
		core.OrderIDs: len(w.baskets), core.PaymentIDs: len(w.orders), core.RefundIDs: len(w.orders),
		core.LedgerEntryIDs: len(w.orders) + len(w.balances),
	} {
		pool := &g.tx.db.ids[of]
		if pool.count() >= needed {
			continue
		}
		reads = append(reads, func(q *dbsqlc.Queries) error {
			first, err := draw(ctx, q, of)
			if err == nil {
				pool.add(idBlock{first, first + blockSize})
			}
			return err
		})
	}
	return reads
}
