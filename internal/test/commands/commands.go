// Package commands calls the use cases for tests that draw random commands. Each such test
// has a checker.
package commands

import (
	"context"
	"fmt"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
)

// ReservationTTL is the lifetime of reservations.
const ReservationTTL = time.Hour

// MaxExtensions and MaxUnpaidOrders are the bounds against hoarding, low enough that many
// runs reach them.
const (
	MaxExtensions   = 2
	MaxUnpaidOrders = 3
)

// Service is the use cases on a store.
type Service struct {
	Orders   *order.Service
	Payments *payment.Service
}

// NewService returns the use cases with the bounds above.
func NewService(orders order.Store, payments payment.Store, gateway cards.Gateway) Service {
	return Service{
		Orders: &order.Service{
			Store: orders, ReservationTTL: ReservationTTL, MaxExtensions: MaxExtensions, MaxUnpaidOrders: MaxUnpaidOrders,
		},
		Payments: &payment.Service{Store: payments, Gateway: gateway},
	}
}

// The callers that are no customers.
var (
	Seller = core.Actor{Subject: "shop", Roles: []core.Role{core.Seller}}
	Bank   = core.Actor{Subject: "bank", Roles: []core.Role{core.System}}
	Admin  = core.Actor{Subject: "root", Roles: []core.Role{core.Admin}}
)

// Customer returns a customer.
func Customer(name string) core.Actor {
	return core.Actor{Subject: name, Roles: []core.Role{core.Customer}}
}

// Roubles returns whole roubles.
func Roubles(n int) core.Money {
	m, err := core.ParseMoney(fmt.Sprint(n), "RUB")
	if err != nil {
		panic(err)
	}
	return m
}

// Call calls a use case about an order, 0 for none, with a key.
type Call func(ctx context.Context, s Service, orderID int64, key string) (Answer, error)

// Answer is the result of a call. Its text has no ids and times.
type Answer struct {
	Text     string
	Created  int64 // id of the created order, if any
	Repeated bool  // the use case found the effect of an earlier call
}

// answer returns the answer of a use case whose result has this text.
func answer[T any](text func(T) string) func(result T, repeated bool, err error) (Answer, error) {
	return func(result T, repeated bool, err error) (Answer, error) {
		if err != nil {
			return Answer{}, err
		}
		return Answer{Text: text(result), Repeated: repeated}, nil
	}
}

// Credit credits a customer, with a reference unless it is "".
func Credit(by core.Actor, customer string, amount int, reference string) Call {
	return changeBalance((*payment.Service).CreditBalance, by, customer, amount, reference)
}

// Charge charges a customer, with a reference unless it is "".
func Charge(by core.Actor, customer string, amount int, reference string) Call {
	return changeBalance((*payment.Service).ChargeBalance, by, customer, amount, reference)
}

func changeBalance(
	use func(*payment.Service, context.Context, core.Actor, payment.ChangeBalance) (*payment.LedgerEntry, bool, error),
	by core.Actor, customer string, amount int, reference string,
) Call {
	return func(ctx context.Context, s Service, _ int64, key string) (Answer, error) {
		cmd := payment.ChangeBalance{CustomerID: customer, Amount: Roubles(amount), Reference: reference, Key: key}
		text := func(e *payment.LedgerEntry) string { return "balance " + e.BalanceAfter.String() }
		return answer(text)(use(s.Payments, ctx, by, cmd))
	}
}

// Undone makes a call fail with a code after it has written.
func Undone(call Call, code core.Code) Call {
	return func(ctx context.Context, s Service, orderID int64, key string) (Answer, error) {
		answered, err := call(ctx, s, orderID, key)
		if err == nil {
			err = core.Refuse(code, "")
		}
		return answered, err
	}
}

// Order orders items for a customer.
func Order(by core.Actor, customer, reference string, items []order.Item) Call {
	return func(ctx context.Context, s Service, _ int64, key string) (Answer, error) {
		o, repeated, err := s.Orders.CreateOrder(ctx, by, order.CreateOrder{CustomerID: customer, Items: items, Reference: reference, Key: key})
		if err != nil {
			return Answer{}, err
		}
		return Answer{Text: fmt.Sprintf("%s %s", o.Status, o.Total), Created: o.ID, Repeated: repeated}, nil
	}
}

// Confirm pays an order by a method, with a card token unless it is "".
func Confirm(by core.Actor, method payment.Method, cardToken string) Call {
	return func(ctx context.Context, s Service, orderID int64, key string) (Answer, error) {
		cmd := payment.ConfirmPayment{OrderID: orderID, Method: method, CardToken: cardToken, Key: key}
		text := func(p *payment.Payment) string { return fmt.Sprintf("%s %s", p.Status, p.Amount) }
		return answer(text)(s.Payments.ConfirmPayment(ctx, by, cmd))
	}
}

// Refund refunds an amount, or all that can be refunded if it is 0.
func Refund(by core.Actor, amount int, reference string) Call {
	return func(ctx context.Context, s Service, orderID int64, key string) (Answer, error) {
		cmd := payment.RefundPayment{OrderID: orderID, Full: amount == 0, Reference: reference, Key: key}
		if amount > 0 {
			cmd.Amount = new(Roubles(amount))
		}
		text := func(r *payment.Refund) string { return fmt.Sprintf("%s %s", r.Status, r.Amount) }
		return answer(text)(s.Payments.RefundPayment(ctx, by, cmd))
	}
}

// Cancel cancels an order.
func Cancel(by core.Actor) Call {
	return func(ctx context.Context, s Service, orderID int64, key string) (Answer, error) {
		return answer(status)(s.Payments.CancelOrder(ctx, by, payment.CancelOrder{OrderID: orderID, Key: key}))
	}
}

// Extend extends the reservation of an order.
func Extend(by core.Actor) Call {
	return func(ctx context.Context, s Service, orderID int64, key string) (Answer, error) {
		return answer(status)(s.Orders.ReserveInventory(ctx, by, order.ReserveInventory{OrderID: orderID, Key: key}))
	}
}

// Advance changes the status of an order. It has no key.
func Advance(by core.Actor, to order.Status) Call {
	return func(ctx context.Context, s Service, orderID int64, _ string) (Answer, error) {
		o, err := s.Orders.UpdateOrderStatus(ctx, by, order.UpdateOrderStatus{OrderID: orderID, Status: to})
		return answer(status)(o, false, err)
	}
}

// Read reads the status of an order.
func Read(by core.Actor) Call {
	return func(ctx context.Context, s Service, orderID int64, _ string) (Answer, error) {
		o, err := s.Orders.GetOrderByID(ctx, by, orderID)
		return answer(status)(o, false, err)
	}
}

func status(o *order.Order) string { return string(o.Status) }

// Adjust adds a number to the stock of a product.
func Adjust(by core.Actor, sku string, change int, reference string) Call {
	return func(ctx context.Context, s Service, _ int64, key string) (Answer, error) {
		cmd := order.AdjustStock{SKU: sku, Change: int64(change), Reference: reference, Key: key}
		text := func(a *order.StockAdjustment) string { return fmt.Sprintf("%d on hand", a.OnHand) }
		return answer(text)(s.Orders.AdjustStock(ctx, by, cmd))
	}
}
