package core

import "slices"

// Role is one of a closed set (AUTH-8). Whoever adds a role must revise every policy.
type Role string

// The four roles.
const (
	Customer Role = "customer"
	Seller   Role = "seller"
	Admin    Role = "admin"
	System   Role = "system"
)

// ParseRole converts a name and reports whether it is one of the four roles.
func ParseRole(name string) (Role, bool) {
	role := Role(name)
	return role, slices.Contains([]Role{Customer, Seller, Admin, System}, role)
}

// Actor is who acts: the subject of a verified token and its roles.
type Actor struct {
	Subject string
	Roles   []Role
}

// Has reports whether the actor has at least one of the roles.
func (a Actor) Has(roles ...Role) bool {
	return slices.ContainsFunc(roles, func(r Role) bool { return slices.Contains(a.Roles, r) })
}

// Owners names the owner of a resource for each role that a use case admits: {Customer: "sber-42", Seller: "shop-7"}.
type Owners map[Role]string

// Access is the right by which an actor may use a resource.
type Access int

const (
	// AsOwner is the usual case: the actor owns the resource, or is the system itself.
	AsOwner Access = iota
	// ByAdminOverride is the right of an administrator who does not own the resource.
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
