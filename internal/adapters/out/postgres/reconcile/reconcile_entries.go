package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/govalues/decimal"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
)

// account sums a customer's entries over several steps, newest first. The positions of a
// balance's entries follow their order of commit, and an entry waits for the one before
// it. So entries behind the read positions are those added since, and the last step adds
// them in the statement that reads the balance. Their times decide nothing: a COMMIT in
// doubt may add an entry long after its time.
type account struct {
	Customer string `json:"customer"`
	// At and ID are the last read entry's key.
	At   time.Time                  `json:"at"`
	ID   int64                      `json:"id"`
	Sums map[string]decimal.Decimal `json:"sums"` // by currency
	// Positions are the highest read, by currency.
	Positions map[string]int64 `json:"positions"`
}

// add adds an entry that was read.
func (a *account) add(row dbsqlc.EntriesOfNextCustomersRow) (err error) {
	a.At, a.ID = row.CreatedAt.UTC(), row.ID
	a.Positions[row.Currency] = max(a.Positions[row.Currency], row.Position)
	a.Sums[row.Currency], err = a.Sums[row.Currency].Add(row.Change)
	return err
}

// compareEntries compares customers' entries with their balances. It reads at most
// limit entries for the customer in progress, and limit for the next customers.
func compareEntries(ctx context.Context, t *pgtx.Tx, from position, limit int) (c comparison, err error) {
	rows, more, err := readEntries(ctx, t, from, limit)
	if err != nil {
		return c, err
	}
	accounts := []*account{}
	if from.Account != nil {
		accounts = append(accounts, from.Account)
	}
	for _, row := range rows {
		if len(accounts) == 0 || accounts[len(accounts)-1].Customer != row.CustomerID {
			accounts = append(accounts, &account{
				Customer: row.CustomerID, Sums: map[string]decimal.Decimal{}, Positions: map[string]int64{},
			})
		}
		if err := accounts[len(accounts)-1].add(row); err != nil {
			return c, err
		}
		if row.Unreadable {
			c.add("balance/"+row.CustomerID, fmt.Sprintf("ledger entry %d has an amount that is NaN", row.ID))
		}
	}
	if more {
		last := accounts[len(accounts)-1]
		accounts, c.more = accounts[:len(accounts)-1], true
		c.next = position{Text: last.Customer, Account: last}
	}
	return c, compareAccounts(ctx, t, &c, accounts)
}

// readEntries returns the remaining entries for the account in progress and entries for
// the next customers, and whether there are more.
func readEntries(ctx context.Context, t *pgtx.Tx, from position, limit int) (rows []dbsqlc.EntriesOfNextCustomersRow, more bool, err error) {
	if begun := from.Account; begun != nil {
		var rest []dbsqlc.OtherEntriesOfCustomerRow
		err := t.Load(ctx, pgtx.Into(&rest, (*dbsqlc.Queries).OtherEntriesOfCustomer, dbsqlc.OtherEntriesOfCustomerParams{
			CustomerID: &begun.Customer, BeforeTime: begun.At, BeforeID: begun.ID, Page: int32(limit),
		}))
		if err != nil {
			return nil, false, err
		}
		for _, row := range rest {
			rows = append(rows, dbsqlc.EntriesOfNextCustomersRow(row))
		}
		if len(rest) == limit {
			return rows, true, nil
		}
	}
	var next []dbsqlc.EntriesOfNextCustomersRow
	after := dbsqlc.EntriesOfNextCustomersParams{AfterCustomer: &from.Text, Page: int32(limit)}
	err = t.Load(ctx, pgtx.Into(&next, (*dbsqlc.Queries).EntriesOfNextCustomers, after))
	return append(rows, next...), len(next) == limit, err
}

// compareAccounts compares balances with the sums over the read entries plus the newer
// entries, which the same statement reads.
func compareAccounts(ctx context.Context, t *pgtx.Tx, c *comparison, accounts []*account) error {
	customers := make([]string, len(accounts))
	newer := dbsqlc.BalancesAndNewEntriesParams{CustomerIds: customers}
	for i, a := range accounts {
		customers[i] = a.Customer
		for currency, position := range a.Positions {
			newer.ReadCustomers = append(newer.ReadCustomers, a.Customer)
			newer.ReadCurrencies = append(newer.ReadCurrencies, currency)
			newer.Positions = append(newer.Positions, position)
		}
	}
	var rows []dbsqlc.BalancesAndNewEntriesRow
	if err := t.Load(ctx, pgtx.Into(&rows, (*dbsqlc.Queries).BalancesAndNewEntries, newer)); err != nil {
		return err
	}
	balances := map[string]map[string]decimal.Decimal{} // by customer and currency
	for _, a := range accounts {
		balances[a.Customer] = map[string]decimal.Decimal{}
	}
	for _, row := range rows {
		i := slices.Index(customers, row.CustomerID)
		if err := addTo(balances[row.CustomerID], row.Currency, row.Balance); err != nil {
			return err
		}
		if err := addTo(accounts[i].Sums, row.Currency, row.NewEntries); err != nil {
			return err
		}
	}
	for _, row := range rows {
		if row.Unreadable {
			a := accounts[slices.Index(customers, row.CustomerID)]
			c.add("balance/"+row.CustomerID, fmt.Sprintf("NaN %s, and its entries make %s", row.Currency, a.Sums[row.Currency]))
			delete(a.Sums, row.Currency)
			delete(balances[row.CustomerID], row.Currency)
		}
	}
	for _, a := range accounts {
		c.addAccount(a, balances[a.Customer])
	}
	return nil
}

func addTo(sums map[string]decimal.Decimal, currency string, amount decimal.Decimal) (err error) {
	sums[currency], err = sums[currency].Add(amount)
	return err
}

// addAccount reports each currency whose balance differs from the sum over its entries.
func (c *comparison) addAccount(a *account, balances map[string]decimal.Decimal) {
	currencies := maps.Clone(a.Sums)
	maps.Copy(currencies, balances)
	for _, currency := range slices.Sorted(maps.Keys(currencies)) {
		if balance, sum := balances[currency], a.Sums[currency]; balance.Cmp(sum) != 0 {
			c.add("balance/"+a.Customer, fmt.Sprintf("%s %s, and its entries make %s", balance, currency, sum))
		}
	}
}
