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

var roles = []Role{Customer, Seller, Admin, System}

// ParseRole converts a name and reports whether it is one of the four roles.
func ParseRole(name string) (Role, bool) {
	role := Role(name)
	return role, slices.Contains(roles, role)
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
