package httpapi

import (
	"net/http"
	"strconv"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/resources"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

func decodeCreateOrder(r *request) (order.CreateOrder, error) {
	in, err := bodyOf[wire.CreateOrderRequest](r)
	if err != nil {
		return order.CreateOrder{}, err
	}
	items := convertAll(in.Items, func(item wire.CreateOrderItem) order.Item {
		return order.Item{SKU: item.SKU, Quantity: item.Quantity}
	})
	cmd := order.CreateOrder{
		CustomerID: valueOf(in.CustomerID), Reference: valueOf(in.Reference), Items: items, Key: r.key,
	}
	return cmd, cmd.Validate(r.actor)
}

func decodeOrderFilter(r *request) (order.Filter, error) {
	q := r.http.URL.Query()
	filter := order.Filter{CustomerID: q.Get("customer_id")}
	var invalidCustomer, invalidStatus, err error
	if q.Has("customer_id") {
		invalidCustomer = checkCustomerID(filter.CustomerID)
	}
	filter.Status, invalidStatus = oneOf(r, "status", order.Statuses()...)
	filter.Reference, filter.Created, err = decodeSearch(r)
	return filter, problem.Join(invalidCustomer, invalidStatus, err)
}

func decodeReserveInventory(r *request) (order.ReserveInventory, error) {
	id, err := decodeOrderID(r)
	return order.ReserveInventory{OrderID: id, Key: r.key}, err
}

func decodeCancelOrder(r *request) (payment.CancelOrder, error) {
	id, err := decodeOrderID(r)
	if err != nil {
		return payment.CancelOrder{}, err
	}
	in, err := bodyOf[wire.CancelOrderRequest](r)
	return payment.CancelOrder{OrderID: id, Reason: valueOf(in.Reason), Key: r.key}, err
}

func decodeUpdateOrderStatus(r *request) (order.UpdateOrderStatus, error) {
	id, err := decodeOrderID(r)
	if err != nil {
		return order.UpdateOrderStatus{}, err
	}
	in, err := bodyOf[wire.UpdateOrderStatusRequest](r)
	return order.UpdateOrderStatus{
		OrderID: id, Status: order.Status(in.Status), DespiteDispute: valueOf(in.DespiteDispute),
	}, err
}

func showOrder(o *order.Order) *success {
	return &success{status: http.StatusOK, body: orderOut(o)}
}

func showNewOrder(o *order.Order) *success {
	location := resources.CreatedAt + strconv.FormatInt(o.ID, 10)
	return &success{status: http.StatusCreated, location: location, body: orderOut(o)}
}

func orderOut(o *order.Order) wire.Order {
	out := wire.Order{
		ID: o.ID, CustomerID: o.CustomerID, SellerID: o.SellerID, Reference: orNull(o.Reference),
		Status: wire.OrderStatus(o.Status),
		Items:  convertAll(o.Lines, lineOut), Total: moneyOut(o.Total), Version: o.Version,
		CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt,
	}
	if !o.ReservedUntil.IsZero() {
		out.Reservation = &wire.Reservation{ExpiresAt: o.ReservedUntil}
	}
	return out
}

func lineOut(l order.Line) wire.OrderItem {
	return wire.OrderItem{SKU: l.SKU, Quantity: l.Quantity, UnitPrice: moneyOut(l.UnitPrice)}
}
