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

func (w balanceWant) rows() []string {
	return []string{balanceRow + w.CustomerID + "/" + string(w.Currency)}
}

func (w basketWant) rows() []string {
	var rows []string
	for _, sku := range w.SKUs {
		rows = append(rows, productRow+sku)
	}
	if w.CountUnpaid > 0 {
		rows = append(rows, creatorRow+w.CustomerID+"/"+w.By.Actor)
	}
	return rows
}

func (w orderWant) rows() []string { return []string{orderRow + strconv.FormatInt(w.id, 10)} }

// orderRows are those locked with an order. They never change.
type orderRows struct {
	owners core.Owners
	names  []string
}

func rowsBehind(o *order.Order) orderRows {
	rows := orderRows{o.Owners(), balanceWant{CustomerID: o.CustomerID, Currency: o.Total.Currency()}.rows()}
	for _, line := range o.Lines {
		rows.names = append(rows.names, productRow+line.SKU)
	}
	return rows
}

// rows names the rows that a load locks, as far as known. A stranger to an order waits
// for none of those behind it.
func (b *batch) rows(w want) []string {
	rows := w.rows()
	if w, ofOrder := w.(orderWant); ofOrder && w.grant.Covers(b.behind[w.id].owners) {
		rows = append(rows, b.behind[w.id].names...)
	}
	return rows
}

// look finds the rows behind orders. It waits for no lock.
func (b *batch) look(ctx context.Context, wants ...want) error {
	var reads []pgtx.Read
	for _, w := range wants {
		if w, ofOrder := w.(orderWant); ofOrder {
			reads = append(reads, func(ctx context.Context, q *queries) error {
				found, err := q.OrderByID(ctx, w.id)
				return eachOrder(linesOf(found), err, func(o *order.Order) { b.behind[o.ID] = rowsBehind(o) })
			})
		}
	}
	if len(reads) > 0 {
		return b.tx.Load(ctx, reads...)
	}
	return nil
}
