package order

import "example.com/orders/internal/core"

// Who may use orders and products. Only this file decides it (AUTH-11). The HTTP
// adapter has checked the roles before; ownership is checked here (AUTH-3, AUTH-10).

// ReadGrant admits the customer and the seller of an order, and administrators.
func ReadGrant(actor core.Actor) core.Grant {
	return actor.Grant(core.Customer, core.Seller, core.Admin)
}

// reserveGrant admits the customer and the seller of an order, and the system.
func reserveGrant(actor core.Actor) core.Grant {
	return actor.Grant(core.Customer, core.Seller, core.System)
}

// deliverGrant admits the seller of an order, and administrators.
func deliverGrant(actor core.Actor) core.Grant { return actor.Grant(core.Seller, core.Admin) }

// productGrant admits the seller of a product, and administrators.
func productGrant(actor core.Actor) core.Grant { return actor.Grant(core.Seller, core.Admin) }

// allowOrdering returns for whom the actor orders: customers order for themselves,
// sellers for a customer whom they name. The grant covers the products that may be
// ordered: a customer may order the products of every seller, a seller only their own.
func allowOrdering(actor core.Actor, customerID string) (string, core.Grant, error) {
	switch {
	case actor.Has(core.Customer) && (customerID == "" || customerID == actor.Subject):
		return actor.Subject, core.GrantEverybody, nil
	case actor.Has(core.Seller) && customerID != "":
		return customerID, actor.Grant(core.Seller), nil
	case actor.Has(core.Seller):
		return "", core.Grant{}, core.InvalidField("/customer_id", "required for orders by a seller")
	}
	return "", core.Grant{}, core.Forbidden("customers can order only for themselves")
}
