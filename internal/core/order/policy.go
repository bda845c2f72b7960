package order

import "example.com/orders/internal/core"

// Who may touch orders and products. This is the one place that says so (AUTH-11);
// roles were checked at the edge, ownership is checked here (AUTH-3, AUTH-10).

// AllowCustomer lets the customer of the order in, and nobody else but the roles in
// also.
func (o *Order) AllowCustomer(actor core.Actor, also ...core.Role) (core.Access, error) {
	return actor.Authorise(core.Owners{core.Customer: o.CustomerID}, also...)
}

// AllowParties lets the customer and the seller of the order in, and the roles in
// also.
func (o *Order) AllowParties(actor core.Actor, also ...core.Role) (core.Access, error) {
	return actor.Authorise(core.Owners{core.Customer: o.CustomerID, core.Seller: o.SellerID}, also...)
}

func (o *Order) allowSeller(actor core.Actor, also ...core.Role) (core.Access, error) {
	return actor.Authorise(core.Owners{core.Seller: o.SellerID}, also...)
}

func (p *Product) allow(actor core.Actor) (core.Access, error) {
	return actor.Authorise(core.Owners{core.Seller: p.SellerID}, core.Admin)
}

// allowOrdering tells for whom the actor orders: a customer for themselves, a
// seller for a customer they name.
func allowOrdering(actor core.Actor, customerID string) (string, error) {
	switch {
	case actor.Has(core.Customer) && (customerID == "" || customerID == actor.Subject):
		return actor.Subject, nil
	case actor.Has(core.Seller) && customerID != "":
		return customerID, nil
	case actor.Has(core.Seller):
		return "", core.InvalidField("/customer_id", "a seller names the customer")
	}
	return "", core.Forbidden("a customer orders for themselves")
}

// allowSelling lets a seller order only their own products. A customer may order
// anybody's.
func allowSelling(actor core.Actor, o *Order) error {
	if actor.Has(core.Customer) && o.CustomerID == actor.Subject {
		return nil
	}
	_, err := o.allowSeller(actor)
	return err
}

// visibleTo tells whose orders an actor may list: an administrator everybody's.
func visibleTo(actor core.Actor) (core.Owners, core.Access) {
	if actor.Has(core.Admin) {
		return nil, core.ByAdminOverride
	}
	visible := core.Owners{}
	for _, role := range []core.Role{core.Customer, core.Seller} {
		if actor.Has(role) {
			visible[role] = actor.Subject
		}
	}
	return visible, core.AsOwner
}
