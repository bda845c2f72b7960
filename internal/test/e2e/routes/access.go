package routes

import "slices"

// Access lists who may use a route, as section 1 in the contract says.
type Access struct {
	Customer, Seller, Admin, System Pair
	// Public routes take no token and answer the prepared request with PublicStatus.
	Public       bool
	PublicStatus int
}

// ByRole returns the outcomes by role.
func (a Access) ByRole() map[string]Pair {
	return map[string]Pair{"customer": a.Customer, "seller": a.Seller, "admin": a.Admin, "system": a.System}
}

// Roles returns the roles with any access to the route, sorted.
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

// Pair holds the outcomes of a role for the resource owner and for a stranger. The role
// counts: an owner who comes with a different role is a stranger.
type Pair struct{ Owner, Stranger Outcome }

// Outcome is the result that a request must have.
type Outcome string

// The outcomes in the table.
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
	ownKeys   = Pair{Allowed, NotFound} // callers look up their keys in any role
)

// Who may use the routes of a resource.
var (
	public        = Access{Public: true, PublicStatus: 200}
	anyRole       = Access{Customer: everybody, Seller: everybody, Admin: everybody, System: everybody}
	orderOwners   = Access{Customer: ownerOnly, Seller: ownerOnly, Admin: onRecord, System: nobody}
	productOwners = Access{Customer: nobody, Seller: ownerOnly, Admin: onRecord, System: nobody}
	customerOnly  = Access{Customer: ownerOnly, Seller: nobody, Admin: onRecord, System: nobody}
	balanceOwner  = Access{Customer: ownerOnly, Seller: nobody, Admin: onRecord, System: everybody}
	balanceSystem = Access{Customer: nobody, Seller: nobody, Admin: onRecord, System: everybody}
)
