package customer

import "example.com/orders/internal/core"

// authorise admits customers to their own profile, and administrators to all (AUTH-11).
func authorise(actor core.Actor, customerID string) (core.Access, error) {
	return actor.Grant(core.Customer, core.Admin).Authorise(core.Owners{Customer: customerID})
}
