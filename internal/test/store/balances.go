package storetest

import (
	"context"
	"strconv"
	"testing"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

var ledgerCases = []storeCase{
	{"an entry comes back as it was saved", entryRoundTrip},
	{"an entry is known by customer and operation", entryOfAnOperation},
	{"an operation changes a balance once", oneLedgerEntryOfAnOperation},
	{"two entries of a balance have two positions", onePositionOfAnEntry},
	{"entries are listed newest first", entryPages},
	{"entries are listed by reference and time", entryFilter},
}

var balanceCases = []storeCase{
	{"a balance comes back as it was saved, and is new before", balanceRoundTrip},
	{"balances are of one customer, sorted by currency", balancesOfACustomer},
	{"concurrent first changes are all counted", balanceLock},
}

// saveChange saves a balance and the entry that changed it.
func saveChange(ctx context.Context, tx payment.Tx, b *payment.Balance, e *payment.LedgerEntry) error {
	b.Position++
	b.ChangedAt, e.Position = e.CreatedAt, b.Position
	if err := tx.Balances.Save(ctx, b); err != nil {
		return err
	}
	return tx.Ledger.Append(ctx, e)
}

// changedBalance returns a balance of sber-42 after n entries, of which the last has an id.
func changedBalance(amount core.Money, n, last int64) *payment.Balance {
	return &payment.Balance{CustomerID: "sber-42", Amount: amount, Position: n, ChangedAt: minute(int(last))}
}

func (s Stores) lockBalance(t *testing.T, q payment.BalanceQuery) payment.LockedBalance {
	t.Helper()
	return query(t, s, func(ctx context.Context, tx payment.Tx) (payment.LockedBalance, error) {
		return tx.Balances.Lock(ctx, q)
	})
}

// balanceQuery describes a credit without a reference.
func balanceQuery(customerID string, currency core.Currency, by core.Operation) payment.BalanceQuery {
	return payment.BalanceQuery{CustomerID: customerID, Currency: currency, Kind: payment.EntryCredit, By: by}
}

func (s Stores) balances(t *testing.T, customerID string) []*payment.Balance {
	t.Helper()
	return query(t, s, func(ctx context.Context, tx payment.Tx) ([]*payment.Balance, error) {
		return tx.Balances.Of(ctx, customerID)
	})
}

func balanceRoundTrip(t *testing.T, s Stores) {
	s.save(t, newLedgerEntry(1, rub("1.00"), operation("root", "key-1")))
	s.save(t, newLedgerEntry(2, rub("2.00"), operation("root", "key-2")))
	b := s.lockBalance(t, balanceQuery("sber-42", "RUB", core.Operation{})).Balance
	equal(t, "balance", b, changedBalance(rub("2.00"), 2, 2))
	other := s.lockBalance(t, balanceQuery("sber-43", "JPY", core.Operation{})).Balance
	equal(t, "another customer's", other, &payment.Balance{CustomerID: "sber-43", Amount: money("0", "JPY"), New: true})
}

func balancesOfACustomer(t *testing.T, s Stores) {
	for i, amount := range []core.Money{money("5.00", "USD"), money("0.010", "KWD"), rub("0.00")} {
		s.save(t, newLedgerEntry(int64(i+1), amount, core.Operation{}))
	}
	equal(t, "balances", s.balances(t, "sber-42"), []*payment.Balance{
		changedBalance(money("0.010", "KWD"), 1, 2),
		changedBalance(rub("0.00"), 1, 3),
		changedBalance(money("5.00", "USD"), 1, 1),
	})
	equal(t, "another customer's", s.balances(t, "sber-4"), []*payment.Balance{})
}

func entryRoundTrip(t *testing.T, s Stores) {
	p := newPayment(11, 1, "key-2")
	r := newRefund(21, p, operation("root", "key-3"))
	s.save(t, newOrder(1, "key-1"), p, r)
	m := newLedgerEntry(31, rub("10.05"), operation("root", "key-3"))
	m.Kind, m.Debit, m.PaymentID, m.RefundID = payment.EntryRefund, "seller/shop-7", 11, 21
	s.save(t, m)
	bare := &payment.LedgerEntry{
		ID: 32, Kind: payment.EntryCharge, Debit: "customer/sber-42", Credit: payment.WorldAccount, Amount: rub("10.05"),
		CustomerID: "sber-42", BalanceAfter: rub("0.00"), CreatedAt: minute(32),
	}
	s.save(t, bare)
	equal(t, "entries", s.entries(t, ofCustomer, core.Page{Limit: 10}), []*payment.LedgerEntry{bare, m})
}

func (s Stores) entries(t *testing.T, f payment.EntryFilter, page core.Page) []*payment.LedgerEntry {
	t.Helper()
	return query(t, s, func(ctx context.Context, tx payment.Tx) ([]*payment.LedgerEntry, error) {
		return tx.Ledger.List(ctx, f, page)
	})
}

// ofCustomer is the filter that shows all entries of sber-42.
var ofCustomer = payment.EntryFilter{CustomerID: "sber-42"}

func entryOfAnOperation(t *testing.T, s Stores) {
	m := newLedgerEntry(1, rub("1.00"), operation("root", "key-1"))
	s.save(t, m)
	for _, currency := range []core.Currency{"RUB", "USD"} {
		equal(t, "entry", s.lockBalance(t, balanceQuery("sber-42", currency, m.By)).Prior, m)
	}
	for customerID, by := range map[string]core.Operation{
		"sber-42": operation("root", "key-2"), "sber-43": operation("root", "key-1"), "sber-4": operation("toor", "key-1"),
	} {
		if prior := s.lockBalance(t, balanceQuery(customerID, "RUB", by)).Prior; prior != nil {
			t.Errorf("%v of %s made entry %d", by, customerID, prior.ID)
		}
	}
}

func oneLedgerEntryOfAnOperation(t *testing.T, s Stores) {
	s.save(t, newLedgerEntry(1, rub("1.00"), operation("root", "key-1")))
	s.refuses(t, "a second entry of one operation", newLedgerEntry(2, rub("2.00"), operation("root", "key-1")))
	equal(t, "balances", s.balances(t, "sber-42"), []*payment.Balance{changedBalance(rub("1.00"), 1, 1)})
}

func onePositionOfAnEntry(t *testing.T, s Stores) {
	s.save(t, newLedgerEntry(1, rub("1.00"), operation("root", "key-1")))
	s.save(t, newLedgerEntry(2, money("1", "JPY"), operation("root", "key-2"))) // of a second balance
	s.refuses(t, "a second entry at one position of a balance", entryAt{newLedgerEntry(3, rub("2.00"), operation("root", "key-3")), 1})
}

func entryPages(t *testing.T, s Stores) {
	save := func(id int64, at time.Time) *payment.LedgerEntry {
		e := newLedgerEntry(id, rub(strconv.FormatInt(id, 10)), core.Operation{})
		e.CreatedAt = at
		s.save(t, e)
		return e
	}
	list := func(page core.Page) []*payment.LedgerEntry { return s.entries(t, ofCustomer, page) }
	checkPages(t, save, list, func(e *payment.LedgerEntry) core.Position { return core.Position{CreatedAt: e.CreatedAt, ID: e.ID} })
	equal(t, "another customer's", s.entries(t, payment.EntryFilter{CustomerID: "sber-4"}, core.Page{Limit: 10}), []*payment.LedgerEntry{})
}

func entryFilter(t *testing.T, s Stores) {
	for id, reference := range []string{"", "A-1", "A-2"} {
		m := newLedgerEntry(int64(id+1), rub(strconv.Itoa(id+1)), core.Operation{})
		m.Reference, m.CreatedAt = reference, minute(id+1)
		s.save(t, m)
	}
	for name, c := range map[string]struct {
		filter payment.EntryFilter
		want   []int64
	}{
		"a reference":               {payment.EntryFilter{CustomerID: "sber-42", Reference: "A-1"}, []int64{2}},
		"no such reference":         {payment.EntryFilter{CustomerID: "sber-42", Reference: "a-1"}, nil},
		"another's reference":       {payment.EntryFilter{CustomerID: "sber-4", Reference: "A-1"}, nil},
		"a time":                    {payment.EntryFilter{CustomerID: "sber-42", Created: core.Period{From: minute(2)}}, []int64{3, 2}},
		"a reference at a time":     {payment.EntryFilter{CustomerID: "sber-42", Reference: "A-2", Created: core.Period{From: minute(3)}}, []int64{3}},
		"a reference before a time": {payment.EntryFilter{CustomerID: "sber-42", Reference: "A-1", Created: core.Period{From: minute(3)}}, nil},
	} {
		var ids []int64
		for _, e := range s.entries(t, c.filter, core.Page{Limit: 10}) {
			ids = append(ids, e.ID)
		}
		equal(t, name, ids, c.want)
	}
}

func balanceLock(t *testing.T, s Stores) {
	const n = 16
	s.concurrently(t, n, func(ctx context.Context, tx payment.Tx, i int) error {
		locked, err := tx.Balances.Lock(ctx, balanceQuery("sber-42", "RUB", operation("root", strconv.Itoa(i))))
		if err != nil {
			return err
		}
		b := locked.Balance
		time.Sleep(time.Millisecond) // so that the rest can interfere, if they are not stopped
		if b.Amount, err = b.Amount.Add(rub("1.00")); err != nil {
			return err
		}
		return saveChange(ctx, tx, b, newLedgerEntry(int64(i+1), b.Amount, operation("root", strconv.Itoa(i))))
	})
	b := s.lockBalance(t, balanceQuery("sber-42", "RUB", core.Operation{})).Balance
	equal(t, "balance", b.Amount, rub(strconv.Itoa(n)))
	equal(t, "position", b.Position, int64(n))
	after := map[string]bool{}
	for _, m := range s.entries(t, ofCustomer, core.Page{Limit: n}) {
		after[m.BalanceAfter.String()] = true
	}
	equal(t, "different balances after an entry", len(after), n)
}
