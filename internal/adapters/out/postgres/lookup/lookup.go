// Package lookup answers operators: it finds orders, the money that moved, attempts,
// events and idempotency keys. It reads no profiles, and only problem codes from stored
// responses.
package lookup

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
	"example.com/orders/kit/guard"
)

// Find returns tables about the ID of an order, payment, refund or charge, about a customer
// or reference, or about a principal and a key with a space between. The first row of a
// table has the headings, and there are no empty tables. All show the same moment.
func Find(ctx context.Context, db *pgtx.DB, issuer, term string) (tables [][][]string, err error) {
	id, _ := strconv.ParseInt(term, 10, 64) // 0 is no ID
	principal, key, _ := strings.Cut(term, " ")
	issued := string(guard.NewScope(issuer, ""))
	err = db.Look(ctx, func(ctx context.Context, t *pgtx.Tx) error {
		tables = nil
		err := cmp.Or(t.Queue("set transaction isolation level repeatable read, read only", nil),
			t.Queue("set local statement_timeout = '2s'", nil), t.Load(ctx))
		add := func(sql string, args ...any) {
			var found [][]string
			if err == nil {
				found, err = read(ctx, t, sql, args...)
			}
			if len(found) > 1 {
				tables = append(tables, found)
			}
		}
		add(findOrders, id, term, principal, key)
		ids := []int64{}
		for _, order := range slices.Concat(tables...) {
			orderID, _ := strconv.ParseInt(order[0], 10, 64) // the heading is 0
			ids = append(ids, orderID)
		}
		add(findMoney, ids)
		add(findEntries, ids, term)
		add(findKeys, ids, issued, principal, key)
		add(findJobs, ids)
		add(findEvents, ids)
		add(findDeliveries, ids)
		return cmp.Or(err, pgtx.ErrNothingToCommit)
	})
	return tables, pgtx.Failed("look up", pgtx.WithoutDoubt(err))
}

// read returns the names and the values of the columns, as text.
func read(ctx context.Context, t *pgtx.Tx, sql string, args ...any) ([][]string, error) {
	rows, _ := t.Conn().Query(ctx, sql, append([]any{pgx.QueryResultFormats{pgx.TextFormatCode}}, args...)...)
	var headings []string
	for _, column := range rows.FieldDescriptions() {
		headings = append(headings, column.Name)
	}
	table, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (cells []string, _ error) {
		for i, value := range row.RawValues() {
			cell := string(value)
			if amount, currency, _ := strings.Cut(cell, " "); headings[i] == "amount" {
				if money, err := core.ParseMoney(amount, currency); err == nil { // it is no NaN
					cell = money.String()
				}
			}
			cells = append(cells, cell)
		}
		return cells, nil
	})
	return append([][]string{headings}, table...), pgtx.Unavailable(err)
}
