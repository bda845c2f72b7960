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
	{"a customer without entries has a new balance of nothing", newBalance},
	{"a balance comes back as it was saved", balanceRoundTrip},
	{"balances are of one customer, sorted by currency", balancesOfACustomer},
	{"concurrent first changes are all counted", balanceLock},
}

// changeBalance stores an entry of the balance of sber-42, and the balance after it.
func (s Stores) changeBalance(t *testing.T, after core.Money, m *payment.LedgerEntry) {
	t.Helper()
	s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
		locked, err := tx.Balances.Lock(ctx, balanceQuery("sber-42", after.Currency(), core.Operation{}))
		if err != nil {
			return err
		}
		locked.Balance.Amount = after
		return saveChange(ctx, tx, locked.Balance, m)
	})
}

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

func (s Stores) lockBalance(t *testing.T, customerID string, currency core.Currency, by core.Operation) (*payment.Balance, *payment.LedgerEntry) {
	t.Helper()
	var locked payment.LockedBalance
	s.inTx(t, func(ctx context.Context, tx payment.Tx) (err error) {
		locked, err = tx.Balances.Lock(ctx, balanceQuery(customerID, currency, by))
		return err
	})
	return locked.Balance, locked.Prior
}

// balanceQuery describes a credit without a reference.
func balanceQuery(customerID string, currency core.Currency, by core.Operation) payment.BalanceQuery {
	return payment.BalanceQuery{CustomerID: customerID, Currency: currency, Kind: payment.EntryCredit, By: by}
}

func (s Stores) balances(t *testing.T, customerID string) []*payment.Balance {
	t.Helper()
	var found []*payment.Balance
	s.inTx(t, func(ctx context.Context, tx payment.Tx) (err error) {
		found, err = tx.Balances.Of(ctx, customerID)
		return err
	})
	return found
}

func newBalance(t *testing.T, s Stores) {
	b, prior := s.lockBalance(t, "sber-42", "JPY", operation("root", "key-1"))
	equal(t, "balance", b, &payment.Balance{CustomerID: "sber-42", Amount: money("0", "JPY"), New: true})
	if prior != nil {
		t.Errorf("the operation made entry %d", prior.ID)
	}
	equal(t, "balances", s.balances(t, "sber-42"), []*payment.Balance{})
}

func balanceRoundTrip(t *testing.T, s Stores) {
	s.changeBalance(t, rub("1.00"), newLedgerEntry(1, rub("1.00"), operation("root", "key-1")))
	s.changeBalance(t, rub("2.00"), newLedgerEntry(2, rub("2.00"), operation("root", "key-2")))
	b, _ := s.lockBalance(t, "sber-42", "RUB", core.Operation{})
	equal(t, "balance", b, changedBalance(rub("2.00"), 2, 2))
	other, _ := s.lockBalance(t, "sber-43", "RUB", core.Operation{})
	equal(t, "another customer's", other, &payment.Balance{CustomerID: "sber-43", Amount: rub("0.00"), New: true})
}

