package modeltest

import (
	"maps"
	"slices"

	"pgregory.net/rapid"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

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
		p, err := m.real.orders.GetProduct(ctx, sku)
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
		o, err := m.real.orders.GetOrderByID(ctx, buyer(s), s.id)
		if err != nil {
			t.Fatal(err)
		}
		if o.Status != s.status || o.ReservedUntil.IsZero() == s.reserved || !o.Total.Equal(roubles(s.total)) {
			t.Fatalf("order: %s, reserved until %v, %s; the model has %+v", o.Status, o.ReservedUntil, o.Total, *s)
		}
		m.comparePayments(t, s)
	}
}

func (m *machine) comparePayments(t *rapid.T, s *orderState) {
	payments, err := m.real.payments.ListPayments(ctx, buyer(s), s.id)
	if err != nil {
		t.Fatal(err)
	}
	captured, refunded := roubles(0), roubles(0)
	for _, p := range payments {
		captured, refunded = sum(t, captured, p.Amount), sum(t, refunded, p.Refunded())
	}
	if len(payments) > 1 || !captured.Equal(roubles(s.captured)) || !refunded.Equal(roubles(s.refunded)) || captured.Less(refunded) {
		t.Fatalf("%d payments of %s, %s refunded; the model has %+v", len(payments), captured, refunded, *s)
	}
}

// compareMoney compares each balance with the model and with the sum of its entries.
func (m *machine) compareMoney(t *rapid.T) {
	for _, customer := range m.customers {
		actor := core.Actor{Subject: customer, Roles: []core.Role{core.Customer}}
		balances, err := m.real.payments.GetBalance(ctx, actor, customer)
		if err != nil {
			t.Fatal(err)
		}
		has := roubles(0)
		for _, b := range balances {
			has = sum(t, has, b.Amount)
		}
		if want := roubles(m.balances[customer]); !has.Equal(want) || !m.sumOfEntries(t, actor).Equal(want) {
			t.Fatalf("%s has %s, entries make %s; the model has %s", customer, has, m.sumOfEntries(t, actor), want)
		}
	}
}

func (m *machine) sumOfEntries(t *rapid.T, customer core.Actor) core.Money {
	in, out := roubles(0), roubles(0)
	var newer *payment.LedgerEntry
	page := core.Page{Limit: 100}
	for next := &page.After; next != nil; {
		var entries []*payment.LedgerEntry
		var err error
		page.After = *next
		if entries, next, err = m.real.payments.ListBalanceTransactions(ctx, customer, payment.EntryFilter{CustomerID: customer.Subject}, page); err != nil {
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
