package order

import "example.com/orders/internal/core"

// Only this file decides who may use orders and products (AUTH-11). The HTTP adapter
// has already checked roles; the grants check ownership (AUTH-3, AUTH-10).

// ReadGrant admits an order's customer and seller, and administrators.
func ReadGrant(actor core.Actor) core.Grant {
	return actor.Grant(core.Customer, core.Seller, core.Admin)
}

// reserveGrant admits an order's customer and seller, and the system.
func reserveGrant(actor core.Actor) core.Grant {
	return actor.Grant(core.Customer, core.Seller, core.System)
}

// deliverGrant admits an order's seller, and administrators.
func deliverGrant(actor core.Actor) core.Grant { return actor.Grant(core.Seller, core.Admin) }

// productGrant admits a product's seller, and administrators.
func productGrant(actor core.Actor) core.Grant { return actor.Grant(core.Seller, core.Admin) }

// allowOrdering returns the customer whom the actor orders for: customers order for
// themselves, sellers for a named customer. The grant covers the products that may be
// ordered: all products for a customer, only their own for a seller.
func allowOrdering(actor core.Actor, customerID string) (string, core.Grant, error) {
	forSelf := customerID == "" || customerID == actor.Subject
	switch {
	case actor.Has(core.Customer) && forSelf:
		return actor.Subject, core.GrantEverybody, nil
	case actor.Has(core.Seller) && customerID != "":
		return customerID, actor.Grant(core.Seller), nil
	case actor.Has(core.Seller):
		return "", core.Grant{}, core.InvalidField("/customer_id", "is required for orders by a seller")
	}
	return "", core.Grant{}, core.Forbidden("customers can order only for themselves")
}