func balancesOfACustomer(t *testing.T, s Stores) {
	for i, amount := range []core.Money{money("5.00", "USD"), money("0.010", "KWD"), rub("0.00")} {
		s.changeBalance(t, amount, newLedgerEntry(int64(i+1), amount, core.Operation{}))
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
	s.changeBalance(t, rub("10.05"), m)
	bare := &payment.LedgerEntry{
		ID: 32, Kind: payment.EntryCharge, Debit: "customer/sber-42", Credit: payment.WorldAccount, Amount: rub("10.05"),
		CustomerID: "sber-42", BalanceAfter: rub("0.00"), CreatedAt: minute(32),
	}
	s.changeBalance(t, rub("0.00"), bare)
	equal(t, "entries", s.entries(t, "sber-42", core.Page{Limit: 10}), []*payment.LedgerEntry{bare, m})
}

func (s Stores) entries(t *testing.T, customerID string, page core.Page) []*payment.LedgerEntry {
	t.Helper()
	return s.entriesOf(t, payment.EntryFilter{CustomerID: customerID}, page)
}

func (s Stores) entriesOf(t *testing.T, f payment.EntryFilter, page core.Page) []*payment.LedgerEntry {
	t.Helper()
	var found []*payment.LedgerEntry
	s.inTx(t, func(ctx context.Context, tx payment.Tx) (err error) {
		found, err = tx.Ledger.List(ctx, f, page)
		return err
	})
	return found
}

func entryOfAnOperation(t *testing.T, s Stores) {
	m := newLedgerEntry(1, rub("1.00"), operation("root", "key-1"))
	s.changeBalance(t, rub("1.00"), m)
	_, prior := s.lockBalance(t, "sber-42", "RUB", operation("root", "key-1"))
	equal(t, "entry", prior, m)
	_, prior = s.lockBalance(t, "sber-42", "USD", operation("root", "key-1"))
	equal(t, "entry, asked for in another currency", prior, m)
	for customerID, by := range map[string]core.Operation{
		"sber-42": operation("root", "key-2"), "sber-43": operation("root", "key-1"), "sber-4": operation("toor", "key-1"),
	} {
		if _, prior := s.lockBalance(t, customerID, "RUB", by); prior != nil {
			t.Errorf("%v of %s made entry %d", by, customerID, prior.ID)
		}
	}
}

func oneLedgerEntryOfAnOperation(t *testing.T, s Stores) {
	s.changeBalance(t, rub("1.00"), newLedgerEntry(1, rub("1.00"), operation("root", "key-1")))
	err := s.Payments.InTx(t.Context(), func(ctx context.Context, tx payment.Tx) error {
		locked, err := tx.Balances.Lock(ctx, balanceQuery("sber-42", "RUB", core.Operation{}))
		if err != nil {
			return err
		}
		locked.Balance.Amount = rub("2.00")
		return saveChange(ctx, tx, locked.Balance, newLedgerEntry(2, rub("2.00"), operation("root", "key-1")))
	})
	if err == nil {
		t.Error("one operation changed the balance twice")
	}
	equal(t, "balances", s.balances(t, "sber-42"), []*payment.Balance{changedBalance(rub("1.00"), 1, 1)})
}

func onePositionOfAnEntry(t *testing.T, s Stores) {
	s.changeBalance(t, rub("1.00"), newLedgerEntry(1, rub("1.00"), operation("root", "key-1")))
	s.changeBalance(t, money("1", "JPY"), newLedgerEntry(2, money("1", "JPY"), operation("root", "key-2"))) // of another balance
	err := s.Payments.InTx(t.Context(), func(ctx context.Context, tx payment.Tx) error {
		second := newLedgerEntry(3, rub("2.00"), operation("root", "key-3"))
		second.Position = 1
		return tx.Ledger.Append(ctx, second)
	})
	if err == nil {
		t.Error("two entries have one position in a balance")
	}
}

func entryPages(t *testing.T, s Stores) {
	var want []*payment.LedgerEntry
	for id := int64(1); id <= 5; id++ {
		m := newLedgerEntry(id, rub(strconv.FormatInt(id, 10)), core.Operation{})
		m.CreatedAt = minute(int(id) / 2) // 2 and 3 are simultaneous, and so are 4 and 5
		s.changeBalance(t, m.BalanceAfter, m)
		want = append([]*payment.LedgerEntry{m}, want...)
	}
	newer := int64(len(want))
	list := func(page core.Page) []*payment.LedgerEntry { return s.entries(t, "sber-42", page) }
	at := func(m *payment.LedgerEntry) core.Position { return core.Position{CreatedAt: m.CreatedAt, ID: m.ID} }
	found := pages(t, 2, list, at, func() {
		newer++
		s.changeBalance(t, rub("9.00"), newLedgerEntry(newer, rub("9.00"), core.Operation{})) // above the page, so that it is not read
	})
	equal(t, "entries", found, want)
	equal(t, "another customer's", s.entries(t, "sber-4", core.Page{Limit: 10}), []*payment.LedgerEntry{})
}

func entryFilter(t *testing.T, s Stores) {
	for id, reference := range []string{"", "A-1", "A-2"} {
		m := newLedgerEntry(int64(id+1), rub(strconv.Itoa(id+1)), core.Operation{})
		m.Reference, m.CreatedAt = reference, minute(id+1)
		s.changeBalance(t, m.BalanceAfter, m)
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
		for _, e := range s.entriesOf(t, c.filter, core.Page{Limit: 10}) {
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
		time.Sleep(time.Millisecond) // gives the others time to interfere, if they can
		if b.Amount, err = b.Amount.Add(rub("1.00")); err != nil {
			return err
		}
		return saveChange(ctx, tx, b, newLedgerEntry(int64(i+1), b.Amount, operation("root", strconv.Itoa(i))))
	})
	b, _ := s.lockBalance(t, "sber-42", "RUB", core.Operation{})
	equal(t, "balance", b.Amount, rub(strconv.Itoa(n)))
	equal(t, "position", b.Position, int64(n))
	after := map[string]bool{}
	for _, m := range s.entries(t, "sber-42", core.Page{Limit: n}) {
		after[m.BalanceAfter.String()] = true
	}
	equal(t, "different balances after an entry", len(after), n)
}
