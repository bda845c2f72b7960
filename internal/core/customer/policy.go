package customer

import "example.com/orders/internal/core"

// allow lets customers at their own profile, and administrators at anybody's
// (AUTH-11).
func allow(actor core.Actor, customerID string) (core.Access, error) {
	return actor.Authorise(core.Owners{core.Customer: customerID}, core.Admin)
}

// resource names a profile in the audit log.
func resource(customerID string) string { return "profile/" + customerID }
