package httpapi

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/orders/internal/core"
	contracttest "example.com/orders/internal/test/contract"
)

// AUTH-9: whoever forgets the roles of a route learns it before anybody can call it.
func TestRouteWithoutRolesDoesNotStart(t *testing.T) {
	t.Parallel()
	for name, roles := range map[string][]core.Role{"none": nil, "an empty list": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &api{}
			open := route{method: "GET", pattern: "/secrets", operation: "getSecrets", roles: roles}
			_, err := a.router(append(a.routes(), open))
			if err == nil || !strings.Contains(err.Error(), "GET /secrets") {
				t.Errorf("got %v, want an error that names the route", err)
			}
		})
	}
}

func TestRoutesWithRolesStart(t *testing.T) {
	t.Parallel()
	a := &api{}
	if _, err := a.router(a.routes()); err != nil {
		t.Error(err)
	}
}

// The table of routes and the contract say the same: a route with a wrong operation
// would have its body checked by another one's rules.
func TestRoutesAreTheContracts(t *testing.T) {
	t.Parallel()
	documented := map[string]contracttest.Operation{}
	for _, op := range contracttest.New(t).Operations() {
		slices.Sort(op.Roles)
		documented[op.ID] = op
	}
	for _, rt := range (&api{}).routes() {
		t.Run(rt.operation, func(t *testing.T) {
			t.Parallel()
			got := contracttest.Operation{Method: rt.method, Path: rt.pattern, ID: rt.operation, Idempotent: rt.guard}
			for _, role := range rt.roles {
				got.Roles = append(got.Roles, string(role))
			}
			slices.Sort(got.Roles)
			if diff := cmp.Diff(documented[rt.operation], got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the contract (-) and the table (+) differ:\n%s", diff)
			}
			if rt.handle == nil {
				t.Error("nobody serves it")
			}
		})
	}
}
