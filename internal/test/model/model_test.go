package modeltest

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/test/commands"
)

// model is the expected state. Amounts are whole roubles.
type model struct {
	stock    map[string]*product
	balances map[string]int
	orders   []*orderState
	// references are those that are used for one kind of operation on one resource.
	references map[reference]bool
}

func newModel() model {
	return model{stock: map[string]*product{}, balances: map[string]int{}, references: map[reference]bool{}}
}

// reference is a name of an operation on a customer's data, a product or an order.
type reference struct{ kind, of, name string }

// balanceChange is what a credit or a charge asks for. Without a reference, it is "".
type balanceChange struct {
	customer  string
	amount    int
	reference string
}

// fullRefund is the amount of a refund of all that can be refunded.
const fullRefund = 0

// product is the expected stock of one product.
type product struct{ onHand, reserved, price int }

// orderState is the expected state of one order.
type orderState struct {
	id       int64
	customer string
	// reference is "" for none.
	reference string
	items     []order.Item
	total     int
	status    order.Status
	// reserved reports that the stock counts units reserved for the order, inForce that the
	// reservation has not expired.
	reserved, inForce  bool
	captured, refunded int
	extensions         int
}

// The results of commands by the model. The empty code is success.
const (
	done           = core.Code("")
	invalid        = core.CodeValidationFailed
	outOfStock     = core.CodeOutOfStock
	tooOften       = core.CodeReservationLimit
	tooMany        = core.CodeUnpaidOrdersLimit
	stockReserved  = core.CodeStockReserved
	wrongState     = core.CodeInvalidOrderState
	expired        = core.CodeReservationExpired
	noFunds        = core.CodeInsufficientFunds
	refTaken       = core.CodeReferenceTaken
	refundsTooMuch = core.CodeRefundExceedsPayment
)

func (m *model) putStock(sku string, onHand int) core.Code {
	if onHand < m.stock[sku].reserved {
		return stockReserved
	}
	m.stock[sku].onHand = onHand
	return done
}

func (m *model) adjust(sku string, change int, name string) core.Code {
	p, ref := m.stock[sku], reference{"adjust", sku, name}
	switch {
	case change == 0:
		return invalid
	case m.references[ref]:
		return refTaken
	case p.onHand+change < p.reserved:
		return stockReserved
	}
	m.use(ref)
	p.onHand += change
	return done
}

func (m *model) credit(c balanceChange) core.Code {
	ref := reference{"credit", c.customer, c.reference}
	if m.references[ref] {
		return refTaken
	}
	m.use(ref)
	m.balances[c.customer] += c.amount
	return done
}

func (m *model) charge(c balanceChange) core.Code {
	ref := reference{"charge", c.customer, c.reference}
	switch {
	case m.references[ref]:
		return refTaken
	case m.balances[c.customer] < c.amount:
		return noFunds
	}
	m.use(ref)
	m.balances[c.customer] -= c.amount
	return done
}

// use remembers a reference, if there is one.
func (m *model) use(ref reference) {
	if ref.name != "" {
		m.references[ref] = true
	}
}

func (m *model) order(s *orderState) core.Code {
	ref := reference{"order", s.customer, s.reference}
	if m.references[ref] {
		return refTaken
	}
	if m.unpaid(s.customer) == commands.MaxUnpaidOrders {
		return tooMany
	}
	if !m.reserve(s) {
		return outOfStock
	}
	for _, item := range s.items {
		s.total += item.Quantity * m.stock[item.SKU].price
	}
	s.status = order.PendingPayment
	m.use(ref)
	m.orders = append(m.orders, s)
	return done
}

func (m *model) unpaid(customer string) int {
	unpaid := 0
	for _, s := range m.orders {
		if s.customer == customer && s.status == order.PendingPayment {
			unpaid++
		}
	}
	return unpaid
}

