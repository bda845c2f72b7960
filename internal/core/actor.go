package core

import "slices"

// Role is what an actor may be. The set is closed (AUTH-8): a new role means
// thinking again about who may do what.
type Role string

// The four roles.
const (
	Customer Role = "customer"
	Seller   Role = "seller"
	Admin    Role = "admin"
	System   Role = "system"
)

// ParseRole tells whether name is one of the four roles.
func ParseRole(name string) (Role, bool) {
	role := Role(name)
	return role, slices.Contains([]Role{Customer, Seller, Admin, System}, role)
}

// Actor is who acts: the subject of a verified token and its roles.
type Actor struct {
	Subject string
	Roles   []Role
}

// Has tells whether the actor has at least one of the roles.
func (a Actor) Has(roles ...Role) bool {
	return slices.ContainsFunc(roles, func(r Role) bool { return slices.Contains(a.Roles, r) })
}

// Owners says whom a resource belongs to, role by role, as far as a use case
// lets the role in: {Customer: "sber-42", Seller: "shop-7"}.
type Owners map[Role]string

// Access says by which right an actor reached a resource.
type Access int

const (
	// AsOwner is the plain case: the resource is the actor's own, or the actor
	// is the system itself.
	AsOwner Access = iota
	// ByAdminOverride is an administrator's way past the ownership check.
	ByAdminOverride
)

// Authorise checks that one of the actor's roles opens a resource: as its owner,
// as the system where the use case says so, or as an administrator, who passes
// and is audited (AUTH-10, AUTH-12). Every policy of an aggregate ends here
// (AUTH-11). The refusal is 403 forbidden_resource.
func (a Actor) Authorise(owners Owners, also ...Role) (Access, error) {
	for role, owner := range owners {
		if a.Has(role) && owner == a.Subject && owner != "" {
			return AsOwner, nil
		}
	}
	if slices.Contains(also, System) && a.Has(System) {
		return AsOwner, nil
	}
	if slices.Contains(also, Admin) && a.Has(Admin) {
		return ByAdminOverride, nil
	}
	return 0, Forbidden("the resource belongs to somebody else")
}
