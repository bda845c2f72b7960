package core_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"example.com/orders/internal/core"
)

func TestParseRole(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"customer", "seller", "admin", "system"} {
		if role, ok := core.ParseRole(name); !ok || string(role) != name {
			t.Errorf("%s is no role", name)
		}
	}
	for _, name := range []string{"", "Admin", "ADMIN", "root", " admin", "user", "admins"} {
		if _, ok := core.ParseRole(name); ok {
			t.Errorf("%q is a role", name)
		}
	}
}

// Every set of roles, as the owner of nothing, as the customer, as the seller and as
// both, against every way a use case may ask.
func TestAuthorise(t *testing.T) {
	t.Parallel()
	all := []core.Role{core.Customer, core.Seller, core.Admin, core.System}
	owners := []core.Owners{nil, {core.Customer: "ann"}, {core.Seller: "ann"}, {core.Customer: "ann", core.Seller: "bob"}, {core.Customer: "bob", core.Seller: "ann"}}
	for _, roles := range subsets(all) {
		for _, owner := range owners {
			for _, also := range subsets([]core.Role{core.Admin, core.System}) {
				actor := core.Actor{Subject: "ann", Roles: roles}
				access, err := actor.Authorise(owner, also...)
				want := authorised(actor, owner, also)
				if got := answer(access, err); got != want {
					t.Errorf("%v to %v, also %v: %s; want %s", roles, owner, also, got, want)
				}
			}
		}
	}
}

func answer(access core.Access, err error) string {
	fault, ok := errors.AsType[*core.Fault](err)
	switch {
	case ok:
		return string(fault.Code)
	case err != nil:
		return err.Error()
	}
	return fmt.Sprint(access)
}

// authorised is the rule in other words: owning comes before everything, the system
// before the administrator, and who may do it neither way is refused.
func authorised(a core.Actor, owners core.Owners, also []core.Role) string {
	asks := func(r core.Role) bool { return slices.Contains(also, r) && a.Has(r) }
	customer := a.Has(core.Customer) && owners[core.Customer] == a.Subject
	seller := a.Has(core.Seller) && owners[core.Seller] == a.Subject
	switch {
	case customer, seller, asks(core.System):
		return fmt.Sprint(core.AsOwner)
	case asks(core.Admin):
		return fmt.Sprint(core.ByAdminOverride)
	}
	return string(core.CodeForbiddenResource)
}

func subsets(roles []core.Role) [][]core.Role {
	var all [][]core.Role
	for bits := range 1 << len(roles) {
		var some []core.Role
		for i, r := range roles {
			if bits&(1<<i) != 0 {
				some = append(some, r)
			}
		}
		all = append(all, some)
	}
	return all
}
