package coretest

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

// request is what a command gets: who asks, about which order, and under which key.
type request struct {
	*fixture
	actor core.Actor
	order *order.Order
	key   string
}

// command runs a use case and reports whether the operation was repeated.
type command func(ctx context.Context, r request) (repeated bool, err error)

// keyed is the result of a use case that takes a key.
func keyed(_ any, repeated bool, err error) (bool, error) { return repeated, err }

// unkeyed is the result of a use case that takes none.
func unkeyed(_ any, err error) (repeated bool, _ error) { return false, err }

// run returns a command of an actor under a new key.
func run(c command, actor core.Actor) func(testing.TB, *fixture, *order.Order) error {
	return func(t testing.TB, f *fixture, o *order.Order) error {
		_, err := c(t.Context(), request{f, actor, o, f.key()})
		return err
	}
}

// mustRun runs a command of an actor, which must succeed.
func mustRun(t testing.TB, f *fixture, c command, actor core.Actor, o *order.Order) {
	t.Helper()
	if err := run(c, actor)(t, f, o); err != nil {
		t.Fatal(err)
	}
}

// useCase is one operation of api/openapi.yaml, as far as the core decides on it.
type useCase struct {
	name string
	// prepare creates what the command needs, and returns the order that it concerns.
	prepare func(t testing.TB, f *fixture) *order.Order
	do      command
	// changed is another request under the same key. It is nil when the command has nothing
	// to change, or takes no key.
	changed command
	keyed   bool
	// allowed lists the actors who may run it.
	allowed []core.Actor
	// events lists the types of the events that it publishes.
	events []string
	// resource returns what the audit log names. It is nil when no administrator is
	// allowed.
	resource func(o *order.Order) string
}

func theOrder(o *order.Order) string              { return "order/" + strconv.FormatInt(o.ID, 10) }
func named(name string) func(*order.Order) string { return func(*order.Order) string { return name } }

// everyone lists the actors who try every use case. A name is not enough: the last ones
// have the name of an owner but not the role.
var everyone = map[string]core.Actor{
	"the customer": ann, "another customer": bob, "the seller": shop, "another seller": otherShop,
	"an administrator": root, "the system": billing,
	"the customer's name without a role": {Subject: ann.Subject},
	"the customer's name as a seller":    {Subject: ann.Subject, Roles: []core.Role{core.Seller}},
	"the seller's name as a customer":    {Subject: shop.Subject, Roles: []core.Role{core.Customer}},
}

func (u useCase) admits(actor core.Actor) bool {
	return slices.ContainsFunc(u.allowed, func(a core.Actor) bool {
		return a.Subject == actor.Subject && slices.Equal(a.Roles, actor.Roles)
	})
}

var useCases = append(webhookUseCases, []useCase{
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
		name: "GetOrderById", prepare: placed, do: getOrder,
		allowed: []core.Actor{ann, shop, root}, resource: theOrder,
	},
	{
		name: "ReserveInventory", prepare: placed, keyed: true, do: reserve,
		allowed: []core.Actor{ann, shop, billing}, events: []string{"order.reserved"},
	},
	{
		name: "UpdateOrderStatus", prepare: paid, do: updateStatus(order.Fulfilling),
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
		name: "ListPayments", prepare: paid, do: listPayments,
		allowed: []core.Actor{ann, shop, root}, resource: theOrder,
	},
	{
		name: "SearchPayments", prepare: paid, do: searchPayments,
		allowed: []core.Actor{root}, resource: func(*order.Order) string { return "payments" },
	},
	{
		name: "GetPayment", prepare: refunded, do: getPayment,
		allowed: []core.Actor{ann, shop, root}, resource: theOrder,
	},
	{
		name: "GetRefund", prepare: refunded, do: getRefund,
		allowed: []core.Actor{ann, shop, root}, resource: theOrder,
	},
	{
		name: "CreditBalance", prepare: placed, keyed: true, do: credit("1.00"), changed: credit("2.00"),
		allowed: []core.Actor{billing, root}, events: []string{"balance.credit"}, resource: named("balance/ann"),
	},
	{
		name: "ChargeBalance", prepare: placed, keyed: true, do: charge("1.00"), changed: credit("1.00"),
		allowed: []core.Actor{billing, root}, events: []string{"balance.charge"}, resource: named("balance/ann"),
	},
	{
		name: "GetBalance", prepare: placed, do: getBalance,
		allowed: []core.Actor{ann, billing, root}, resource: named("balance/ann"),
	},
	{
		name: "ListBalanceTransactions", prepare: placed, do: listEntries,
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
		name: "GetCustomerProfile", prepare: withProfile, do: getProfile,
		allowed: []core.Actor{ann, root}, resource: named("profile/ann"),
	},
}...)

func putProduct(name string) command {
	return func(ctx context.Context, r request) (bool, error) {
		p, err := r.Orders.GetProduct(ctx, "tea")
		if err != nil {
			return false, err
		}
		_, _, err = r.Orders.PutProduct(ctx, r.actor, order.PutProduct{
			SKU: p.SKU, Name: name, Price: money("41.00", "RUB"), OnHand: new(p.OnHand - 1), Versions: []int64{p.Version},
		})
		return false, err
	}
}

