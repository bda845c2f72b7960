package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/audit"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

var eventCases = []storeCase{
	{"events come back in the order in which they were added", eventsInOrder},
	{"audit entries say who, when and what, newest first", auditEntries},
}

var txCases = []storeCase{
	{"a transaction that fails stores nothing", failureKeepsNothing},
	{"a transaction that panics stores nothing", panicKeepsNothing},
	{"a transaction and a read inside a transaction join it", nestedJoins},
	{"a transaction sees what one inside it wrote, and is rolled back with it", nestedFalls},
	{"a read sees what is stored, and its audit entry is stored", readLeavesAuditEntry},
	{"a transaction on a context that is over does not begin", contextOver},
	{"a transaction whose context ends stores nothing", contextEnds},
	{"a transaction that has ended writes nothing", writesAfterTheEnd},
	{"the store shares no memory with its callers", noSharedMemory},
	{"ids are unique", idsAreUnique},
}

var errRefused = errors.New("refused")

func eventsInOrder(t *testing.T, s Stores) {
	s.save(t, newEvent(order.EventCreated), newEvent(order.EventPaid))
	s.save(t, newEvent(order.EventCreated))
	equal(t, "events", s.Events(t), []string{"order.created order/1", "order.paid order/1", "order.created order/1"})
}

func auditEntries(t *testing.T, s Stores) {
	var want []core.AuditEntry
	for _, e := range []core.AuditEntry{
		{Actor: "root", Action: "GetOrderById", Resource: "order/1"},
		{Actor: "root", Action: "CancelOrder", Resource: "order/2", Metadata: map[string]string{"status": "paid"}},
	} {
		s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
			e.At = tx.Now
			return tx.AuditLog.Add(ctx, e)
		})
		want = append([]core.AuditEntry{e}, want...)
	}
	list := func(page core.Page) []core.AuditEntry { return s.auditEntries(t, page) }
	first, next := core.Paginate(list(core.Page{Limit: 1}), 1, func(e core.AuditEntry) core.Position {
		return core.Position{CreatedAt: e.At, ID: e.ID}
	})
	s.save(t, core.AuditEntry{Actor: "root"}) // above the page, so that it is not read
	found := slices.Concat(first, list(core.Page{Limit: 1, After: *next}))
	for i := range found {
		found[i].ID = 0 // the store numbers them
	}
	equal(t, "entries", found, want)
}

func (s Stores) auditEntries(t *testing.T, page core.Page) []core.AuditEntry {
	t.Helper()
	var found []core.AuditEntry
	err := s.Audit.InTx(t.Context(), func(ctx context.Context, tx audit.Tx) (err error) {
		found, err = tx.Entries.List(ctx, page)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// writeEverything writes a row of every kind.
func writeEverything(ctx context.Context, tx payment.Tx) error {
	tea, o, p := newProduct(1, "tea"), newOrder(1, "key-1"), newPayment(11, 1, "key-2")
	if err := save(ctx, tx, tea, o, p, newRefund(21, p, p.By)); err != nil {
		return err
	}
	if err := tx.Reservations.AddExtension(ctx, o, p.By); err != nil {
		return err
	}
	return save(ctx, tx, newLedgerEntry(31, rub("1.00"), p.By), newEvent(order.EventCreated), core.AuditEntry{Actor: "root"})
}

// isEmpty checks that no part of writeEverything is stored.
func (s Stores) isEmpty(t *testing.T) {
	t.Helper()
	s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
		products, _ := tx.Products.List(ctx, core.Page{Limit: 1})
		orders, _ := tx.Orders.List(ctx, everything, core.Page{Limit: 1})
		payments, _ := tx.Payments.Of(ctx, 1)
		balances, _ := tx.Balances.Of(ctx, "sber-42")
		entries, err := tx.Ledger.List(ctx, payment.EntryFilter{CustomerID: "sber-42"}, core.Page{Limit: 1})
		equal(t, "products, orders, payments, balances, entries",
			[]int{len(products), len(orders), len(payments), len(balances), len(entries)}, []int{0, 0, 0, 0, 0})
		return err
	})
	equal(t, "events", s.Events(t), []string{})
	equal(t, "audit log", s.auditEntries(t, core.Page{Limit: 10}), []core.AuditEntry{})
}

func failureKeepsNothing(t *testing.T, s Stores) {
	err := s.Payments.InTx(t.Context(), func(ctx context.Context, tx payment.Tx) error {
		if err := writeEverything(ctx, tx); err != nil {
			return err
		}
		return errRefused
	})
	if !errors.Is(err, errRefused) {
		t.Errorf("the error came back as %v", err)
	}
	s.isEmpty(t)
	s.inTx(t, writeEverything) // and a second attempt succeeds
}

func panicKeepsNothing(t *testing.T, s Stores) {
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not come through")
			}
		}()
		_ = s.Payments.InTx(t.Context(), func(ctx context.Context, tx payment.Tx) error {
			_ = writeEverything(ctx, tx)
			panic("a bug")
		})
	}()
	s.isEmpty(t)
}

