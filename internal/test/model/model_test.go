package modeltest

import (
	"slices"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// model is what ought to be. Amounts are whole roubles.
type model struct {
	stock    map[string]*shelf
	balances map[string]int
	orders   []*sale
}

// shelf is one product: what was ever put there is what is on hand and what was sold.
type shelf struct{ onHand, reserved, price int }

// sale is one order.
type sale struct {
	id       int64
	customer string
	items    []order.Item
	total    int
	status   order.Status
	// reservation tells that units are reserved for it, live that the hold has not lapsed.
	reservation, live bool
	captured          int
	refunded          int
}

// Codes that the model answers with; the empty one is success.
const (
	done           = core.Code("")
	outOfStock     = core.CodeOutOfStock
	stockReserved  = core.CodeStockReserved
	wrongState     = core.CodeInvalidOrderState
	expired        = core.CodeReservationExpired
	noFunds        = core.CodeInsufficientFunds
	refundsTooMuch = core.CodeRefundExceedsPayment
)

func (m *model) putStock(sku string, onHand int) core.Code {
	if onHand < m.stock[sku].reserved {
		return stockReserved
	}
	m.stock[sku].onHand = onHand
	return done
}

func (m *model) credit(customer string, amount int) core.Code {
	m.balances[customer] += amount
	return done
}

func (m *model) charge(customer string, amount int) core.Code {
	if m.balances[customer] < amount {
		return noFunds
	}
	m.balances[customer] -= amount
	return done
}

func (m *model) order(s *sale) core.Code {
	if !m.reserve(s) {
		return outOfStock
	}
	for _, item := range s.items {
		s.total += item.Quantity * m.stock[item.SKU].price
	}
	s.status = order.PendingPayment
	m.orders = append(m.orders, s)
	return done
}

// reserve takes every item of a sale, or none.
func (m *model) reserve(s *sale) bool {
	for _, item := range s.items {
		if p := m.stock[item.SKU]; p.onHand-p.reserved < item.Quantity {
			return false
		}
	}
	m.move(s, func(p *shelf, n int) { p.reserved += n })
	s.reservation, s.live = true, true
	return true
}

func (m *model) release(s *sale) {
	m.move(s, func(p *shelf, n int) { p.reserved -= n })
	s.reservation, s.live = false, false
}

func (m *model) move(s *sale, change func(p *shelf, n int)) {
	for _, item := range s.items {
		change(m.stock[item.SKU], item.Quantity)
	}
}

func (m *model) renew(s *sale) core.Code {
	if s.status != order.PendingPayment {
		return wrongState
	}
	if !s.reservation && !m.reserve(s) {
		return outOfStock
	}
	s.live = true
	return done
}

func (m *model) confirm(s *sale) core.Code {
	switch {
	case s.status != order.PendingPayment:
		return wrongState
	case !s.live:
		return expired
	case m.balances[s.customer] < s.total:
		return noFunds
	}
	m.balances[s.customer] -= s.total
	s.status, s.captured = order.Paid, s.total
	m.release(s)
	m.move(s, func(p *shelf, n int) { p.onHand -= n })
	return done
}

func (m *model) refund(s *sale, amount int, admin bool) core.Code {
	left := s.captured - s.refunded
	switch {
	case s.captured == 0:
		return wrongState
	case !admin && (s.status == order.Shipped || s.status == order.Delivered):
		return wrongState
	case left == 0 || amount > left:
		return refundsTooMuch
	}
	m.giveBack(s, amount)
	if s.captured == s.refunded && slices.Contains([]order.Status{order.Paid, order.Fulfilling}, s.status) {
		m.end(s)
	}
	return done
}

func (m *model) giveBack(s *sale, amount int) {
	s.refunded += amount
	m.balances[s.customer] += amount
}

func (m *model) cancel(s *sale) core.Code {
	if !slices.Contains(order.Transitions[s.status], order.Cancelled) {
		return wrongState
	}
	m.end(s)
	m.giveBack(s, s.captured-s.refunded)
	return done
}

// end brings the goods of a sale back.
func (m *model) end(s *sale) {
	if s.reservation {
		m.release(s)
	}
	if s.captured > 0 {
		m.move(s, func(p *shelf, n int) { p.onHand += n })
	}
	s.status = order.Cancelled
}

func (m *model) advance(s *sale, next order.Status) core.Code {
	if !slices.Contains(order.Transitions[s.status], next) {
		return wrongState
	}
	s.status = next
	return done
}

// pass lets the time of every hold be over.
func (m *model) pass() {
	for _, s := range m.orders {
		s.live = false
	}
}

// lapse frees what lapsed holds keep.
func (m *model) expireReservation() {
	for _, s := range m.orders {
		if s.reservation && !s.live {
			m.release(s)
		}
	}
}
