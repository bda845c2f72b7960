package payment

import "example.com/orders/internal/core"

// Who may use the money of orders and customers. Only this file decides it (AUTH-11),
// except for reads of payments and refunds, which follow [order.ReadGrant].

// payGrant admits the customer of an order.
func payGrant(actor core.Actor) core.Grant { return actor.Grant(core.Customer) }

// refundGrant admits the customer of an order, and administrators.
func refundGrant(actor core.Actor) core.Grant { return actor.Grant(core.Customer, core.Admin) }

// cancelGrant admits the customer and the seller of an order, and administrators.
func cancelGrant(actor core.Actor) core.Grant {
	return actor.Grant(core.Customer, core.Seller, core.Admin)
}

// authoriseReading admits customers to their own balances, and the system and
// administrators to all balances.
func authoriseReading(actor core.Actor, customerID string) (core.Access, error) {
	return actor.Grant(core.Customer, core.System, core.Admin).Authorise(core.Owners{Customer: customerID})
}

// authoriseChanging admits the system and administrators. Customers change their own
// balance only by paying.
func authoriseChanging(actor core.Actor, customerID string) (core.Access, error) {
	return actor.Grant(core.System, core.Admin).Authorise(core.Owners{Customer: customerID})
}
