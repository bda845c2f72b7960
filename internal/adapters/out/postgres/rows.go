package postgres

import (
	"context"
	"strconv"

	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// Names of rows begin with their kind. A creator is an advisory lock.
const (
	creatorRow = "creator/"
	orderRow   = "order/"
	productRow = "product/"
	balanceRow = "balance/"
)

func (l balanceLoad) rows() []string {
	return []string{balanceRow + l.CustomerID + "/" + string(l.Currency)}
}

func (l basketLoad) rows() []string {
	var rows []string
	for _, sku := range l.SKUs {
		rows = append(rows, productRow+sku)
	}
	if l.CountUnpaid > 0 {
		rows = append(rows, creatorRow+l.CustomerID+"/"+l.By.Actor)
	}
	return rows
}

func (l orderLoad) rows() []string { return []string{orderRow + strconv.FormatInt(l.id, 10)} }

// orderRows are those locked with an order. They never change.
type orderRows struct {
	owners core.Owners
	names  []string
}

func rowsBehind(o *order.Order) orderRows {
	rows := orderRows{o.Owners(), balanceLoad{CustomerID: o.CustomerID, Currency: o.Total.Currency()}.rows()}
	for _, line := range o.Lines {
		rows.names = append(rows.names, productRow+line.SKU)
	}
	return rows
}

// rows names the rows that a load locks, as far as known. A stranger to an order waits
// for none of those behind it.
func (b *batch) rows(l load) []string {
	rows := l.rows()
	if l, ofOrder := l.(orderLoad); ofOrder && l.grant.Covers(b.behind[l.id].owners) {
		rows = append(rows, b.behind[l.id].names...)
	}
	return rows
}

// look finds the rows behind orders. It waits for no lock.
func (b *batch) look(ctx context.Context, loads ...load) error {
	var reads []pgtx.Read
	for _, l := range loads {
		if l, ofOrder := l.(orderLoad); ofOrder {
			reads = append(reads, func(ctx context.Context, q *queries) error {
				found, err := q.OrderByID(ctx, l.id)
				return eachOrder(linesOf(found), err, func(o *order.Order) { b.behind[o.ID] = rowsBehind(o) })
			})
		}
	}
	if len(reads) > 0 {
		return b.tx.Load(ctx, reads...)
	}
	return nil
}
