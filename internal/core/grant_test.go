package core_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"example.com/orders/internal/core"
)

// Every combination of the actor's roles, the admitted roles and the owners.
func TestGrant_AuthorisesOwnersThenAdministratorsThenSystem(t *testing.T) {
	t.Parallel()
	all := []core.Role{core.Customer, core.Seller, core.Admin, core.System}
	owners := []core.Owners{{}, {Customer: "ann"}, {Seller: "ann"}, {Customer: "ann", Seller: "bob"}, {Customer: "bob", Seller: "ann"}}
	for _, roles := range subsets(all) {
		for _, admitted := range subsets(all) {
			for _, o := range owners {
				actor := core.Actor{Subject: "ann", Roles: roles}
				grant := actor.Grant(admitted...)
				access, err := grant.Authorise(o)
				want := authorised(actor, admitted, o)
				if got := answer(access, err); got != want {
					t.Errorf("%v for %v, admitted %v: %s; want %s", roles, o, admitted, got, want)
				}
				if covers := grant.Covers(o); covers != (err == nil) {
					t.Errorf("%v for %v, admitted %v: covers = %v, Authorise: %v", roles, o, admitted, covers, err)
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

// authorised states the rule independently: ownership comes first; where a role admits
// actors to everything, administrators are distinguished from the system; everybody else is
// refused.
func authorised(a core.Actor, admitted []core.Role, o core.Owners) string {
	has := func(r core.Role) bool { return slices.Contains(admitted, r) && a.Has(r) }
	customer := has(core.Customer) && o.Customer == a.Subject
	seller := has(core.Seller) && o.Seller == a.Subject
	switch {
	case customer, seller:
		return fmt.Sprint(core.AsOwner)
	case a.Has(core.Admin) && (has(core.Admin) || has(core.System)):
		return fmt.Sprint(core.ByAdminOverride)
	case has(core.System):
		return fmt.Sprint(core.AsOwner)
	}
	return string(core.CodeForbiddenResource)
}

func TestGrant_CoversNothingWithoutASubject(t *testing.T) {
	t.Parallel()
	nobody := core.Actor{Roles: []core.Role{core.Customer, core.Seller}}
	grant := nobody.Grant(core.Customer, core.Seller)
	for _, o := range []core.Owners{{}, {Customer: "ann"}, {Seller: "ann"}} {
		if grant.Covers(o) {
			t.Errorf("covers a resource of %+v", o)
		}
	}
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
