package storetest

import (
	"context"
	"errors"
	"slices"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

var customerCases = []testCase{
	{"a profile comes back as it was saved last", profileRoundTrip},
}

var journalCases = []testCase{
	{"events come back in the order they were published in", eventsInOrder},
	{"audit entries say who, when and what, newest first", auditEntries},
}

var txCases = []testCase{
	{"a transaction that fails keeps nothing", failureKeepsNothing},
	{"a transaction that fails keeps nothing it has read again", failureKeepsNothingRead},
	{"a transaction that panics keeps nothing", panicKeepsNothing},
	{"a transaction sees its own writes", ownWrites},
	{"a transaction inside a transaction joins it", nestedJoins},
	{"a transaction inside a transaction falls with it", nestedFalls},
	{"a transaction on a context that is over does not begin", contextOver},
	{"a transaction whose context ends keeps nothing", contextEnds},
	{"a transaction that has ended writes nothing", writesAfterTheEnd},
	{"nobody shares memory with the store", noSharedMemory},
	{"ids are given once", idsAreUnique},
}

var errRefused = errors.New("refused")

func profileRoundTrip(s *suite) {
	err := s.Customers.InTx(s.Context(), func(ctx context.Context, tx customer.Tx) error {
		_, err := tx.Profiles.Get(ctx, "sber-42")
		return err
	})
	if !errors.Is(err, core.ErrNotFound) {
		s.Errorf("a profile that does not exist: %v", err)
	}
	want := customer.Profile{CustomerID: "sber-42", FullName: "Анна", Email: "a@example.com", UpdatedAt: minute(1)}
	for _, p := range []customer.Profile{{CustomerID: "sber-42", Phone: "1", UpdatedAt: minute(0)}, {CustomerID: "sber-4"}, want} {
		err := s.Customers.InTx(s.Context(), func(ctx context.Context, tx customer.Tx) error { return tx.Profiles.Save(ctx, &p) })
		if err != nil {
			s.Fatal(err)
		}
	}
	err = s.Customers.InTx(s.Context(), func(ctx context.Context, tx customer.Tx) error {
		got, err := tx.Profiles.Get(ctx, "sber-42")
		s.same("profile", got, &want)
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
}

func eventsInOrder(s *suite) {
	first := core.Event{Type: "order.created", Aggregate: "order/1", Data: map[string]any{"customer_id": "sber-42", "amount": "1.00"}}
	second := core.Event{Type: "order.paid", Aggregate: "order/1", Data: map[string]any{"status": "paid"}}
	s.saved(first, second)
	s.saved(first)
	s.same("events", s.Events(s), []core.Event{first, second, first})
}

func auditEntries(s *suite) {
	var times [2]time.Time
	for i, e := range []core.AuditEntry{
		{Actor: "root", Action: "GetOrderById", Resource: "order/1"},
		{Actor: "root", Action: "CancelOrder", Resource: "order/2", Metadata: map[string]string{"status": "paid"}},
	} {
		s.tx(func(ctx context.Context, tx payment.Tx) error {
			times[i] = tx.Now
			return tx.AuditLog.Add(ctx, e)
		})
	}
	list := func(page core.Page) []core.AuditEntry { return s.auditEntries(page) }
	at := func(e core.AuditEntry) core.Position { return core.Position{CreatedAt: e.At, ID: e.ID} }
	found := pages(s, 1, list, at, func() { s.saved(core.AuditEntry{Actor: "root"}) }) // nobody who is reading sees it
	s.same("entries", found, []core.AuditEntry{
		{ID: found[0].ID, At: times[1], Actor: "root", Action: "CancelOrder", Resource: "order/2", Metadata: map[string]string{"status": "paid"}},
		{ID: found[1].ID, At: times[0], Actor: "root", Action: "GetOrderById", Resource: "order/1"},
	})
}

func (s *suite) auditEntries(page core.Page) []core.AuditEntry {
	s.Helper()
	found, err := s.Audit.Entries(s.Context(), page)
	if err != nil {
		s.Fatal(err)
	}
	return found
}

// writeEverything leaves a row of every kind.
func writeEverything(ctx context.Context, tx payment.Tx) error {
	tea, o, p := newProduct(1, "tea"), newOrder(1, "key-1"), newPayment(11, 1, "key-2")
	if err := save(ctx, tx, tea, o, p, newRefund(21, p, p.By)); err != nil {
		return err
	}
	if err := tx.Reservations.SaveExtension(ctx, o, p.By); err != nil {
		return err
	}
	b, _, err := tx.Balances.Lock(ctx, "sber-42", "RUB", p.By)
	if err != nil {
		return err
	}
	if err := tx.Balances.Save(ctx, b, newLedgerEntry(31, rub("1.00"), p.By)); err != nil {
		return err
	}
	return save(ctx, tx, core.Event{Type: "order.created", Aggregate: "order/1"}, core.AuditEntry{Actor: "root"})
}

// empty tells that nothing of writeEverything is there.
func (s *suite) empty() {
	s.Helper()
	s.tx(func(ctx context.Context, tx payment.Tx) error {
		products, _ := tx.Products.List(ctx, core.Page{Limit: 1})
		orders, _ := tx.Orders.List(ctx, order.Filter{}, core.Page{Limit: 1})
		payments, _ := tx.Payments.Of(ctx, 1)
		balances, _ := tx.Balances.Of(ctx, "sber-42")
		entries, err := tx.Balances.Entries(ctx, "sber-42", core.Page{Limit: 1})
		s.same("products, orders, payments, balances, entries",
			[]int{len(products), len(orders), len(payments), len(balances), len(entries)}, []int{0, 0, 0, 0, 0})
		return err
	})
	s.same("events", s.Events(s), []core.Event{})
	s.same("audit log", s.auditEntries(core.Page{Limit: 10}), []core.AuditEntry{})
}

func failureKeepsNothing(s *suite) {
	err := s.Payments.InTx(s.Context(), func(ctx context.Context, tx payment.Tx) error {
		if err := writeEverything(ctx, tx); err != nil {
			return err
		}
		return errRefused
	})
	if !errors.Is(err, errRefused) {
		s.Errorf("the error came back as %v", err)
	}
	s.empty()
	s.tx(writeEverything) // and nothing is in the way of doing it again
}

func failureKeepsNothingRead(s *suite) {
	err := s.Payments.InTx(s.Context(), func(ctx context.Context, tx payment.Tx) error {
		if err := writeEverything(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Orders.Get(ctx, 1); err != nil {
			return err
		}
		return errRefused
	})
	if !errors.Is(err, errRefused) {
		s.Errorf("the error came back as %v", err)
	}
	s.empty()
}

func panicKeepsNothing(s *suite) {
	func() {
		defer func() {
			if recover() == nil {
				s.Error("the panic did not come through")
			}
		}()
		_ = s.Payments.InTx(s.Context(), func(ctx context.Context, tx payment.Tx) error {
			_ = writeEverything(ctx, tx)
			panic("a bug")
		})
	}()
	s.empty()
}

func ownWrites(s *suite) {
	s.tx(func(ctx context.Context, tx payment.Tx) error {
		if err := writeEverything(ctx, tx); err != nil {
			return err
		}
		o, err := tx.Orders.Get(ctx, 1)
		s.same("order", o, newOrder(1, "key-1"))
		return err
	})
}

func nestedJoins(s *suite) {
	s.tx(func(ctx context.Context, outer payment.Tx) error {
		if err := outer.Products.Save(ctx, newProduct(1, "tea")); err != nil {
			return err
		}
		err := s.Orders.InTx(ctx, func(ctx context.Context, inner order.Tx) error {
			s.same("now", inner.Now, outer.Now)
			if _, err := inner.Products.Get(ctx, "tea"); err != nil {
				s.Errorf("the inner one does not see what the outer one wrote: %v", err)
			}
			if err := inner.Outbox.Add(ctx, core.Event{Type: "order.created", Aggregate: "order/1"}); err != nil {
				return err
			}
			return s.Customers.InTx(ctx, func(ctx context.Context, innermost customer.Tx) error {
				s.same("now", innermost.Now, outer.Now)
				return innermost.AuditLog.Add(ctx, core.AuditEntry{Actor: "root"})
			})
		})
		if err != nil {
			return err
		}
		return outer.Outbox.Add(ctx, core.Event{Type: "order.paid", Aggregate: "order/1"})
	})
	s.same("events", s.Events(s), []core.Event{
		{Type: "order.created", Aggregate: "order/1"}, {Type: "order.paid", Aggregate: "order/1"},
	})
	s.same("audit entries", len(s.auditEntries(core.Page{Limit: 10})), 1)
}

func nestedFalls(s *suite) {
	err := s.Orders.InTx(s.Context(), func(ctx context.Context, outer order.Tx) error {
		if err := s.Payments.InTx(ctx, writeEverything); err != nil {
			return err
		}
		if _, err := outer.Orders.Get(ctx, 1); err != nil {
			s.Errorf("the outer one does not see what the inner one wrote: %v", err)
		}
		return errRefused
	})
	if !errors.Is(err, errRefused) {
		s.Errorf("the error came back as %v", err)
	}
	s.empty()
}

func contextOver(s *suite) {
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	err := s.Payments.InTx(ctx, func(context.Context, payment.Tx) error {
		s.Error("the transaction began")
		return nil
	})
	if !errors.Is(err, core.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		s.Errorf("got %v", err)
	}
}

func contextEnds(s *suite) {
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	err := s.Payments.InTx(ctx, func(ctx context.Context, tx payment.Tx) error {
		defer cancel()
		return writeEverything(ctx, tx)
	})
	if !errors.Is(err, context.Canceled) {
		s.Errorf("got %v", err)
	}
	s.empty()
}

func writesAfterTheEnd(s *suite) {
	var over payment.Tx
	s.tx(func(_ context.Context, tx payment.Tx) error {
		over = tx
		return nil
	})
	_ = over.Products.Save(s.Context(), newProduct(1, "tea")) // may say that it is too late
	s.empty()
}

func noSharedMemory(s *suite) {
	tea, o := newProduct(1, "tea"), newOrder(1, "key-1")
	o.Status, o.ReservedUntil = order.PendingPayment, time.Time{}
	s.saved(tea, o)
	o.Status, o.Version = order.Cancelled, 2
	o.Cancellation = &order.Cancellation{By: operation("sber-42", "key-2"), Reason: "too late"}
	s.tx(func(ctx context.Context, tx payment.Tx) error {
		err := save(ctx, tx, o)
		tea.Name, o.Lines[0].SKU, o.Cancellation.Reason = "changed later", "changed later", "changed later"
		return err
	})
	s.order(1).Lines[1].SKU = "changed in a copy"
	s.product("tea").Name = "changed in a copy"

	want := newOrder(1, "key-1")
	want.Status, want.ReservedUntil, want.Version = order.Cancelled, time.Time{}, 2
	want.Cancellation = &order.Cancellation{By: operation("sber-42", "key-2"), Reason: "too late"}
	s.same("order", s.order(1), want)
	s.same("product", s.product("tea"), stored(newProduct(1, "tea")))
}

func idsAreUnique(s *suite) {
	const transactions, each = 8, 50
	given := [transactions]map[core.Sequence][]int64{} // one for each, or a lock here would hide the lack of one there
	s.atOnce(transactions, func(ctx context.Context, tx payment.Tx, i int) error {
		given[i] = map[core.Sequence][]int64{}
		for n := range each * (core.ProductIDs + 1) {
			of := n % (core.ProductIDs + 1)
			id, err := tx.IDs.NextID(ctx, of)
			if err != nil {
				return err
			}
			given[i][of] = append(given[i][of], id)
		}
		return nil
	})
	for of := range core.ProductIDs + 1 {
		var ids []int64
		for _, g := range given {
			ids = append(ids, g[of]...)
		}
		slices.Sort(ids)
		if different := len(slices.Compact(ids)); different != transactions*each {
			s.Errorf("sequence %d gave %d different ids to %d callers", of, different, transactions*each)
		}
	}
}