// reserve takes every item of an order, or none.
func (m *model) reserve(s *orderState) bool {
	for _, item := range s.items {
		if p := m.stock[item.SKU]; p.onHand-p.reserved < item.Quantity {
			return false
		}
	}
	m.changeStock(s, func(p *product, n int) { p.reserved += n })
	s.reserved, s.inForce = true, true
	return true
}

func (m *model) release(s *orderState) {
	m.changeStock(s, func(p *product, n int) { p.reserved -= n })
	s.reserved, s.inForce = false, false
}

func (m *model) changeStock(s *orderState, change func(p *product, n int)) {
	for _, item := range s.items {
		change(m.stock[item.SKU], item.Quantity)
	}
}

func (m *model) extend(s *orderState) core.Code {
	if s.status != order.PendingPayment {
		return wrongState
	}
	if s.extensions == commands.MaxExtensions {
		return tooOften
	}
	if !s.reserved && !m.reserve(s) {
		return outOfStock
	}
	s.inForce = true
	s.extensions++
	return done
}

func (m *model) confirm(s *orderState) core.Code {
	switch {
	case s.status != order.PendingPayment:
		return wrongState
	case !s.inForce:
		return expired
	case m.balances[s.customer] < s.total:
		return noFunds
	}
	m.balances[s.customer] -= s.total
	s.status, s.captured = order.Paid, s.total
	m.release(s)
	m.changeStock(s, func(p *product, n int) { p.onHand -= n })
	return done
}

func (m *model) refund(s *orderState, amount int, admin bool, name string) core.Code {
	ref := reference{"refund", fmt.Sprint(s.id, admin), name}
	refundable := s.captured - s.refunded
	if amount == fullRefund {
		amount = refundable
	}
	switch {
	case m.references[ref]:
		return refTaken
	case s.captured == 0:
		return wrongState
	case !admin && (s.status == order.Shipped || s.status == order.Delivered):
		return wrongState
	case refundable == 0 || amount > refundable:
		return refundsTooMuch
	}
	m.use(ref)
	m.returnMoney(s, amount)
	if s.captured == s.refunded && slices.Contains([]order.Status{order.Paid, order.Fulfilling}, s.status) {
		m.cancelAndRestock(s)
	}
	return done
}

func (m *model) returnMoney(s *orderState, amount int) {
	s.refunded += amount
	m.balances[s.customer] += amount
}

func (m *model) cancel(s *orderState) core.Code {
	if !s.status.LeadsTo(order.Cancelled) {
		return wrongState
	}
	m.cancelAndRestock(s)
	m.returnMoney(s, s.captured-s.refunded)
	return done
}

// cancelAndRestock cancels an order and returns its goods.
func (m *model) cancelAndRestock(s *orderState) {
	if s.reserved {
		m.release(s)
	}
	if s.captured > 0 {
		m.changeStock(s, func(p *product, n int) { p.onHand += n })
	}
	s.status = order.Cancelled
}

func (m *model) advance(s *orderState, next order.Status) core.Code {
	if !s.status.LeadsTo(next) {
		return wrongState
	}
	s.status = next
	return done
}

// expireReservations makes every reservation expire.
func (m *model) expireReservations() {
	for _, s := range m.orders {
		s.inForce = false
	}
}

// releaseExpired releases the stock of expired reservations.
func (m *model) releaseExpired() {
	for _, s := range m.orders {
		if s.reserved && !s.inForce {
			m.release(s)
		}
	}
}

// compare compares the real state with the model. It runs after every command.
func (m *machine) compare(t *rapid.T) {
	m.compareStock(t)
	m.compareOrders(t)
	m.compareMoney(t)
}

func (m *machine) compareStock(t *rapid.T) {
	reserved := map[string]int{}
	for _, s := range m.orders {
		if s.reserved {
			for _, item := range s.items {
				reserved[item.SKU] += item.Quantity
			}
		}
	}
	for _, sku := range slices.Sorted(maps.Keys(m.stock)) {
		p, err := m.real.Orders.GetProduct(ctx, sku)
		if err != nil {
			t.Fatal(err)
		}
		want := m.stock[sku]
		if int(p.OnHand) != want.onHand || int(p.Reserved) != want.reserved {
			t.Fatalf("%s: %d on hand, %d reserved; the model has %+v", sku, p.OnHand, p.Reserved, *want)
		}
		if want.reserved != reserved[sku] || want.reserved > want.onHand {
			t.Fatalf("%s: %d of %d reserved, orders reserve %d", sku, want.reserved, want.onHand, reserved[sku])
		}
	}
}

