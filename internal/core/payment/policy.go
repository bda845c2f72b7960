package payment

import "example.com/orders/internal/core"

// Only this file decides who may use the money in orders and balances (AUTH-11), except
// for reads of payments and refunds, which follow [order.ReadGrant].

// payGrant admits an order's customer.
func payGrant(actor core.Actor) core.Grant { return actor.Grant(core.Customer) }

// refundGrant admits an order's customer, and administrators.
func refundGrant(actor core.Actor) core.Grant { return actor.Grant(core.Customer, core.Admin) }

// cancelGrant admits an order's customer and seller, and administrators.
func cancelGrant(actor core.Actor) core.Grant {
	return actor.Grant(core.Customer, core.Seller, core.Admin)
}

// searchGrant admits administrators.
func searchGrant(actor core.Actor) core.Grant { return actor.Grant(core.Admin) }

// authoriseReading admits customers to their own balances, and the system and
// administrators to all.
func authoriseReading(actor core.Actor, customerID string) (core.Access, error) {
	return actor.Grant(core.Customer, core.System, core.Admin).Authorise(core.Owners{Customer: customerID})
}

// authoriseChanging admits the system and administrators. Customers change their
// balance only by paying.
func authoriseChanging(actor core.Actor, customerID string) (core.Access, error) {
	return actor.Grant(core.System, core.Admin).Authorise(core.Owners{Customer: customerID})
}
