package e2e

import (
	"slices"
)

// Access is who may use a route, as section 1 of the contract says.
type Access struct {
	Customer, Seller, Admin, System Pair
	// Public routes take no token, and answer the prepared request with PublicStatus.
	Public       bool
	PublicStatus int
}

// ByRole returns the outcomes by role.
func (a Access) ByRole() map[string]Pair {
	return map[string]Pair{"customer": a.Customer, "seller": a.Seller, "admin": a.Admin, "system": a.System}
}

// Roles returns the roles that may use the route at all, sorted.
func (a Access) Roles() []string {
	var roles []string
	for role, outcomes := range a.ByRole() {
		if outcomes != nobody && !a.Public {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	return roles
}

// Pair is the outcomes of one role for the owner of the resource and for a stranger.
// The role counts: an owner who comes with another role is a stranger.
type Pair struct{ Owner, Stranger Outcome }

// Outcome is how a request ends.
type Outcome string

// The outcomes of the table.
const (
	Allowed           Outcome = "2xx"
	Audited           Outcome = "2xx and an entry in the audit log"
	RoleForbidden     Outcome = "403 forbidden_role"
	ResourceForbidden Outcome = "403 forbidden_resource"
	NotFound          Outcome = "404 not_found"
)

var (
	everybody = Pair{Allowed, Allowed}
	ownerOnly = Pair{Allowed, ResourceForbidden}
	onRecord  = Pair{Audited, Audited}
	nobody    = Pair{RoleForbidden, RoleForbidden}
	ownKeys   = Pair{Allowed, NotFound} // whoever sent a key may look it up, in any role
)
