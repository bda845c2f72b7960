package payment

import "example.com/orders/internal/core"

// Who may use a customer's balance. Only this file decides it (AUTH-11). Package order
// decides who may pay an order, refund it or see its payments.

// allowReading admits customers to their own balance, and the system and
// administrators to every balance.
func allowReading(actor core.Actor, customerID string) (core.Access, error) {
	return actor.Authorise(core.Owners{core.Customer: customerID}, core.System, core.Admin)
}

// allowChanging admits the system and administrators. Customers change their own
// balance only by paying.
func allowChanging(actor core.Actor) (core.Access, error) {
	return actor.Authorise(nil, core.System, core.Admin)
}
