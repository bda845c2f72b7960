package coretest_test

import (
	"context"
	"strconv"
	"testing"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	coretest "example.com/orders/internal/test/core"
)

// useCase is one row of contract §1, as far as the core decides on it.
type useCase struct {
	name string
	// prepare creates what the command needs, and returns the order that it concerns.
	prepare func(t testing.TB, f *coretest.Fixture) *order.Order
	// do runs the command for an actor, under a key if it takes one, and reports whether
	// the operation was repeated.
	do func(ctx context.Context, f *coretest.Fixture, actor core.Actor, o *order.Order, key string) (repeated bool, err error)
	// changed runs the command with another request under the same key. It is nil when the
	// command has nothing to change, or takes no key.
	changed func(ctx context.Context, f *coretest.Fixture, actor core.Actor, o *order.Order, key string) (repeated bool, err error)
	keyed   bool
	// allowed lists the actors who may run it.
	allowed []core.Actor
	// events lists the types of the events that it publishes.
	events []string
	// resource returns what the audit log names. It is nil when no administrator is
	// allowed.
	resource func(o *order.Order) string
}

type command = func(ctx context.Context, f *coretest.Fixture, actor core.Actor, o *order.Order, key string) (bool, error)

func placed(t testing.TB, f *coretest.Fixture) *order.Order  { return f.Placed(t) }
func paid(t testing.TB, f *coretest.Fixture) *order.Order    { return f.Paid(t) }
func shipped(t testing.TB, f *coretest.Fixture) *order.Order { return f.Shipped(t) }

// placedWithCards prepares an order where cards are accepted. No use case calls the
// provider: it records what to ask it for.
func placedWithCards(t testing.TB, f *coretest.Fixture) *order.Order {
	f.Payments.Gateway = struct{ payment.Gateway }{}
	return f.Placed(t)
}

// expired prepares an order whose reservation has just expired. Its stock has not been
// released yet.
func expired(t testing.TB, f *coretest.Fixture) *order.Order {
	o := f.Placed(t)
	f.AdvanceClock(coretest.ReservationTTL)
	return o
}

func theOrder(o *order.Order) string              { return "order/" + strconv.FormatInt(o.ID, 10) }
func named(name string) func(*order.Order) string { return func(*order.Order) string { return name } }

var (
	ann, bob, shop, root, billing = coretest.Ann, coretest.Bob, coretest.Shop, coretest.Root, coretest.Billing
)

// everyone lists the actors who try every use case. A name is not enough: the last ones
// have the name of an owner but not the role.
var everyone = map[string]core.Actor{
	"the customer": ann, "another customer": bob, "the seller": shop, "another seller": coretest.OtherShop,
	"an administrator": root, "the system": billing,
	"the customer's name without a role": {Subject: ann.Subject},
	"the customer's name as a seller":    {Subject: ann.Subject, Roles: []core.Role{core.Seller}},
	"the seller's name as a customer":    {Subject: shop.Subject, Roles: []core.Role{core.Customer}},
}