func (m *machine) compareOrders(t *rapid.T) {
	for _, s := range m.orders {
		o, err := m.real.Orders.GetOrderByID(ctx, buyer(s), s.id)
		if err != nil {
			t.Fatal(err)
		}
		if o.Status != s.status || o.ReservedUntil.IsZero() == s.reserved || !o.Total.Equal(commands.Roubles(s.total)) {
			t.Fatalf("order: %s, reserved until %v, %s; the model has %+v", o.Status, o.ReservedUntil, o.Total, *s)
		}
		m.comparePayments(t, s)
	}
}

func (m *machine) comparePayments(t *rapid.T, s *orderState) {
	payments, err := m.real.Payments.ListPayments(ctx, buyer(s), s.id)
	if err != nil {
		t.Fatal(err)
	}
	captured, refunded := commands.Roubles(0), commands.Roubles(0)
	for _, p := range payments {
		captured, refunded = sum(t, captured, p.Amount), sum(t, refunded, p.Refunded())
	}
	if len(payments) > 1 || !captured.Equal(commands.Roubles(s.captured)) || !refunded.Equal(commands.Roubles(s.refunded)) || captured.Less(refunded) {
		t.Fatalf("%d payments of %s, %s refunded; the model has %+v", len(payments), captured, refunded, *s)
	}
}

// compareMoney compares each balance with the model and with the sum of its entries.
func (m *machine) compareMoney(t *rapid.T) {
	for _, customer := range m.customers {
		actor := commands.Customer(customer)
		balances, err := m.real.Payments.GetBalance(ctx, actor, customer)
		if err != nil {
			t.Fatal(err)
		}
		has := commands.Roubles(0)
		for _, b := range balances {
			has = sum(t, has, b.Amount)
		}
		if want := commands.Roubles(m.balances[customer]); !has.Equal(want) || !m.sumOfEntries(t, actor).Equal(want) {
			t.Fatalf("%s has %s, entries make %s; the model has %s", customer, has, m.sumOfEntries(t, actor), want)
		}
	}
}

func (m *machine) sumOfEntries(t *rapid.T, customer core.Actor) core.Money {
	in, out := commands.Roubles(0), commands.Roubles(0)
	var newer *payment.LedgerEntry
	page := core.Page{Limit: 100}
	for next := &page.After; next != nil; {
		var entries []*payment.LedgerEntry
		var err error
		page.After = *next
		if entries, next, err = m.real.Payments.ListBalanceTransactions(ctx, customer, payment.EntryFilter{CustomerID: customer.Subject}, page); err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Debit == e.Credit {
				t.Fatalf("entry %d goes from %s to itself", e.ID, e.Debit)
			}
			if newer != nil && e.Position != newer.Position-1 {
				t.Fatalf("the entries %d and %d have the positions %d and %d", e.ID, newer.ID, e.Position, newer.Position)
			}
			newer = e
			if e.Kind == payment.EntryCredit || e.Kind == payment.EntryRefund {
				in = sum(t, in, e.Amount)
			} else {
				out = sum(t, out, e.Amount)
			}
		}
	}
	if newer != nil && newer.Position != 1 {
		t.Fatalf("the oldest entry %d has position %d", newer.ID, newer.Position)
	}
	balance, err := in.Sub(out)
	if err != nil {
		t.Fatalf("more went out than came in: %v", err)
	}
	return balance
}

func sum(t *rapid.T, a, b core.Money) core.Money {
	total, err := a.Add(b)
	if err != nil {
		t.Fatal(err)
	}
	return total
}
