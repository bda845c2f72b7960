package customer

import "example.com/orders/internal/core"

// allow admits customers to their own profile, and administrators to every profile
// (AUTH-11).
func allow(actor core.Actor, customerID string) (core.Access, error) {
	return actor.Authorise(core.Owners{core.Customer: customerID}, core.Admin)
}