var useCases = []useCase{
	{
		name: "PutProduct", prepare: placed, do: putProduct("Green tea"),
		allowed: []core.Actor{shop, root}, resource: named("product/tea"),
	},
	{
		name: "AdjustStock", prepare: placed, keyed: true, do: adjustStock(5), changed: adjustStock(6),
		allowed: []core.Actor{shop, root}, events: []string{"product.stock_adjusted"}, resource: named("product/tea"),
	},
	{
		name: "CreateOrder", prepare: placed, keyed: true, do: createOrder(1), changed: createOrder(2),
		allowed: []core.Actor{ann, shop}, events: []string{"order.created"},
	},
	{
		name: "GetOrderById", prepare: placed,
		do: func(ctx context.Context, f *coretest.Fixture, actor core.Actor, o *order.Order, _ string) (bool, error) {
			_, err := f.Orders.GetOrderByID(ctx, actor, o.ID)
			return false, err
		},
		allowed: []core.Actor{ann, shop, root}, resource: theOrder,
	},
	{
		name: "ReserveInventory", prepare: placed, keyed: true,
		do: func(ctx context.Context, f *coretest.Fixture, actor core.Actor, o *order.Order, key string) (bool, error) {
			_, repeated, err := f.Orders.ReserveInventory(ctx, actor, order.ReserveInventory{OrderID: o.ID, Key: key})
			return repeated, err
		},
		allowed: []core.Actor{ann, shop, billing}, events: []string{"order.reserved"},
	},
	{
		name: "UpdateOrderStatus", prepare: paid,
		do: func(ctx context.Context, f *coretest.Fixture, actor core.Actor, o *order.Order, _ string) (bool, error) {
			_, err := f.Orders.UpdateOrderStatus(ctx, actor, order.UpdateOrderStatus{OrderID: o.ID, Status: order.Fulfilling})
			return false, err
		},
		allowed: []core.Actor{shop, root}, events: []string{"order.fulfilling"}, resource: theOrder,
	},
	{
		name: "ConfirmPayment", prepare: placed, keyed: true, do: confirm(payment.FromBalance), changed: confirm(payment.ByCard),
		allowed: []core.Actor{ann}, events: []string{"order.paid", "balance.payment", "payment.captured"},
	},
	{
		name: "ConfirmPayment by card", prepare: placedWithCards, keyed: true, do: confirm(payment.ByCard), changed: confirm(payment.FromBalance),
		allowed: []core.Actor{ann}, events: []string{"order.payment_processing", "payment.processing"},
	},
	{
		name: "RefundPayment in part", prepare: paid, keyed: true, do: refund("30.00", "broken"), changed: refund("30.00", "lost"),
		allowed: []core.Actor{ann, root}, events: []string{"balance.refund", "refund.succeeded"}, resource: theOrder,
	},
	{
		name: "RefundPayment in full", prepare: paid, keyed: true, do: refund("", "broken"), changed: refund("80.00", "broken"),
		allowed: []core.Actor{ann, root}, events: []string{"balance.refund", "refund.succeeded", "order.cancelled"}, resource: theOrder,
	},
	{
		name: "CancelOrder, waiting for payment", prepare: placed, keyed: true, do: cancel("too late"), changed: cancel("no more"),
		allowed: []core.Actor{ann, shop, root}, events: []string{"order.cancelled"}, resource: theOrder,
	},
	{
		name: "CancelOrder, paid", prepare: paid, keyed: true, do: cancel("too late"), changed: cancel("no more"),
		allowed: []core.Actor{ann, shop, root}, events: []string{"order.cancelled", "balance.refund", "refund.succeeded"}, resource: theOrder,
	},
	{
		name: "ListPayments", prepare: paid,
		do: func(ctx context.Context, f *coretest.Fixture, actor core.Actor, o *order.Order, _ string) (bool, error) {
			_, err := f.Payments.ListPayments(ctx, actor, o.ID)
			return false, err
		},
		allowed: []core.Actor{ann, shop, root}, resource: theOrder,
	},
	{
		name: "GetPayment", prepare: refunded,
		do: func(ctx context.Context, f *coretest.Fixture, actor core.Actor, o *order.Order, _ string) (bool, error) {
			p, err := paymentOf(ctx, f, o)
			if err == nil {
				_, err = f.Payments.GetPayment(ctx, actor, p.ID)
			}
			return false, err
		},
		allowed: []core.Actor{ann, shop, root}, resource: theOrder,
	},
	{
		name: "GetRefund", prepare: refunded,
		do: func(ctx context.Context, f *coretest.Fixture, actor core.Actor, o *order.Order, _ string) (bool, error) {
			p, err := paymentOf(ctx, f, o)
			if err == nil {
				_, err = f.Payments.GetRefund(ctx, actor, p.Refunds[0].ID)
			}
			return false, err
		},
		allowed: []core.Actor{ann, shop, root}, resource: theOrder,
	},
	{
		name: "CreditBalance", prepare: placed, keyed: true, do: changeBalance((*payment.Service).CreditBalance, "1.00"), changed: changeBalance((*payment.Service).CreditBalance, "2.00"),
		allowed: []core.Actor{billing, root}, events: []string{"balance.credit"}, resource: named("balance/ann"),
	},
	{
		name: "ChargeBalance", prepare: placed, keyed: true, do: changeBalance((*payment.Service).ChargeBalance, "1.00"), changed: changeBalance((*payment.Service).CreditBalance, "1.00"),
		allowed: []core.Actor{billing, root}, events: []string{"balance.charge"}, resource: named("balance/ann"),
	},
	{
		name: "GetBalance", prepare: placed,
		do: func(ctx context.Context, f *coretest.Fixture, actor core.Actor, _ *order.Order, _ string) (bool, error) {
			_, err := f.Payments.GetBalance(ctx, actor, ann.Subject)
			return false, err
		},
		allowed: []core.Actor{ann, billing, root}, resource: named("balance/ann"),
	},
	{
		name: "ListBalanceTransactions", prepare: placed,
		do: func(ctx context.Context, f *coretest.Fixture, actor core.Actor, _ *order.Order, _ string) (bool, error) {
			_, _, err := f.Payments.ListBalanceTransactions(ctx, actor, payment.EntryFilter{CustomerID: ann.Subject}, core.Page{Limit: 1})
			return false, err
		},
		allowed: []core.Actor{ann, billing, root}, resource: named("balance/ann"),
	},
	{
		name: "UpdateCustomerProfile", prepare: placed, do: updateProfile,
		allowed: []core.Actor{ann, root}, resource: named("profile/ann"),
	},
	{
		name: "DeleteCustomerProfile", prepare: withProfile, do: deleteProfile,
		allowed: []core.Actor{ann, root}, resource: named("profile/ann"),
	},
	{
		name: "GetCustomerProfile", prepare: withProfile,
		do: func(ctx context.Context, f *coretest.Fixture, actor core.Actor, _ *order.Order, _ string) (bool, error) {
			_, err := f.Customers.GetCustomerProfile(ctx, actor, ann.Subject)
			return false, err
		},
		allowed: []core.Actor{ann, root}, resource: named("profile/ann"),
	},
}

