package core

import "slices"

// Owners names whom a resource belongs to. A resource without a customer or without a
// seller leaves that member empty.
type Owners struct {
	Customer string
	Seller   string
}

// Grant says whose resources an actor may use in one use case. The policies compute it
// from the actor (AUTH-11). Stores apply it before anything is locked: strangers neither
// wait for locks nor hold them. Use cases check it again. Owners never change, so a grant
// that was checked before the lock still holds after it.
//
// The zero Grant covers nothing.
type Grant struct {
	// Customer and Seller are the owners whose resources are covered, "" for none.
	Customer string
	Seller   string
	// Everybody covers the resources of all owners.
	Everybody bool
	// Override reports that the actor is an administrator, whose reads of other owners'
	// resources are audited, also if another role admits the actor.
	Override bool
}

// GrantEverybody is the grant of the service itself: its jobs, provider events and
// messages of other services concern the resources of all owners.
var GrantEverybody = Grant{Everybody: true}

// Grant returns what the actor may use when a use case admits these roles. Customers and
// sellers may use what they own; the system and administrators may use everything.
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

// Covers reports whether the grant includes a resource of these owners.
func (g Grant) Covers(o Owners) bool { return g.Everybody || g.owns(o) }

func (g Grant) owns(o Owners) bool {
	return (g.Customer != "" && g.Customer == o.Customer) || (g.Seller != "" && g.Seller == o.Seller)
}

// Access is the right by which an actor uses a resource.
type Access int

const (
	// AsOwner is the usual case: the actor owns the resource, or is the system and no
	// administrator.
	AsOwner Access = iota
	// ByAdminOverride is the right of an administrator who does not own the resource,
	// whatever other roles the administrator has.
	ByAdminOverride
)

// Authorise returns the access to a resource of these owners (AUTH-10, AUTH-12).
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

// ListAccess returns the access to a list of everything that the grant covers.
func (g Grant) ListAccess() Access {
	if g.Override {
		return ByAdminOverride
	}
	return AsOwner
}
