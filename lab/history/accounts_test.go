package history_test

import (
	"fmt"
	"testing"
	"time"

	"example.com/orders/lab/history"
)

// credit is a credit of its own key that is acknowledged with the balance after it.
func credit(key string, start, end int, change, after int64) history.Attempt {
	return leaving(after, on(change, of(key, created(start, end))))
}

func unknownCredit(key string, start, end int, change int64) history.Attempt {
	return on(change, of(key, unknown(start, end)))
}

// tooLittle is a charge that is refused.
func tooLittle(key string, start, end int, change int64) history.Attempt {
	return on(change, of(key, refused(start, end, "created")))
}

// entry is the entry of a key in the ledger of Alice's balance.
func entry(key string, position, change, after int64) history.Entry {
	return history.Entry{
		ID: history.ID{Scope: "alice", Key: key}, Account: "alice RUB", Position: position, Change: change, After: after,
	}
}

func TestCheck_AcceptsGoodAccounts(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]attempts{
		"one after the other":             {credit("1", 0, 10, 5, 5), credit("2", 20, 30, 7, 12), read(40, 50, 12)},
		"at the same time":                {credit("1", 0, 30, 5, 12), credit("2", 5, 20, 7, 7), read(6, 10, 0), read(7, 29, 7)},
		"a charge":                        {credit("1", 0, 10, 5, 5), credit("2", 20, 30, -5, 0)},
		"a payment without a balance":     {credit("1", 0, 10, 5, 5), on(-2, of("2", created(11, 15))), read(20, 30, 3)},
		"refused before the credit":       {credit("1", 0, 30, 5, 5), tooLittle("2", 5, 10, -5), read(40, 50, 5)},
		"refused after the charge":        {credit("1", 0, 10, 5, 5), credit("2", 11, 30, -1, 4), tooLittle("3", 20, 25, -5)},
		"an unknown credit, never":        {unknownCredit("1", 0, 10, 5), read(20, 30, 0)},
		"an unknown credit, later":        {unknownCredit("1", 0, 10, 5), read(20, 30, 0), credit("2", 40, 50, 7, 12)},
		"an unknown charge, never":        {unknownCredit("1", 0, 10, -5), credit("2", 20, 30, 3, 3)},
		"a replay of an unknown credit":   {unknownCredit("1", 0, 10, 5), read(12, 15, 5), leaving(5, on(5, of("1", reused(20, 30))))},
		"a replay is no second credit":    {credit("1", 0, 10, 5, 5), leaving(5, on(5, of("1", reused(20, 30)))), read(40, 50, 5)},
		"a refusal, then an unknown one":  {tooLittle("1", 0, 10, -5), unknownCredit("1", 11, 12, -5), credit("2", 20, 30, 5, 5), read(40, 50, 5)},
		"an unknown charge that refused":  {unknownCredit("1", 0, 10, -5), on(-5, of("1", refused(20, 30, "reused")))},
		"a new database, lost effects":    {credit("1", 0, 10, 5, 5), failover(20, 30), credit("2", 40, 50, 7, 7)},
		"a new database, kept effects":    {credit("1", 0, 10, 5, 5), failover(20, 30), credit("2", 40, 50, 7, 12), leaving(5, on(5, of("1", reused(60, 70))))},
		"a new database, during a credit": {credit("1", 0, 25, 5, 5), failover(20, 30), credit("2", 40, 50, 7, 12), read(60, 70, 12)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRules(t, history.Check(h, history.Options{}))
		})
	}
}

func TestCheck_ReportsBadAccounts(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]attempts{
		"a forgotten credit":            {credit("1", 0, 10, 5, 5), credit("2", 20, 30, 7, 7)},
		"a doubled credit":              {credit("1", 0, 10, 5, 5), read(20, 30, 10)},
		"a wrong balance":               {credit("1", 0, 10, 5, 6)},
		"refused though it sufficed":    {credit("1", 0, 10, 5, 5), tooLittle("2", 20, 30, -5), read(40, 50, 5)},
		"refused before the charge":     {credit("1", 0, 10, 5, 5), tooLittle("2", 12, 15, -5), credit("3", 20, 30, -5, 0)},
		"a charge without money":        {on(-5, of("1", created(0, 10)))},
		"a read goes back":              {credit("1", 0, 30, 5, 5), read(5, 10, 5), read(12, 20, 0)},
		"an unknown credit comes twice": {unknownCredit("1", 0, 10, 5), read(20, 30, 10)},
		"an unknown credit goes":        {unknownCredit("1", 0, 10, 5), read(20, 30, 5), read(40, 50, 0)},
		"a credit again by a replay":    {unknownCredit("1", 0, 5, 5), read(6, 9, 5), leaving(10, on(5, of("1", reused(20, 30))))},
		"in a new database":             {failover(0, 10), credit("1", 20, 30, 5, 5), credit("2", 40, 50, 7, 7)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRules(t, history.Check(h, history.Options{}), history.AccountOrder)
		})
	}
}

