package postgres

import (
	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// orderLine is how orders are read: one row for each line of an order.
type orderLine = dbsqlc.OrderByIDRow

// linesOf converts the rows of all queries that read orders to one type.
func linesOf[R dbsqlc.OrderByIDRow | dbsqlc.LockOrderRow | dbsqlc.LockOrdersRow |
	dbsqlc.OrderByOperationRow | dbsqlc.OrdersByOperationRow |
	dbsqlc.ListOrdersRow | dbsqlc.ListOrdersOfRow | dbsqlc.ListOrdersBetweenRow | dbsqlc.ListOrdersByReferenceRow](rows []R) []orderLine {
	lines := make([]orderLine, len(rows))
	for i, r := range rows {
		lines[i] = orderLine(r)
	}
	return lines
}

// lockedOrder returns the order that was locked, or the reason why none was.
func lockedOrder(rows []dbsqlc.LockOrderRow, exists bool) (*order.Order, error) {
	if len(rows) == 0 {
		return nil, notLocked(exists)
	}
	return oneOrder(linesOf(rows))
}

// oneOrder returns the order that all lines belong to.
func oneOrder(lines []orderLine) (*order.Order, error) {
	found, err := ordersOf(lines)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, core.ErrNotFound
	}
	return found[0], nil
}

// ordersOf converts lines that are sorted by order.
func ordersOf(lines []orderLine) ([]*order.Order, error) {
	var found []*order.Order
	for i, r := range lines {
		if i == 0 || r.Order.ID != lines[i-1].Order.ID {
			o, err := orderOf(r.Order)
			if err != nil {
				return nil, err
			}
			found = append(found, o)
		}
		price, err := core.MoneyOf(r.OrderItem.UnitPrice, r.Order.Currency)
		if err != nil {
			return nil, err
		}
		o := found[len(found)-1]
		o.Lines = append(o.Lines, order.Line{SKU: r.OrderItem.Sku, Quantity: int(r.OrderItem.Quantity), UnitPrice: price})
	}
	return found, nil
}

// orderOf converts the row of an order. The caller adds the lines.
func orderOf(row dbsqlc.Order) (*order.Order, error) {
	total, err := core.MoneyOf(row.Total, row.Currency)
	return &order.Order{
		ID: row.ID, CustomerID: row.CustomerID, SellerID: row.SellerID, Status: order.Status(row.Status),
		Total: total, ReservedUntil: timeOf(row.ReservedUntil), Version: int(row.Version),
		Reference: row.Reference,
		CreatedBy: core.Operation{Actor: row.CreatedBy, Key: row.IdempotencyKey}, Cancellation: cancellationOf(row),
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(),
	}, err
}

func cancellationOf(row dbsqlc.Order) *order.Cancellation {
	if row.CancelledBy == nil {
		return nil
	}
	return &order.Cancellation{
		By:     core.Operation{Actor: *row.CancelledBy, Key: valueOf(row.CancelKey)},
		Reason: valueOf(row.CancelReason),
	}
}
