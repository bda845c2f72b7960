package core

import "slices"

// Owners names the customer and the seller who own a resource. Either may be empty.
type Owners struct {
	Customer string
	Seller   string
}

// Grant names the owners of the resources that an actor may use in one use case. The
// policies derive it from the actor (AUTH-11). Stores apply it before locking, so that
// strangers neither wait for locks nor hold them; use cases check it again. Owners
// never change, so a grant checked before the lock still holds after it.
//
// The zero Grant covers no resource.
type Grant struct {
	// Customer and Seller are the covered owners, each optional.
	Customer string
	Seller   string
	// Everybody covers all owners.
	Everybody bool
	// Override reports that the actor is an administrator. Their reads are audited
	// unless they own the resource, even if another role also admits the actor.
	Override bool
}

// GrantEverybody is the grant for the service itself: jobs, provider events and
// messages concern all owners.
var GrantEverybody = Grant{Everybody: true}

// Grant returns the actor's grant in a use case that admits these roles. Customers and
// sellers may use their own resources; the system and administrators may use all.
func (a Actor) Grant(admitted ...Role) Grant {
	var g Grant
	has := func(r Role) bool { return slices.Contains(admitted, r) && a.Has(r) }
	if has(Customer) {
		g.Customer = a.Subject
	}
	if has(Seller) {
		g.Seller = a.Subject
	}
	g.Everybody = has(Admin) || has(System)
	g.Override = g.Everybody && a.Has(Admin)
	return g
}

// Covers reports whether the grant includes a resource with these owners.
func (g Grant) Covers(o Owners) bool { return g.Everybody || g.owns(o) }

func (g Grant) owns(o Owners) bool {
	isCustomer := g.Customer != "" && g.Customer == o.Customer
	isSeller := g.Seller != "" && g.Seller == o.Seller
	return isCustomer || isSeller
}

// Access is the right by which an actor uses a resource.
type Access int

const (
	// AsOwner is the access of an actor that owns the resource, or is the system.
	AsOwner Access = iota
	// ByAdminOverride is the access of an administrator who does not own the resource,
	// regardless of other roles.
	ByAdminOverride
)

// Authorise returns the access to a resource with these owners (AUTH-10, AUTH-12).
// Refusal: forbidden_resource.
func (g Grant) Authorise(o Owners) (Access, error) {
	switch {
	case !g.Covers(o):
		return 0, notOwned()
	case g.Override && !g.owns(o):
		return ByAdminOverride, nil
	}
	return AsOwner, nil
}

// ListAccess returns the access to a list restricted by the grant.
func (g Grant) ListAccess() Access {
	if g.Override {
		return ByAdminOverride
	}
	return AsOwner
}