// refunded prepares a paid order of which a part was refunded.
func refunded(t testing.TB, f *coretest.Fixture) *order.Order {
	o := f.Paid(t)
	if _, err := refund("30.00", "broken")(t.Context(), f, ann, o, f.Key()); err != nil {
		t.Fatal(err)
	}
	return o
}

// paymentOf returns the only payment of an order of Ann.
func paymentOf(ctx context.Context, f *coretest.Fixture, o *order.Order) (*payment.Payment, error) {
	payments, err := f.Payments.ListPayments(ctx, ann, o.ID)
	if err != nil {
		return nil, err
	}
	return payments[0], nil
}

// withProfile prepares a profile of Ann, and no order.
func withProfile(t testing.TB, f *coretest.Fixture) *order.Order {
	if _, err := updateProfile(t.Context(), f, ann, nil, ""); err != nil {
		t.Fatal(err)
	}
	return nil
}

func putProduct(name string) command {
	return func(ctx context.Context, f *coretest.Fixture, actor core.Actor, _ *order.Order, _ string) (bool, error) {
		p, err := f.Orders.GetProduct(ctx, "tea")
		if err != nil {
			return false, err
		}
		_, _, err = f.Orders.PutProduct(ctx, actor, order.PutProduct{
			SKU: p.SKU, Name: name, Price: coretest.Money("41.00", "RUB"), OnHand: new(p.OnHand - 1), Versions: []int64{p.Version},
		})
		return false, err
	}
}

func adjustStock(change int64) command {
	return func(ctx context.Context, f *coretest.Fixture, actor core.Actor, _ *order.Order, key string) (bool, error) {
		_, repeated, err := f.Orders.AdjustStock(ctx, actor, order.AdjustStock{SKU: "tea", Change: change, Key: key})
		return repeated, err
	}
}

func createOrder(quantity int) command {
	return func(ctx context.Context, f *coretest.Fixture, actor core.Actor, _ *order.Order, key string) (bool, error) {
		cmd := order.CreateOrder{CustomerID: ann.Subject, Items: []order.Item{{SKU: "tea", Quantity: quantity}}, Key: key}
		_, repeated, err := f.Orders.CreateOrder(ctx, actor, cmd)
		return repeated, err
	}
}

func confirm(method payment.Method) command {
	return func(ctx context.Context, f *coretest.Fixture, actor core.Actor, o *order.Order, key string) (bool, error) {
		_, repeated, err := f.Payments.ConfirmPayment(ctx, actor, payment.ConfirmPayment{OrderID: o.ID, Method: method, Key: key})
		return repeated, err
	}
}

// refund asks for an amount, or for a full refund.
func refund(amount, reason string) command {
	return func(ctx context.Context, f *coretest.Fixture, actor core.Actor, o *order.Order, key string) (bool, error) {
		cmd := payment.RefundPayment{OrderID: o.ID, Reason: reason, Key: key}
		if amount != "" {
			m := coretest.Money(amount, "RUB")
			cmd.Amount = &m
		}
		_, repeated, err := f.Payments.RefundPayment(ctx, actor, cmd)
		return repeated, err
	}
}

func cancel(reason string) command {
	return func(ctx context.Context, f *coretest.Fixture, actor core.Actor, o *order.Order, key string) (bool, error) {
		_, repeated, err := f.Payments.CancelOrder(ctx, actor, payment.CancelOrder{OrderID: o.ID, Reason: reason, Key: key})
		return repeated, err
	}
}

func changeBalance(
	by func(*payment.Service, context.Context, core.Actor, payment.ChangeBalance) (*payment.LedgerEntry, bool, error), amount string,
) command {
	return func(ctx context.Context, f *coretest.Fixture, actor core.Actor, _ *order.Order, key string) (bool, error) {
		cmd := payment.ChangeBalance{CustomerID: ann.Subject, Amount: coretest.Money(amount, "RUB"), Key: key}
		_, repeated, err := by(f.Payments, ctx, actor, cmd)
		return repeated, err
	}
}

func updateProfile(ctx context.Context, f *coretest.Fixture, actor core.Actor, _ *order.Order, _ string) (bool, error) {
	_, err := f.Customers.UpdateCustomerProfile(ctx, actor, customer.Profile{CustomerID: ann.Subject, FullName: "Анна"})
	return false, err
}

func deleteProfile(ctx context.Context, f *coretest.Fixture, actor core.Actor, _ *order.Order, _ string) (bool, error) {
	return false, f.Customers.DeleteCustomerProfile(ctx, actor, ann.Subject)
}