func adjustStock(change int64) command {
	return func(ctx context.Context, r request) (bool, error) {
		return keyed(r.Orders.AdjustStock(ctx, r.actor, order.AdjustStock{SKU: "tea", Change: change, Key: r.key}))
	}
}

// createOrder orders tea for Ann.
func createOrder(quantity int) command {
	return func(ctx context.Context, r request) (bool, error) {
		cmd := order.CreateOrder{CustomerID: "ann", Items: []order.Item{{SKU: "tea", Quantity: quantity}}, Key: r.key}
		return keyed(r.Orders.CreateOrder(ctx, r.actor, cmd))
	}
}

func getOrder(ctx context.Context, r request) (bool, error) {
	return unkeyed(r.Orders.GetOrderByID(ctx, r.actor, r.order.ID))
}

func reserve(ctx context.Context, r request) (bool, error) {
	return keyed(r.Orders.ReserveInventory(ctx, r.actor, order.ReserveInventory{OrderID: r.order.ID, Key: r.key}))
}

func updateStatus(to order.Status) command {
	return func(ctx context.Context, r request) (bool, error) {
		return unkeyed(r.Orders.UpdateOrderStatus(ctx, r.actor, order.UpdateOrderStatus{OrderID: r.order.ID, Status: to}))
	}
}

func confirm(method payment.Method) command {
	return func(ctx context.Context, r request) (bool, error) {
		cmd := payment.ConfirmPayment{OrderID: r.order.ID, Method: method, Key: r.key}
		return keyed(r.Payments.ConfirmPayment(ctx, r.actor, cmd))
	}
}

// refund asks for an amount, or for a full refund.
func refund(amount, reason string) command {
	return func(ctx context.Context, r request) (bool, error) {
		cmd := payment.RefundPayment{OrderID: r.order.ID, Full: amount == "", Reason: reason, Key: r.key}
		if amount != "" {
			cmd.Amount = new(money(amount, "RUB"))
		}
		return keyed(r.Payments.RefundPayment(ctx, r.actor, cmd))
	}
}

func cancel(reason string) command {
	return func(ctx context.Context, r request) (bool, error) {
		return keyed(r.Payments.CancelOrder(ctx, r.actor, payment.CancelOrder{OrderID: r.order.ID, Reason: reason, Key: r.key}))
	}
}

func listPayments(ctx context.Context, r request) (bool, error) {
	return unkeyed(r.Payments.ListPayments(ctx, r.actor, r.order.ID))
}

func searchPayments(ctx context.Context, r request) (bool, error) {
	search := payment.Search{Status: payment.Captured}
	_, _, err := r.Payments.SearchPayments(ctx, r.actor, search, core.Page{Limit: 1})
	return false, err
}

// getPayment reads the only payment of the order.
func getPayment(ctx context.Context, r request) (bool, error) {
	payments, err := r.Payments.ListPayments(ctx, ann, r.order.ID)
	if err != nil {
		return false, err
	}
	return unkeyed(r.Payments.GetPayment(ctx, r.actor, payments[0].ID))
}

// getRefund reads the only refund of the order.
func getRefund(ctx context.Context, r request) (bool, error) {
	payments, err := r.Payments.ListPayments(ctx, ann, r.order.ID)
	if err != nil {
		return false, err
	}
	return unkeyed(r.Payments.GetRefund(ctx, r.actor, payments[0].Refunds[0].ID))
}

func credit(amount string) command {
	return func(ctx context.Context, r request) (bool, error) {
		cmd := payment.ChangeBalance{CustomerID: "ann", Amount: money(amount, "RUB"), Key: r.key}
		return keyed(r.Payments.CreditBalance(ctx, r.actor, cmd))
	}
}

func charge(amount string) command {
	return func(ctx context.Context, r request) (bool, error) {
		cmd := payment.ChangeBalance{CustomerID: "ann", Amount: money(amount, "RUB"), Key: r.key}
		return keyed(r.Payments.ChargeBalance(ctx, r.actor, cmd))
	}
}

func getBalance(ctx context.Context, r request) (bool, error) {
	return unkeyed(r.Payments.GetBalance(ctx, r.actor, "ann"))
}

func listEntries(ctx context.Context, r request) (bool, error) {
	_, _, err := r.Payments.ListBalanceTransactions(ctx, r.actor, payment.EntryFilter{CustomerID: "ann"}, core.Page{Limit: 1})
	return false, err
}

func updateProfile(ctx context.Context, r request) (bool, error) {
	return unkeyed(r.Customers.UpdateCustomerProfile(ctx, r.actor, customer.Profile{CustomerID: "ann", FullName: "Анна"}))
}

func deleteProfile(ctx context.Context, r request) (bool, error) {
	return false, r.Customers.DeleteCustomerProfile(ctx, r.actor, "ann")
}

func getProfile(ctx context.Context, r request) (bool, error) {
	return unkeyed(r.Customers.GetCustomerProfile(ctx, r.actor, "ann"))
}
