package core

import (
	"slices"
)

// Role is one of a closed set (AUTH-8). A new role requires a review of every policy.
type Role string

// The roles.
const (
	Customer Role = "customer"
	Seller   Role = "seller"
	Admin    Role = "admin"
	System   Role = "system"
)

var roles = []Role{Customer, Seller, Admin, System}

// ParseRole converts a name and reports whether it is a known role.
func ParseRole(name string) (Role, bool) {
	role := Role(name)
	return role, slices.Contains(roles, role)
}

// Actor is the subject of a verified token, with its roles.
type Actor struct {
	Subject string
	Roles   []Role
}

// Has reports whether the actor has at least one of the roles.
func (a Actor) Has(roles ...Role) bool {
	return slices.ContainsFunc(roles, func(r Role) bool { return slices.Contains(a.Roles, r) })
}

// Operation identifies a business operation by its requester and Idempotency-Key. It is
// stored with the effect, where a unique index prevents a second effect even after the
// idempotency record has expired: the second line of defence (AUTH-19).
type Operation struct {
	Actor string
	Key   string
}
