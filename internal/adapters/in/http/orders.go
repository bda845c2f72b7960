package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

func (a *api) createOrder(ctx context.Context, r *request) (*response, error) {
	in, err := bodyOf[wire.CreateOrderRequest](r)
	if err != nil {
		return nil, err
	}
	cmd := order.CreateOrder{CustomerID: value(in.CustomerID), Key: r.key}
	for _, item := range in.Items {
		cmd.Items = append(cmd.Items, order.Item{SKU: item.SKU, Quantity: item.Quantity})
	}
	o, repeated, err := a.Orders.CreateOrder(ctx, r.actor, cmd)
	if err != nil {
		return nil, err
	}
	location := "/orders/" + strconv.FormatInt(o.ID, 10)
	return &response{status: http.StatusCreated, location: location, body: orderOut(o), repeated: repeated}, nil
}

func (a *api) getOrderByID(ctx context.Context, r *request) (*response, error) {
	id, err := r.orderID()
	if err != nil {
		return nil, err
	}
	o, err := a.Orders.GetOrderByID(ctx, r.actor, id)
	if err != nil {
		return nil, err
	}
	return &response{status: http.StatusOK, body: orderOut(o)}, nil
}

func (a *api) listOrders(ctx context.Context, r *request) (*response, error) {
	page, err := r.page()
	if err != nil {
		return nil, err
	}
	q := r.http.URL.Query()
	filter := order.Filter{CustomerID: q.Get("customer_id"), Status: order.Status(q.Get("status"))}
	if q.Has("customer_id") {
		if _, err := customerIDIn(filter.CustomerID); err != nil {
			return nil, err
		}
	}
	if _, known := order.Transitions[filter.Status]; q.Has("status") && !known {
		return nil, core.InvalidField("/status", "is not a status of an order")
	}
	orders, next, err := a.Orders.ListOrders(ctx, r.actor, filter, page)
	if err != nil {
		return nil, err
	}
	return &response{status: http.StatusOK, body: wire.OrderPage{Data: all(orders, orderOut), NextCursor: cursorOut(next)}}, nil
}

func (a *api) reserveInventory(ctx context.Context, r *request) (*response, error) {
	id, err := r.orderID()
	if err != nil {
		return nil, err
	}
	o, repeated, err := a.Orders.ReserveInventory(ctx, r.actor, order.ReserveInventory{OrderID: id, Key: r.key})
	if err != nil {
		return nil, err
	}
	return &response{status: http.StatusOK, body: orderOut(o), repeated: repeated}, nil
}

func (a *api) cancelOrder(ctx context.Context, r *request) (*response, error) {
	id, err := r.orderID()
	if err != nil {
		return nil, err
	}
	in, err := bodyOf[wire.CancelOrderRequest](r)
	if err != nil {
		return nil, err
	}
	cmd := payment.CancelOrder{OrderID: id, Reason: value(in.Reason), Key: r.key}
	o, repeated, err := a.Payments.CancelOrder(ctx, r.actor, cmd)
	if err != nil {
		return nil, err
	}
	return &response{status: http.StatusOK, body: orderOut(o), repeated: repeated}, nil
}

func (a *api) updateOrderStatus(ctx context.Context, r *request) (*response, error) {
	id, err := r.orderID()
	if err != nil {
		return nil, err
	}
	in, err := bodyOf[wire.UpdateOrderStatusRequest](r)
	if err != nil {
		return nil, err
	}
	o, err := a.Orders.UpdateOrderStatus(ctx, r.actor, order.UpdateOrderStatus{OrderID: id, Status: order.Status(in.Status)})
	if err != nil {
		return nil, err
	}
	return &response{status: http.StatusOK, body: orderOut(o)}, nil
}

func orderOut(o *order.Order) wire.Order {
	out := wire.Order{
		ID: o.ID, CustomerID: o.CustomerID, SellerID: o.SellerID, Status: wire.OrderStatus(o.Status),
		Items: all(o.Lines, lineOut), Total: moneyOut(o.Total), Version: o.Version,
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

func moneyOut(m core.Money) wire.Money {
	return wire.Money{Amount: m.Decimal(), Currency: string(m.Currency())}
}

// moneyIn reads money from a member of the body. Currencies and their decimals are more
// than a schema can say, but belong to the validation of the request all the same.
func moneyIn(in wire.Money, pointer string) (core.Money, error) {
	m, err := core.ParseMoney(in.Amount, in.Currency)
	if err != nil {
		p := problemOf(below(pointer, err))
		p.early = true
		return m, p
	}
	return m, nil
}