func nestedJoins(t *testing.T, s Stores) {
	s.inTx(t, func(ctx context.Context, outer payment.Tx) error {
		if err := outer.Products.Save(ctx, newProduct(1, "tea")); err != nil {
			return err
		}
		readTea := func(ctx context.Context, inner order.Tx) error {
			equal(t, "now", inner.Now, outer.Now)
			_, err := inner.Products.Get(ctx, "tea")
			return err
		}
		err := s.Orders.InTx(ctx, func(ctx context.Context, inner order.Tx) error {
			return errors.Join(
				readTea(ctx, inner),
				inner.Outbox.Add(ctx, newEvent(order.EventCreated)),
				s.Customers.InTx(ctx, func(ctx context.Context, innermost customer.Tx) error {
					equal(t, "now", innermost.Now, outer.Now)
					return innermost.AuditLog.Add(ctx, core.AuditEntry{Actor: "root"})
				}))
		})
		return errors.Join(
			err, s.Orders.Read(ctx, readTea),
			s.Customers.Read(ctx, func(_ context.Context, inner customer.Tx) error {
				equal(t, "now", inner.Now, outer.Now)
				return nil
			}),
			outer.Outbox.Add(ctx, newEvent(order.EventPaid)))
	})
	equal(t, "events", s.Events(t), []string{"order.created order/1", "order.paid order/1"})
	equal(t, "audit entries", len(s.auditEntries(t, core.Page{Limit: 10})), 1)
}

func nestedFalls(t *testing.T, s Stores) {
	err := s.Orders.InTx(t.Context(), func(ctx context.Context, outer order.Tx) error {
		if err := s.Payments.InTx(ctx, writeEverything); err != nil {
			return err
		}
		o, err := outer.Orders.Get(ctx, 1)
		want := newOrder(1, "key-1")
		markStored(want)
		equal(t, "order", o, want)
		return errors.Join(err, errRefused)
	})
	if !errors.Is(err, errRefused) {
		t.Errorf("the error came back as %v", err)
	}
	s.isEmpty(t)
}

func readLeavesAuditEntry(t *testing.T, s Stores) {
	s.save(t, newProduct(1, "tea"))
	err := s.Payments.Read(t.Context(), func(ctx context.Context, tx payment.Tx) error {
		if _, err := tx.Products.Get(ctx, "tea"); err != nil {
			return err
		}
		return tx.AuditLog.Add(ctx, core.AuditEntry{Actor: "root"})
	})
	if err != nil {
		t.Error(err)
	}
	equal(t, "audit entries", len(s.auditEntries(t, core.Page{Limit: 10})), 1)
}

func contextOver(t *testing.T, s Stores) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Payments.InTx(ctx, func(context.Context, payment.Tx) error {
		t.Error("the transaction began")
		return nil
	})
	if !errors.Is(err, core.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func contextEnds(t *testing.T, s Stores) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := s.Payments.InTx(ctx, func(ctx context.Context, tx payment.Tx) error {
		defer cancel()
		return writeEverything(ctx, tx)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	s.isEmpty(t)
}

func writesAfterTheEnd(t *testing.T, s Stores) {
	var over payment.Tx
	s.inTx(t, func(_ context.Context, tx payment.Tx) error {
		over = tx
		return nil
	})
	_ = over.Products.Save(t.Context(), newProduct(1, "tea")) // may say that it is too late
	s.isEmpty(t)
}

func noSharedMemory(t *testing.T, s Stores) {
	tea, o := newProduct(1, "tea"), newOrder(1, "key-1")
	o.Status, o.ReservedUntil = order.PendingPayment, time.Time{}
	s.save(t, tea, o)
	o.Status, o.Version = order.Cancelled, 2
	o.Cancellation = &order.Cancellation{By: operation("sber-42", "key-2"), Reason: "too late"}
	s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
		err := save(ctx, tx, o)
		tea.Name, o.Lines[0].SKU, o.Cancellation.Reason = "changed later", "changed later", "changed later"
		return err
	})
	s.order(t, 1).Lines[1].SKU = "changed in a copy"
	s.product(t, "tea").Name = "changed in a copy"

	want := newOrder(1, "key-1")
	markStored(want)
	want.Status, want.ReservedUntil, want.Version = order.Cancelled, time.Time{}, 2
	want.Cancellation = &order.Cancellation{By: operation("sber-42", "key-2"), Reason: "too late"}
	equal(t, "order", s.order(t, 1), want)
	equal(t, "product", s.product(t, "tea").Name, newProduct(1, "tea").Name)
}

func idsAreUnique(t *testing.T, s Stores) {
	const transactions, each = 8, 50
	given := [transactions]map[core.Sequence][]int64{} // one slice each: a lock in the test could hide a missing lock in the store
	s.concurrently(t, transactions, func(ctx context.Context, tx payment.Tx, i int) error {
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
			t.Errorf("sequence %d gave %d different ids to %d callers", of, different, transactions*each)
		}
	}
}