func TestCheck_UsesTheLedger(t *testing.T) {
	t.Parallel()
	foreign := entry("setup", 1, 100, 100)
	both := attempts{credit("1", 0, 30, 5, 105), unknownCredit("2", 5, 10, 7), read(40, 50, 112)}
	for name, c := range map[string]struct {
		history attempts
		ledger  []history.Entry
		want    []history.Rule
	}{
		"both happened":             {both, []history.Entry{foreign, entry("1", 2, 5, 105), entry("2", 3, 7, 112)}, nil},
		"the unknown one never did": {both[:2], []history.Entry{foreign, entry("1", 2, 5, 105)}, nil},
		"an unknown one of another body": {attempts{credit("1", 0, 10, 5, 5), other(unknownCredit("1", 20, 30, 5))},
			[]history.Entry{entry("1", 1, 5, 5)}, nil},
		"a read of what never was": {both, []history.Entry{foreign, entry("1", 2, 5, 105)}, []history.Rule{history.AccountOrder}},
		"an entry is missing":      {both[:1], []history.Entry{foreign}, []history.Rule{history.LedgerAgrees}},
		"another change":           {both[:1], []history.Entry{foreign, entry("1", 2, 6, 106)}, []history.Rule{history.LedgerAgrees}},
		"another balance":          {both[:1], []history.Entry{entry("0", 1, 99, 99), entry("1", 2, 5, 104)}, []history.Rule{history.LedgerAgrees}},
		"two entries of a key":     {both[:1], []history.Entry{foreign, entry("1", 2, 5, 105), entry("1", 3, 5, 110)}, []history.Rule{history.LedgerAgrees}},
		"a gap":                    {both[:1], []history.Entry{foreign, entry("1", 3, 5, 105)}, []history.Rule{history.LedgerAgrees}},
		"a wrong sum":              {both[:1], []history.Entry{foreign, entry("1", 2, 5, 105), entry("3", 3, 1, 107)}, []history.Rule{history.LedgerAgrees}},
		"an unknown one of another change": {attempts{unknownCredit("1", 0, 10, 5)},
			[]history.Entry{entry("1", 1, 6, 6)}, []history.Rule{history.LedgerAgrees}},
		"the ledger turns time around": {attempts{credit("1", 0, 10, 5, 12), credit("2", 20, 30, 7, 7)},
			[]history.Entry{entry("2", 1, 7, 7), entry("1", 2, 5, 12)}, []history.Rule{history.LedgerAgrees}},
		"refused though it sufficed": {attempts{credit("1", 0, 10, 5, 105), tooLittle("2", 20, 30, -105)},
			[]history.Entry{foreign, entry("1", 2, 5, 105)}, []history.Rule{history.AccountOrder}},
		"refused in time": {attempts{credit("1", 0, 25, 5, 105), tooLittle("2", 20, 30, -105)},
			[]history.Entry{foreign, entry("1", 2, 5, 105)}, nil},
		"kept by a new database": {attempts{credit("1", 0, 10, 5, 5), failover(20, 30), credit("2", 40, 50, 7, 12)},
			[]history.Entry{entry("1", 1, 5, 5), entry("2", 2, 7, 12)}, nil},
		"lost by a new database": {attempts{credit("1", 0, 10, 5, 5), failover(20, 30), credit("2", 40, 50, 7, 7)},
			[]history.Entry{entry("2", 1, 7, 7)}, nil},
		"forgotten by a new database": {attempts{failover(0, 10), credit("1", 20, 30, 5, 5), credit("2", 40, 50, 7, 7)},
			[]history.Entry{entry("2", 1, 7, 7)}, []history.Rule{history.LedgerAgrees}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.ledger == nil {
				c.ledger = []history.Entry{}
			}
			wantRules(t, history.Check(c.history, history.Options{Ledger: c.ledger}), c.want...)
		})
	}
}

// Forty unknown credits have as many sums as there are sets of them.
func TestCheck_ReportsWhatItCouldNotDecide(t *testing.T) {
	t.Parallel()
	h := attempts{read(1000, 1001, 1)}
	var ledger []history.Entry
	for i := range 40 {
		h = append(h, unknownCredit(fmt.Sprint(i), i, i+1, 2<<i))
	}
	wantRules(t, history.Check(h, history.Options{Limit: time.Second / 2}), history.Undecided)
	ledger = append(ledger, entry("setup", 1, 1, 1))
	wantRules(t, history.Check(h, history.Options{Ledger: ledger}))
}

// ofStock makes the attempts about the available stock of a product, which no ledger has.
func ofStock(h ...history.Attempt) attempts {
	for i, a := range h {
		h[i].Account = history.StockOf("cup")
		if a.Code != "" {
			h[i].Status, h[i].Code = 409, "out_of_stock"
		}
	}
	return h
}

func TestCheck_SearchesAnOrderForStock(t *testing.T) {
	t.Parallel()
	sale := func(key string, start, end int) history.Attempt { return on(-3, of(key, created(start, end))) }
	for name, c := range map[string]struct {
		history attempts
		want    []history.Rule
	}{
		"a sale":                {ofStock(read(0, 1, 4), sale("1", 2, 10), read(11, 12, 1)), nil},
		"sold out":              {ofStock(read(0, 1, 4), sale("1", 2, 10), tooLittle("2", 5, 20, -3)), nil},
		"sold twice":            {ofStock(read(0, 1, 4), sale("1", 2, 10), sale("2", 5, 20), read(21, 22, 1)), []history.Rule{history.AccountOrder}},
		"refused without cause": {ofStock(read(0, 1, 4), tooLittle("1", 2, 10, -3)), []history.Rule{history.AccountOrder}},
		"an old value is read":  {ofStock(read(0, 1, 4), sale("1", 2, 10), read(11, 12, 4)), []history.Rule{history.AccountOrder}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRules(t, history.Check(c.history, history.Options{Ledger: []history.Entry{}}), c.want...)
		})
	}
}
