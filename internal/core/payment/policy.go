package payment

import "example.com/orders/internal/core"

// Who may touch a customer's balance. This is the one place that says so (AUTH-11).
// Who may pay, refund or read the payments of an order is the order's policy.

// allowReading lets customers see their own balance, and the system and
// administrators anybody's.
func allowReading(actor core.Actor, customerID string) (core.Access, error) {
	return actor.Authorise(core.Owners{core.Customer: customerID}, core.System, core.Admin)
}

// allowMoving lets the system and administrators move money on a balance; customers
// move their own only by paying.
func allowMoving(actor core.Actor) (core.Access, error) {
	return actor.Authorise(nil, core.System, core.Admin)
}

// resource names a balance in the audit log.
func resource(customerID string) string { return "balance/" + customerID }
